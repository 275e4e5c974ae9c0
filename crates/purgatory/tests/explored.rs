//! The shared purgatory under schedules that a model checker chooses, random and PCT.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test -p purgatory --test explored`. The last tests plant a fault in the library and
//! demand that the others fail.
#![cfg(shuttle)]

use std::sync::Arc;

use purgatory::{
    Cancellation, DelayedOperation, Driver, Exit, Fault, Options, SharedPurgatory, SimulatedClock,
    Submission, Timestamp, plant,
};
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use shuttle::thread;

const RANDOM: usize = 2_000;
const PCT: usize = 2_000;

fn explore(test: fn()) {
    shuttle::check_random(test, RANDOM);
    shuttle::check_pct(test, PCT, 3);
}

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
fn no_trigger_is_lost() {
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
fn no_trigger_is_lost_to_an_examination() {
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
fn it_leaves_once() {
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
fn no_wake_up_is_lost() {
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
fn a_dropped_wait_leaves_nothing_behind() {
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

/// Shutdown races with a submission: it is refused, or it leaves.
fn shutdown_forgets_nobody() {
    let world = world();
    let purgatory = world.purgatory.clone();
    let shutdown = thread::spawn(move || purgatory.shutdown());
    let operation = Operation(Arc::clone(&world.flag));
    let submitted = world.purgatory.try_complete_else_watch(operation, [1, 2], Timestamp::MAX);
    shutdown.join().unwrap();
    assert_eq!(usize::from(submitted.is_err()) + world.left.load(SeqCst), 1);
    assert_eq!((world.purgatory.pending(), world.purgatory.watched()), (0, 0));
}

#[test]
fn triggers() {
    explore(no_trigger_is_lost);
    explore(no_trigger_is_lost_to_an_examination);
}

#[test]
fn exits() {
    explore(it_leaves_once);
}

#[test]
fn wake_ups() {
    explore(no_wake_up_is_lost);
}

#[test]
fn waits() {
    explore(a_dropped_wait_leaves_nothing_behind);
}

#[test]
fn shutdowns() {
    explore(shutdown_forgets_nobody);
}

/// Whether some explored schedule of the scenario fails with the fault in the library.
fn caught(fault: Fault, scenario: fn()) -> bool {
    plant(fault);
    std::panic::catch_unwind(|| explore(scenario)).is_err()
}

#[test]
fn a_planted_double_completion_is_caught() {
    assert!(caught(Fault::DoubleCompletion, it_leaves_once));
}

#[test]
fn a_planted_lost_trigger_is_caught() {
    assert!(caught(Fault::LostTrigger, no_trigger_is_lost));
    assert!(caught(Fault::LostTrigger, no_trigger_is_lost_to_an_examination));
}

#[test]
fn a_planted_lost_wake_up_is_caught() {
    assert!(caught(Fault::LostWakeUp, no_wake_up_is_lost));
}
