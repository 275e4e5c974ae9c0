//! What can go wrong in a timing wheel, one fault each.

use purgatory::{TimerId, Timestamp, TimingWheel};

fn t(ticks: u64) -> Timestamp {
    Timestamp::from_ticks(ticks)
}

/// All that is due at `now`, as deadlines.
fn expire<T>(wheel: &mut TimingWheel<T>, now: u64) -> Vec<u64> {
    std::iter::from_fn(|| wheel.expire_next(t(now))).map(|expired| expired.deadline.ticks()).collect()
}

#[test]
fn a_delay_beyond_a_level_is_neither_early_nor_late_at_any_uptime() {
    for level in 0..8 {
        let span = 1_u64 << (8 * level);
        for uptime in [0, 1, span - 1, span, 3 * span + 7, (1 << 36) + 5, u64::MAX / 2] {
            for delay in [span - 1, span, span + 1, 2 * span, 255 * span, 256_u64.saturating_mul(span)] {
                let Some(deadline) =
                    uptime.checked_add(delay).filter(|due| (uptime + 1..u64::MAX).contains(due))
                else {
                    continue;
                };
                let mut wheel = TimingWheel::new(t(uptime));
                wheel.insert(t(deadline), ());
                assert_eq!(wheel.next_deadline(), Some(t(deadline)));
                assert_eq!(expire(&mut wheel, deadline - 1), [0; 0], "{uptime} + {delay} came early");
                assert_eq!(expire(&mut wheel, deadline), [deadline], "{uptime} + {delay} came late");
            }
        }
    }
}

/// Two and three levels have a slot that begins at the very same tick; what the lower ones hold must not be passed over.
#[test]
fn slots_of_all_levels_that_begin_together_are_all_opened() {
    for boundary in [1_u64 << 16, 1 << 24, 1 << 32] {
        for ahead in [255, 256, 65_535, 65_536] {
            let mut wheel = TimingWheel::new(t(boundary - ahead));
            for due in [boundary, boundary + 1, boundary + 2, boundary + 200, boundary + 255, boundary + 256]
            {
                wheel.insert(t(due), ());
                wheel.insert(t(due), ());
            }
            for due in [0, 1, 2, 200, 255, 256].map(|after| boundary + after) {
                assert_eq!(expire(&mut wheel, due), [due, due], "{boundary} seen from {ahead} before");
            }
        }
    }
}

#[test]
fn a_driver_that_overslept_finds_everything_in_order() {
    let mut wheel = TimingWheel::new(t(0));
    for step in (0..2_007).rev() {
        wheel.insert(t(step * 997), ());
    }
    let expired = expire(&mut wheel, 5_000_000);
    assert!(expired.is_sorted());
    assert_eq!(expired.len(), 2_007);
}

#[test]
fn what_is_added_while_catching_up_comes_at_its_own_time() {
    let mut wheel = TimingWheel::new(t(0));
    wheel.insert(t(100), 'a');
    wheel.insert(t(900), 'c');
    assert_eq!(wheel.expire_next(t(1_000)).map(|expired| expired.value), Some('a'));
    wheel.insert(t(500), 'b');
    wheel.insert(t(1_001), 'd');
    let order: String =
        std::iter::from_fn(|| wheel.expire_next(t(1_000))).map(|expired| expired.value).collect();
    assert_eq!(order, "bc");
    assert_eq!(wheel.expire_next(t(1_001)).map(|expired| expired.value), Some('d'));
}

#[test]
fn re_arming_and_removing_a_timer_of_the_tick_being_handed_out() {
    let mut wheel = TimingWheel::new(t(0));
    let ids: Vec<TimerId> = (0..40).map(|value| wheel.insert(t(7), value)).collect();
    let first = wheel.expire_next(t(9)).expect("due");
    let later = *ids.iter().find(|&&id| id != first.id).expect("one of forty");
    assert!(wheel.rearm(later, t(300)));
    let gone = *ids.iter().rfind(|&&id| id != later).expect("one of forty");
    assert!(wheel.remove(gone).is_some());
    // Its node is free, and its entry still in the slot at hand: a newcomer in that node keeps its own deadline.
    let newcomer = wheel.insert(t(8), 100);
    assert_eq!(expire(&mut wheel, 9).len(), 38);
    assert_eq!(wheel.get(newcomer), None);
    assert_eq!(expire(&mut wheel, 300), [300]);
    assert!(wheel.is_empty());
}

#[test]
fn an_announced_wake_up_that_finds_nothing_is_not_announced_again() {
    let mut wheel = TimingWheel::new(t(0));
    let id = wheel.insert(t(30_000), ());
    let mut now = 0;
    for beat in 1..=100 {
        now = beat * 3_000;
        assert_eq!(expire(&mut wheel, now), [0; 0]);
        assert!(wheel.rearm(id, t(now + 30_000)));
    }
    let mut wake_ups = 0;
    while let Some(next) = wheel.next_deadline() {
        assert!(next > t(now), "announced {next:?} at {now}");
        now = next.ticks();
        wake_ups += 1;
        expire(&mut wheel, now);
    }
    assert_eq!(now, 330_000);
    assert!(wake_ups <= 3, "{wake_ups}");
}

#[test]
fn what_cancelled_and_re_armed_timers_leave_behind_is_bounded() {
    let mut wheel = TimingWheel::new(t(0));
    let mut waves = |wave: std::ops::Range<u64>| {
        for wave in wave {
            let ids: Vec<_> = (0..10_000).map(|n| wheel.insert(t(3_600_000 + wave * 7_001 + n), n)).collect();
            for &id in &ids {
                // Near, far, nearer, far: every second one files a new entry and leaves the old one behind.
                for deadline in [2_000_000, 90_000_000, 1_000_000 + wave, 80_000_000] {
                    assert!(wheel.rearm(id, t(deadline)));
                }
                assert!(wheel.remove(id).is_some());
            }
        }
        assert!(wheel.is_empty());
        wheel.bytes()
    };
    let early = waves(0..4);
    let late = waves(4..16);
    assert!(late <= early + early / 4, "from {early} to {late} bytes");
    assert!(late < 10_000 * 80, "{late} bytes for 10,000 timers");
}

#[test]
fn an_empty_wheel_holds_nothing_and_announces_nothing() {
    let mut wheel: TimingWheel<String> = TimingWheel::new(t(5));
    assert_eq!((wheel.bytes(), wheel.len(), wheel.next_deadline()), (0, 0, None));
    assert!(wheel.expire_next(Timestamp::MAX).is_none());
    let id = wheel.insert(Timestamp::MAX, "never".into());
    assert_eq!(wheel.next_deadline(), None);
    assert_eq!(wheel.remove(id).as_deref(), Some("never"));
    assert_eq!(wheel.remove(id), None);
}

#[test]
fn values_are_dropped_once_when_the_wheel_is() {
    let value = std::rc::Rc::new(());
    let mut wheel = TimingWheel::new(t(0));
    let ids: Vec<_> = (0..100).map(|n| wheel.insert(t(n % 7), value.clone())).collect();
    assert!(wheel.remove(ids[3]).is_some());
    assert!(wheel.expire_next(t(2)).is_some());
    assert_eq!(std::rc::Rc::strong_count(&value), 99);
    drop(wheel);
    assert_eq!(std::rc::Rc::strong_count(&value), 1);
}
