//! Who waits for what: key to operations, in watch order. Never knows time.
//!
//! ```text
//! keys: key ──▶ list { head, tail, count }
//!                       │
//!                       ▼
//! watches: slab of { operation, list, previous, next, sibling }
//!                 previous/next: one key's watches in watch order; sibling: one operation's watches
//! ```
//!
//! Linking and unlinking are O(1) a key and allocate nothing once the slabs have grown to the load.

use core::hash::{BuildHasher, Hash};

use hashbrown::Equivalent;
use slab::Slab;

use crate::keys::{Keys, NONE, slab_index};

#[derive(Debug)]
pub(crate) struct WatchIndex<K, S> {
    keys: Keys<K, List>,
    watches: Slab<Watch>,
    hasher: S,
}

#[derive(Debug)]
struct List {
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
        Self { keys: Keys::new(), watches: Slab::new(), hasher }
    }

    pub(crate) fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Links `operation` at the end of the key's list, and in front of `chain`, its watches so far. Returns the new
    /// chain. A key that the operation watches already is left alone: it must be the newest of all operations.
    pub(crate) fn link(&mut self, key: K, operation: u32, chain: u32) -> u32 {
        let empty = || List { head: NONE, tail: NONE, count: 0 };
        let list_index = self.keys.find_or_insert(self.hasher.hash_one(&key), key, empty);
        let list = &mut self.keys[list_index];
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
        self.find(key).map(|list| self.keys[list].head)
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
        found.is_some_and(|watch| self.keys.key(watch.list) == key)
    }

    /// How many operations watch the key.
    pub(crate) fn count<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> usize {
        self.find(key).map_or(0, |list| self.keys[list].count as usize)
    }

    /// How many pairs of operation and key there are.
    pub(crate) fn watches(&self) -> usize {
        self.watches.len()
    }

    /// How many keys are watched.
    pub(crate) fn keys(&self) -> usize {
        self.keys.len()
    }

    fn find<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<u32> {
        self.keys.find(self.hasher.hash_one(key), key)
    }

    fn unlink_one(&mut self, watch: Watch) {
        let list = &mut self.keys[watch.list];
        list.count -= 1;
        if list.count == 0 {
            self.keys.remove(watch.list);
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
