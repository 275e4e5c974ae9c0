//! Who waits for what: key to operations, in watch order. Never knows time.
//!
//! ```text
//! keys: hash table ──▶ lists: slab of { key, head, tail, count }
//!                                        │
//!                                        ▼
//!                 watches: slab of { operation, list, previous, next, sibling }
//!                 previous/next: one key's watches in watch order; sibling: one operation's watches
//! ```
//!
//! Linking and unlinking are O(1) a key and allocate nothing once the slabs have grown to the load.

use std::hash::{BuildHasher, Hash};

use hashbrown::{Equivalent, HashTable};
use slab::Slab;

/// The end of a chain. Slabs never grow to this index.
pub(crate) const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct WatchIndex<K, S> {
    keys: HashTable<u32>,
    lists: Slab<List<K>>,
    watches: Slab<Watch>,
    hasher: S,
}

#[derive(Debug)]
struct List<K> {
    key: K,
    hash: u64,
    head: u32,
    tail: u32,
    count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Watch {
    operation: u32,
    list: u32,
    previous: u32,
    next: u32,
    sibling: u32,
}

impl<K: Hash + Eq, S: BuildHasher> WatchIndex<K, S> {
    pub(crate) fn with_hasher(hasher: S) -> Self {
        Self { keys: HashTable::new(), lists: Slab::new(), watches: Slab::new(), hasher }
    }

    /// Links `operation` at the end of the key's list, and in front of `chain`, its watches so far. Returns the new
    /// chain. A key that the operation watches already is left alone: it must be the newest of all operations.
    pub(crate) fn link(&mut self, key: K, operation: u32, chain: u32) -> u32 {
        let list_index = self.list_for(key);
        let list = &mut self.lists[list_index as usize];
        let previous = list.tail;
        if previous != NONE && self.watches[previous as usize].operation == operation {
            return chain;
        }
        let watch = Watch { operation, list: list_index, previous, next: NONE, sibling: chain };
        let watch_index = slab_index(self.watches.insert(watch));
        list.tail = watch_index;
        list.count += 1;
        match previous {
            NONE => list.head = watch_index,
            previous => self.watches[previous as usize].next = watch_index,
        }
        watch_index
    }

    /// Unlinks every watch of a chain; keys that nobody watches any more are freed.
    pub(crate) fn unlink(&mut self, chain: u32) {
        let mut next = chain;
        while next != NONE {
            let watch = self.watches.remove(next as usize);
            self.unlink_one(watch);
            next = watch.sibling;
        }
    }

    /// The first watch under the key.
    pub(crate) fn first<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<u32> {
        self.find(key).map(|list| self.lists[list as usize].head)
    }

    /// The watch after this one, under the same key.
    pub(crate) fn next(&self, watch: u32) -> Option<u32> {
        let next = self.watches[watch as usize].next;
        (next != NONE).then_some(next)
    }

    /// Whose watch this is.
    pub(crate) fn operation(&self, watch: u32) -> u32 {
        self.watches[watch as usize].operation
    }

    /// Whether `watch` is still the one that `operation` has on `key`.
    pub(crate) fn is_watch_of(&self, watch: u32, operation: u32, key: &K) -> bool {
        let found = self.watches.get(watch as usize).filter(|watch| watch.operation == operation);
        found.is_some_and(|watch| self.lists[watch.list as usize].key == *key)
    }

    /// How many operations watch the key.
    pub(crate) fn count<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> usize {
        self.find(key).map_or(0, |list| self.lists[list as usize].count as usize)
    }

    /// How many pairs of operation and key there are.
    pub(crate) fn watches(&self) -> usize {
        self.watches.len()
    }

    /// How many keys are watched.
    pub(crate) fn keys(&self) -> usize {
        self.lists.len()
    }

    fn find<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        self.keys.find(hash, |&list| key.equivalent(&self.lists[list as usize].key)).copied()
    }

    fn list_for(&mut self, key: K) -> u32 {
        let hash = self.hasher.hash_one(&key);
        let (keys, lists) = (&mut self.keys, &mut self.lists);
        if let Some(&list) = keys.find(hash, |&list| lists[list as usize].key == key) {
            return list;
        }
        let index = slab_index(lists.insert(List { key, hash, head: NONE, tail: NONE, count: 0 }));
        keys.insert_unique(hash, index, |&list| lists[list as usize].hash);
        index
    }

    fn unlink_one(&mut self, watch: Watch) {
        let list = &mut self.lists[watch.list as usize];
        list.count -= 1;
        if list.count == 0 {
            let hash = list.hash;
            self.lists.remove(watch.list as usize);
            let entry = self.keys.find_entry(hash, |&list| list == watch.list);
            entry.expect("invariant: a list is found under its key's hash").remove();
            return;
        }
        match watch.previous {
            NONE => list.head = watch.next,
            previous => self.watches[previous as usize].next = watch.next,
        }
        match watch.next {
            NONE => list.tail = watch.previous,
            next => self.watches[next as usize].previous = watch.previous,
        }
    }
}

fn slab_index(index: usize) -> u32 {
    u32::try_from(index).ok().filter(|&index| index != NONE).expect("fewer than 2^32 - 1 watches")
}
