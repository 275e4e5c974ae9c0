//! Short meetings of a few threads, after each of which every operation is accounted for.
//!
//! Time is simulated and nobody waits for it: what a meeting forgot is seen when it is over. So a fault is found as soon as
//! it did harm, and a search for one ends by itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use purgatory::{
    Cancellation, Cause, Clock, DelayedOperation, Driver, Exits, Options, SharedPurgatory, SimulatedClock,
    Submission, Timestamp,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const THREADS: u64 = 3;
const KEYS: u64 = 3;
/// Operations that a thread submits in one meeting, at most.
const EACH: u64 = 12;

/// Ready once one of its keys has seen an event since the operation was made.
#[derive(Clone)]
struct Operation {
    /// Its place among those of the meeting.
    name: usize,
    keys: [u64; 2],
    seen: [u64; 2],
    deadline: Timestamp,
    events: Arc<[AtomicU64]>,
}

impl Operation {
    fn is_satisfied(&self) -> bool {
        self.keys.iter().zip(self.seen).any(|(&key, seen)| self.events[index(key)].load(SeqCst) > seen)
    }
}

impl DelayedOperation for Operation {
    /// A check that takes its time, so that others come meanwhile.
    fn is_ready(&mut self) -> bool {
        let satisfied = self.is_satisfied();
        thread::yield_now();
        satisfied
    }
}

struct Room {
    seed: u64,
    clock: SimulatedClock,
    driver: Driver,
    purgatory: SharedPurgatory<u64, Operation>,
    events: Arc<[AtomicU64]>,
    /// Those that came back to a thread, by name.
    returned: Mutex<Vec<Operation>>,
    /// A thread that panicked has found a fault.
    panicked: AtomicBool,
    start: Barrier,
    end: Barrier,
    over: AtomicBool,
}

impl Room {
    /// What one thread does in one meeting.
    fn take_part(&self, thread: u64, meeting: u64) {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed << 48 ^ meeting << 8 ^ thread);
        let mut ids = Vec::new();
        // Every other meeting is about deadlines alone: nothing moves that could make up for a lost one.
        let deadlines_only = meeting % 2 == 1;
        let submissions = if deadlines_only { 2 } else { random.random_range(1..=EACH) };
        for count in 0..submissions {
            let mut operation = self.operation(&mut random, index(thread * EACH + count));
            if deadlines_only {
                let soon = random.random_range(1..1_000) >> (8 * count);
                operation.deadline = self.clock.now().saturating_add(soon);
            }
            let (keys, deadline) = (operation.keys, operation.deadline);
            match self.purgatory.try_complete_else_watch(operation, keys, deadline) {
                Ok(Submission::Completed(operation)) => self.give_back(operation),
                Ok(Submission::Watched(id)) => ids.push(id),
                Err(refused) => panic!("{refused}"),
            }
            if deadlines_only {
                continue;
            }
            match random.random_range(0..8) {
                0..3 => {
                    let key = random.random_range(0..KEYS);
                    self.events[index(key)].fetch_add(1, SeqCst);
                    self.purgatory.complete(&key);
                }
                3 => {
                    if let Some(id) = ids.pop()
                        && let Cancellation::Taken(operation) = self.purgatory.cancel(id)
                    {
                        self.give_back(operation);
                    }
                }
                4..6 => {
                    self.clock.advance(random.random_range(0..3));
                    self.driver.turn();
                }
                _ => {}
            }
        }
    }

    fn operation(&self, random: &mut ChaCha8Rng, name: usize) -> Operation {
        let keys = [0, 1].map(|_| random.random_range(0..KEYS));
        let seen = keys.map(|key| self.events[index(key)].load(SeqCst));
        let deadline = match random.random_range(0..4) {
            0 => Timestamp::MAX,
            _ => self.clock.now().saturating_add(random.random_range(0..10)),
        };
        Operation { name, keys, seen, deadline, events: Arc::clone(&self.events) }
    }

    fn give_back(&self, operation: Operation) {
        self.returned.lock().expect("no thread panics with it").push(operation);
    }

    /// Everybody has gone: who is still here, and should not be?
    fn account(&self, exits: &mut Exits<Operation>) -> Result<(), String> {
        self.clock.advance(10);
        self.driver.turn();
        let now = self.clock.now();
        let mut left: Vec<_> = self.returned.lock().expect("no thread panics with it").drain(..).collect();
        left.extend(std::iter::from_fn(|| exits.try_next()).map(|exit| exit.operation));
        let waiting = self.purgatory.pending();
        for key in 0..KEYS {
            self.purgatory.complete_all(&key, Cause::Cancelled);
        }
        let stayed: Vec<_> = std::iter::from_fn(|| exits.try_next()).map(|exit| exit.operation).collect();
        if stayed.iter().any(Operation::is_satisfied) {
            return Err("an operation that was ready stayed: its trigger was lost".to_owned());
        }
        if stayed.iter().any(|operation| operation.deadline <= now) {
            return Err("an operation that was due stayed: the wake-up for it was lost".to_owned());
        }
        // The next meeting begins with no deadline in sight.
        self.clock.advance(1_000);
        self.driver.turn();
        let (pending, watched) = (self.purgatory.pending(), self.purgatory.watched());
        if (stayed.len(), pending, watched) != (waiting, 0, 0) {
            return Err(format!(
                "{} of {waiting} stayed, {pending} still do, {watched} watches",
                stayed.len()
            ));
        }
        let mut names: Vec<_> = left.iter().chain(&stayed).map(|operation| operation.name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("operation {} left twice", pair[0])),
            None => Ok(()),
        }
    }
}

