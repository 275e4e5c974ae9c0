//! What the docs of the shared purgatory promise beyond its ways in and out: panics, stale ids, bounds, ends of time.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use purgatory::{
    Cancellation, Cause, Clock, DelayedOperation, Driver, Exit, Exits, Options, SharedId, SharedPurgatory,
    SimulatedClock, Submission, SystemClock, Timestamp,
};

/// Never ready. Counts its drops, and may not survive them.
struct Operation {
    name: u32,
    dropped: Arc<AtomicUsize>,
    panics_when_dropped: bool,
}

impl DelayedOperation for Operation {
    fn is_ready(&mut self) -> bool {
        false
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, SeqCst);
        assert!(!self.panics_when_dropped, "this drop fails");
    }
}

type Subject = SharedPurgatory<u32, Operation>;

fn named(name: u32) -> Operation {
    Operation { name, dropped: Arc::default(), panics_when_dropped: false }
}

fn at(ticks: u64) -> Timestamp {
    Timestamp::from_ticks(ticks)
}

fn world(options: &Options) -> (SimulatedClock, Driver, Subject, Exits<Operation>) {
    let clock = SimulatedClock::new(Timestamp::ZERO);
    let driver = Driver::manual(clock.clone());
    let (purgatory, exits) = SharedPurgatory::with_channel(&driver, options);
    (clock, driver, purgatory, exits)
}

fn park(purgatory: &Subject, operation: Operation, keys: &[u32], deadline: Timestamp) -> SharedId {
    match purgatory.try_complete_else_watch(operation, keys.iter().copied(), deadline) {
        Ok(Submission::Watched(id)) => id,
        Ok(Submission::Completed(_)) => panic!("ready too early"),
        Err(refused) => panic!("{refused}"),
    }
}

struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        panic!("this executor fails");
    }
}

#[test]
fn a_waker_that_panics_touches_nobody_who_leaves_at_the_same_time() {
    let (clock, driver, purgatory, mut exits) = world(&Options { shards: 1, ..Options::default() });
    for deadline in [100, 200] {
        park(&purgatory, named(1), &[7], at(deadline));
        let mut wait = Box::pin(purgatory.wait([7], at(deadline), || false).unwrap());
        let waker = Waker::from(Arc::new(PanickingWaker));
        assert_eq!(wait.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending);
        park(&purgatory, named(2), &[7], at(deadline));
        if deadline == 100 {
            clock.set(at(100));
            driver.turn();
        } else {
            assert_eq!(purgatory.complete_all(&7, Cause::Cancelled), 3);
        }
        let left: Vec<_> = std::iter::from_fn(|| exits.try_next()).map(|exit| exit.operation.name).collect();
        assert_eq!(left, [1, 2]);
        let cause = if deadline == 100 { Cause::Expired } else { Cause::Cancelled };
        assert_eq!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(cause));
        assert_eq!((purgatory.pending(), purgatory.watched()), (0, 0));
    }
}

#[test]
fn operations_that_nobody_takes_and_that_panic_when_dropped_stop_neither_the_driver_nor_the_bound() {
    let (clock, driver, purgatory, exits) =
        world(&Options { shards: 1, max_pending: 4, ..Options::default() });
    drop(exits);
    let dropped = Arc::new(AtomicUsize::new(0));
    for round in 1..=10 {
        for name in 0..4 {
            let operation = Operation { name, panics_when_dropped: name == 0, dropped: dropped.clone() };
            park(&purgatory, operation, &[name], at(round * 10 + u64::from(name)));
        }
        clock.set(at(round * 10 + 5));
        assert_eq!(driver.turn(), None);
    }
    assert_eq!(dropped.load(SeqCst), 40);
    assert_eq!((purgatory.pending(), purgatory.watched()), (0, 0));
}

#[test]
fn an_executor_that_panics_still_gets_the_others() {
    let driver = Driver::manual(SimulatedClock::new(Timestamp::ZERO));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let purgatory =
        SharedPurgatory::with_executor(&driver, &Options::default(), move |exit: Exit<Operation>| {
            log.lock().unwrap().push(exit.operation.name);
            assert_ne!(exit.operation.name, 1, "this one is not survived");
        });
    for name in 0..3 {
        park(&purgatory, named(name), &[7], Timestamp::MAX);
    }
    assert_eq!(purgatory.complete_all(&7, Cause::Cancelled), 3);
    assert_eq!(*seen.lock().unwrap(), [0, 1, 2]);
}

