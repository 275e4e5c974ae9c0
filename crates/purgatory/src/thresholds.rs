//! Who waits for a key to reach what value: per key a sorted set, so that a trigger touches only what it satisfies.
//!
//! A *mark* is one key's minimum for one operation. A mark that is reached is gone; an operation whose last mark is
//! gone has all it waited for.

use alloc::collections::BTreeSet;
use core::hash::Hash;

use hashbrown::Equivalent;
use slab::Slab;

use crate::keys::{Keys, NONE, slab_index};

#[derive(Debug)]
pub(crate) struct ThresholdIndex<K> {
    /// Per key: minimum, order of the operation, mark.
    keys: Keys<K, BTreeSet<(u64, u64, u32)>>,
    marks: Slab<Mark>,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    operation: u32,
    key: u32,
    minimum: u64,
    order: u64,
    /// The other marks of the operation.
    previous: u32,
    next: u32,
}

/// A mark that was reached.
pub(crate) struct Reached {
    pub(crate) operation: u32,
    pub(crate) mark: u32,
    /// The mark that followed it in the operation's chain.
    pub(crate) next: u32,
}

impl<K: Hash + Eq> ThresholdIndex<K> {
    pub(crate) fn new() -> Self {
        Self { keys: Keys::new(), marks: Slab::new() }
    }

    /// Adds a mark in front of `chain`, the operation's marks so far. Returns the new chain.
    pub(crate) fn add(&mut self, hash: u64, key: K, minimum: u64, operation: (u32, u64), chain: u32) -> u32 {
        let key = self.keys.find_or_insert(hash, key, BTreeSet::new);
        let (operation, order) = operation;
        let mark = Mark { operation, key, minimum, order, previous: NONE, next: chain };
        let index = slab_index(self.marks.insert(mark));
        if let Some(next) = self.marks.get_mut(chain as usize) {
            next.previous = index;
        }
        self.keys[key].insert((minimum, order, index));
        index
    }

    /// Takes away the lowest mark of the key if `value` reaches it.
    pub(crate) fn reach<Q>(&mut self, hash: u64, key: &Q, value: u64) -> Option<Reached>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let set = &self.keys[self.keys.find(hash, key)?];
        let &(_, _, index) = set.first().filter(|(minimum, ..)| *minimum <= value)?;
        let mark = self.remove(index);
        Some(Reached { operation: mark.operation, mark: index, next: mark.next })
    }

    /// Takes away all marks of a chain.
    pub(crate) fn remove_all(&mut self, mut chain: u32) {
        while chain != NONE {
            chain = self.remove(chain).next;
        }
    }

    /// The operation with the lowest mark of the key.
    pub(crate) fn first<Q: Hash + Equivalent<K> + ?Sized>(&self, hash: u64, key: &Q) -> Option<u32> {
        let &(_, _, index) = self.keys[self.keys.find(hash, key)?].first()?;
        Some(self.marks[index as usize].operation)
    }

    /// The lowest minimum of the key.
    pub(crate) fn lowest<Q: Hash + Equivalent<K> + ?Sized>(&self, hash: u64, key: &Q) -> Option<u64> {
        self.keys[self.keys.find(hash, key)?].first().map(|&(minimum, ..)| minimum)
    }

    /// How many marks the key has.
    pub(crate) fn count<Q: Hash + Equivalent<K> + ?Sized>(&self, hash: u64, key: &Q) -> usize {
        self.keys.find(hash, key).map_or(0, |key| self.keys[key].len())
    }

    /// How many marks there are.
    pub(crate) fn marks(&self) -> usize {
        self.marks.len()
    }

    /// How many keys have marks.
    pub(crate) fn keys(&self) -> usize {
        self.keys.len()
    }

    fn remove(&mut self, index: u32) -> Mark {
        let mark = self.marks.remove(index as usize);
        let set = &mut self.keys[mark.key];
        set.remove(&(mark.minimum, mark.order, index));
        if set.is_empty() {
            self.keys.remove(mark.key);
        }
        if let Some(next) = self.marks.get_mut(mark.next as usize) {
            next.previous = mark.previous;
        }
        if let Some(previous) = self.marks.get_mut(mark.previous as usize) {
            previous.next = mark.next;
        }
        mark
    }
}
