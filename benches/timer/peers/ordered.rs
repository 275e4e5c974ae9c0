//! Peers that keep deadlines in order: heaps, and a skip list.

use crossbeam_skiplist::SkipSet;
use orx_priority_queue::{PriorityQueue, PriorityQueueDecKey, QuaternaryHeapOfIndices};

use crate::timers::Timers;

/// timer-queue: a radix heap with re-arm in place.
pub(crate) struct TimerQueue(timer_queue::TimerQueue<u32>);

impl Timers for TimerQueue {
    const NAME: &'static str = "timer-queue";
    const CRATE: &'static str = "timer-queue";
    const ABOUT: &'static str = "a radix heap with re-arm in place";
    type Id = timer_queue::Timer;

    fn new(_count: u32) -> Self {
        Self(timer_queue::TimerQueue::new())
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Self::Id {
        self.0.insert(deadline, value)
    }

    fn remove(&mut self, id: Self::Id) {
        self.0.remove(id);
    }

    fn rearm(&mut self, id: &mut Self::Id, deadline: u64, _value: u32) {
        self.0.reset(*id, deadline);
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        while let Some(value) = self.0.poll(now) {
            due.push(value);
        }
    }

    fn next_deadline(&mut self) -> Option<u64> {
        self.0.next_timeout()
    }
}

/// orx-priority-queue: a heap of four children a node that knows where each value stands in it.
pub(crate) struct IndexedHeap(QuaternaryHeapOfIndices<u32, u64>);

impl Timers for IndexedHeap {
    const NAME: &'static str = "orx-priority-queue";
    const CRATE: &'static str = "orx-priority-queue";
    const ABOUT: &'static str = "a quaternary heap with a table of positions, keyed by the value; re-armed by `update_key`, cancelled by `remove`";
    type Id = u32;

    fn new(count: u32) -> Self {
        Self(QuaternaryHeapOfIndices::with_index_bound(count as usize))
    }

    fn insert(&mut self, deadline: u64, value: u32) -> u32 {
        self.0.push(value, deadline);
        value
    }

    fn remove(&mut self, id: u32) {
        self.0.remove(&id);
    }

    fn rearm(&mut self, id: &mut u32, deadline: u64, _value: u32) {
        self.0.update_key(id, deadline);
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        while self.0.peek().is_some_and(|(_, deadline)| *deadline <= now) {
            due.extend(self.0.pop_node());
        }
    }

    fn next_deadline(&mut self) -> Option<u64> {
        self.0.peek().map(|(_, deadline)| *deadline)
    }
}

/// crossbeam-skiplist: a sorted set of deadlines and values for any number of threads, here used by one.
pub(crate) struct SkipList(SkipSet<(u64, u32)>);

impl Timers for SkipList {
    const NAME: &'static str = "crossbeam-skiplist";
    const CRATE: &'static str = "crossbeam-skiplist";
    const ABOUT: &'static str = "a concurrent sorted set of deadline and value, used by one thread; re-arming is a \
         removal and an insertion";
    type Id = (u64, u32);

    fn new(_count: u32) -> Self {
        Self(SkipSet::new())
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Self::Id {
        self.0.insert((deadline, value));
        (deadline, value)
    }

    fn remove(&mut self, id: Self::Id) {
        self.0.remove(&id);
    }

    fn rearm(&mut self, id: &mut Self::Id, deadline: u64, value: u32) {
        self.0.remove(id);
        *id = self.insert(deadline, value);
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        while let Some(first) = self.0.front()
            && first.value().0 <= now
        {
            due.push(first.value().1);
            first.remove();
        }
    }

    fn next_deadline(&mut self) -> Option<u64> {
        self.0.front().map(|first| first.value().0)
    }
}
