//! What every timer structure is asked to do, and those that need no crate but our own: the wheel, the purgatory, a
//! heap that deletes and re-arms lazily, a sorted set.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use purgatory::{OperationId, Purgatory, TimerId, Timestamp, TimingWheel};

/// Timers with `u32` values that the caller knows them by. Time starts at 0.
pub(crate) trait Timers {
    const NAME: &'static str;
    /// How the structure knows a timer.
    type Id;

    fn new() -> Self;
    fn insert(&mut self, deadline: u64, value: u32) -> Self::Id;
    fn remove(&mut self, id: Self::Id);
    fn rearm(&mut self, id: &mut Self::Id, deadline: u64, value: u32);
    /// Moves the clock, and appends the values of all that are due.
    fn expire(&mut self, now: u64, due: &mut Vec<u32>);
    /// The timer of this id has expired.
    fn expired(&mut self, _id: Self::Id) {}
    fn next_deadline(&self) -> Option<u64> {
        None
    }
    /// Bytes held, where it is known.
    fn bytes(&self) -> Option<usize> {
        None
    }
}

impl Timers for TimingWheel<u32> {
    const NAME: &'static str = "TimingWheel";
    type Id = TimerId;

    fn new() -> Self {
        Self::new(Timestamp::ZERO)
    }

    fn insert(&mut self, deadline: u64, value: u32) -> TimerId {
        self.insert(Timestamp::from_ticks(deadline), value)
    }

    fn remove(&mut self, id: TimerId) {
        self.remove(id);
    }

    fn rearm(&mut self, id: &mut TimerId, deadline: u64, _value: u32) {
        self.rearm(*id, Timestamp::from_ticks(deadline));
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        while let Some(expired) = self.expire_next(Timestamp::from_ticks(now)) {
            due.push(expired.value);
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        self.next_deadline().map(Timestamp::ticks)
    }

    fn bytes(&self) -> Option<usize> {
        Some(self.bytes())
    }
}

impl Timers for Purgatory<u32, u32> {
    const NAME: &'static str = "Purgatory, no keys";
    type Id = OperationId;

    fn new() -> Self {
        Self::new(Timestamp::ZERO)
    }

    fn insert(&mut self, deadline: u64, value: u32) -> OperationId {
        self.watch(value, [], Timestamp::from_ticks(deadline))
    }

    fn remove(&mut self, id: OperationId) {
        self.cancel(id);
    }

    fn rearm(&mut self, id: &mut OperationId, deadline: u64, _value: u32) {
        self.extend(*id, Timestamp::from_ticks(deadline));
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        while let Some(value) = self.expire_next(Timestamp::from_ticks(now)) {
            due.push(value);
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        self.next_deadline().map(Timestamp::ticks)
    }
}

/// A binary heap that leaves what was removed or re-armed to later where it is, until it comes up.
pub(crate) struct LazyHeap {
    heap: BinaryHeap<Reverse<(u64, u32, u32)>>,
    timers: Vec<HeapTimer>,
    free: Vec<u32>,
    live: usize,
}

struct HeapTimer {
    deadline: u64,
    /// Where its entry in the heap stands.
    filed: u64,
    generation: u32,
    value: u32,
}

impl LazyHeap {
    fn push(&mut self, index: u32, deadline: u64) {
        let timer = &mut self.timers[index as usize];
        timer.filed = deadline;
        self.heap.push(Reverse((deadline, index, timer.generation)));
        if self.heap.len() > 2 * self.live + 64 {
            let timers = &self.timers;
            self.heap.retain(|&Reverse((filed, index, generation))| {
                let timer = &timers[index as usize];
                timer.generation == generation && timer.filed == filed
            });
        }
    }
}

impl Timers for LazyHeap {
    const NAME: &'static str = "BinaryHeap, lazy";
    type Id = u32;

    fn new() -> Self {
        Self { heap: BinaryHeap::new(), timers: Vec::new(), free: Vec::new(), live: 0 }
    }

    fn insert(&mut self, deadline: u64, value: u32) -> u32 {
        self.live += 1;
        let index = self.free.pop().unwrap_or_else(|| {
            self.timers.push(HeapTimer { deadline, filed: deadline, generation: 0, value });
            u32::try_from(self.timers.len() - 1).expect("fewer than 2^32 timers")
        });
        let timer = &mut self.timers[index as usize];
        (timer.deadline, timer.value) = (deadline, value);
        self.push(index, deadline);
        index
    }

    fn remove(&mut self, id: u32) {
        self.live -= 1;
        self.timers[id as usize].generation += 1;
        self.free.push(id);
    }

    fn rearm(&mut self, id: &mut u32, deadline: u64, _value: u32) {
        let timer = &mut self.timers[*id as usize];
        timer.deadline = deadline;
        if deadline < timer.filed {
            self.push(*id, deadline);
        }
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        while let Some(&Reverse((filed, index, generation))) = self.heap.peek()
            && filed <= now
        {
            self.heap.pop();
            let timer = &mut self.timers[index as usize];
            if timer.generation != generation || timer.filed != filed {
                continue;
            }
            if timer.deadline > now {
                let deadline = timer.deadline;
                self.push(index, deadline);
            } else {
                due.push(timer.value);
                timer.generation += 1;
                self.free.push(index);
                self.live -= 1;
            }
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((deadline, ..))| *deadline)
    }
}

/// A sorted set of deadlines and values.
pub(crate) struct SortedSet(BTreeSet<(u64, u32)>);

impl Timers for SortedSet {
    const NAME: &'static str = "BTreeSet";
    type Id = u64;

    fn new() -> Self {
        Self(BTreeSet::new())
    }

    fn insert(&mut self, deadline: u64, value: u32) -> u64 {
        self.0.insert((deadline, value));
        deadline << 32 | u64::from(value)
    }

    fn remove(&mut self, id: u64) {
        #[expect(clippy::cast_possible_truncation, reason = "the low half is the value")]
        self.0.remove(&(id >> 32, id as u32));
    }

    fn rearm(&mut self, id: &mut u64, deadline: u64, value: u32) {
        self.remove(*id);
        *id = self.insert(deadline, value);
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        while let Some(&(deadline, value)) = self.0.first()
            && deadline <= now
        {
            self.0.pop_first();
            due.push(value);
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        self.0.first().map(|&(deadline, _)| deadline)
    }
}
