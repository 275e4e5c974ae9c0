//! Who watches which key, of the keys that hash to one shard: per key a list in the order of registration.
//!
//! A pass over a list goes on after the lock was let go. It keeps its place by a *cursor*, an entry of the list that
//! watches for nobody: whatever joins and leaves meanwhile, the cursor stays between what was passed and what was not.

use std::hash::Hash;

use hashbrown::Equivalent;
use slab::Slab;

use super::SharedId;
use super::examine::{BATCH, Ids};
use super::shard::{Link, ShardIndex};
use crate::keys::{Keys, NONE, slab_index};

#[derive(Debug)]
pub(crate) struct Watches<K> {
    keys: Keys<K, List>,
    entries: Slab<Watch>,
    /// Entries that are no cursors.
    count: usize,
}

#[derive(Debug)]
struct List {
    head: u32,
    tail: u32,
    /// With cursors; the key is forgotten with the last one.
    entries: u32,
    /// Without.
    watches: u32,
}

impl List {
    const EMPTY: Self = Self { head: NONE, tail: NONE, entries: 0, watches: 0 };
}

#[derive(Clone, Copy, Debug)]
struct Watch {
    /// Who watches; nobody's home is nowhere.
    id: SharedId,
    list: u32,
    previous: u32,
    next: u32,
    /// The operation's next link.
    sibling: Option<Link>,
}

impl Watch {
    fn is_cursor(&self) -> bool {
        self.id.home == ShardIndex::NONE
    }
}

/// How far a pass over one key's watchers has come.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    cursor: Option<u32>,
    /// So many, of those that watched when the pass began, may still come.
    remaining: u32,
}

impl Pass {
    pub(crate) fn is_over(&self) -> bool {
        self.cursor.is_none()
    }
}

impl<K: Hash + Eq> Watches<K> {
    pub(crate) fn new() -> Self {
        Self { keys: Keys::new(), entries: Slab::new(), count: 0 }
    }

    /// Appends a watch to the key's list; none if the operation was the last to come there.
    pub(crate) fn link(&mut self, hash: u64, key: K, id: SharedId, sibling: Option<Link>) -> Option<u32> {
        let list_index = self.keys.find_or_insert(hash, key, || List::EMPTY);
        let list = &mut self.keys[list_index];
        let previous = list.tail;
        if previous != NONE && self.entries[previous as usize].id == id {
            return None;
        }
        let watch = Watch { id, list: list_index, previous, next: NONE, sibling };
        let entry = slab_index(self.entries.insert(watch));
        list.tail = entry;
        list.entries += 1;
        list.watches += 1;
        self.count += 1;
        match previous {
            NONE => list.head = entry,
            previous => self.entries[previous as usize].next = entry,
        }
        Some(entry)
    }

    /// Takes a watch away and returns its sibling.
    pub(crate) fn unlink(&mut self, entry: u32) -> Option<Link> {
        let watch = self.entries.remove(entry as usize);
        self.count -= 1;
        self.keys[watch.list].watches -= 1;
        self.detach(watch);
        watch.sibling
    }

    pub(crate) fn sibling_mut(&mut self, entry: u32) -> &mut Option<Link> {
        &mut self.entries[entry as usize].sibling
    }

    /// How many operations watch the key.
    pub(crate) fn count<Q: Hash + Equivalent<K> + ?Sized>(&self, hash: u64, key: &Q) -> usize {
        self.keys.find(hash, key).map_or(0, |list| self.keys[list].watches as usize)
    }

    /// How many pairs of an operation and a key there are.
    pub(crate) fn watches(&self) -> usize {
        self.count
    }

    /// Adds the next watchers of the pass to `ids`, in watch order, a batch at most. Those that came after the pass
    /// began may be among them only in the place of others that left.
    pub(crate) fn gather<Q>(&mut self, hash: u64, key: &Q, pass: &mut Pass, ids: &mut Ids)
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let mut next = if let Some(cursor) = pass.cursor.take() {
            self.remove_cursor(cursor)
        } else {
            let Some(list) = self.keys.find(hash, key) else { return };
            pass.remaining = self.keys[list].watches;
            self.keys[list].head
        };
        while next != NONE && pass.remaining > 0 {
            if ids.len() == BATCH {
                pass.cursor = Some(self.insert_cursor(next));
                return;
            }
            let watch = &self.entries[next as usize];
            if !watch.is_cursor() {
                ids.push(watch.id);
                pass.remaining -= 1;
            }
            next = watch.next;
        }
    }

    /// Puts a cursor in front of an entry.
    fn insert_cursor(&mut self, next: u32) -> u32 {
        let behind = self.entries[next as usize];
        let id = SharedId { home: ShardIndex::NONE, ..behind.id };
        let cursor = Watch { id, next, sibling: None, ..behind };
        let entry = slab_index(self.entries.insert(cursor));
        self.entries[next as usize].previous = entry;
        let list = &mut self.keys[behind.list];
        list.entries += 1;
        match behind.previous {
            NONE => list.head = entry,
            previous => self.entries[previous as usize].next = entry,
        }
        entry
    }

    /// Takes a cursor away and returns the entry behind it.
    fn remove_cursor(&mut self, cursor: u32) -> u32 {
        let cursor = self.entries.remove(cursor as usize);
        self.detach(cursor);
        cursor.next
    }

    /// Closes the gap that an entry left in its list.
    fn detach(&mut self, watch: Watch) {
        let list = &mut self.keys[watch.list];
        list.entries -= 1;
        if list.entries == 0 {
            self.keys.remove(watch.list);
            return;
        }
        match watch.previous {
            NONE => list.head = watch.next,
            previous => self.entries[previous as usize].next = watch.next,
        }
        match watch.next {
            NONE => list.tail = watch.previous,
            next => self.entries[next as usize].previous = watch.previous,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_is_half_a_cache_line() {
        assert_eq!((size_of::<Watch>(), size_of::<Option<Link>>()), (32, 8));
    }
}
