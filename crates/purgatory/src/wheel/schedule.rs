//! How the wheel turns: nodes filed in slots, and the walk from slot to slot as time passes.
//!
//! A node's entry lies in a slot that begins no later than the node is due. Whenever a slot begins, its entries are
//! looked at: those due now come out, the others are filed again, nearer to their deadline. Hence re-arming to later
//! writes the new deadline and nothing else; only re-arming to earlier files a new entry, and the old one, told by its
//! place and number, is dropped where it is found. Such leavings are bounded: see [`Schedule::left_behind`].

use super::TimerId;
use super::chunk::{Chunk, Chunks, Entry, Queue};
use super::node::Nodes;
use super::ring::{Place, Rings};

/// Below this many entries leavings are not worth a look.
const FEW: usize = 256;

#[derive(Debug)]
pub(super) struct Schedule<T> {
    now: u64,
    /// No slot begins before this.
    next_slot: u64,
    nodes: Nodes<T>,
    rings: Rings,
    chunks: Chunks,
    /// Entries in all slots, leavings included.
    entries: usize,
    /// Entries left behind since the last chunk was compacted.
    leavings: u32,
    /// Where compaction goes on.
    compacting: Place,
    /// What the slot of this very tick held, and how much of its first chunk is done.
    due: Queue,
    due_chunk: Option<Chunk>,
    due_done: usize,
}

impl<T> Schedule<T> {
    pub(super) const fn new(now: u64) -> Self {
        Self {
            now,
            next_slot: u64::MAX,
            nodes: Nodes::new(),
            rings: Rings::new(),
            chunks: Chunks::new(),
            entries: 0,
            leavings: 0,
            compacting: Place::NOWHERE,
            due: Queue::EMPTY,
            due_chunk: None,
            due_done: 0,
        }
    }

    #[inline]
    pub(super) fn nodes(&self) -> &Nodes<T> {
        &self.nodes
    }

    #[inline]
    pub(super) fn nodes_mut(&mut self) -> &mut Nodes<T> {
        &mut self.nodes
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.nodes.reserve(additional);
    }

    #[inline]
    pub(super) fn arm(&mut self, deadline: u64, value: T) -> TimerId {
        let id = self.nodes.acquire(deadline, value);
        self.file(id.index, deadline);
        id
    }

    /// Frees the node. `None` for a stale id.
    #[inline]
    pub(super) fn disarm(&mut self, id: TimerId) -> Option<T> {
        let value = self.nodes.release(id)?;
        self.left_behind();
        Some(value)
    }

    #[inline]
    pub(super) fn rearm(&mut self, id: TimerId, deadline: u64) -> bool {
        let Some(node) = self.nodes.get_mut(id) else { return false };
        let before = node.deadline();
        node.set_deadline(deadline);
        if deadline < before || node.place() == Place::NOWHERE {
            self.file(id.index, deadline);
        }
        true
    }

    /// Takes out the next node due at `now`, and frees it. Moves the clock to `now` once there is none.
    #[inline]
    pub(super) fn expire_next(&mut self, now: u64) -> Option<(TimerId, u64, T)> {
        loop {
            if let Some((id, deadline)) = self.next_due() {
                let value = self.nodes.release(id)?;
                return Some((id, deadline, value));
            }
            if !self.advance(now) {
                return None;
            }
        }
    }

    /// Adds the nodes of the first tick due at `now` to `due`, without freeing them: from now on they are filed
    /// nowhere, and come out again only if re-armed. Moves the clock to `now` if there is none, else to that tick.
    pub(super) fn collect_due(&mut self, now: u64, due: &mut Vec<TimerId>) {
        let before = due.len();
        loop {
            while let Some((id, _)) = self.next_due() {
                due.push(id);
            }
            if due.len() > before || !self.advance(now) {
                return;
            }
        }
    }