/// Holds so many meetings, or as many as it takes to find a fault. Says in which one it was found.
#[expect(clippy::disallowed_methods, reason = "real threads are the point here")]
fn hold(seed: u64, meetings: u64) -> Result<(), String> {
    let clock = SimulatedClock::new(Timestamp::ZERO);
    let driver = Driver::manual(clock.clone());
    let options = Options { shards: 2, ..Options::default() };
    let (purgatory, mut exits) = SharedPurgatory::with_channel(&driver, &options);
    let together = index(THREADS) + 1;
    let room = Arc::new(Room {
        seed,
        clock,
        driver,
        purgatory,
        events: (0..KEYS).map(|_| AtomicU64::new(0)).collect(),
        returned: Mutex::default(),
        panicked: AtomicBool::new(false),
        start: Barrier::new(together),
        end: Barrier::new(together),
        over: AtomicBool::new(false),
    });
    let guests: Vec<_> = (0..THREADS)
        .map(|thread| {
            let room = Arc::clone(&room);
            thread::spawn(move || attend(&room, thread))
        })
        .collect();
    let mut found = Ok(());
    for meeting in 0..meetings {
        room.start.wait();
        room.end.wait();
        let account = catch_unwind(AssertUnwindSafe(|| room.account(&mut exits)));
        let account = account.unwrap_or_else(|_| Err("accounting panicked".to_owned()));
        found = if room.panicked.load(SeqCst) { Err("a thread panicked".to_owned()) } else { account };
        if let Err(fault) = &mut found {
            *fault = format!("seed {seed}, meeting {meeting}: {fault}");
            break;
        }
    }
    room.over.store(true, SeqCst);
    room.start.wait();
    for guest in guests {
        guest.join().expect("a guest's panics are caught");
    }
    found
}

fn attend(room: &Room, thread: u64) {
    for meeting in 0.. {
        room.start.wait();
        if room.over.load(SeqCst) {
            return;
        }
        if catch_unwind(AssertUnwindSafe(|| room.take_part(thread, meeting))).is_err() {
            room.panicked.store(true, SeqCst);
        }
        room.end.wait();
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("a small number")
}

/// A planted fault is one of the whole process.
#[cfg(faults)]
static PLANTING: Mutex<()> = Mutex::new(());

#[test]
fn every_operation_is_accounted_for() {
    #[cfg(faults)]
    let _nobody_plants = PLANTING.lock().unwrap();
    const MEETINGS: u64 = if cfg!(debug_assertions) { 2_000 } else { 20_000 };
    for seed in 0..3 {
        hold(seed, MEETINGS).unwrap_or_else(|fault| panic!("{fault}"));
    }
}

/// Searches until the fault has done harm. That takes some thousands of meetings at most; the bound
/// is there to end the test.
#[cfg(faults)]
#[track_caller]
fn assert_caught(fault: purgatory::Fault) {
    const MEETINGS: u64 = 5_000_000;
    let _planting = PLANTING.lock().unwrap();
    purgatory::plant(Some(fault));
    let found = hold(0, MEETINGS);
    purgatory::plant(None);
    println!("{fault:?}: {found:?}");
    assert!(found.is_err(), "{fault:?} was not found in {MEETINGS} meetings");
}

#[cfg(faults)]
mod planted {
    use purgatory::Fault;

    use super::assert_caught;

    #[test]
    fn a_double_completion_is_caught() {
        assert_caught(Fault::DoubleCompletion);
    }

    #[test]
    fn a_lost_trigger_is_caught() {
        assert_caught(Fault::LostTrigger);
    }

    #[test]
    fn a_lost_wake_up_is_caught() {
        assert_caught(Fault::LostWakeUp);
    }
}
