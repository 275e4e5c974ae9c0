//! The purgatory with one owner: watching, triggers that complete and triggers that find nothing.

use std::hint::black_box;

use benches::measure::Numbers;
use gungraun::prelude::*;
use purgatory::{OperationId, Purgatory, Timestamp};

use crate::limits::{CALLS, limited};

const PENDING: u64 = 10_000;
const KEYS: u64 = 1_000;
const DEADLINE: Timestamp = Timestamp::from_ticks(30_000);

/// A purgatory at work, the keys that the benchmark will use, and some of those that wait.
struct Work {
    purgatory: Purgatory<u64, u64>,
    keys: Vec<[u64; 2]>,
    ids: Vec<OperationId>,
}

/// Ten thousand operations under two of a thousand keys each.
fn work() -> Work {
    let mut numbers = Numbers::new(7);
    let mut purgatory = Purgatory::new(Timestamp::ZERO);
    let mut keys = || [numbers.below(KEYS), numbers.below(KEYS)];
    let ids: Vec<_> = (0..PENDING).map(|operation| purgatory.watch(operation, keys(), DEADLINE)).collect();
    let ids = ids.into_iter().step_by(10).collect();
    Work { purgatory, keys: (0..CALLS).map(|_| keys()).collect(), ids }
}

#[library_benchmark(config = limited("purgatory_watch"))]
#[bench::two_shared_keys(work())]
fn purgatory_watch(mut work: Work) -> Work {
    for &keys in &work.keys {
        black_box(work.purgatory.watch(0, keys, DEADLINE));
    }
    work
}

// The first under a key is ready, and leaves its other key too.
#[library_benchmark(config = limited("purgatory_complete"))]
#[bench::two_shared_keys(work())]
fn purgatory_complete(mut work: Work) -> Work {
    for [key, _] in &work.keys {
        black_box(work.purgatory.complete_next(key, |_| true));
    }
    work
}

#[library_benchmark(config = limited("purgatory_trigger_without_watcher"))]
#[bench::two_shared_keys(work())]
fn purgatory_trigger_without_watcher(mut work: Work) -> Work {
    for [key, _] in &work.keys {
        black_box(work.purgatory.complete_next(&(key + KEYS), |_| true));
    }
    work
}

// A thousand watch the key, none of them is ready: a pass over them all.
#[library_benchmark(config = limited("purgatory_sweep_of_a_thousand"))]
#[bench::none_is_ready(sharing_a_key())]
fn purgatory_sweep_of_a_thousand(mut purgatory: Purgatory<u64, u64>) -> Purgatory<u64, u64> {
    let mut sweep = purgatory.sweep(7);
    black_box(purgatory.sweep_next(&mut sweep, |&operation| black_box(operation) > PENDING));
    purgatory
}

fn sharing_a_key() -> Purgatory<u64, u64> {
    let mut purgatory = Purgatory::new(Timestamp::ZERO);
    for operation in 0..CALLS as u64 {
        purgatory.watch(operation, [7], DEADLINE);
    }
    purgatory
}

#[library_benchmark(config = limited("purgatory_extend"))]
#[bench::two_shared_keys(work())]
fn purgatory_extend(mut work: Work) -> Work {
    for &id in &work.ids {
        black_box(work.purgatory.extend(id, DEADLINE.saturating_add(1_000)));
    }
    work
}

#[library_benchmark(config = limited("purgatory_cancel"))]
#[bench::two_shared_keys(work())]
fn purgatory_cancel(mut work: Work) -> Work {
    for &id in &work.ids {
        black_box(work.purgatory.cancel(id));
    }
    work
}

// All on one tick, in watch order.
#[library_benchmark(config = limited("purgatory_expire"))]
#[bench::two_shared_keys(work())]
fn purgatory_expire(mut work: Work) -> Work {
    for _ in 0..CALLS {
        black_box(work.purgatory.expire_next(DEADLINE));
    }
    work
}

/// Ten thousand wait for one log to reach offsets 0 to 9,999.
fn offsets() -> Purgatory<u64, u64> {
    let mut purgatory = Purgatory::new(Timestamp::ZERO);
    for offset in 0..PENDING {
        assert!(purgatory.watch_thresholds(offset, [(7, offset)], DEADLINE).is_ok());
    }
    purgatory
}

#[library_benchmark(config = limited("purgatory_watch_threshold"))]
#[bench::one_log(offsets())]
fn purgatory_watch_threshold(mut purgatory: Purgatory<u64, u64>) -> Purgatory<u64, u64> {
    for offset in PENDING..PENDING + CALLS as u64 {
        let _ = black_box(purgatory.watch_thresholds(offset, [(7, offset)], DEADLINE));
    }
    purgatory
}

#[library_benchmark(config = limited("purgatory_reach"))]
#[bench::one_log(offsets())]
fn purgatory_reach(mut purgatory: Purgatory<u64, u64>) -> Purgatory<u64, u64> {
    for offset in 0..CALLS as u64 {
        black_box(purgatory.reach_next(&7, offset));
    }
    purgatory
}

// Ten thousand thresholds, none of them reached.
#[library_benchmark(config = limited("purgatory_reach_nothing"))]
#[bench::one_log(nothing_reached())]
fn purgatory_reach_nothing(mut purgatory: Purgatory<u64, u64>) -> Purgatory<u64, u64> {
    for _ in 0..CALLS {
        black_box(purgatory.reach_next(&7, 0));
    }
    purgatory
}

fn nothing_reached() -> Purgatory<u64, u64> {
    let mut purgatory = offsets();
    while purgatory.reach_next(&7, 0).is_some() {}
    purgatory
}

library_benchmark_group!(
    name = purgatory_calls,
    benchmarks = [
        purgatory_watch,
        purgatory_complete,
        purgatory_trigger_without_watcher,
        purgatory_sweep_of_a_thousand,
        purgatory_extend,
        purgatory_cancel,
        purgatory_expire,
        purgatory_watch_threshold,
        purgatory_reach,
        purgatory_reach_nothing,
    ]
);
