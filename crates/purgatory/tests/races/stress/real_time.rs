//! The real clock and a driver with a thread: whatever collides, each operation leaves once, and never early.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use purgatory::{
    Cancellation, Clock, DelayedOperation, Driver, Options, SharedPurgatory, Submission, SystemClock,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SUBMITTERS: u64 = 3;
const KEYS: u64 = 17;
const EACH: u64 = if cfg!(debug_assertions) { 20_000 } else { 300_000 };

/// Ready once the event count of one of its keys has passed what it was when the operation was made.
#[cfg_attr(faults, derive(Clone))]
struct Operation {
    name: u64,
    keys: [u64; 3],
    seen: [u64; 3],
    events: Arc<[AtomicU64]>,
}

impl DelayedOperation for Operation {
    fn is_ready(&mut self) -> bool {
        self.keys.iter().zip(self.seen).any(|(&key, seen)| self.events[index(key)].load(SeqCst) > seen)
    }
}

struct Run {
    purgatory: SharedPurgatory<u64, Operation>,
    events: Arc<[AtomicU64]>,
    /// How often each operation has left.
    left: Arc<[AtomicU8]>,
    clock: SystemClock,
}

impl Run {
    fn submit(&self, submitter: u64) {
        let mut random = ChaCha8Rng::seed_from_u64(submitter);
        for count in 0..EACH {
            let name = submitter * EACH + count;
            let keys: [u64; 3] = std::array::from_fn(|_| random.random_range(0..KEYS));
            let seen = keys.map(|key| self.events[index(key)].load(SeqCst));
            let operation = Operation { name, keys, seen, events: Arc::clone(&self.events) };
            let deadline = self.clock.deadline_after(Duration::from_micros(random.random_range(0..20_000)));
            match self.purgatory.try_complete_else_watch(operation, keys, deadline) {
                Ok(Submission::Completed(operation)) => self.count(operation.name),
                Ok(Submission::Watched(id)) if random.random_range(0..4) == 0 => {
                    if let Cancellation::Taken(operation) = self.purgatory.cancel(id) {
                        self.count(operation.name);
                    }
                }
                Ok(Submission::Watched(id)) if random.random_range(0..8) == 0 => {
                    self.purgatory.extend(id, self.clock.deadline_after(Duration::from_millis(1)));
                }
                Ok(Submission::Watched(_)) => {}
                Err(refused) => panic!("{refused}"),
            }
            if random.random_range(0..2) == 0 {
                let key = random.random_range(0..KEYS);
                self.events[index(key)].fetch_add(1, SeqCst);
                self.purgatory.complete(&key);
            }
        }
    }

    fn count(&self, name: u64) {
        self.left[index(name)].fetch_add(1, SeqCst);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "real threads are the point here")]
fn every_operation_leaves_exactly_once() {
    let clock = SystemClock::new();
    let driver = Driver::spawn(clock);
    let (purgatory, exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    let run = Arc::new(Run {
        purgatory,
        events: (0..KEYS).map(|_| AtomicU64::new(0)).collect(),
        left: (0..SUBMITTERS * EACH).map(|_| AtomicU8::new(0)).collect(),
        clock,
    });
    let left = Arc::clone(&run.left);
    let collector = thread::spawn(move || {
        for exit in exits {
            assert!(exit.expired_at.is_none_or(|deadline| deadline <= clock.now()), "early");
            left[index(exit.operation.name)].fetch_add(1, SeqCst);
        }
    });
    let submitters: Vec<_> = (0..SUBMITTERS)
        .map(|submitter| {
            let run = Arc::clone(&run);
            thread::spawn(move || run.submit(submitter))
        })
        .collect();
    for submitter in submitters {
        submitter.join().unwrap();
    }
    run.purgatory.shutdown();
    // The driver may be on its way out with the last ones that expired.
    while run.purgatory.pending() > 0 {
        thread::yield_now();
    }
    let stats = run.purgatory.stats();
    assert_eq!(
        stats.submitted,
        stats.satisfied + stats.expired + stats.cancelled + stats.shut_down + stats.panicked
    );
    assert_eq!(stats.submitted, SUBMITTERS * EACH);
    assert_eq!((run.purgatory.pending(), run.purgatory.watched()), (0, 0));
    let left = Arc::clone(&run.left);
    // The channel closes with the last handle, and the collector ends with the channel.
    drop(run);
    collector.join().unwrap();
    assert_eq!(left.iter().filter(|left| left.load(SeqCst) != 1).count(), 0);
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("a small number")
}
