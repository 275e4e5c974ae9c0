//! A map for many small instances: a sorted vector that turns into a B-tree when it grows large.
//!
//! Most groups store offsets of a few topics with a few partitions each, and there may be millions of groups: one
//! entry costs its own size and nothing else. An instance of any size keeps every operation short.

use std::collections::BTreeMap;
use std::ops::Bound;

/// What a [`SortedMap`] holds: entries that carry their key.
pub(crate) trait Keyed {
    /// What they are sorted by.
    type Key: Ord + Clone;

    /// The entry's own key.
    fn key(&self) -> &Self::Key;

    /// Where the key stands if keys are dense (0, 1, 2, ...): tried first.
    fn guess(key: &Self::Key) -> usize;
}

/// Entries by key, iterated in the order of their keys.
#[derive(Debug)]
pub(crate) enum SortedMap<T: Keyed> {
    /// Up to [`LARGEST_SMALL`] entries, sorted.
    Small(Vec<T>),
    /// More. Boxed, so that the map itself is no larger than a vector.
    #[expect(clippy::box_collection, reason = "24 bytes instead of 32 in every topic of every group")]
    Large(Box<BTreeMap<T::Key, T>>),
}

/// An insertion moves at most this many entries.
const LARGEST_SMALL: usize = 512;
/// Well below, so that a map at the border does not turn back and forth.
const SMALLEST_LARGE: usize = 256;

impl<T: Keyed> Default for SortedMap<T> {
    fn default() -> Self {
        Self::Small(Vec::new())
    }
}

impl<T: Keyed> SortedMap<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Small(entries) => entries.len(),
            Self::Large(entries) => entries.len(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: &T::Key) -> Option<&T> {
        match self {
            Self::Small(entries) => place(entries, key).ok().map(|at| &entries[at]),
            Self::Large(entries) => entries.get(key),
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: &T::Key) -> Option<&mut T> {
        match self {
            Self::Small(entries) => place(entries, key).ok().map(|at| &mut entries[at]),
            Self::Large(entries) => entries.get_mut(key),
        }
    }

    /// Makes room for `count` entries, neither more nor less, if there are none yet.
    pub(crate) fn expect(&mut self, count: usize) {
        match self {
            Self::Small(entries) if entries.capacity() == 0 => {
                entries.reserve_exact(count.min(LARGEST_SMALL));
            }
            Self::Small(_) | Self::Large(_) => {}
        }
    }

    /// The entry of `key`, made by `new` if there is none.
    pub(crate) fn get_or_insert_with(&mut self, key: &T::Key, new: impl FnOnce() -> T) -> &mut T {
        if let Self::Small(entries) = self
            && entries.len() == LARGEST_SMALL
            && place(entries, key).is_err()
        {
            let entries = std::mem::take(entries);
            let tree = entries.into_iter().map(|entry| (entry.key().clone(), entry)).collect();
            *self = Self::Large(Box::new(tree));
        }
        match self {
            Self::Small(entries) => {
                let at = place(entries, key).unwrap_or_else(|at| {
                    reserve_one(entries);
                    entries.insert(at, new());
                    at
                });
                &mut entries[at]
            }
            Self::Large(entries) => entries.entry(key.clone()).or_insert_with(new),
        }
    }

    pub(crate) fn remove(&mut self, key: &T::Key) -> Option<T> {
        match self {
            Self::Small(entries) => place(entries, key).ok().map(|at| entries.remove(at)),
            Self::Large(entries) => {
                let removed = entries.remove(key);
                if entries.len() < SMALLEST_LARGE {
                    let entries = std::mem::take(&mut **entries);
                    *self = Self::Small(entries.into_values().collect());
                }
                removed
            }
        }
    }

    /// All entries, in the order of their keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.iter_from(Bound::Unbounded)
    }

    /// The entries from `start` on, in the order of their keys.
    pub(crate) fn iter_from(&self, start: Bound<&T::Key>) -> impl Iterator<Item = &T> {
        let (small, large) = match self {
            Self::Small(entries) => {
                let at = match start {
                    Bound::Unbounded => 0,
                    Bound::Included(key) => place(entries, key).unwrap_or_else(|at| at),
                    Bound::Excluded(key) => place(entries, key).map_or_else(|at| at, |at| at + 1),
                };
                (Some(entries[at..].iter()), None)
            }
            Self::Large(entries) => {
                let rest = entries.range::<T::Key, _>((start, Bound::Unbounded));
                (None, Some(rest.map(|(_, entry)| entry)))
            }
        };
        small.into_iter().flatten().chain(large.into_iter().flatten())
    }

    /// Keeps the entries for which `keep` says so. Asked in the order of their keys.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        match self {
            Self::Small(entries) => entries.retain_mut(keep),
            Self::Large(entries) => {
                entries.retain(|_, entry| keep(entry));
                if entries.len() < SMALLEST_LARGE {
                    let entries = std::mem::take(&mut **entries);
                    *self = Self::Small(entries.into_values().collect());
                }
            }
        }
    }
}

