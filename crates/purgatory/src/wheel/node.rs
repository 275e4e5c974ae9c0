//! What the wheel knows of each timer: sixteen bytes, and who they belong to now.

use super::TimerId;
use super::chunk::Entry;
use super::ring::Place;

/// The end of the chain of free nodes.
const NONE: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// The deadline; of a free node the next free one.
    deadline: u64,
    /// Odd while the node is a timer's, even while it is free.
    generation: u32,
    /// The place where the node's entry is, and its filing number. A node keeps its entry when its timer is re-armed
    /// to later, and even when it is removed: the next timer in this node may find it fit to use.
    filed: u32,
}

impl Node {
    const NEW: Self =
        Self { deadline: NONE, generation: 0, filed: Place::NOWHERE.bits() << Entry::FILING_BITS };

    #[inline]
    pub(super) fn deadline(&self) -> u64 {
        self.deadline
    }

    #[inline]
    pub(super) fn set_deadline(&mut self, deadline: u64) {
        self.deadline = deadline;
    }

    #[inline]
    pub(super) fn is_live(&self) -> bool {
        self.generation % 2 == 1
    }

    #[inline]
    pub(super) fn place(&self) -> Place {
        Place::from_bits(self.filed >> Entry::FILING_BITS)
    }

    /// Whether `entry`, found at `place`, is this node's entry rather than one it left behind.
    #[inline]
    pub(super) fn is_filed_as(&self, place: Place, entry: Entry) -> bool {
        self.filed == place.bits() << Entry::FILING_BITS | entry.filing()
    }

    /// Files the node at `place`; what entry it had before is now one left behind.
    #[inline]
    pub(super) fn file(&mut self, index: u32, place: Place) -> Entry {
        let entry = Entry::new(index, self.filed + 1);
        self.filed = place.bits() << Entry::FILING_BITS | entry.filing();
        entry
    }

    /// The node's entry is used up.
    #[inline]
    pub(super) fn unfile(&mut self) {
        self.filed = Place::NOWHERE.bits() << Entry::FILING_BITS | self.filed & Entry::FILING_MASK;
    }
}

/// All nodes, by index.
#[derive(Debug)]
pub(super) struct Nodes {
    arena: Vec<Node>,
    free: u64,
    live: usize,
}

impl Nodes {
    pub(super) const fn new() -> Self {
        Self { arena: Vec::new(), free: NONE, live: 0 }
    }

    /// How many are live.
    #[inline]
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// Makes room for `additional` more.
    pub(super) fn reserve(&mut self, additional: usize) {
        self.arena.reserve((self.live + additional).saturating_sub(self.arena.len()));
    }

    /// Takes a node into use: the one that was freed last, else a new one.
    #[inline]
    pub(super) fn acquire(&mut self) -> TimerId {
        self.live += 1;
        if self.free == NONE {
            return self.grow();
        }
        #[expect(clippy::cast_possible_truncation, reason = "an index that `release` put there")]
        let index = self.free as u32;
        let node = &mut self.arena[index as usize];
        self.free = node.deadline;
        node.generation += 1;
        TimerId { index, generation: node.generation }
    }

    /// Frees a live node, which keeps its entry. Every id of it is stale from now on.
    #[inline]
    pub(super) fn release(&mut self, index: u32) {
        self.live -= 1;
        let node = &mut self.arena[index as usize];
        node.generation = node.generation.wrapping_add(1);
        // A node that has used up its generations is retired: otherwise an id of old would name a new timer.
        if node.generation != 0 {
            node.deadline = self.free;
            self.free = u64::from(index);
        }
    }

    #[inline]
    pub(super) fn get(&self, id: TimerId) -> Option<&Node> {
        self.arena.get(id.index as usize).filter(|node| node.generation == id.generation)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: TimerId) -> Option<&mut Node> {
        self.arena.get_mut(id.index as usize).filter(|node| node.generation == id.generation)
    }

    #[inline]
    pub(super) fn at(&self, index: u32) -> &Node {
        &self.arena[index as usize]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, index: u32) -> &mut Node {
        &mut self.arena[index as usize]
    }

    #[inline]
    pub(super) fn id(&self, index: u32) -> TimerId {
        TimerId { index, generation: self.arena[index as usize].generation }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.arena.capacity() * size_of::<Node>()
    }

    #[cold]
    fn grow(&mut self) -> TimerId {
        assert!(self.arena.len() < Entry::MAX_NODES, "a wheel holds at most 2^27 timers");
        let index = u32::try_from(self.arena.len()).expect("invariant: bounded above");
        self.arena.push(Node { generation: 1, ..Node::NEW });
        TimerId { index, generation: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_used_up_its_generations_is_never_used_again() {
        let mut nodes = Nodes::new();
        let first = nodes.acquire();
        nodes.arena[0].generation = u32::MAX;
        nodes.release(first.index);
        assert_eq!(nodes.acquire(), TimerId { index: 1, generation: 1 });
        assert!(nodes.get(first).is_none());
        assert!(!nodes.at(0).is_live());
    }

    #[test]
    fn a_node_is_sixteen_bytes() {
        assert_eq!(size_of::<Node>(), 16);
    }
}