    /// A lower bound of all deadlines; `None` if nothing will come due.
    pub(super) fn next_deadline(&self) -> Option<u64> {
        if self.nodes.live() == 0 {
            return None;
        }
        if self.due_chunk.is_some() {
            return Some(self.now);
        }
        self.rings.earliest(self.now)
    }

    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.bytes() + self.rings.bytes() + self.chunks.bytes()
    }

    /// Sees to it that the node has an entry in a slot that begins in time.
    #[inline]
    fn file(&mut self, index: u32, deadline: u64) {
        if deadline == u64::MAX {
            return;
        }
        let due = deadline.max(self.now);
        let place = self.nodes.at_mut(index).place();
        if place == Place::NOWHERE {
            self.append(index, due);
        } else if place.start(self.now) <= due {
            let slot = self.rings.slot_mut(place);
            slot.earliest = slot.earliest.min(due);
        } else {
            self.append(index, due);
            self.left_behind();
        }
    }

    #[inline]
    fn append(&mut self, index: u32, due: u64) {
        let place = Place::of(due, self.now);
        let entry = self.nodes.at_mut(index).file(index, place);
        let slot = self.rings.occupy(place);
        slot.earliest = if slot.queue.is_empty() { due } else { slot.earliest.min(due) };
        self.chunks.append(&mut slot.queue, entry);
        self.entries += 1;
        self.next_slot = self.next_slot.min(place.start(self.now));
    }

    /// Goes to the next tick at or before `now` whose slot holds anything, filing longer slots anew on the way.
    #[inline]
    fn advance(&mut self, now: u64) -> bool {
        if self.next_slot > now {
            self.now = self.now.max(now);
            return false;
        }
        self.advance_to_slot(now.max(self.now))
    }

    fn advance_to_slot(&mut self, now: u64) -> bool {
        while let Some((start, place)) = self.rings.first(self.now) {
            self.next_slot = start;
            if start > now {
                self.now = now;
                return false;
            }
            self.now = start;
            let queue = self.rings.vacate(place);
            if place.is_one_tick() {
                self.due = queue;
                self.begin_due_chunk();
                return true;
            }
            self.file_anew(queue, place);
        }
        self.next_slot = u64::MAX;
        self.now = now;
        false
    }

    /// Moves what a long slot held to shorter ones, now that it begins.
    fn file_anew(&mut self, mut queue: Queue, place: Place) {
        while let Some(chunk) = self.chunks.pop(&mut queue) {
            self.nodes.touch(chunk.entries());
            for &entry in chunk.entries() {
                self.entries -= 1;
                self.file_entry_anew(entry, place);
            }
        }
    }

    #[inline]
    fn file_entry_anew(&mut self, entry: Entry, place: Place) {
        let node = self.nodes.at_mut(entry.index());
        if !node.is_filed_as(place, entry) {
            return;
        }
        let deadline = node.deadline();
        if !node.is_live() || deadline == u64::MAX {
            node.unfile();
            return;
        }
        self.append(entry.index(), deadline.max(self.now));
    }

    /// The next node due at this very tick, no longer filed.
    #[inline]
    fn next_due(&mut self) -> Option<(TimerId, u64)> {
        let place = Place::of(self.now, self.now);
        while let Some(chunk) = &self.due_chunk {
            let Some(&entry) = chunk.entries().get(self.due_done) else {
                self.begin_due_chunk();
                continue;
            };
            self.due_done += 1;
            self.entries -= 1;
            let index = entry.index();
            let node = self.nodes.at_mut(index);
            if !node.is_filed_as(place, entry) {
                continue;
            }
            let deadline = node.deadline();
            if !node.is_live() || deadline == u64::MAX {
                node.unfile();
            } else if deadline > self.now {
                self.append(index, deadline);
            } else {
                node.unfile();
                return Some((node.id(index), deadline));
            }
        }
        None
    }

    fn begin_due_chunk(&mut self) {
        self.due_chunk = self.chunks.pop(&mut self.due);
        self.due_done = 0;
        if let Some(chunk) = &self.due_chunk {
            self.nodes.touch(chunk.entries());
        }
    }

    /// An entry may have been left behind. Every fourth time, if there are more than two entries a timer, one chunk is
    /// cleared of such: the work is spread, the memory bounded, and nothing ever sweeps the whole wheel.
    #[inline]
    fn left_behind(&mut self) {
        self.leavings += 1;
        if self.leavings >= 4 {
            self.leavings = 0;
            if self.entries > 2 * self.nodes.live() + FEW {
                self.compact_one_chunk();
            }
        }
    }

    #[cold]
    fn compact_one_chunk(&mut self) {
        let Some(place) = self.next_to_compact() else { return };
        let slot = self.rings.slot_mut(place);
        let Some(chunk) = self.chunks.pop(&mut slot.queue) else { return };
        for &entry in chunk.entries() {
            let node = self.nodes.at_mut(entry.index());
            if node.is_filed_as(place, entry) && node.is_live() {
                self.chunks.append(&mut slot.queue, entry);
            } else {
                self.entries -= 1;
                if node.is_filed_as(place, entry) {
                    node.unfile();
                }
            }
        }
        if slot.queue.is_empty() {
            self.rings.vacate(place);
        }
    }

    /// A slot with a chunk that this round has not seen; the next round begins where this one ends.
    fn next_to_compact(&mut self) -> Option<Place> {
        loop {
            let Some(place) = self.rings.next_occupied(self.compacting) else {
                let begins_anew = self.compacting != Place::FIRST;
                self.compacting = Place::FIRST;
                self.chunks.begin_round();
                if begins_anew {
                    continue;
                }
                return None;
            };
            self.compacting = place;
            if self.chunks.is_old(self.rings.slot_mut(place).queue) {
                return Some(place);
            }
            self.compacting = place.after();
        }
    }
}
