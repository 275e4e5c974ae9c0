//! What must not go wrong when threads meet, one small scenario each, for whichever checker chooses the schedule.

#[cfg(loom)]
use loom::{sync::atomic, thread};
#[cfg(shuttle)]
use shuttle::{sync::atomic, thread};

use std::sync::Arc;

use atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use purgatory::{
    Cancellation, DelayedOperation, Driver, Exit, Options, SharedPurgatory, SimulatedClock, Submission,
    Timestamp,
};

#[derive(Clone)]
struct Operation(Arc<AtomicBool>);

impl DelayedOperation for Operation {
    fn is_ready(&mut self) -> bool {
        self.0.load(SeqCst)
    }
}

struct World {
    clock: SimulatedClock,
    driver: Driver,
    purgatory: SharedPurgatory<u32, Operation>,
    left: Arc<AtomicUsize>,
    flag: Arc<AtomicBool>,
}

fn world() -> World {
    let clock = SimulatedClock::new(Timestamp::ZERO);
    let driver = Driver::manual(clock.clone());
    let left = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&left);
    let options = Options { shards: 2, ..Options::default() };
    let purgatory = SharedPurgatory::with_executor(&driver, &options, move |_: Exit<Operation>| {
        counted.fetch_add(1, SeqCst);
    });
    World { clock, driver, purgatory, left, flag: Arc::new(AtomicBool::new(false)) }
}

/// A submission races with the event it waits for, on one of its two keys.
pub(crate) fn no_trigger_is_lost() {
    let world = world();
    let (purgatory, flag) = (world.purgatory.clone(), Arc::clone(&world.flag));
    let event = thread::spawn(move || {
        flag.store(true, SeqCst);
        purgatory.complete(&2);
    });
    let operation = Operation(Arc::clone(&world.flag));
    let submitted = world.purgatory.try_complete_else_watch(operation, [1, 2], Timestamp::MAX);
    event.join().unwrap();
    let at_once = usize::from(matches!(submitted, Ok(Submission::Completed(_))));
    assert_eq!(at_once + world.left.load(SeqCst), 1, "the event was before the end: it must have left");
    assert_eq!((world.purgatory.pending(), world.purgatory.watched()), (0, 0));
}

/// Two events, two triggers: the second comes while the first is being looked into.
pub(crate) fn no_trigger_is_lost_to_an_examination() {
    let world = world();
    let operation = Operation(Arc::clone(&world.flag));
    assert!(world.purgatory.try_complete_else_watch(operation, [1, 2], Timestamp::MAX).is_ok());
    let first = world.purgatory.clone();
    let first = thread::spawn(move || first.complete(&1));
    let (second, flag) = (world.purgatory.clone(), Arc::clone(&world.flag));
    let second = thread::spawn(move || {
        flag.store(true, SeqCst);
        second.complete(&2)
    });
    let completed = first.join().unwrap() + second.join().unwrap();
    assert_eq!((completed, world.left.load(SeqCst)), (1, 1));
    assert_eq!((world.purgatory.pending(), world.purgatory.watched()), (0, 0));
}

/// Satisfied twice, expired and cancelled, all at once: one of them wins.
pub(crate) fn it_leaves_once() {
    let world = world();
    let operation = Operation(Arc::clone(&world.flag));
    let deadline = Timestamp::from_ticks(10);
    let Ok(Submission::Watched(id)) = world.purgatory.try_complete_else_watch(operation, [1, 2], deadline)
    else {
        panic!("not ready yet");
    };
    world.flag.store(true, SeqCst);
    let trigger = |key: u32| {
        let purgatory = world.purgatory.clone();
        thread::spawn(move || purgatory.complete(&key))
    };
    let (first, second) = (trigger(1), trigger(2));
    let (clock, driver) = (world.clock.clone(), world.driver.clone());
    let expiry = thread::spawn(move || {
        clock.advance(10);
        driver.turn();
    });
    let cancelled = usize::from(matches!(world.purgatory.cancel(id), Cancellation::Taken(_)));
    let completed = first.join().unwrap() + second.join().unwrap();
    expiry.join().unwrap();
    assert_eq!(cancelled + world.left.load(SeqCst), 1);
    assert!(completed <= 1);
    assert_eq!((world.purgatory.pending(), world.purgatory.watched()), (0, 0));
}

/// The driver goes to sleep while earlier deadlines come in: it wakes for each (a lost wake-up is a deadlock here).
pub(crate) fn no_wake_up_is_lost() {
    let world = world();
    let driver = world.driver.clone();
    let running = thread::spawn(move || driver.run());
    // Under one key, so that both lower the bound of one shard.
    let submit = || {
        let (purgatory, flag) = (world.purgatory.clone(), Arc::clone(&world.flag));
        thread::spawn(move || {
            assert!(purgatory.try_complete_else_watch(Operation(flag), [1], Timestamp::MAX).is_ok());
            let due = purgatory.try_complete_else_watch(Operation(Arc::default()), [1], Timestamp::ZERO);
            assert!(due.is_ok());
        })
    };
    let (first, second) = (submit(), submit());
    first.join().unwrap();
    second.join().unwrap();
    while world.left.load(SeqCst) < 2 {
        thread::yield_now();
    }
    world.driver.stop();
    running.join().unwrap();
    assert_eq!(world.purgatory.pending(), 2);
}