/// Inside a completion: its own like is submitted anew, one sibling is cancelled, another that left with it cannot be.
#[test]
fn a_completion_may_submit_anew_and_cancel_siblings() {
    let clock = SimulatedClock::new(Timestamp::ZERO);
    let driver = Driver::manual(clock.clone());
    let slot: Arc<OnceLock<(Subject, [SharedId; 3])>> = Arc::default();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (inside, log) = (Arc::downgrade(&slot), Arc::clone(&seen));
    let purgatory =
        SharedPurgatory::with_executor(&driver, &Options::default(), move |exit: Exit<Operation>| {
            log.lock().unwrap().push((exit.operation.name, exit.cause));
            let world = inside.upgrade().expect("the test holds it");
            let (purgatory, [_, same_batch, later]) = world.get().expect("set before anything leaves");
            if exit.operation.name == 0 {
                park(purgatory, named(10), &[7], at(300));
                assert!(matches!(purgatory.cancel(exit.id), Cancellation::Gone), "it is in our hands");
                assert!(
                    matches!(purgatory.cancel(*same_batch), Cancellation::Gone),
                    "it has left, and says so"
                );
                assert!(matches!(purgatory.cancel(*later), Cancellation::Taken(_)));
            }
        });
    let ids = [(0, 100), (1, 100), (2, 200)].map(|(name, due)| park(&purgatory, named(name), &[7], at(due)));
    slot.set((purgatory.clone(), ids)).expect("set once");
    for now in [100, 200, 300] {
        clock.set(at(now));
        driver.turn();
    }
    let expected = [0, 1, 10].map(|name| (name, Cause::Expired));
    assert_eq!(*seen.lock().unwrap(), expected);
    assert_eq!((purgatory.pending(), purgatory.watched()), (0, 0));
}

#[test]
fn a_stale_id_does_nothing_even_when_its_place_is_taken_again() {
    let (_, _, purgatory, mut exits) = world(&Options { shards: 1, ..Options::default() });
    let old = park(&purgatory, named(1), &[7], at(100));
    assert!(purgatory.force_complete(old));
    let new = park(&purgatory, named(2), &[7], at(100));
    assert_ne!(old, new);
    assert!(!purgatory.extend(old, at(1)));
    assert!(!purgatory.force_complete(old));
    assert_eq!(purgatory.force_complete_all([old, old]), 0);
    assert!(matches!(purgatory.cancel(old), Cancellation::Gone));
    assert_eq!((purgatory.pending(), purgatory.next_deadline()), (1, Some(at(100))));
    assert_eq!(exits.try_next().map(|exit| exit.operation.name), Some(1));
    assert!(matches!(purgatory.cancel(new), Cancellation::Taken(_)));
}

#[test]
fn a_purgatory_that_is_dropped_drops_what_waits_once_and_gives_its_seats_back() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let (clock, driver, first, _) = world(&Options::default());
    for round in 0..100 {
        let (purgatory, exits) = SharedPurgatory::with_channel(&driver, &Options::default());
        for name in 0..10 {
            let operation = Operation { name, dropped: Arc::clone(&dropped), panics_when_dropped: false };
            park(&purgatory, operation, &[name, name + 1], at(50));
        }
        // A clone keeps it alive; the last handle does not.
        drop(purgatory.clone());
        assert_eq!(dropped.load(SeqCst), round * 10);
        drop(purgatory);
        assert_eq!(dropped.load(SeqCst), (round + 1) * 10);
        drop(exits);
    }
    // Nobody is left who would be woken for them.
    assert_eq!(first.next_deadline(), None);
    clock.set(at(49));
    assert_eq!(driver.turn(), None);
}

#[test]
fn a_wait_outlives_the_handles_of_its_purgatory() {
    let (clock, driver, purgatory, exits) = world(&Options::default());
    let mut wait = pin!(purgatory.wait([7], at(100), || false).unwrap());
    drop((purgatory, exits));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(wait.as_mut().poll(&mut context), Poll::Pending);
    clock.set(at(100));
    driver.turn();
    assert_eq!(wait.as_mut().poll(&mut context), Poll::Ready(Cause::Expired));
}

