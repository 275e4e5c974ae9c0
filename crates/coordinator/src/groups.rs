//! All groups of a coordinator, found by name in O(1), and gone through a page at a time. Never knows what a group is.

mod place;

use hashbrown::HashTable;

use self::place::Place;
use crate::group::Group;
use crate::hasher::Hasher;
use crate::ids::{Generation, GroupId};

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
    hasher: Hasher,
}

impl Groups {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self { places: Vec::new(), free: Vec::new(), by_name: HashTable::new(), hasher }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    pub(crate) fn find(&self, name: &GroupId) -> Option<GroupIndex> {
        let hash = self.hasher.hash_text(name.as_str());
        let place = *self.by_name.find(hash, |&place| named(&self.places, place).name == *name)?;
        Some(GroupIndex { place, version: self.places[place as usize].version() })
    }

    /// Adds the group that `make` makes; its name is not there yet.
    pub(crate) fn insert(&mut self, make: impl FnOnce(GroupIndex) -> Group) -> GroupIndex {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::free());
            u32::try_from(self.places.len() - 1).expect("invariant: fewer groups than memory for them")
        });
        let index = GroupIndex { place, version: self.places[place as usize].version() };
        let group = make(index);
        let hash = group.name_hash;
        self.places[place as usize].settle(group);
        let places = &self.places;
        self.by_name.insert_unique(hash, place, |&place| named(places, place).name_hash);
        index
    }

    pub(crate) fn get(&self, index: GroupIndex) -> Option<&Group> {
        let place = self.places.get(index.place as usize)?;
        place.group().filter(|_| place.version() == index.version)
    }

    pub(crate) fn get_mut(&mut self, index: GroupIndex) -> Option<&mut Group> {
        let place = self.places.get_mut(index.place as usize)?;
        let version = place.version();
        place.group_mut().filter(|_| version == index.version)
    }

    pub(crate) fn remove(&mut self, index: GroupIndex) -> Option<Box<Group>> {
        let group = self.get(index)?;
        let hash = group.name_hash;
        let entry = self.by_name.find_entry(hash, |&place| place == index.place);
        entry.expect("invariant: every group is named").remove();
        self.free.push(index.place);
        let group = self.places[index.place as usize].vacate();
        if self.by_name.capacity() > 64 && self.by_name.len() < self.by_name.capacity() / 4 {
            let places = &self.places;
            self.by_name.shrink_to_fit(|&place| named(places, place).name_hash);
        }
        group
    }

    /// The groups in up to `count` places from `place` on, and where to go on if there are more places. A group that stays
    /// is met once by whoever goes on to the end, whatever comes and goes meanwhile.
    pub(crate) fn page(&self, place: u32, count: usize) -> (impl Iterator<Item = &Group>, Option<u32>) {
        let rest = self.places.get(place as usize..).unwrap_or_default();
        let page = &rest[..rest.len().min(count)];
        let next = (rest.len() > page.len())
            .then(|| place.saturating_add(u32::try_from(page.len()).unwrap_or(u32::MAX)));
        (page.iter().filter_map(Place::group), next)
    }

    /// As [`Groups::page`], of their indices.
    pub(crate) fn slice(&self, place: u32, count: usize) -> (Vec<GroupIndex>, Option<u32>) {
        let (groups, next) = self.page(place, count);
        (groups.map(|group| group.index).collect(), next)
    }

    /// All groups, in an order that depends on nothing but what came and went.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.places.iter().filter_map(Place::group)
    }

    /// The group at a place that was kept while it is there.
    pub(crate) fn at(&self, place: GroupPlace) -> &Group {
        named(&self.places, place.0)
    }

    /// The generation of which a heartbeat needs nothing of the group at `place` but a longer session, if that is known
    /// without a look at the group.
    pub(crate) fn calm_generation(&self, place: GroupPlace) -> Option<Generation> {
        self.places[place.0 as usize].calm_generation()
    }

    /// Remembers [`Groups::calm_generation`], until somebody may change the group.
    pub(crate) fn set_calm(&mut self, place: GroupPlace, generation: Generation) {
        self.places[place.0 as usize].set_calm(generation);
    }
}

/// The group of that name's place.
fn named(places: &[Place], place: u32) -> &Group {
    places[place as usize].group().expect("invariant: only groups are named")
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
