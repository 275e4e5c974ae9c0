//! W8: two threads on one structure. Each replaces timers: cancels its oldest of 10,000, and adds one due in 1 s to 60 s.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Instant;

use benches::measure::{Numbers, Spread, process_cpu_nanos};
use purgatory::{
    Cancellation, DelayedOperation, Driver, Exits, Options, SharedId, SharedPurgatory, SimulatedClock,
    Submission, TimerId, Timestamp, TimingWheel,
};

use crate::{Size, each};

const RING: u64 = 10_000;
const THREADS: u64 = 2;

/// A structure that threads share.
trait Shared: Send + Sync + 'static {
    const NAME: &'static str;
    type Id: Send;

    fn new() -> Self;
    fn insert(&self, deadline: u64, value: u64) -> Self::Id;
    /// The timer's value, if it was still there.
    fn cancel(&self, id: Self::Id) -> Option<u64>;
}

pub(crate) fn measure(size: &Size) {
    println!("W8 two threads cancel and insert, {} pairs each: ns a pair and thread, wall; CPU", size.pairs);
    of::<Ours>(size);
    of::<Mutex<TimingWheel<u64>>>(size);
    of::<Mutex<LazyHeap>>(size);
    #[cfg(feature = "peers")]
    {
        of::<Mutex<peers::Queue>>(size);
        of::<peers::SkipList>(size);
    }
}

fn of<T: Shared>(size: &Size) {
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    for _ in 0..size.runs {
        let shared = Arc::new(T::new());
        let barrier = Arc::new(Barrier::new(3));
        let threads: Vec<_> = (0..THREADS)
            .map(|seed| {
                let (shared, barrier, pairs) = (Arc::clone(&shared), Arc::clone(&barrier), size.pairs);
                thread::spawn(move || replace(&*shared, seed, pairs, &barrier))
            })
            .collect();
        barrier.wait();
        let (begun, before) = (Instant::now(), process_cpu_nanos());
        barrier.wait();
        let took = u64::try_from(begun.elapsed().as_nanos()).expect("less than a century");
        wall.push(each(took, size.pairs));
        cpu.push(each(process_cpu_nanos() - before, size.pairs * THREADS));
        let sum: u64 = threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum();
        let all = size.pairs + RING;
        assert_eq!(sum, THREADS * (all * (all - 1) / 2), "each was cancelled exactly once");
    }
    println!("{:<28} {:<24} {}", T::NAME, Spread::of(wall).to_string(), Spread::of(cpu));
}

/// Returns the sum of all values that it cancelled, which in the end is every one.
fn replace<T: Shared>(shared: &T, seed: u64, pairs: u64, barrier: &Barrier) -> u64 {
    let mut random = Numbers::new(seed + 1);
    let mut deadline = move || 1_000 + random.below(59_000);
    let mut ring: VecDeque<_> = (0..RING).map(|value| shared.insert(deadline(), value)).collect();
    barrier.wait();
    let mut sum = 0;
    for value in RING..RING + pairs {
        sum += ring.pop_front().and_then(|id| shared.cancel(id)).expect("nothing expires");
        ring.push_back(shared.insert(deadline(), value));
    }
    barrier.wait();
    sum + ring.into_iter().filter_map(|id| shared.cancel(id)).sum::<u64>()
}

struct Operation(u64);

impl DelayedOperation for Operation {
    fn is_ready(&mut self) -> bool {
        false
    }
}

struct Ours(
    SharedPurgatory<u64, Operation>,
    #[expect(dead_code, reason = "kept open")] Mutex<Exits<Operation>>,
);

impl Shared for Ours {
    const NAME: &'static str = "SharedPurgatory, no keys";
    type Id = SharedId;

    fn new() -> Self {
        let driver = Driver::manual(SimulatedClock::new(Timestamp::ZERO));
        let (waiting, exits) = SharedPurgatory::with_channel(&driver, &Options::default());
        Self(waiting, Mutex::new(exits))
    }