/// A wait is dropped while it is triggered and while it expires.
pub(crate) fn a_dropped_wait_leaves_nothing_behind() {
    let world = world();
    let flag = Arc::clone(&world.flag);
    let wait = world.purgatory.wait([1, 2], Timestamp::from_ticks(10), move || flag.load(SeqCst)).unwrap();
    let (purgatory, flag) = (world.purgatory.clone(), Arc::clone(&world.flag));
    let event = thread::spawn(move || {
        flag.store(true, SeqCst);
        purgatory.complete(&2);
    });
    let (clock, driver) = (world.clock.clone(), world.driver.clone());
    let expiry = thread::spawn(move || {
        clock.advance(10);
        driver.turn();
    });
    drop(wait);
    event.join().unwrap();
    expiry.join().unwrap();
    assert_eq!((world.purgatory.pending(), world.purgatory.watched()), (0, 0));
}

/// Two operations of one shard are given earlier deadlines at once, and none afterwards: a turn at the first finds it.
pub(crate) fn no_earlier_deadline_is_lost() {
    let world = world();
    let park = || {
        let operation = Operation(Arc::new(AtomicBool::new(false)));
        match world.purgatory.try_complete_else_watch(operation, [1], Timestamp::MAX) {
            Ok(Submission::Watched(id)) => id,
            _ => panic!("not ready, and not too many"),
        }
    };
    let (first, second) = (park(), park());
    let purgatory = world.purgatory.clone();
    let later = thread::spawn(move || assert!(purgatory.extend(second, Timestamp::from_ticks(20))));
    assert!(world.purgatory.extend(first, Timestamp::from_ticks(10)));
    later.join().unwrap();
    world.clock.set(Timestamp::from_ticks(10));
    assert_eq!(world.driver.turn(), Some(Timestamp::from_ticks(20)));
    assert_eq!(world.left.load(SeqCst), 1);
}

/// Shutdown races with a submission: it is refused, or it leaves.
pub(crate) fn shutdown_forgets_nobody() {
    let world = world();
    let purgatory = world.purgatory.clone();
    let shutdown = thread::spawn(move || purgatory.shutdown());
    let operation = Operation(Arc::clone(&world.flag));
    let submitted = world.purgatory.try_complete_else_watch(operation, [1, 2], Timestamp::MAX);
    shutdown.join().unwrap();
    assert_eq!(usize::from(submitted.is_err()) + world.left.load(SeqCst), 1);
    assert_eq!((world.purgatory.pending(), world.purgatory.watched()), (0, 0));
}

/// A submission races with the value that it waits for, on one of its two keys.
#[cfg(shuttle)]
pub(crate) fn no_reached_threshold_is_lost() {
    let world = world();
    let (purgatory, flag) = (world.purgatory.clone(), Arc::clone(&world.flag));
    let event = thread::spawn(move || {
        purgatory.reach(&1, 5);
        flag.store(true, SeqCst);
        purgatory.reach(&2, 5);
    });
    let operation = Operation(Arc::clone(&world.flag));
    let thresholds = [(1, 5), (2, 5)];
    let submitted = world.purgatory.try_complete_else_watch_thresholds(operation, thresholds, Timestamp::MAX);
    event.join().unwrap();
    let at_once = usize::from(matches!(submitted, Ok(Submission::Completed(_))));
    assert_eq!(at_once + world.left.load(SeqCst), 1, "both were reached before the end: it must have left");
    assert_eq!((world.purgatory.pending(), world.purgatory.watched()), (0, 0));
}

/// Exits of one shard come from two threads, and are taken from the channel by two.
#[cfg(shuttle)]
pub(crate) fn every_exit_is_handed_over() {
    let driver = Driver::manual(SimulatedClock::new(Timestamp::ZERO));
    let options = Options { shards: 1, max_pending: 4, ..Options::default() };
    let (purgatory, exits) = SharedPurgatory::with_channel(&driver, &options);
    let flag = Arc::new(AtomicBool::new(false));
    for key in [1, 1, 2, 2] {
        let operation = Operation(Arc::clone(&flag));
        assert!(purgatory.try_complete_else_watch(operation, [key], Timestamp::MAX).is_ok());
    }
    flag.store(true, SeqCst);
    let taken = Arc::new(AtomicUsize::new(0));
    let takers = [exits.clone(), exits].map(|mut exits| {
        let taken = Arc::clone(&taken);
        thread::spawn(move || {
            while taken.load(SeqCst) < 4 {
                match exits.try_next() {
                    Some(_) => _ = taken.fetch_add(1, SeqCst),
                    None => thread::yield_now(),
                }
            }
        })
    });
    let other = purgatory.clone();
    let completing = thread::spawn(move || other.complete(&1));
    assert_eq!(purgatory.complete(&2) + completing.join().unwrap(), 4);
    for taker in takers {
        taker.join().unwrap();
    }
    // All places are free again.
    for key in 0..4 {
        let operation = Operation(Arc::default());
        assert!(purgatory.try_complete_else_watch(operation, [key], Timestamp::MAX).is_ok());
    }
}
