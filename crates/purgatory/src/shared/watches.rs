//! Who watches which key, of the keys that hash to one shard: per key a list in the order of registration.
//!
//! A pass over a list goes on after the lock was let go. It keeps its place by a *cursor*, an entry of the list that
//! watches for nobody: whatever joins and leaves meanwhile, the cursor stays between what was passed and what was not.

use std::hash::Hash;
use std::hint::black_box;
use std::ops::{Index, IndexMut};

use hashbrown::Equivalent;

use super::SharedId;
use super::examine::{BATCH, Ids};
use super::shard::{Link, ShardIndex};
use crate::keys::{Keys, NONE, slab_index};

#[derive(Debug)]
pub(crate) struct Watches<K> {
    keys: Keys<K, List>,
    entries: Entries,
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

/// All entries, by index.
#[derive(Debug)]
struct Entries {
    all: Vec<Watch>,
    /// The entry that was freed last; a free entry's `next` is the one freed before.
    free: u32,
    /// The one freed before that: read when it was not needed yet, so that nobody waits for another core's line.
    free_then: u32,
}

impl Default for Entries {
    fn default() -> Self {
        Self { all: Vec::new(), free: NONE, free_then: NONE }
    }
}

impl Entries {
    fn insert(&mut self, watch: Watch) -> u32 {
        let index = self.free;
        if index == NONE {
            let index = slab_index(self.all.len());
            self.all.push(watch);
            return index;
        }
        self.free = self.free_then;
        self.free_then = self.all.get(self.free as usize).map_or(NONE, |free| free.next);
        self[index] = watch;
        index
    }

    fn remove(&mut self, index: u32) -> Watch {
        let watch = self[index];
        self[index].next = self.free;
        self.free_then = self.free;
        self.free = index;
        watch
    }
}

impl Index<u32> for Entries {
    type Output = Watch;

    fn index(&self, index: u32) -> &Watch {
        &self.all[index as usize]
    }
}

impl IndexMut<u32> for Entries {
    fn index_mut(&mut self, index: u32) -> &mut Watch {
        &mut self.all[index as usize]
    }
}

impl<K: Hash + Eq> Watches<K> {
    pub(crate) fn new() -> Self {
        Self { keys: Keys::new(), entries: Entries::default(), count: 0 }
    }

    /// Appends a watch to the key's list; none if the operation was the last to come there.
    pub(crate) fn link(&mut self, hash: u64, key: K, id: SharedId, sibling: Option<Link>) -> Option<u32> {
        let list_index = self.keys.find_or_insert(hash, key, || List::EMPTY);
        let list = &mut self.keys[list_index];
        let previous = list.tail;
        if previous != NONE && self.entries[previous].id == id {
            return None;
        }
        let watch = Watch { id, list: list_index, previous, next: NONE, sibling };
        let entry = self.entries.insert(watch);
        list.tail = entry;
        list.entries += 1;
        list.watches += 1;
        self.count += 1;
        match previous {
            NONE => list.head = entry,
            previous => self.entries[previous].next = entry,
        }
        Some(entry)
    }

    /// Takes a watch away and returns its sibling.
    pub(crate) fn unlink(&mut self, entry: u32) -> Option<Link> {
        let watch = self.entries.remove(entry);
        self.count -= 1;
        self.keys[watch.list].watches -= 1;
        self.detach(watch);
        watch.sibling
    }

    /// Reads these entries all at once, and then their neighbours: what comes next deals with one after the other.
    pub(crate) fn touch(&self, entries: impl Iterator<Item = u32> + Clone) {
        let read = |index: u32| self.entries.all.get(index as usize).map_or(0, |watch| watch.next);
        black_box(entries.clone().fold(0, |all, entry| all ^ read(entry)));
        let neighbours = |entry: u32| read(self.entries[entry].previous) ^ read(self.entries[entry].next);
        black_box(entries.fold(0, |all, entry| all ^ neighbours(entry)));
    }

    pub(crate) fn sibling_mut(&mut self, entry: u32) -> &mut Option<Link> {
        &mut self.entries[entry].sibling
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
            let watch = &self.entries[next];
            if !watch.is_cursor() {
                ids.push(watch.id);
                pass.remaining -= 1;
            }
            next = watch.next;
        }
    }

    /// Puts a cursor in front of an entry.
    fn insert_cursor(&mut self, next: u32) -> u32 {
        let behind = self.entries[next];
        let id = SharedId { home: ShardIndex::NONE, ..behind.id };
        let cursor = Watch { id, next, sibling: None, ..behind };
        let entry = self.entries.insert(cursor);
        self.entries[next].previous = entry;
        let list = &mut self.keys[behind.list];
        list.entries += 1;
        match behind.previous {
            NONE => list.head = entry,
            previous => self.entries[previous].next = entry,
        }
        entry
    }

    /// Takes a cursor away and returns the entry behind it.
    fn remove_cursor(&mut self, cursor: u32) -> u32 {
        let cursor = self.entries.remove(cursor);
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
            previous => self.entries[previous].next = watch.next,
        }
        match watch.next {
            NONE => list.tail = watch.previous,
            next => self.entries[next].previous = watch.previous,
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

    #[test]
    fn a_freed_entry_is_used_again() {
        let watch = Watch { id: nobody(), list: 0, previous: NONE, next: NONE, sibling: None };
        let mut entries = Entries::default();
        let all: Vec<u32> = (0..4).map(|_| entries.insert(watch)).collect();
        for freed in [1, 3, 0, 2] {
            entries.remove(all[freed]);
        }
        assert_eq!([entries.insert(watch), entries.insert(watch)], [2, 0]);
        entries.remove(2);
        let again: Vec<u32> = (0..4).map(|_| entries.insert(watch)).collect();
        assert_eq!(again, [2, 3, 1, 4]);
    }

    fn nobody() -> SharedId {
        let timer = crate::TimingWheel::new(crate::Timestamp::ZERO).insert(crate::Timestamp::ZERO, ());
        SharedId { home: ShardIndex::NONE, timer }
    }
}