    fn insert(&self, deadline: u64, value: u64) -> SharedId {
        match self.0.try_complete_else_watch(Operation(value), [], Timestamp::from_ticks(deadline)) {
            Ok(Submission::Watched(id)) => id,
            _ => unreachable!("nothing is ready, and there is room"),
        }
    }

    fn cancel(&self, id: SharedId) -> Option<u64> {
        match self.0.cancel(id) {
            Cancellation::Taken(operation) => Some(operation.0),
            _ => None,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with it")
}

impl Shared for Mutex<TimingWheel<u64>> {
    const NAME: &'static str = "Mutex<TimingWheel>";
    type Id = TimerId;

    fn new() -> Self {
        Self::new(TimingWheel::new(Timestamp::ZERO))
    }

    fn insert(&self, deadline: u64, value: u64) -> TimerId {
        locked(self).insert(Timestamp::from_ticks(deadline), value)
    }

    fn cancel(&self, id: TimerId) -> Option<u64> {
        locked(self).remove(id)
    }
}

/// A heap whose cancelled entries stay until they outnumber the others.
#[derive(Default)]
struct LazyHeap {
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    live: hashbrown::HashMap<u64, u64>,
    next: u64,
}

impl Shared for Mutex<LazyHeap> {
    const NAME: &'static str = "Mutex<BinaryHeap>, lazy";
    type Id = u64;

    fn new() -> Self {
        Self::default()
    }

    fn insert(&self, deadline: u64, value: u64) -> u64 {
        let mut this = locked(self);
        let id = this.next;
        this.next += 1;
        this.heap.push(Reverse((deadline, id)));
        this.live.insert(id, value);
        id
    }

    fn cancel(&self, id: u64) -> Option<u64> {
        let mut this = locked(self);
        let value = this.live.remove(&id);
        if this.heap.len() > 2 * this.live.len() + 64 {
            let LazyHeap { heap, live, .. } = &mut *this;
            heap.retain(|Reverse((_, id))| live.contains_key(id));
        }
        value
    }
}

#[cfg(feature = "peers")]
mod peers {
    //! Others' structures.

    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use crossbeam_skiplist::SkipMap;
    use tokio_util::time::DelayQueue;
    use tokio_util::time::delay_queue::Key;

    use super::{Mutex, Shared, locked};

    /// With the runtime whose clock it needs.
    pub(super) struct Queue(tokio::runtime::Runtime, DelayQueue<u64>);

    impl Shared for Mutex<Queue> {
        const NAME: &'static str = "Mutex<DelayQueue>";
        type Id = Key;

        fn new() -> Self {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
            Self::new(Queue(runtime.expect("a runtime"), DelayQueue::new()))
        }

        fn insert(&self, deadline: u64, value: u64) -> Key {
            let mut this = locked(self);
            let Queue(runtime, queue) = &mut *this;
            let _inside = runtime.enter();
            queue.insert(value, Duration::from_millis(deadline))
        }

        fn cancel(&self, id: Key) -> Option<u64> {
            locked(self).1.try_remove(&id).map(tokio_util::time::delay_queue::Expired::into_inner)
        }
    }

    #[derive(Default)]
    pub(super) struct SkipList {
        timers: SkipMap<(u64, u64), u64>,
        next: AtomicU64,
    }

    impl Shared for SkipList {
        const NAME: &'static str = "crossbeam-skiplist";
        type Id = (u64, u64);

        fn new() -> Self {
            Self::default()
        }

        fn insert(&self, deadline: u64, value: u64) -> (u64, u64) {
            let id = (deadline, self.next.fetch_add(1, Ordering::Relaxed));
            self.timers.insert(id, value);
            id
        }

        fn cancel(&self, id: (u64, u64)) -> Option<u64> {
            self.timers.remove(&id).map(|entry| *entry.value())
        }
    }
}
