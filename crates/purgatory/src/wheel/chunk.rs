//! Queues of small fixed chunks in one arena: what a slot of the wheel holds. Never knows what an entry means.
//!
//! An entry names a node by its index, with the node's filing number, so that an entry left behind is told from the
//! one that counts. A chunk fills one cache line: appending touches one hot line, and draining reads entries in a row,
//! so that the misses on the nodes they name overlap instead of following one another down a linked list.

use super::segments::Segments;

/// The end of a chain.
const NONE: u32 = u32::MAX;
/// Entries in a chunk.
pub(super) const CHUNK: usize = 14;

/// A node's index above [`Entry::FILING_BITS`] bits of its filing number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry(u32);

impl Entry {
    pub(super) const FILING_BITS: u32 = 5;
    pub(super) const FILING_MASK: u32 = (1 << Self::FILING_BITS) - 1;
    /// More nodes than this cannot be named.
    pub(super) const MAX_NODES: usize = 1 << (u32::BITS - Self::FILING_BITS);

    pub(super) fn new(index: u32, filing: u32) -> Self {
        Self(index << Self::FILING_BITS | filing & Self::FILING_MASK)
    }

    pub(super) fn index(self) -> u32 {
        self.0 >> Self::FILING_BITS
    }

    pub(super) fn filing(self) -> u32 {
        self.0 & Self::FILING_MASK
    }
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Chunk {
    entries: [Entry; CHUNK],
    next: u32,
    len: u16,
    /// The round of compaction in which the chunk was taken into use.
    round: u16,
}

impl Chunk {
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries[..usize::from(self.len)]
    }
}

/// First and last chunk of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    head: u32,
    tail: u32,
}

impl Queue {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE };

    pub(super) fn is_empty(self) -> bool {
        self.head == NONE
    }
}

#[derive(Debug)]
pub(super) struct Chunks {
    arena: Segments<Chunk>,
    free: u32,
    round: u16,
}

impl Chunks {
    pub(super) const fn new() -> Self {
        Self { arena: Segments::new(), free: NONE, round: 0 }
    }

    #[inline]
    pub(super) fn append(&mut self, queue: &mut Queue, entry: Entry) {
        if let Some(tail) = self.arena.get_mut(queue.tail)
            && usize::from(tail.len) < CHUNK
        {
            tail.entries[usize::from(tail.len)] = entry;
            tail.len += 1;
            return;
        }
        self.append_chunk(queue, entry);
    }

    /// Takes the first chunk off the queue.
    pub(super) fn pop(&mut self, queue: &mut Queue) -> Option<Chunk> {
        let head = queue.head;
        let slot = self.arena.get_mut(head)?;
        let chunk = *slot;
        slot.next = self.free;
        self.free = head;
        queue.head = chunk.next;
        if chunk.next == NONE {
            queue.tail = NONE;
        }
        Some(chunk)
    }

    pub(super) fn begin_round(&mut self) {
        self.round = self.round.wrapping_add(1);
    }

    /// Whether the queue has a chunk that was there before this round of compaction began.
    pub(super) fn is_old(&self, queue: Queue) -> bool {
        self.arena.get(queue.head).is_some_and(|chunk| chunk.round != self.round)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.arena.bytes()
    }

    #[cold]
    fn append_chunk(&mut self, queue: &mut Queue, entry: Entry) {
        let mut chunk = Chunk { entries: [Entry::default(); CHUNK], next: NONE, len: 1, round: self.round };
        chunk.entries[0] = entry;
        let index = self.free;
        let index = if let Some(slot) = self.arena.get_mut(index) {
            self.free = slot.next;
            *slot = chunk;
            index
        } else {
            self.arena.push(chunk);
            u32::try_from(self.arena.len() - 1)
                .expect("invariant: fewer chunks than entries, entries are bounded")
        };
        match self.arena.get_mut(queue.tail) {
            Some(tail) => tail.next = index,
            None => queue.head = index,
        }
        queue.tail = index;
    }
}
