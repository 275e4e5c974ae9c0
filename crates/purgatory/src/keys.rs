//! Keys with something under each: a hash table of indices into a slab, so that what hangs under a key can name it.

use core::hash::Hash;
use core::ops::{Index, IndexMut};

use hashbrown::{Equivalent, HashTable};
use slab::Slab;

#[derive(Debug)]
pub(crate) struct Keys<K, V> {
    table: HashTable<u32>,
    entries: Slab<Entry<K, V>>,
}

#[derive(Debug)]
struct Entry<K, V> {
    key: K,
    hash: Hash32,
    value: V,
}

/// Half of a key's hash, which is all that the table is told: half the room, and still 25 bits to choose a bucket by.
#[derive(Clone, Copy, Debug)]
struct Hash32(u32);

impl Hash32 {
    fn of(hash: u64) -> Self {
        Self((hash >> 32) as u32)
    }

    /// The table takes the bucket from the low end and a tag from the high end.
    fn spread(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.0)
    }
}

impl<K: Eq, V> Keys<K, V> {
    pub(crate) fn new() -> Self {
        Self { table: HashTable::new(), entries: Slab::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn key(&self, index: u32) -> &K {
        &self.entries[index as usize].key
    }

    pub(crate) fn find<Q: Hash + Equivalent<K> + ?Sized>(&self, hash: u64, key: &Q) -> Option<u32> {
        let hash = Hash32::of(hash).spread();
        self.table.find(hash, |&index| key.equivalent(&self.entries[index as usize].key)).copied()
    }

    /// The index of `key`, which is new with the value that `make` makes unless it is there.
    pub(crate) fn find_or_insert(&mut self, hash: u64, key: K, make: impl FnOnce() -> V) -> u32 {
        let hash = Hash32::of(hash);
        let (table, entries) = (&mut self.table, &mut self.entries);
        if let Some(&index) = table.find(hash.spread(), |&index| entries[index as usize].key == key) {
            return index;
        }
        let index = slab_index(entries.insert(Entry { key, hash, value: make() }));
        table.insert_unique(hash.spread(), index, |&index| entries[index as usize].hash.spread());
        index
    }

    pub(crate) fn remove(&mut self, index: u32) {
        let hash = self.entries.remove(index as usize).hash;
        let entry = self.table.find_entry(hash.spread(), |&other| other == index);
        entry.expect("invariant: a key is found under its hash").remove();
    }
}

impl<K, V> Index<u32> for Keys<K, V> {
    type Output = V;

    fn index(&self, index: u32) -> &V {
        &self.entries[index as usize].value
    }
}

impl<K, V> IndexMut<u32> for Keys<K, V> {
    fn index_mut(&mut self, index: u32) -> &mut V {
        &mut self.entries[index as usize].value
    }
}

/// The end of a chain of indices. Slabs never grow to it.
pub(crate) const NONE: u32 = u32::MAX;

pub(crate) fn slab_index(index: usize) -> u32 {
    u32::try_from(index).ok().filter(|&index| index != NONE).expect("fewer than 2^32 - 1 watches")
}
