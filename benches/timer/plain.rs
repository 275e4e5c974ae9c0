//! What needs no crate: a heap that deletes and re-arms lazily, a sorted set, and two yardsticks.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::num::NonZeroU64;

use crate::timers::Timers;

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
    const ABOUT: &'static str = "std's heap over a table of timers; what is removed or re-armed to later stays in it until it comes up";
    type Id = u32;

    fn new(_count: u32) -> Self {
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

    fn next_deadline(&mut self) -> Option<u64> {
        self.heap.peek().map(|Reverse((deadline, ..))| *deadline)
    }
}

/// A sorted set of deadlines and values.
pub(crate) struct SortedSet(BTreeSet<(u64, u32)>);

impl Timers for SortedSet {
    const NAME: &'static str = "BTreeSet";
    const ABOUT: &'static str =
        "std's sorted set of deadline and value; re-arming is a removal and an insertion";
    type Id = u64;

    fn new(_count: u32) -> Self {
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

    fn next_deadline(&mut self) -> Option<u64> {
        self.0.first().map(|&(deadline, _)| deadline)
    }
}

/// Does nothing: what is left is the workload itself, its random numbers and its table of ids, eight bytes each.
pub(crate) struct Nothing;

impl Timers for Nothing {
    const NAME: &'static str = "nothing";
    const ABOUT: &'static str =
        "yardstick: the workload's own random numbers and its table of ids; to be subtracted";
    const EXPIRES: bool = false;
    const SAYS_NEXT: bool = false;
    type Id = NonZeroU64;

    fn new(_count: u32) -> Self {
        Self
    }

    fn insert(&mut self, deadline: u64, _value: u32) -> NonZeroU64 {
        NonZeroU64::MIN.saturating_add(deadline)
    }

    fn remove(&mut self, _id: NonZeroU64) {}

    fn rearm(&mut self, _id: &mut NonZeroU64, deadline: u64, _value: u32) {
        std::hint::black_box(deadline);
    }

    fn expire(&mut self, _now: u64, _due: &mut Vec<u32>) {}
}

/// Writes the deadline where the timer is: the one access to memory that nothing can do without.
pub(crate) struct Floor(Vec<Line>);

/// A timer of the least size: its deadline and a word to know it by.
#[derive(Clone, Copy)]
struct Line {
    deadline: u64,
    value: u32,
}

impl Timers for Floor {
    const NAME: &'static str = "floor";
    const ABOUT: &'static str =
        "yardstick: one access to the 16 bytes that a timer takes at least, and what `nothing` does";
    const EXPIRES: bool = false;
    const SAYS_NEXT: bool = false;
    type Id = NonZeroU64;

    fn new(count: u32) -> Self {
        Self(vec![Line { deadline: 0, value: 0 }; count as usize])
    }

    fn insert(&mut self, deadline: u64, value: u32) -> NonZeroU64 {
        self.0[value as usize] = Line { deadline, value };
        NonZeroU64::MIN.saturating_add(value.into())
    }

    fn remove(&mut self, id: NonZeroU64) {
        if let Ok(at) = usize::try_from(id.get() - 1) {
            std::hint::black_box(self.0[at].value);
        }
    }

    fn rearm(&mut self, _id: &mut NonZeroU64, deadline: u64, value: u32) {
        // Read first, as anything must that wants to know whether the timer is still there.
        let line = &mut self.0[value as usize];
        if line.deadline != 0 {
            line.deadline = deadline;
        }
    }

    fn expire(&mut self, _now: u64, _due: &mut Vec<u32>) {}
}
