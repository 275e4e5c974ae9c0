//! The shared purgatory's threshold watches: a trigger touches only what it satisfies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use purgatory::{Cause, Options, Submission};

use crate::shared::{Operation, at, world};

/// Who waits for `key` to reach what `levels` say, counting how often it was asked.
struct Levels {
    levels: Arc<[AtomicUsize; 3]>,
    asked: Arc<AtomicUsize>,
}

impl Levels {
    fn waiting(&self, name: u64, minimums: [usize; 3]) -> Operation {
        let (levels, asked) = (Arc::clone(&self.levels), Arc::clone(&self.asked));
        let check = Box::new(move || {
            asked.fetch_add(1, SeqCst);
            levels.iter().zip(minimums).all(|(level, minimum)| level.load(SeqCst) >= minimum)
        });
        Operation { name, check }
    }
}

#[test]
fn a_threshold_touches_only_what_it_satisfies() {
    let mut world = world(&Options::default());
    let levels = Levels { levels: Arc::default(), asked: Arc::default() };
    for name in 1..=1_000_u64 {
        let minimum = usize::try_from(name).unwrap();
        let operation = levels.waiting(name, [minimum; 3]);
        let thresholds = ["a", "b", "c"].map(|key| (key.to_owned(), name));
        assert!(world.purgatory.try_complete_else_watch_thresholds(operation, thresholds, at(50)).is_ok());
    }
    let asked = || levels.asked.swap(0, SeqCst);
    assert_eq!((asked(), world.purgatory.watched_by("b")), (2_000, 1_000));
    assert_eq!((world.purgatory.reach("a", 0), world.purgatory.complete("a"), asked()), (0, 0, 0));
    for (key, at) in [("a", 0), ("b", 1), ("c", 2)] {
        levels.levels[at].store(700, SeqCst);
        let ready = world.purgatory.reach(key, 700);
        assert_eq!((ready, asked()), (if key == "c" { 700 } else { 0 }, 700));
        assert_eq!((world.purgatory.reach(key, 700), asked()), (0, 0), "told once");
    }
    assert_eq!((world.left().len(), world.purgatory.lowest_threshold("a")), (700, Some(701)));
    assert_eq!((world.purgatory.pending(), world.purgatory.watched()), (300, 900));
    assert_eq!(world.purgatory.complete_all("b", Cause::Cancelled), 300);
    assert_eq!(world.left().len(), 300);
    world.assert_empty();
}

#[test]
fn what_a_key_reached_before_the_registration_is_seen_by_the_examination() {
    let mut world = world(&Options::default());
    let levels = Levels { levels: Arc::default(), asked: Arc::default() };
    levels.levels[0].store(9, SeqCst);
    assert_eq!(world.purgatory.reach("a", 9), 0);
    let thresholds = [("a".to_owned(), 5), ("b".to_owned(), 5), ("b".to_owned(), 3)];
    let parked =
        world.purgatory.try_complete_else_watch_thresholds(levels.waiting(1, [5, 5, 0]), thresholds, at(50));
    assert!(matches!(parked, Ok(Submission::Watched(_))));
    levels.levels[1].store(4, SeqCst);
    assert_eq!(world.purgatory.reach("b", 4), 0);
    levels.levels[1].store(6, SeqCst);
    assert_eq!(world.purgatory.reach("b", 6), 1);
    assert_eq!(world.left(), [(1, Cause::Satisfied)]);
    world.assert_empty();
}

#[test]
fn a_reached_threshold_still_expires_and_frees_its_places() {
    let mut world = world(&Options::default());
    let levels = Levels { levels: Arc::default(), asked: Arc::default() };
    for round in 0..3 {
        let thresholds = ["a", "b"].map(|key| (key.to_owned(), 5));
        let operation = levels.waiting(round, [5, 5, 0]);
        let deadline = at(50 * (round + 1));
        assert!(world.purgatory.try_complete_else_watch_thresholds(operation, thresholds, deadline).is_ok());
        assert_eq!(world.purgatory.reach("a", 5), 0);
        assert_eq!(world.purgatory.watched(), 1);
        world.turn(50 * (round + 1));
        assert_eq!(world.left(), [(round, Cause::Expired)]);
        world.assert_empty();
    }
}
