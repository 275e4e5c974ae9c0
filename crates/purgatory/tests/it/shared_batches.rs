//! The shared purgatory with more at a time than it takes in hand or hands over at once.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use purgatory::{Cancellation, Cause, Options};

use crate::shared::{Operation, World, at, never, when, world};

/// Keys in all shards, more watchers than are taken in hand at once, and some that leave while others are examined.
#[test]
fn a_trigger_examines_each_once_and_in_watch_order_whatever_leaves_meanwhile() {
    const WATCHERS: u64 = 500;
    let mut world = world(&Options::default());
    let (seen, ids) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    for name in 0..WATCHERS {
        let (seen, others, purgatory) = (Arc::clone(&seen), Arc::clone(&ids), world.purgatory.clone());
        let mut calls = 0;
        let check = Box::new(move || {
            calls += 1;
            // Two examinations are on the way in.
            if calls < 3 {
                return false;
            }
            seen.lock().unwrap().push(name);
            // Every other takes one away that comes later, and something else watches the key instead.
            let later = usize::try_from(name + 201).unwrap();
            let later = others.lock().unwrap().get(later).copied().filter(|_| name % 2 == 0);
            if let Some(later) = later {
                drop(purgatory.cancel(later));
                let instead = purgatory.try_complete_else_watch(never(name), ["all".to_owned()], at(100));
                assert!(instead.is_ok());
            }
            name % 3 == 0
        });
        let own = format!("own-{name}");
        let id = world.park(Operation { name, check }, &[&own, "all"], 100);
        ids.lock().unwrap().push(id);
    }
    let completed = world.purgatory.complete("all");
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    assert!(seen.is_sorted_by(|a, b| a < b), "each once, in order: {seen:?}");
    // Those taken away were in nobody's hands yet, and so were never asked.
    let gone = (0..WATCHERS - 201).filter(|name| name % 2 == 0).count();
    assert_eq!(seen.len(), usize::try_from(WATCHERS).unwrap() - gone);
    assert_eq!(completed, seen.iter().filter(|&name| name % 3 == 0).count());
    assert_eq!(world.left().len(), completed);
    assert_eq!(world.purgatory.watched_by("all"), usize::try_from(WATCHERS).unwrap() - completed);
}

#[test]
fn a_pass_over_many_watchers_leaves_nothing_behind() {
    let mut world = world(&Options { shards: 4, ..Options::default() });
    let flag = Arc::new(AtomicBool::new(false));
    for name in 0..1_000 {
        world.park(when(name, &flag), &["a", "b", "c"], 100);
    }
    assert_eq!(world.purgatory.complete("b"), 0);
    flag.store(true, SeqCst);
    assert_eq!(world.purgatory.complete("b"), 1_000);
    assert_eq!(world.left().len(), 1_000);
    world.assert_empty();
}

#[test]
fn many_known_to_be_done_leave_at_once() {
    let mut world = world(&Options::default());
    let mut ids: Vec<_> = (0..300).map(|name| world.park(never(name), &["a", "b", "c"], 100)).collect();
    assert!(matches!(world.purgatory.cancel(ids[7]), Cancellation::Taken(_)));
    ids.push(ids[0]);
    assert_eq!(world.purgatory.force_complete_all(ids.iter().copied()), 299);
    assert_eq!(world.purgatory.force_complete_all(ids), 0);
    assert!(world.left().iter().all(|&(name, cause)| name != 7 && cause == Cause::Satisfied));
    world.assert_empty();
}

#[test]
fn exits_that_nobody_takes_give_their_places_back() {
    let world = world(&Options { max_pending: 6, shards: 1, ..Options::default() });
    let mut other = world.exits.clone();
    for name in 0..6 {
        world.park(never(name), &["a"], 100);
    }
    assert_eq!(world.purgatory.complete_all("a", Cause::Cancelled), 6);
    // One batch of six: one is taken, five go with their receiver.
    assert!(other.try_next().is_some());
    drop(other);
    for name in 0..6 {
        world.park(never(name), &["a"], 100);
    }
    assert_eq!(world.purgatory.complete_all("a", Cause::Cancelled), 6);
    // The last receiver goes with six in the channel; then six come for whom nobody is left.
    let World { purgatory, exits, .. } = world;
    drop(exits);
    for _ in 0..2 {
        for name in 0..6 {
            assert!(purgatory.try_complete_else_watch(never(name), ["a".to_owned()], at(100)).is_ok());
        }
        assert_eq!(purgatory.complete_all("a", Cause::Cancelled), 6);
    }
}
