//! What can go wrong in a purgatory, one fault each.

use purgatory::{Purgatory, Submission, Timestamp};

fn t(ticks: u64) -> Timestamp {
    Timestamp::from_ticks(ticks)
}

fn purgatory() -> Purgatory<&'static str, &'static str> {
    Purgatory::new(t(0))
}

#[test]
fn a_trigger_at_the_very_tick_of_the_deadline_has_one_winner() {
    for trigger_first in [true, false] {
        let mut purgatory = purgatory();
        purgatory.watch("join", ["group"], t(10));
        let exits = if trigger_first {
            [purgatory.complete_next("group", |_| true), purgatory.expire_next(t(10))]
        } else {
            [purgatory.expire_next(t(10)), purgatory.complete_next("group", |_| true)]
        };
        assert_eq!(exits.iter().flatten().collect::<Vec<_>>(), [&"join"]);
    }
}

#[test]
fn what_left_by_one_key_is_gone_from_all_keys_and_its_payload_too() {
    let payload = std::rc::Rc::new(());
    let mut purgatory = Purgatory::<u32, std::rc::Rc<()>>::new(t(0));
    purgatory.watch(payload.clone(), 0..100, t(u64::MAX - 1));
    assert_eq!((purgatory.watched(), purgatory.keys()), (100, 100));
    drop(purgatory.complete_next(&50, |_| true));
    assert_eq!((purgatory.pending(), purgatory.watched(), purgatory.keys()), (0, 0, 0));
    assert_eq!(std::rc::Rc::strong_count(&payload), 1);
}

#[test]
fn a_check_is_made_once_however_many_keys_there_are() {
    let mut checks = 0;
    let mut purgatory = Purgatory::<u32, &str>::new(t(0));
    let submission = purgatory.try_complete_else_watch("fetch", 0..500, t(9), |_| {
        checks += 1;
        false
    });
    assert!(matches!(submission, Submission::Watched(_)));
    assert_eq!(checks, 1);
}

#[test]
fn one_off_keys_leave_nothing_behind() {
    let mut purgatory = Purgatory::<u64, u64>::new(t(0));
    for key in 0..100_000 {
        purgatory.watch(key, [key, key + 1_000_000], Timestamp::MAX);
        assert_eq!(purgatory.complete_next(&key, |_| true), Some(key));
        assert_eq!(purgatory.keys(), 0);
    }
}

#[test]
fn a_sibling_cancelled_in_the_same_pass_does_not_expire() {
    let mut purgatory = purgatory();
    purgatory.watch("first", [], t(5));
    let second = purgatory.watch("second", [], t(5));
    let third = purgatory.watch("third", [], t(5));
    assert_eq!(purgatory.expire_next(t(9)), Some("first"));
    assert_eq!(purgatory.cancel(second), Some("second"));
    assert!(purgatory.extend(third, t(12)));
    assert_eq!(purgatory.expire_next(t(9)), None);
    assert_eq!(purgatory.expire_next(t(12)), Some("third"));
}

#[test]
fn a_deadline_in_the_past_expires_next_and_does_not_hold_the_clock_back() {
    let mut purgatory = purgatory();
    assert_eq!(purgatory.expire_next(t(1_000)), None);
    purgatory.watch("late", [], t(10));
    assert_eq!(purgatory.next_deadline(), Some(t(1_000)));
    purgatory.watch("later", [], t(1_001));
    assert_eq!(purgatory.expire_next(t(1_000)), Some("late"));
    assert_eq!(purgatory.expire_next(t(1_000)), None);
    assert_eq!(purgatory.expire_next(t(1_001)), Some("later"));
}

#[test]
fn a_clock_that_goes_back_expires_nothing_early_and_nothing_twice() {
    let mut purgatory = purgatory();
    purgatory.watch("a", [], t(100));
    assert_eq!(purgatory.expire_next(t(99)), None);
    assert_eq!(purgatory.expire_next(t(3)), None);
    assert_eq!(purgatory.expire_next(t(100)), Some("a"));
    purgatory.watch("b", [], t(150));
    assert_eq!(purgatory.expire_next(t(0)), None);
    assert_eq!(purgatory.expire_next(t(150)), Some("b"));
}

#[test]
fn never_is_never_and_the_last_tick_before_it_is_a_deadline() {
    let mut purgatory = purgatory();
    let never = purgatory.watch("never", ["key"], Timestamp::MAX);
    assert_eq!(purgatory.next_deadline(), None);
    purgatory.watch("last", [], t(u64::MAX - 1));
    assert_eq!(purgatory.expire_next(t(u64::MAX - 2)), None);
    assert_eq!(purgatory.expire_next(Timestamp::MAX), Some("last"));
    assert_eq!(purgatory.expire_next(Timestamp::MAX), None);
    assert_eq!(purgatory.deadline(never), Some(Timestamp::MAX));
    assert!(purgatory.extend(never, t(1)));
    assert_eq!(purgatory.expire_next(Timestamp::MAX), Some("never"));
}

#[test]
fn a_stale_id_does_nothing_even_when_its_place_is_taken_again() {
    let mut purgatory = purgatory();
    let old = purgatory.watch("old", ["key"], t(10));
    assert_eq!(purgatory.cancel(old), Some("old"));
    let new = purgatory.watch("new", ["key"], t(20));
    assert_ne!(old, new);
    assert_eq!(purgatory.cancel(old), None);
    assert!(!purgatory.extend(old, t(5)));
    assert_eq!(purgatory.get(new), Some(&"new"));
    assert_eq!(purgatory.expire_next(t(10)), None);
}

#[test]
fn a_panic_in_a_check_touches_no_operation() {
    let mut purgatory = purgatory();
    purgatory.watch("one", ["key"], t(10));
    purgatory.watch("two", ["key"], t(10));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        purgatory.complete_next("key", |operation| if *operation == "two" { panic!("check") } else { false })
    }));
    assert!(panicked.is_err());
    assert_eq!(purgatory.watched_by("key"), 2);
    assert_eq!(purgatory.complete_next("key", |_| true), Some("one"));
    assert_eq!(purgatory.expire_next(t(10)), Some("two"));
}

#[test]
fn a_sweep_survives_the_loss_of_the_operation_it_stands_on() {
    let mut purgatory = Purgatory::<&str, u32>::new(t(0));
    let ids: Vec<_> = (0..6).map(|operation| purgatory.watch(operation, ["key"], t(10))).collect();
    let mut sweep = purgatory.sweep("key");
    assert_eq!(purgatory.sweep_next(&mut sweep, |o| o % 2 == 1), Some(1));
    assert_eq!(purgatory.cancel(ids[0]), Some(0));
    purgatory.watch(7, ["key"], t(10));
    assert_eq!(purgatory.sweep_next(&mut sweep, |o| o % 2 == 1), Some(3));
    assert_eq!(purgatory.cancel(ids[2]), Some(2));
    assert_eq!(purgatory.sweep_next(&mut sweep, |o| o % 2 == 1), Some(5));
    assert_eq!(purgatory.sweep_next(&mut sweep, |o| o % 2 == 1), None);
    assert_eq!(purgatory.sweep_next(&mut sweep, |_| true), None);
    assert_eq!(purgatory.watched_by("key"), 2);
}
