//! The calls one by one, on one thread, with no driver thread.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use benches::measure::{Numbers, Spread, cpu_nanos};
use purgatory::{
    Cancellation, DelayedOperation, Driver, Exits, Options, SharedId, SharedPurgatory, SimulatedClock,
    Submission, Timestamp,
};

use crate::memory::counted;
use crate::{Size, each};

/// Never comes in these measurements.
const FAR: Timestamp = Timestamp::from_ticks(1 << 40);

struct Operation {
    done: Arc<AtomicBool>,
}

impl DelayedOperation for Operation {
    fn is_ready(&mut self) -> bool {
        self.done.load(Ordering::Relaxed)
    }
}

type Waiting = SharedPurgatory<u64, Operation>;

/// Keys of an operation: its own, or some of a thousand that all share.
#[derive(Clone, Copy)]
enum Keys {
    Shared,
    Unique,
}

/// Some operations that wait.
struct World {
    waiting: Waiting,
    exits: Exits<Operation>,
    random: Numbers,
    next: u64,
}

impl World {
    fn new() -> Self {
        let driver = Driver::manual(SimulatedClock::new(Timestamp::ZERO));
        let (waiting, exits) = SharedPurgatory::with_channel(&driver, &Options::default());
        Self { waiting, exits, random: Numbers::new(1), next: 0 }
    }

    /// Parks operations under `count` keys each. Returns their ids, and a key of each.
    fn park(
        &mut self,
        operations: u64,
        keys: Keys,
        count: u64,
        done: &Arc<AtomicBool>,
    ) -> Vec<(SharedId, u64)> {
        let mut parked = Vec::with_capacity(usize::try_from(operations).expect("it fits"));
        for _ in 0..operations {
            let first = self.next * 4;
            self.next += 1;
            let mut key = |nth| match keys {
                Keys::Shared => self.random.below(1_000),
                Keys::Unique => first + nth,
            };
            let watched: [u64; 3] = std::array::from_fn(|nth| key(nth as u64));
            let watched = watched.into_iter().take(usize::try_from(count).expect("three at most"));
            let trigger = watched.clone().next_back().expect("one key at least");
            let operation = Operation { done: Arc::clone(done) };
            match self.waiting.try_complete_else_watch(operation, watched, FAR) {
                Ok(Submission::Watched(id)) => parked.push((id, trigger)),
                _ => unreachable!("it is not done, and there is room"),
            }
        }
        parked
    }

    /// Takes what has left. Returns how many.
    fn left(&mut self) -> u64 {
        std::iter::from_fn(|| self.exits.try_next()).map(|_| 1).sum()
    }
}

pub(crate) fn measure(size: &Size) {
    println!("Single calls, {} operations at a time, ns of the calling thread's CPU", size.calls);
    println!("{:<40} {:<22} {:<22} bytes, allocations", "keys", "watch", "complete and take");
    for (name, keys) in [("of 1,000 shared", Keys::Shared), ("of its own", Keys::Unique)] {
        for count in 1..=3 {
            watch_and_complete(size, name, keys, count);
        }
    }
    let call = |name: &str, nanos: Vec<f64>| println!("{name:<40} {}", Spread::of(nanos));
    let runs = |measured: fn(&Size) -> f64| (0..size.runs).map(|_| measured(size)).collect();
    call("cancel, 2 keys of its own", runs(cancel));
    call("extend to later", runs(extend));
    call("complete by id, 2 keys of its own", runs(force));
    call("trigger without watchers", runs(trigger_nobody));
    call("trigger over 10,000 that are not ready", runs(trigger_unready));
    call("reach below 10,000 thresholds", runs(reach_nobody));
    call("threshold watch and reach", runs(reach));
    call("floor: a lock of 16, taken and let go", runs(lock));
    call("floor: an atomic addition, of 16", runs(add));
}

/// Operations wait under `count` keys each; then they are done, and each is let go by a trigger of its last key.
fn watch_and_complete(size: &Size, name: &str, keys: Keys, count: u64) {
    let bytes = bytes(size.calls * 10, keys, count);
    let mut world = World::new();
    let (mut watch, mut complete, mut allocations) = (Vec::new(), Vec::new(), 0.0);
    // The first run is not counted.
    for run in 0..=10 * size.runs {
        let done = Arc::new(AtomicBool::new(false));
        let mut triggers = Vec::new();
        let mut spent = [0; 2];
        let ((), calls, _) = counted(|| {
            let begun = cpu_nanos();
            triggers = world.park(size.calls, keys, count, &done);
            spent[0] = cpu_nanos() - begun;
        });
        done.store(true, Ordering::Relaxed);
        let ((), more_calls, _) = counted(|| {
            let begun = cpu_nanos();
            let completed: usize = triggers.iter().map(|(_, key)| world.waiting.complete(key)).sum();
            let left = world.left();
            spent[1] = cpu_nanos() - begun;
            assert_eq!((completed as u64, left, world.waiting.pending()), (size.calls, size.calls, 0));
        });
        if run > 0 {
            watch.push(each(spent[0], size.calls));
            complete.push(each(spent[1], size.calls));
            // The list of triggers is one.
            allocations = each((calls + more_calls).saturating_sub(1), size.calls);
        }
    }
    let (watch, complete) = (Spread::of(watch).to_string(), Spread::of(complete).to_string());
    println!("{:<40} {watch:<22} {complete:<22} {bytes:.0}, {allocations:.2}", format!("{count} {name}"));
}

/// Bytes an operation that waits, with its 8 of payload.
fn bytes(operations: u64, keys: Keys, count: u64) -> f64 {
    let mut world = World::new();
    let done = Arc::new(AtomicBool::new(false));
    let (parked, _, held) = counted(|| world.park(operations, keys, count, &done));
    let listed = (parked.capacity() * size_of::<(SharedId, u64)>()) as u64;
    each(held.saturating_sub(listed), operations)
}

