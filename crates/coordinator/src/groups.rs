//! All groups of a coordinator, found by name in O(1), and listed in order of name a page at a time. Never knows
//! what a group is.

use std::collections::BTreeMap;
use std::ops::Bound;

use hashbrown::HashTable;

use crate::group::Group;
use crate::hasher::Hasher;
use crate::ids::GroupId;

/// Names one group of one coordinator. Once the group is gone the index is stale for good.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct GroupIndex {
    place: u32,
    version: u32,
}

/// Where a group is. Good while the group is there: who keeps one forgets it with the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GroupPlace(u32);

impl GroupIndex {
    pub(crate) fn place(self) -> GroupPlace {
        GroupPlace(self.place)
    }

    /// Which place that is, as [`Groups::slice`] counts them.
    pub(crate) fn number(self) -> u32 {
        self.place
    }
}

#[derive(Debug)]
pub(crate) struct Groups {
    places: Vec<Place>,
    free: Vec<u32>,
    by_name: HashTable<u32>,
    /// For listing.
    in_order: BTreeMap<GroupId, u32>,
    hasher: Hasher,
}

#[derive(Debug)]
struct Place {
    version: u32,
    group: Option<Box<Group>>,
}

impl Groups {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            by_name: HashTable::new(),
            in_order: BTreeMap::new(),
            hasher,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    pub(crate) fn find(&self, name: &GroupId) -> Option<GroupIndex> {
        let hash = self.hasher.hash_text(name.as_str());
        let place = *self.by_name.find(hash, |&place| named(&self.places, place).name == *name)?;
        Some(GroupIndex { place, version: self.places[place as usize].version })
    }

    /// Adds the group that `make` makes; its name is not there yet.
    pub(crate) fn insert(&mut self, make: impl FnOnce(GroupIndex) -> Group) -> GroupIndex {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { version: 0, group: None });
            u32::try_from(self.places.len() - 1).expect("invariant: fewer groups than memory for them")
        });
        let index = GroupIndex { place, version: self.places[place as usize].version };
        let group = make(index);
        let hash = group.name_hash;
        self.in_order.insert(group.name.clone(), place);
        self.places[place as usize].group = Some(Box::new(group));
        let places = &self.places;
        self.by_name.insert_unique(hash, place, |&place| named(places, place).name_hash);
        index
    }

    pub(crate) fn get(&self, index: GroupIndex) -> Option<&Group> {
        let place = self.places.get(index.place as usize)?;
        place.group.as_deref().filter(|_| place.version == index.version)
    }

    pub(crate) fn get_mut(&mut self, index: GroupIndex) -> Option<&mut Group> {
        let place = self.places.get_mut(index.place as usize)?;
        let version = place.version;
        place.group.as_deref_mut().filter(|_| version == index.version)
    }

    pub(crate) fn remove(&mut self, index: GroupIndex) -> Option<Box<Group>> {
        let group = self.get(index)?;
        let (name, hash) = (group.name.clone(), group.name_hash);
        let entry = self.by_name.find_entry(hash, |&place| place == index.place);
        entry.expect("invariant: every group is named").remove();
        self.in_order.remove(&name);
        let place = &mut self.places[index.place as usize];
        place.version = place.version.wrapping_add(1);
        self.free.push(index.place);
        let group = place.group.take();
        if self.by_name.capacity() > 64 && self.by_name.len() < self.by_name.capacity() / 4 {
            let places = &self.places;
            self.by_name.shrink_to_fit(|&place| named(places, place).name_hash);
        }
        group
    }

    /// The groups in up to `count` places from `place` on, and where to go on if there are more places.
    pub(crate) fn slice(&self, place: u32, count: usize) -> (Vec<GroupIndex>, Option<u32>) {
        let rest = self.places.get(place as usize..).unwrap_or_default();
        let slice = &rest[..rest.len().min(count)];
        let groups = slice.iter().filter_map(|place| place.group.as_deref()).map(|group| group.index);
        let next = (rest.len() > slice.len())
            .then(|| place.saturating_add(u32::try_from(slice.len()).unwrap_or(u32::MAX)));
        (groups.collect(), next)
    }

    /// Groups in order of name, those up to `after` left out.
    pub(crate) fn page(&self, after: Option<&GroupId>) -> impl Iterator<Item = &Group> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let places = self.in_order.range::<GroupId, _>((start, Bound::Unbounded)).map(|(_, &place)| place);
        places.filter_map(|place| self.places[place as usize].group.as_deref())
    }

    /// The group at a place that was kept while it is there.
    pub(crate) fn at(&self, place: GroupPlace) -> &Group {
        named(&self.places, place.0)
    }
}

/// The group of that name's place.
fn named(places: &[Place], place: u32) -> &Group {
    places[place as usize].group.as_ref().expect("invariant: only groups are named")
}

impl std::ops::Index<GroupIndex> for Groups {
    type Output = Group;

    fn index(&self, index: GroupIndex) -> &Group {
        self.get(index).expect("invariant: a turn's own index names a group")
    }
}

impl std::ops::IndexMut<GroupIndex> for Groups {
    fn index_mut(&mut self, index: GroupIndex) -> &mut Group {
        self.get_mut(index).expect("invariant: a turn's own index names a group")
    }
}
