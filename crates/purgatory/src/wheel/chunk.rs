//! Queues of small fixed chunks in one arena: what a slot of the wheel holds. Never knows what an entry means.
//!
//! An entry names a node by its index, with the node's filing number, so that an entry left behind is told from the
//! one that counts. A chunk fills one cache line: appending touches one hot line, and draining reads entries in a row,
//! so that the misses on the nodes they name overlap instead of following one another down a linked list.

use super::prefetch::prefetch;
use super::segments::Segments;

/// Entries in a chunk.
pub(super) const CHUNK: usize = 15;

/// A node's index above [`Entry::FILING_BITS`] bits of its filing number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry(u32);

impl Entry {
    pub(super) const FILING_BITS: u32 = 5;
    pub(super) const FILING_MASK: u32 = (1 << Self::FILING_BITS) - 1;
    /// More nodes than this cannot be named.
    pub(super) const MAX_NODES: usize = 1 << (u32::BITS - Self::FILING_BITS);

    #[inline]
    pub(super) fn new(index: u32, filing: u32) -> Self {
        Self(index << Self::FILING_BITS | filing & Self::FILING_MASK)
    }

    #[inline]
    pub(super) fn index(self) -> u32 {
        self.0 >> Self::FILING_BITS
    }

    #[inline]
    pub(super) fn filing(self) -> u32 {
        self.0 & Self::FILING_MASK
    }
}

/// The chunk that follows, and the round of compaction in which this one was taken into use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link(u32);

impl Link {
    const NEXT_BITS: u32 = 28;
    /// The end of a chain.
    const NONE: u32 = (1 << Self::NEXT_BITS) - 1;

    fn new(next: u32, round: u32) -> Self {
        Self(round << Self::NEXT_BITS | next)
    }

    fn next(self) -> u32 {
        self.0 & Self::NONE
    }

    fn round(self) -> u32 {
        self.0 >> Self::NEXT_BITS
    }
}

/// One cache line. All chunks of a queue but the last are full; how full that one is, the queue knows.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Chunk {
    link: Link,
    entries: [Entry; CHUNK],
}

/// A chunk that was taken off its queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    entries: [Entry; CHUNK],
    len: usize,
}

impl Taken {
    pub(super) const NOTHING: Self = Self { entries: [Entry(0); CHUNK], len: 0 };

    #[inline]
    pub(super) fn entries(&self) -> &[Entry] {
        self.entries.get(..self.len).unwrap_or_default()
    }
}

/// The first chunk of a queue, and where its next entry goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    head: u32,
    /// The last chunk, times 16, and how many entries it holds.
    end: u32,
}

impl Queue {
    /// A full chunk that is none: appending looks no further.
    pub(super) const EMPTY: Self = Self { head: Link::NONE, end: u32::MAX };

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.head == Link::NONE
    }

    #[inline]
    fn tail(self) -> u32 {
        self.end >> 4
    }

    #[inline]
    fn tail_len(self) -> usize {
        (self.end & 0xF) as usize
    }
}

#[derive(Debug)]
pub(super) struct Chunks {
    arena: Segments<Chunk>,
    free: u32,
    round: u32,
}

impl Chunks {
    pub(super) const fn new() -> Self {
        Self { arena: Segments::new(), free: Link::NONE, round: 0 }
    }

    /// Appends to the last chunk. `false`, and nothing is done, if there is none or it is full.
    #[inline]
    pub(super) fn append_in_place(&mut self, queue: &mut Queue, entry: Entry) -> bool {
        if queue.tail_len() < CHUNK
            && let Some(tail) = self.arena.get_mut(queue.tail())
        {
            tail.entries[queue.tail_len()] = entry;
            queue.end += 1;
            return true;
        }
        false
    }

    pub(super) fn append(&mut self, queue: &mut Queue, entry: Entry) {
        if !self.append_in_place(queue, entry) {
            self.append_chunk(queue, entry);
        }
    }

    /// Appends a chunk with one entry.
    pub(super) fn append_chunk(&mut self, queue: &mut Queue, entry: Entry) {
        let link = Link::new(Link::NONE, self.round);
        let index = self.free;
        let index = if let Some(chunk) = self.arena.get_mut(index) {
            self.free = chunk.link.next();
            chunk.link = link;
            chunk.entries[0] = entry;
            index
        } else {
            self.grow(link, entry)
        };
        if queue.is_empty() {
            queue.head = index;
        } else if let Some(tail) = self.arena.get_mut(queue.tail()) {
            tail.link = Link::new(index, tail.link.round());
        }
        queue.end = index << 4 | 1;
    }

    /// Takes the first chunk off the queue.
    #[inline]
    pub(super) fn pop(&mut self, queue: &mut Queue) -> Option<Taken> {
        let head = queue.head;
        let chunk = self.arena.get_mut(head)?;
        let mut taken = Taken { entries: chunk.entries, len: CHUNK };
        queue.head = chunk.link.next();
        if queue.is_empty() {
            taken.len = queue.tail_len();
            *queue = Queue::EMPTY;
        }
        chunk.link = Link::new(self.free, 0);
        self.free = head;
        Some(taken)
    }

    /// What the first chunk holds, while it is on its queue. The one after it is asked for.
    #[inline]
    pub(super) fn peek(&self, queue: Queue) -> &[Entry] {
        let Some(chunk) = self.arena.get(queue.head) else { return &[] };
        let next = self.arena.get(chunk.link.next());
        next.map(prefetch);
        let len = if next.is_some() { CHUNK } else { queue.tail_len() };
        chunk.entries.get(..len).unwrap_or_default()
    }

    pub(super) fn begin_round(&mut self) {
        self.round = (self.round + 1) % (1 << (u32::BITS - Link::NEXT_BITS));
    }

    /// Whether the queue has a chunk that was there before this round of compaction began.
    pub(super) fn is_old(&self, queue: Queue) -> bool {
        self.arena.get(queue.head).is_some_and(|chunk| chunk.link.round() != self.round)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.arena.bytes()
    }

    #[cold]
    fn grow(&mut self, link: Link, entry: Entry) -> u32 {
        let index = u32::try_from(self.arena.len()).ok().filter(|&index| index < Link::NONE);
        let mut entries = [Entry::default(); CHUNK];
        entries[0] = entry;
        self.arena.push(Chunk { link, entries });
        index.expect("invariant: fewer chunks than entries, entries are bounded")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_in_the_order_in_which_they_went() {
        let (mut chunks, mut queue) = (Chunks::new(), Queue::EMPTY);
        for count in [1, 14, 15, 16, 30, 31, 200] {
            for index in 0..count {
                chunks.append(&mut queue, Entry::new(index, index));
            }
            let mut entries = Vec::new();
            while let Some(taken) = chunks.pop(&mut queue) {
                entries.extend(taken.entries().iter().map(|entry| entry.index()));
            }
            assert!(queue.is_empty());
            assert!(entries.into_iter().eq(0..count));
        }
        assert_eq!(chunks.arena.len(), 14, "chunks are used again");
    }

    #[test]
    fn a_chunk_is_a_cache_line() {
        assert_eq!((size_of::<Chunk>(), align_of::<Chunk>()), (64, 64));
    }
}
