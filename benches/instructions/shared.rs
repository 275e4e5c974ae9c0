//! The purgatory for many threads, as one thread sees it: locks that nobody else wants, a channel nobody waits at.

use std::hint::black_box;

use benches::measure::Numbers;
use gungraun::prelude::*;
use purgatory::{
    DelayedOperation, Driver, Exits, Options, SharedId, SharedPurgatory, SimulatedClock, Submission,
    Timestamp,
};

use crate::limits::{CALLS, limited};

const PENDING: u64 = 10_000;
const KEYS: u64 = 1_000;
const DEADLINE: Timestamp = Timestamp::from_ticks(30_000);

/// Ready from its third examination on: after the two of its submission.
struct Operation(u32);

impl DelayedOperation for Operation {
    fn is_ready(&mut self) -> bool {
        self.0 += 1;
        self.0 > 2
    }
}

struct Work {
    clock: SimulatedClock,
    driver: Driver,
    purgatory: SharedPurgatory<u64, Operation>,
    exits: Exits<Operation>,
    keys: Vec<[u64; 2]>,
    ids: Vec<SharedId>,
}

/// Ten thousand operations under two of a thousand keys each.
fn work() -> Work {
    let mut numbers = Numbers::new(7);
    let clock = SimulatedClock::new(Timestamp::ZERO);
    let driver = Driver::manual(clock.clone());
    let (purgatory, exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    let mut keys = || [numbers.below(KEYS), numbers.below(KEYS)];
    let mut ids = Vec::new();
    for operation in 0..PENDING {
        match purgatory.try_complete_else_watch(Operation(0), keys(), DEADLINE) {
            Ok(Submission::Watched(id)) if operation % 10 == 0 => ids.push(id),
            _ => {}
        }
    }
    Work { clock, driver, purgatory, exits, keys: (0..CALLS).map(|_| keys()).collect(), ids }
}

#[library_benchmark(config = limited("shared_watch"))]
#[bench::two_shared_keys(work())]
fn shared_watch(work: Work) -> Work {
    for &keys in &work.keys {
        black_box(work.purgatory.try_complete_else_watch(Operation(0), keys, DEADLINE).is_ok());
    }
    work
}

// All under a key are ready, ten at first and fewer later, and come out of the channel.
#[library_benchmark(config = limited("shared_complete"))]
#[bench::two_shared_keys(work())]
fn shared_complete(mut work: Work) -> Work {
    for [key, _] in &work.keys {
        black_box(work.purgatory.complete(key));
        while let Some(exit) = work.exits.try_next() {
            black_box(exit);
        }
    }
    work
}

#[library_benchmark(config = limited("shared_trigger_without_watcher"))]
#[bench::two_shared_keys(work())]
fn shared_trigger_without_watcher(work: Work) -> Work {
    for [key, _] in &work.keys {
        black_box(work.purgatory.complete(&(key + KEYS)));
    }
    work
}

#[library_benchmark(config = limited("shared_extend"))]
#[bench::two_shared_keys(work())]
fn shared_extend(work: Work) -> Work {
    for &id in &work.ids {
        black_box(work.purgatory.extend(id, DEADLINE.saturating_add(1_000)));
    }
    work
}

#[library_benchmark(config = limited("shared_cancel"))]
#[bench::two_shared_keys(work())]
fn shared_cancel(work: Work) -> Work {
    for &id in &work.ids {
        let _ = black_box(work.purgatory.cancel(id));
    }
    work
}

// The driver lets all ten thousand go, and they are taken from the channel.
#[library_benchmark(config = limited("shared_expire_ten_thousand"))]
#[bench::two_shared_keys(work())]
fn shared_expire_ten_thousand(mut work: Work) -> Work {
    work.clock.set(DEADLINE);
    black_box(work.driver.turn());
    while let Some(exit) = work.exits.try_next() {
        black_box(exit);
    }
    work
}

/// Never ready.
struct Waits;

impl DelayedOperation for Waits {
    fn is_ready(&mut self) -> bool {
        black_box(false)
    }
}

fn unready() -> SharedPurgatory<u64, Waits> {
    let driver = Driver::manual(SimulatedClock::new(Timestamp::ZERO));
    let (purgatory, _) = SharedPurgatory::with_channel(&driver, &Options::default());
    for _ in 0..1_000 {
        black_box(purgatory.try_complete_else_watch(Waits, [1], DEADLINE).is_ok());
    }
    // What a trigger needs has grown.
    black_box(purgatory.complete(&1));
    purgatory
}

// One trigger over a thousand that are not ready.
#[library_benchmark(config = limited("shared_trigger_over_a_thousand"))]
#[bench::unready(unready())]
fn shared_trigger_over_a_thousand(purgatory: SharedPurgatory<u64, Waits>) -> SharedPurgatory<u64, Waits> {
    black_box(purgatory.complete(&1));
    purgatory
}

library_benchmark_group!(
    name = shared_calls,
    benchmarks = [
        shared_watch,
        shared_complete,
        shared_trigger_without_watcher,
        shared_trigger_over_a_thousand,
        shared_extend,
        shared_cancel,
        shared_expire_ten_thousand,
    ]
);
