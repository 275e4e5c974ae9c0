//! What can go wrong in a purgatory, one fault each.

use purgatory::{Cause, Purgatory, Refused, Submission, Timestamp};

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
    assert!(matches!(submission, Ok(Submission::Watched(_))));
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

#[test]
fn a_chain_of_a_million_completions_needs_no_stack() {
    const LENGTH: u32 = 1_000_000;
    let mut purgatory = Purgatory::<u32, u32>::new(t(0));
    for link in 0..LENGTH {
        purgatory.watch(link + 1, [link], Timestamp::MAX);
    }
    let mut key = 0;
    while let Some(next) = purgatory.complete_next(&key, |_| true) {
        key = next;
    }
    assert_eq!((key, purgatory.pending(), purgatory.keys()), (LENGTH, 0, 0));
}

#[test]
fn a_completion_may_watch_the_key_it_came_from_and_the_pass_still_ends() {
    let mut purgatory = Purgatory::<&str, u32>::new(t(0));
    for operation in 0..10 {
        purgatory.watch(operation, ["key"], t(10));
    }
    let mut sweep = purgatory.sweep("key");
    let mut seen = 0;
    while let Some(operation) = purgatory.sweep_next(&mut sweep, |_| true) {
        purgatory.watch(operation + 100, ["key"], t(10));
        seen += 1;
    }
    assert_eq!((seen, purgatory.watched_by("key")), (10, 10));
}

#[test]
fn what_would_be_one_too_many_is_handed_back_and_nothing_else_is_lost() {
    let mut purgatory = Purgatory::<&str, String>::new(t(0));
    purgatory.set_max_pending(2);
    for name in ["a", "b"] {
        purgatory.watch(name.into(), ["key"], t(10));
    }
    let refused = purgatory.try_watch("c".into(), ["key", "other"], t(10));
    assert_eq!(refused.map_err(Refused::into_operation), Err("c".into()));
    let refused = purgatory.watch_thresholds("d".into(), [("key", 5)], t(10));
    assert_eq!(refused, Err(Refused::Full("d".into())));
    assert_eq!((purgatory.watched(), purgatory.keys(), purgatory.stats().submitted), (2, 1, 2));
    let ready = purgatory.try_complete_else_watch("e".into(), ["key"], t(10), |_| true);
    assert_eq!(ready, Ok(Submission::Completed("e".into())));
    assert_eq!(purgatory.complete_next("key", |_| true).as_deref(), Some("a"));
    assert!(purgatory.try_watch("c".into(), ["key"], t(10)).is_ok());
}

#[test]
#[should_panic(expected = "as many operations wait as may")]
fn watching_beyond_a_limit_that_was_set_is_a_bug_of_who_did_not_ask() {
    let mut purgatory = purgatory();
    purgatory.set_max_pending(0);
    purgatory.watch("one", [], t(1));
}

#[test]
fn a_shutdown_hands_back_everything_in_watch_order_and_refuses_what_comes_later() {
    let mut purgatory = purgatory();
    purgatory.watch("first", ["key"], t(90));
    let gone = purgatory.watch("gone", [], t(5));
    assert!(purgatory.watch_thresholds("second", [("key", 7)], Timestamp::MAX).is_ok());
    assert_eq!(purgatory.cancel(gone), Some("gone"));
    purgatory.watch("third", ["key"], t(5));
    purgatory.watch("expired", [], t(5));
    let fourth = purgatory.watch("fourth", [], t(5));
    assert_eq!(purgatory.expire_next(t(5)), Some("third"));
    assert_eq!(purgatory.expire_next(t(5)), Some("expired"));
    assert_eq!(purgatory.shutdown(), ["first", "second", "fourth"]);
    assert_eq!(purgatory.expire_next(Timestamp::MAX), None);
    assert_eq!(purgatory.reach_next("key", u64::MAX), None);
    assert!(!purgatory.extend(fourth, t(10)));
    assert_eq!(purgatory.try_watch("late", ["key"], t(9)), Err(Refused::ShutDown("late")));
    assert_eq!(purgatory.shutdown(), [""; 0]);
    assert_eq!((purgatory.stats().shut_down, purgatory.stats().expired), (3, 2));
}

#[test]
fn all_under_a_key_leave_when_its_owner_is_gone_and_their_other_keys_forget_them() {
    let mut purgatory = purgatory();
    purgatory.watch("plain", ["lost", "kept"], t(90));
    assert!(purgatory.watch_thresholds("high", [("lost", 9), ("kept", 1)], t(90)).is_ok());
    assert!(purgatory.watch_thresholds("low", [("lost", 2), ("lost", 3)], t(90)).is_ok());
    purgatory.watch("stays", ["kept"], t(90));
    assert_eq!(purgatory.complete_all("lost", Cause::Cancelled), ["plain", "low", "high"]);
    assert_eq!((purgatory.watched(), purgatory.keys()), (1, 1));
    assert_eq!(purgatory.stats().cancelled, 3);
    assert_eq!(purgatory.complete_all("lost", Cause::Cancelled), [""; 0]);
}

#[test]
fn an_operation_leaves_when_the_last_of_its_thresholds_is_reached() {
    let mut purgatory = Purgatory::<u32, u32>::new(t(0));
    // A hundred writes, each waiting for three replicas to reach its offset.
    for offset in (0..100).rev() {
        let thresholds = [1, 2, 3].map(|replica| (replica, u64::from(offset)));
        assert!(purgatory.watch_thresholds(offset, thresholds, t(500)).is_ok());
    }
    let mut reach =
        |replica, offset| std::iter::from_fn(|| purgatory.reach_next(&replica, offset)).collect::<Vec<u32>>();
    assert_eq!(reach(1, 50), []);
    assert_eq!(reach(2, 3), []);
    assert_eq!(reach(3, 99), [0, 1, 2, 3]);
    assert_eq!(reach(2, 3), []);
    assert_eq!(reach(2, 60), (4..=50).collect::<Vec<_>>());
    assert_eq!(reach(2, 60), []);
    assert_eq!(reach(1, u64::MAX), (51..=60).collect::<Vec<_>>());
    assert_eq!(purgatory.lowest_threshold(&2), Some(61));
    assert_eq!((purgatory.watched_by(&1), purgatory.watched_by(&2), purgatory.watched_by(&3)), (0, 39, 0));
    assert_eq!(std::iter::from_fn(|| purgatory.expire_next(t(500))).count(), 39);
    assert_eq!(purgatory.watched(), 0);
}