#[test]
fn time_may_jump_go_back_and_end() {
    let (clock, driver, purgatory, mut exits) = world(&Options::default());
    let mut left = || -> Vec<_> {
        std::iter::from_fn(|| exits.try_next()).map(|exit| (exit.operation.name, exit.expired_at)).collect()
    };
    park(&purgatory, named(1), &[7], at(1 << 36));
    park(&purgatory, named(2), &[7], at(u64::MAX - 1));
    park(&purgatory, named(3), &[7], Timestamp::MAX);
    clock.set(at((1 << 36) - 1));
    assert_eq!(driver.turn(), Some(at(1 << 36)));
    clock.set(at(5));
    driver.turn();
    assert_eq!(left(), []);
    clock.set(at(1 << 40));
    driver.turn();
    assert_eq!(left(), [(1, Some(at(1 << 36)))]);
    // A deadline that has passed already is due at the next turn, and holds nothing back.
    park(&purgatory, named(4), &[7], at(3));
    assert!(driver.turn().is_some());
    assert_eq!(left(), [(4, Some(at(3)))]);
    clock.set(Timestamp::MAX);
    assert_eq!(driver.turn(), None);
    assert_eq!(left(), [(2, Some(at(u64::MAX - 1)))]);
    assert_eq!(purgatory.pending(), 1);
}

#[test]
fn as_many_wait_as_may_whoever_submits() {
    const BOUND: usize = 100;
    let (_, _, purgatory, mut exits) = world(&Options { max_pending: BOUND, ..Options::default() });
    for round in 0..50 {
        // Three threads want twice as many places as there are.
        let taken = std::thread::scope(|scope| {
            let submitters: Vec<_> = (0..3)
                .map(|key| {
                    let purgatory = &purgatory;
                    scope.spawn(move || submit_many(purgatory, key + 1))
                })
                .collect();
            submitters.into_iter().map(|submitter| submitter.join().unwrap()).sum::<usize>()
        });
        assert_eq!((taken, purgatory.pending()), (BOUND, BOUND), "round {round}");
        assert_eq!((1..4).map(|key| purgatory.complete_all(&key, Cause::Cancelled)).sum::<usize>(), BOUND);
        // What has left keeps its place until it is taken.
        assert_eq!(submit_many(&purgatory, 1), 0);
        assert_eq!(std::iter::from_fn(|| exits.try_next()).count(), BOUND);
    }
}

/// How many of 70 operations found a place.
fn submit_many(purgatory: &Subject, key: u32) -> usize {
    let parked = (0..70).map(|name| purgatory.try_complete_else_watch(named(name), [key], Timestamp::MAX));
    parked.flatten().count()
}

#[test]
fn thousands_share_a_thread_and_leave_none_behind() {
    const MANY: u32 = 2_000;
    let clock = SystemClock::new();
    let driver = Driver::spawn(clock);
    let (sender, expired) = std::sync::mpsc::channel();
    let options = Options { shards: 1, ..Options::default() };
    let many: Vec<Subject> = (0..MANY)
        .map(|_| {
            let sender = sender.clone();
            SharedPurgatory::with_executor(&driver, &options, move |exit: Exit<Operation>| {
                assert!(exit.expired_at.is_some_and(|deadline| deadline <= clock.now()));
                sender.send(exit.operation.name).expect("the test listens");
            })
        })
        .collect();
    for (purgatory, name) in many.iter().zip(0..) {
        park(purgatory, named(name), &[7], clock.deadline_after(Duration::from_micros(u64::from(name))));
    }
    let mut names: Vec<_> = (0..MANY)
        .map(|_| expired.recv_timeout(Duration::from_mins(1)).expect("no wake-up is lost"))
        .collect();
    names.sort_unstable();
    assert!(names.iter().copied().eq(0..MANY));
    drop(driver);
    assert!(!cfg!(target_os = "linux") || drivers() == 1);
    // The last handle inside a purgatory ends the thread. It is waited for, unless it is the thread itself that lets
    // go last, of the purgatory it has just dealt with; and the system lists a thread a moment longer than it runs.
    drop(many);
    assert!((0..1_000_000).any(|_| {
        std::thread::yield_now();
        drivers() == 0
    }));
}

/// Threads of this process that drive.
fn drivers() -> usize {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return 0 };
    let names =
        threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
    names.filter(|name| name.starts_with("purgatory-driv")).count()
}