fn parked(size: &Size) -> (World, Vec<(SharedId, u64)>, Arc<AtomicBool>) {
    let done = Arc::new(AtomicBool::new(false));
    let mut world = World::new();
    let ids = world.park(size.calls, Keys::Unique, 2, &done);
    (world, ids, done)
}

fn cancel(size: &Size) -> f64 {
    let (world, ids, _) = parked(size);
    let begun = cpu_nanos();
    let taken = |id| matches!(world.waiting.cancel(id), Cancellation::Taken(_));
    let cancelled = ids.iter().filter(|(id, _)| taken(*id)).count();
    let spent = cpu_nanos() - begun;
    assert_eq!((cancelled, world.waiting.pending(), world.waiting.watched()), (ids.len(), 0, 0));
    each(spent, size.calls)
}

fn extend(size: &Size) -> f64 {
    let (world, ids, _) = parked(size);
    let begun = cpu_nanos();
    let extended = ids.iter().filter(|(id, _)| world.waiting.extend(*id, FAR.saturating_add(1))).count();
    let spent = cpu_nanos() - begun;
    assert_eq!(extended, ids.len());
    each(spent, size.calls)
}

fn force(size: &Size) -> f64 {
    let (mut world, ids, _) = parked(size);
    let begun = cpu_nanos();
    let completed = ids.iter().filter(|(id, _)| world.waiting.force_complete(*id)).count();
    let left = world.left();
    let spent = cpu_nanos() - begun;
    assert_eq!((completed as u64, left), (size.calls, size.calls));
    each(spent, size.calls)
}

fn trigger_nobody(size: &Size) -> f64 {
    let (world, ..) = parked(size);
    let count = size.calls * 10;
    let begun = cpu_nanos();
    let completed: usize = (0..count).map(|key| world.waiting.complete(&black_box(key * 4 + 3))).sum();
    let spent = cpu_nanos() - begun;
    assert_eq!(completed, 0);
    each(spent, count)
}

fn trigger_unready(_: &Size) -> f64 {
    let mut world = World::new();
    let done = Arc::new(AtomicBool::new(false));
    for _ in 0..10_000 {
        let operation = Operation { done: Arc::clone(&done) };
        assert!(world.waiting.try_complete_else_watch(operation, [1], FAR).is_ok());
    }
    let begun = cpu_nanos();
    let completed: usize = (0..20).map(|_| world.waiting.complete(&1)).sum();
    let spent = cpu_nanos() - begun;
    done.store(true, Ordering::Relaxed);
    assert_eq!((completed, world.waiting.complete(&1), world.left()), (0, 10_000, 10_000));
    each(spent, 20)
}

/// What nobody else uses, each on lines of its own.
#[repr(align(128))]
struct Apart<T>(T);

fn lock(size: &Size) -> f64 {
    let locks: [_; 16] = std::array::from_fn(|_| Apart(Mutex::new(0_u64)));
    per_call(size, |nth| *locks[nth].0.lock().expect("nobody panics with it") += 1)
}

fn add(size: &Size) -> f64 {
    let counts: [_; 16] = std::array::from_fn(|_| Apart(AtomicU64::new(0)));
    per_call(size, |nth| _ = counts[nth].0.fetch_add(1, Ordering::Relaxed))
}

fn per_call(size: &Size, mut call: impl FnMut(usize)) -> f64 {
    let (mut random, count) = (Numbers::new(3), size.calls * 10);
    let begun = cpu_nanos();
    for _ in 0..count {
        call(usize::try_from(random.below(16)).expect("below 16"));
    }
    each(cpu_nanos() - begun, count)
}

/// Waits for an offset of one log.
struct Fetch {
    end: Arc<AtomicU64>,
    offset: u64,
}

impl DelayedOperation for Fetch {
    fn is_ready(&mut self) -> bool {
        self.end.load(Ordering::Relaxed) >= self.offset
    }
}

type Fetches = (SharedPurgatory<u64, Fetch>, Exits<Fetch>, Arc<AtomicU64>);

fn fetches(offsets: std::ops::Range<u64>) -> Fetches {
    let driver = Driver::manual(SimulatedClock::new(Timestamp::ZERO));
    let (waiting, exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    let end = Arc::new(AtomicU64::new(0));
    for offset in offsets {
        let fetch = Fetch { end: Arc::clone(&end), offset };
        assert!(waiting.try_complete_else_watch_thresholds(fetch, [(1, offset)], FAR).is_ok());
    }
    (waiting, exits, end)
}

fn reach_nobody(size: &Size) -> f64 {
    let (waiting, ..) = fetches(1_000_000..1_010_000);
    let begun = cpu_nanos();
    let reached: usize = (0..size.calls).map(|value| waiting.reach(&1, black_box(value))).sum();
    let spent = cpu_nanos() - begun;
    assert_eq!((reached, waiting.pending()), (0, 10_000));
    each(spent, size.calls)
}

/// A thousand wait; each trigger lets one go, and another comes.
fn reach(size: &Size) -> f64 {
    let (waiting, mut exits, end) = fetches(1..1_001);
    let begun = cpu_nanos();
    for offset in 1..=size.calls {
        end.store(offset, Ordering::Relaxed);
        assert_eq!(waiting.reach(&1, offset), 1);
        assert!(exits.try_next().is_some_and(|exit| exit.operation.offset == offset));
        let fetch = Fetch { end: Arc::clone(&end), offset: offset + 1_000 };
        assert!(waiting.try_complete_else_watch_thresholds(fetch, [(1, offset + 1_000)], FAR).is_ok());
    }
    each(cpu_nanos() - begun, size.calls)
}
