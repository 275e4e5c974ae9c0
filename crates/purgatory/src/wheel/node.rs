//! What the wheel knows of each timer: sixteen bytes, and apart from them who it belongs to and its value.
//!
//! Re-arming and turning the wheel touch the sixteen bytes alone, four timers a cache line, whatever a value takes.

use super::TimerId;
use super::chunk::Entry;
use super::prefetch::prefetch;
use super::ring::Place;
use alloc::vec::Vec;

/// How many steps ahead a node is asked for.
pub(super) const AHEAD: usize = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    deadline: u64,
    /// Odd while the node is a timer's, even while it is free.
    generation: u32,
    /// The place where the node's entry is, and its filing number. A node keeps its entry when its timer is re-armed
    /// to later, and even when it is removed: the next timer in this node may find it fit to use.
    filed: u32,
}

impl Node {
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

    /// The id of this node, which is at `index` and live.
    #[inline]
    pub(super) fn id(&self, index: u32) -> TimerId {
        TimerId::new(index, self.generation)
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

/// All nodes with their values, by index.
#[derive(Debug)]
pub(super) struct Nodes<T> {
    arena: Vec<Node>,
    /// Of each node its timer's value, while it is live.
    values: Vec<Option<T>>,
    /// Those that were freed, last. Not a chain through the nodes: that would be a cache miss that must be waited for.
    free: Vec<u32>,
    live: usize,
}

impl<T> Nodes<T> {
    pub(super) const fn new() -> Self {
        Self { arena: Vec::new(), values: Vec::new(), free: Vec::new(), live: 0 }
    }

    /// How many are live.
    #[inline]
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// Makes room for `additional` more.
    pub(super) fn reserve(&mut self, additional: usize) {
        let additional = (self.live + additional).saturating_sub(self.arena.len());
        self.arena.reserve(additional);
        self.values.reserve(additional);
    }

    /// Takes a node into use: the one that was freed last, else a new one.
    #[inline]
    pub(super) fn acquire(&mut self, deadline: u64, value: T) -> (TimerId, &mut Node) {
        self.live += 1;
        let Some(index) = self.free.pop() else { return self.grow(deadline, value) };
        self.prefetch_free();
        self.values[index as usize] = Some(value);
        let node = &mut self.arena[index as usize];
        node.deadline = deadline;
        node.generation += 1;
        (TimerId::new(index, node.generation), node)
    }

    /// Frees a node, which keeps its entry. Every id of it is stale from now on. `None` for a stale id.
    #[inline]
    pub(super) fn release(&mut self, id: TimerId) -> Option<T> {
        self.get(id)?;
        self.release_at(id.index)
    }

    /// The same for a live node.
    #[inline]
    pub(super) fn release_at(&mut self, index: u32) -> Option<T> {
        let node = self.arena.get_mut(index as usize)?;
        node.generation = node.generation.wrapping_add(1);
        // A node that has used up its generations is retired: otherwise an id of old would name a new timer.
        if node.generation != 0 {
            self.free.push(index);
        }
        self.live -= 1;
        self.values.get_mut(index as usize)?.take()
    }

    #[inline]
    pub(super) fn get(&self, id: TimerId) -> Option<&Node> {
        self.arena.get(id.index as usize).filter(|node| node.generation == id.generation.get())
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: TimerId) -> Option<&mut Node> {
        self.arena.get_mut(id.index as usize).filter(|node| node.generation == id.generation.get())
    }

    #[inline]
    pub(super) fn id_at(&self, index: u32) -> Option<TimerId> {
        self.arena.get(index as usize).filter(|node| node.is_live()).map(|node| node.id(index))
    }

    #[inline]
    pub(super) fn value(&self, id: TimerId) -> Option<&T> {
        self.get(id)?;
        self.values.get(id.index as usize)?.as_ref()
    }

    #[inline]
    pub(super) fn value_mut(&mut self, id: TimerId) -> Option<&mut T> {
        self.get(id)?;
        self.values.get_mut(id.index as usize)?.as_mut()
    }

    #[inline]
    pub(super) fn value_at(&self, index: u32) -> Option<(TimerId, &T)> {
        let value = self.values.get(index as usize)?.as_ref()?;
        Some((self.arena.get(index as usize)?.id(index), value))
    }

    /// The ids of all live nodes.
    pub(super) fn ids(&self) -> impl Iterator<Item = TimerId> + '_ {
        let live = self.arena.iter().zip(0..).filter(|(node, _)| node.is_live());
        live.map(|(node, index)| node.id(index))
    }

    #[inline]
    pub(super) fn at_mut(&mut self, index: u32) -> &mut Node {
        &mut self.arena[index as usize]
    }

    /// Asks for all these nodes at once, so that their cache misses overlap: what comes next deals with one at a time,
    /// and what it does with each depends on what it finds there.
    #[inline]
    pub(super) fn prefetch(&self, entries: &[Entry]) {
        for node in entries.iter().filter_map(|entry| self.arena.get(entry.index() as usize)) {
            prefetch(node);
        }
    }

    /// The same, and their values.
    #[inline]
    pub(super) fn prefetch_with_values(&self, entries: &[Entry]) {
        self.prefetch(entries);
        for value in entries.iter().filter_map(|entry| self.values.get(entry.index() as usize)) {
            prefetch(value);
        }
    }

    /// Asks for one node.
    #[inline]
    pub(super) fn prefetch_one(&self, id: TimerId) {
        if let Some(node) = self.arena.get(id.index as usize) {
            prefetch(node);
        }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.arena.capacity() * size_of::<Node>()
            + self.values.capacity() * size_of::<Option<T>>()
            + self.free.capacity() * size_of::<u32>()
    }

    /// Asks for the node that will be taken into use some time from now.
    #[inline]
    fn prefetch_free(&self) {
        if let Some(&index) = self.free.get(self.free.len().wrapping_sub(AHEAD))
            && let Some(node) = self.arena.get(index as usize)
            && let Some(value) = self.values.get(index as usize)
        {
            prefetch(node);
            prefetch(value);
        }
    }

    #[cold]
    fn grow(&mut self, deadline: u64, value: T) -> (TimerId, &mut Node) {
        let index = self.arena.len();
        assert!(index < Entry::MAX_NODES, "a wheel holds at most 2^27 timers");
        self.values.push(Some(value));
        self.arena.push(Node { deadline, generation: 1, filed: Place::NOWHERE.bits() << Entry::FILING_BITS });
        let index = u32::try_from(index).expect("invariant: bounded above");
        (TimerId::new(index, 1), self.at_mut(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_used_up_its_generations_is_never_used_again() {
        let mut nodes = Nodes::new();
        let (first, _) = nodes.acquire(10, 'a');
        nodes.at_mut(0).generation = u32::MAX;
        let last = TimerId::new(0, u32::MAX);
        assert_eq!(nodes.release(last), Some('a'));
        assert_eq!(nodes.acquire(10, 'b').0, TimerId::new(1, 1));
        assert_eq!((nodes.value(first), nodes.value(last), nodes.live()), (None, None, 1));
    }

    #[test]
    fn a_node_is_sixteen_bytes() {
        assert_eq!(size_of::<Node>(), 16);
    }
}
