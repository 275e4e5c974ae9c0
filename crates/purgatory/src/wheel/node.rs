//! What the wheel knows of each timer: sixteen bytes beside its value, and who they belong to now.
//!
//! Node and value share a cache line: a timer's insertion, removal and expiry are one miss each, not two.

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

    /// The id of this node, which is at `index`.
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
    arena: Vec<Slot<T>>,
    free: u64,
    live: usize,
}

#[derive(Debug)]
struct Slot<T> {
    node: Node,
    /// Present while the node is live.
    value: Option<T>,
}

impl<T> Nodes<T> {
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
    pub(super) fn acquire(&mut self, deadline: u64, value: T) -> TimerId {
        self.live += 1;
        if self.free == NONE {
            return self.grow(deadline, value);
        }
        #[expect(clippy::cast_possible_truncation, reason = "an index that `release` put there")]
        let index = self.free as u32;
        let slot = &mut self.arena[index as usize];
        self.free = slot.node.deadline;
        slot.node.deadline = deadline;
        slot.node.generation += 1;
        slot.value = Some(value);
        TimerId::new(index, slot.node.generation)
    }

    /// Frees a live node, which keeps its entry. Every id of it is stale from now on.
    #[inline]
    pub(super) fn release(&mut self, id: TimerId) -> Option<T> {
        let slot = self
            .arena
            .get_mut(id.index as usize)
            .filter(|slot| slot.node.generation == id.generation.get())?;
        slot.node.generation = slot.node.generation.wrapping_add(1);
        // A node that has used up its generations is retired: otherwise an id of old would name a new timer.
        if slot.node.generation != 0 {
            slot.node.deadline = self.free;
            self.free = u64::from(id.index);
        }
        self.live -= 1;
        slot.value.take()
    }

    #[inline]
    pub(super) fn get(&self, id: TimerId) -> Option<&Node> {
        self.slot(id).map(|slot| &slot.node)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: TimerId) -> Option<&mut Node> {
        let slot = self.arena.get_mut(id.index as usize)?;
        (slot.node.generation == id.generation.get()).then_some(&mut slot.node)
    }

    #[inline]
    pub(super) fn value(&self, id: TimerId) -> Option<&T> {
        self.slot(id)?.value.as_ref()
    }

    #[inline]
    pub(super) fn value_mut(&mut self, id: TimerId) -> Option<&mut T> {
        let slot = self.arena.get_mut(id.index as usize)?;
        if slot.node.generation == id.generation.get() { slot.value.as_mut() } else { None }
    }

    #[inline]
    pub(super) fn value_at(&self, index: u32) -> Option<(TimerId, &T)> {
        let slot = self.arena.get(index as usize)?;
        Some((TimerId::new(index, slot.node.generation), slot.value.as_ref()?))
    }

    /// The ids of all live nodes.
    pub(super) fn ids(&self) -> impl Iterator<Item = TimerId> + '_ {
        let live = self.arena.iter().zip(0..).filter(|(slot, _)| slot.node.is_live());
        live.map(|(slot, index)| slot.node.id(index))
    }

    #[inline]
    pub(super) fn at_mut(&mut self, index: u32) -> &mut Node {
        &mut self.arena[index as usize].node
    }

    /// Reads all these nodes at once, so that their cache misses overlap: what comes next deals with one at a time,
    /// and what it does with each depends on what it finds there.
    #[inline]
    pub(super) fn touch(&self, entries: &[Entry]) {
        let filed = entries.iter().map(|entry| self.arena[entry.index() as usize].node.filed);
        std::hint::black_box(filed.fold(0, |all, filed| all ^ filed));
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.arena.capacity() * size_of::<Slot<T>>()
    }

    #[inline]
    fn slot(&self, id: TimerId) -> Option<&Slot<T>> {
        self.arena.get(id.index as usize).filter(|slot| slot.node.generation == id.generation.get())
    }

    #[cold]
    fn grow(&mut self, deadline: u64, value: T) -> TimerId {
        assert!(self.arena.len() < Entry::MAX_NODES, "a wheel holds at most 2^27 timers");
        let index = u32::try_from(self.arena.len()).expect("invariant: bounded above");
        self.arena.push(Slot { node: Node { deadline, generation: 1, ..Node::NEW }, value: Some(value) });
        TimerId::new(index, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_used_up_its_generations_is_never_used_again() {
        let mut nodes = Nodes::new();
        let first = nodes.acquire(10, 'a');
        nodes.arena[0].node.generation = u32::MAX;
        let last = TimerId::new(0, u32::MAX);
        assert_eq!(nodes.release(last), Some('a'));
        assert_eq!(nodes.acquire(10, 'b'), TimerId::new(1, 1));
        assert_eq!((nodes.value(first), nodes.value(last), nodes.live()), (None, None, 1));
    }

    #[test]
    fn a_node_is_sixteen_bytes() {
        assert_eq!(size_of::<Node>(), 16);
    }
}
