//! Who waits for a key to reach what value, of the keys that hash to one shard: per key a sorted set.
//!
//! A mark that is reached leaves the set at once: the key has told the operation what it had to tell. The entry stays in
//! the operation's chain until the operation leaves.

use std::collections::BTreeSet;
use std::hash::Hash;

use hashbrown::Equivalent;
use slab::Slab;

use super::SharedId;
use super::examine::{BATCH, Ids};
use super::shard::Link;
use crate::keys::{Keys, NONE, slab_index};

#[derive(Debug)]
pub(crate) struct Marks<K> {
    /// Per key: minimum, order of registration, entry.
    keys: Keys<K, BTreeSet<(u64, u64, u32)>>,
    entries: Slab<Mark>,
    added: u64,
    /// Marks that were not reached yet.
    waiting: usize,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    id: SharedId,
    /// None once it was reached.
    key: u32,
    minimum: u64,
    order: u64,
    /// The operation's next link.
    sibling: Option<Link>,
}

impl<K: Hash + Eq> Marks<K> {
    pub(crate) fn new() -> Self {
        Self { keys: Keys::new(), entries: Slab::new(), added: 0, waiting: 0 }
    }

    pub(crate) fn add(
        &mut self,
        hash: u64,
        key: K,
        minimum: u64,
        id: SharedId,
        sibling: Option<Link>,
    ) -> u32 {
        let key = self.keys.find_or_insert(hash, key, BTreeSet::new);
        let order = self.added;
        self.added += 1;
        self.waiting += 1;
        let entry = slab_index(self.entries.insert(Mark { id, key, minimum, order, sibling }));
        self.keys[key].insert((minimum, order, entry));
        entry
    }

    /// Takes a mark away and returns its sibling.
    pub(crate) fn remove(&mut self, entry: u32) -> Option<Link> {
        let mark = self.entries.remove(entry as usize);
        if mark.key != NONE {
            let set = &mut self.keys[mark.key];
            set.remove(&(mark.minimum, mark.order, entry));
            self.waiting -= 1;
            if set.is_empty() {
                self.keys.remove(mark.key);
            }
        }
        mark.sibling
    }

    pub(crate) fn sibling_mut(&mut self, entry: u32) -> &mut Option<Link> {
        &mut self.entries[entry as usize].sibling
    }

    /// Adds those to `ids` that wait for the key to reach no more than `value`, lowest minimum first, a batch at most,
    /// and so many as `remaining` says. Whether there may be more.
    pub(crate) fn gather<Q>(
        &mut self,
        hash: u64,
        key: &Q,
        value: u64,
        remaining: &mut Option<usize>,
        ids: &mut Ids,
    ) -> bool
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let Some(key) = self.keys.find(hash, key) else { return false };
        let set = &mut self.keys[key];
        let remaining = remaining.get_or_insert(set.len());
        while *remaining > 0 && set.first().is_some_and(|&(minimum, ..)| minimum <= value) {
            if ids.len() == BATCH {
                return true;
            }
            *remaining -= 1;
            if let Some((_, _, entry)) = set.pop_first() {
                let mark = &mut self.entries[entry as usize];
                mark.key = NONE;
                self.waiting -= 1;
                ids.push(mark.id);
            }
        }
        if set.is_empty() {
            self.keys.remove(key);
        }
        false
    }

    /// The lowest minimum of the key.
    pub(crate) fn lowest<Q: Hash + Equivalent<K> + ?Sized>(&self, hash: u64, key: &Q) -> Option<u64> {
        self.keys[self.keys.find(hash, key)?].first().map(|&(minimum, ..)| minimum)
    }

    /// How many marks of the key were not reached yet.
    pub(crate) fn count<Q: Hash + Equivalent<K> + ?Sized>(&self, hash: u64, key: &Q) -> usize {
        self.keys.find(hash, key).map_or(0, |key| self.keys[key].len())
    }

    /// How many marks were not reached yet.
    pub(crate) fn marks(&self) -> usize {
        self.waiting
    }
}