/// Where `key` stands, or would stand.
#[inline]
fn place<T: Keyed>(entries: &[T], key: &T::Key) -> Result<usize, usize> {
    let guess = T::guess(key);
    if entries.get(guess).is_some_and(|entry| entry.key() == key) {
        return Ok(guess);
    }
    search(entries, key)
}

#[inline(never)]
fn search<T: Keyed>(entries: &[T], key: &T::Key) -> Result<usize, usize> {
    entries.binary_search_by(|entry| entry.key().cmp(key))
}

/// Grows by one while tiny and by half later: `Vec` itself would start at four and double.
fn reserve_one<T>(entries: &mut Vec<T>) {
    if entries.len() == entries.capacity() {
        let more = if entries.len() < 4 { 1 } else { entries.len() / 2 };
        entries.reserve_exact(more);
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Entry(i32, u32);

    impl Keyed for Entry {
        type Key = i32;

        fn key(&self) -> &i32 {
            &self.0
        }

        fn guess(key: &i32) -> usize {
            usize::try_from(*key).unwrap_or(usize::MAX)
        }
    }

    /// Against a `BTreeMap`, growing and shrinking through both borders several times.
    #[test]
    fn behaves_like_a_btree_map() {
        for seed in 0..50 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut map = SortedMap::default();
            let mut model = BTreeMap::new();
            for step in 0..6_000_u32 {
                let key = random.random_range(-50..1_000);
                // Mostly insertions, then mostly removals, and again.
                let growing = (step / 1_500) % 2 == 0;
                if random.random_bool(if growing { 0.8 } else { 0.2 }) {
                    let entry = map.get_or_insert_with(&key, || Entry(key, step));
                    let expected = model.entry(key).or_insert(step);
                    assert_eq!(entry.1, *expected, "seed {seed}");
                } else {
                    assert_eq!(map.remove(&key).map(|entry| entry.1), model.remove(&key), "seed {seed}");
                }
                assert_eq!(map.len(), model.len());
                assert_eq!(map.is_empty(), model.is_empty());
                let other = random.random_range(-50..1_000);
                assert_eq!(map.get(&other).map(|entry| entry.1), model.get(&other).copied());
                if step % 100 == 0 {
                    for start in [Bound::Unbounded, Bound::Included(other), Bound::Excluded(other)] {
                        let rest = map.iter_from(start.as_ref()).map(|entry| entry.0);
                        assert!(rest.eq(model.range((start, Bound::Unbounded)).map(|(key, _)| *key)));
                    }
                }
                if let Some(entry) = map.get_mut(&other) {
                    entry.1 += 1;
                    *model.get_mut(&other).expect("both have it") += 1;
                }
            }
            map.retain(|entry| entry.1 % 3 != 0);
            model.retain(|_, value| *value % 3 != 0);
            assert!(map.iter().map(|entry| (entry.0, entry.1)).eq(model.into_iter()), "seed {seed}");
        }
    }

    #[test]
    fn a_small_map_takes_the_room_of_its_entries() {
        let mut map = SortedMap::default();
        for key in 0..3 {
            map.get_or_insert_with(&key, || Entry(key, 0));
            let SortedMap::Small(entries) = &map else { panic!("small") };
            assert_eq!(entries.capacity(), entries.len());
        }
    }

    #[test]
    fn a_border_crossed_either_way() {
        let mut map = SortedMap::default();
        let last = i32::try_from(LARGEST_SMALL).expect("small");
        for key in (0..last).rev() {
            map.get_or_insert_with(&key, || Entry(key, 0));
        }
        map.get_or_insert_with(&0, || unreachable!("it is there"));
        assert!(matches!(map, SortedMap::Small(_)));
        map.get_or_insert_with(&last, || Entry(last, 0));
        assert!(matches!(map, SortedMap::Large(_)));
        for key in 0..last {
            assert!(map.remove(&key).is_some());
        }
        assert!(matches!(map, SortedMap::Small(_)));
        assert_eq!(map.iter().collect::<Vec<_>>(), [&Entry(last, 0)]);
    }
}
