//! Which entry lies in which slot, and when the next slot begins. Knows of a node what it is handed, and no value.

use super::chunk::Chunks;
use super::node::Node;
use super::ring::{Place, Rings};

#[derive(Debug)]
pub(super) struct Filed {
    pub(super) now: u64,
    /// No slot begins before this, and nothing is due: until then time passes for nothing.
    pub(super) next_event: u64,
    pub(super) rings: Rings,
    pub(super) chunks: Chunks,
    /// Entries in all slots, those left behind included.
    pub(super) entries: usize,
}

impl Filed {
    pub(super) const fn new(now: u64) -> Self {
        Self { now, next_event: u64::MAX, rings: Rings::new(), chunks: Chunks::new(), entries: 0 }
    }

    /// Sees to it that the node has an entry in a slot that begins in time. `true` if it left one behind for that.
    #[inline]
    pub(super) fn ensure(&mut self, index: u32, node: &mut Node) -> bool {
        let due = node.deadline().max(self.now);
        let place = node.place();
        match self.rings.get_mut(place) {
            // This comes first because it nearly always holds: a slot with many timers has one that is due early.
            Some(slot) if due >= slot.earliest => false,
            Some(slot) if due >= place.floor(slot.earliest) => {
                slot.earliest = due;
                false
            }
            Some(_) => {
                self.append(index, node, due);
                true
            }
            None => {
                if node.deadline() < u64::MAX {
                    self.append(index, node, due);
                }
                false
            }
        }
    }

    /// Files the node where `due`, its deadline or now, asks for.
    #[inline]
    pub(super) fn append(&mut self, index: u32, node: &mut Node, due: u64) {
        let place = Place::of(due, self.now);
        let entry = node.file(index, place);
        self.entries += 1;
        if let Some(slot) = self.rings.get_mut(place)
            && !slot.queue.is_empty()
        {
            slot.earliest = slot.earliest.min(due);
            if !self.chunks.append_in_place(&mut slot.queue, entry) {
                self.chunks.append_chunk(&mut slot.queue, entry);
            }
        } else {
            let slot = self.rings.occupy(place, due);
            self.chunks.append_chunk(&mut slot.queue, entry);
            self.next_event = self.next_event.min(place.floor(due));
        }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.rings.bytes() + self.chunks.bytes()
    }
}
