//! What do watch keys cost? Operations that wait under keys and deadlines, one owner.
//!
//! `cargo bench -p benches --bench watch` runs small, so that CI keeps it alive. For figures:
//! `cargo bench -p benches --bench watch -- 1000000`

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use benches::measure::{Numbers, Spread, cpu_nanos};
use purgatory::{Purgatory, Timestamp};

const RUNS: usize = 5;
const NEVER_CLOSE: u64 = 30_000;

/// The system's allocator, which counts: calls say what a steady state allocates, bytes what an operation takes.
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

#[expect(unsafe_code, reason = "an allocator cannot be written without; it only counts and passes on")]
// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Relaxed);
        BYTES.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `pointer` came from `alloc` above, hence from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Subject = Purgatory<u64, u64>;

/// Keys of an operation: its own, or some of a thousand that all share.
#[derive(Clone, Copy)]
enum Keys {
    Unique,
    Shared,
}

impl Keys {
    fn of(self, operation: u64, key: u64, numbers: &mut Numbers) -> u64 {
        match self {
            Self::Unique => operation << 8 | key,
            Self::Shared => numbers.below(1_000),
        }
    }
}

/// What `work` takes, an operation: the spread of some runs in ns, the allocations of the last, and its checksum.
fn measure(operations: u64, mut work: impl FnMut() -> u64) -> (Spread, f64, u64) {
    let mut checksum = work();
    let mut nanos = Vec::new();
    let mut calls = 0;
    for _ in 0..RUNS {
        let (since, before) = (cpu_nanos(), CALLS.load(Relaxed));
        checksum = checksum.wrapping_add(work());
        nanos.push(each(cpu_nanos() - since, operations));
        calls = CALLS.load(Relaxed) - before;
    }
    (Spread::of(nanos), each(calls as u64, operations), checksum)
}

#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
fn each(total: u64, operations: u64) -> f64 {
    total as f64 / operations as f64
}

/// P1: with `pending` operations waiting, the oldest is completed by its first key and a new one is watched.
fn watch_and_complete(pending: u64, count: u64, keys: Keys) {
    let mut numbers = Numbers::new(7);
    let mut purgatory = Subject::new(Timestamp::ZERO);
    let mut first_keys = std::collections::VecDeque::new();
    let mut next = 0;
    let mut watch = |purgatory: &mut Subject, first_keys: &mut std::collections::VecDeque<u64>| {
        let mut watched = [0; 3];
        for key in 0..count {
            watched[usize::try_from(key).expect("one of three")] = keys.of(next, key, &mut numbers);
        }
        first_keys.push_back(watched[0]);
        let watched = watched.into_iter().take(usize::try_from(count).expect("at most three"));
        purgatory.watch(next, watched, Timestamp::from_ticks(NEVER_CLOSE + next % 1_024));
        next += 1;
    };
    let before = BYTES.load(Relaxed);
    for _ in 0..pending {
        watch(&mut purgatory, &mut first_keys);
    }
    let queue = first_keys.capacity() * size_of::<u64>();
    let bytes = BYTES.load(Relaxed).saturating_sub(before + queue);
    let (spread, allocations, checksum) = measure(pending, || {
        let mut sum = 0_u64;
        for _ in 0..pending {
            let key = first_keys.pop_front().expect("as many as are pending");
            sum =
                sum.wrapping_add(purgatory.complete_next(&key, |_| true).expect("its first key is watched"));
            watch(&mut purgatory, &mut first_keys);
        }
        sum
    });
    let kind = match keys {
        Keys::Unique => "unique",
        Keys::Shared => "shared",
    };
    println!(
        "P1 watch + complete, {count} {kind} keys, {pending} pending: {spread} ns, {allocations:.3} allocations, \
         {:.0} bytes   {checksum:016x}",
        each(bytes as u64, pending)
    );
}

/// P2: a trigger that finds nobody, and ones that find many who are not ready.
fn triggers(watchers: u64) {
    let mut purgatory = Subject::new(Timestamp::ZERO);
    for operation in 0..watchers {
        purgatory.watch(operation, [1], Timestamp::MAX);
        let parked = purgatory.watch_thresholds(operation, [(2, 1_000 + operation)], Timestamp::MAX);
        assert!(parked.is_ok(), "no limit was set");
    }
    let report = |name: &str, operations: u64, work: &mut dyn FnMut() -> u64| {
        let (spread, _, checksum) = measure(operations, work);
        println!("P2 {name}: {spread} ns   {checksum:016x}");
    };
    report("a trigger without watchers", 100_000, &mut || {
        (0..100_000)
            .map(|key| u64::from(purgatory.complete_next(black_box(&(key + 10)), |_| true).is_some()))
            .sum()
    });
    report(&format!("a trigger over {watchers} that are not ready"), 20, &mut || {
        let ready = |operation: &u64| black_box(*operation) == u64::MAX;
        (0..20).map(|_| u64::from(purgatory.complete_next(black_box(&1), ready).is_some())).sum()
    });
    report(&format!("a threshold that {watchers} have not reached"), 100_000, &mut || {
        (0..100_000)
            .map(|value| u64::from(purgatory.reach_next(&2, black_box(value % 1_000)).is_some()))
            .sum()
    });
}

/// A thousand writes wait for the next offsets; each trigger reaches one more.
fn threshold_chain(operations: u64) {
    let mut purgatory = Subject::new(Timestamp::ZERO);
    let mut next = 0;
    let mut watch = |purgatory: &mut Subject| {
        next += 1;
        let parked = purgatory.watch_thresholds(next, [(2, next)], Timestamp::from_ticks(NEVER_CLOSE));
        assert!(parked.is_ok(), "no limit was set");
    };
    for _ in 0..1_000 {
        watch(&mut purgatory);
    }
    let mut reached = 0;
    let (spread, allocations, checksum) = measure(operations, || {
        let mut sum = 0_u64;
        for _ in 0..operations {
            reached += 1;
            sum = sum.wrapping_add(purgatory.reach_next(&2, reached).expect("one waits for each offset"));
            watch(&mut purgatory);
        }
        sum
    });
    println!(
        "Threshold watch + reach, 1000 pending: {spread} ns, {allocations:.3} allocations   {checksum:016x}"
    );
}

fn main() {
    let size = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(2_000);
    println!("Thread CPU time, min / median / max of {RUNS} runs, checksum of the work.");
    for keys in [Keys::Shared, Keys::Unique] {
        for count in 1..=3 {
            watch_and_complete(size, count, keys);
        }
    }
    triggers(10_000.min(size));
    threshold_chain(size);
}
