//! The members of a group in the order they joined, found by id or by instance in O(1), removed in O(1).

use hashbrown::{HashMap, HashTable};

use super::member::Member;
use crate::hasher::Hasher;
use crate::ids::{InstanceId, MemberId};

/// A member's place in its group: good until the member is removed, then used again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct MemberIndex(u32);

impl MemberIndex {
    /// Below [`Members::places`].
    pub(crate) fn place(self) -> usize {
        self.0 as usize
    }
}

/// Room that is made for the first member.
const SMALL_GROUP: usize = 7;

/// No place: ends a chain.
const NONE: u32 = u32::MAX;

/// What a heartbeat looks at comes first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Members {
    by_id: HashTable<u32>,
    places: Vec<Place>,
    /// The ends of the chain of taken places, in join order.
    first: u32,
    last: u32,
    /// The start of the chain of free places.
    free: u32,
    /// Most groups have no static members: then this is not allocated.
    by_instance: HashMap<InstanceId, MemberIndex, Hasher>,
    hasher: Hasher,
}

#[derive(Debug)]
#[repr(C)]
struct Place {
    member: Option<Member>,
    previous: u32,
    next: u32,
}

impl Members {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self {
            places: Vec::new(),
            first: NONE,
            last: NONE,
            free: NONE,
            by_id: HashTable::new(),
            by_instance: HashMap::with_hasher(hasher),
            hasher,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// How many places there are, free ones included.
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }

    /// Where the next member will be.
    pub(crate) fn next_index(&self) -> MemberIndex {
        let end = || u32::try_from(self.places.len()).expect("invariant: fewer members than memory for them");
        MemberIndex(if self.free == NONE { end() } else { self.free })
    }

    /// Appends a member whose id and instance no other member has.
    pub(crate) fn insert(&mut self, member: Member) -> MemberIndex {
        let hash = self.hasher.hash_text(member.id.as_str());
        let instance = member.instance().cloned();
        let index = self.take_place(member);
        if let Some(instance) = instance {
            self.by_instance.insert(instance, MemberIndex(index));
        }
        self.index_id(hash, index);
        MemberIndex(index)
    }

    /// Takes a member out.
    pub(crate) fn remove(&mut self, index: MemberIndex) -> Member {
        let place = &mut self.places[index.0 as usize];
        let member = place.member.take().expect("invariant: an index names a member of its group");
        let (previous, next) = (place.previous, place.next);
        (place.next, self.free) = (self.free, index.0);
        *self.next_of(previous) = next;
        *self.previous_of(next) = previous;
        self.unindex_id(&member.id, index);
        if let Some(instance) = member.instance() {
            self.by_instance.remove(instance);
        }
        if self.by_id.is_empty() {
            *self = Self::new(self.hasher);
        }
        member
    }

    /// Gives the member another id; returns the old one.
    pub(crate) fn rename(&mut self, index: MemberIndex, id: MemberId) -> MemberId {
        let hash = self.hasher.hash_text(id.as_str());
        let old = std::mem::replace(&mut self[index].id, id);
        self.unindex_id(&old, index);
        self.index_id(hash, index.0);
        old
    }

    pub(crate) fn find(&self, id: &MemberId) -> Option<MemberIndex> {
        let hash = self.hasher.hash_text(id.as_str());
        self.by_id.find(hash, |&index| self[MemberIndex(index)].id == *id).copied().map(MemberIndex)
    }

    pub(crate) fn find_instance(&self, instance: &InstanceId) -> Option<MemberIndex> {
        self.by_instance.get(instance).copied()
    }

    /// Who joined first.
    pub(crate) fn first(&self) -> Option<MemberIndex> {
        (self.first != NONE).then_some(MemberIndex(self.first))
    }

    /// Who joined next after `index`.
    pub(crate) fn after(&self, index: MemberIndex) -> Option<MemberIndex> {
        let next = self.places[index.0 as usize].next;
        (next != NONE).then_some(MemberIndex(next))
    }

    /// In join order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (MemberIndex, &Member)> {
        InJoinOrder { members: self, next: self.first(), left: self.len() }
    }

    /// Who joined last.
    pub(crate) fn last(&self) -> Option<&Member> {
        (self.last != NONE).then(|| &self[MemberIndex(self.last)])
    }

    fn take_place(&mut self, member: Member) -> u32 {
        let place = Place { previous: self.last, next: NONE, member: Some(member) };
        let index = if self.free == NONE {
            // Small steps: a member is large next to what doubling would leave empty.
            if self.places.len() == self.places.capacity() {
                self.places.reserve_exact((self.places.len() / 8).max(4));
            }
            self.places.push(place);
            u32::try_from(self.places.len() - 1).expect("invariant: fewer members than memory for them")
        } else {
            let index = self.free;
            self.free = self.places[index as usize].next;
            self.places[index as usize] = place;
            index
        };
        *self.next_of(self.last) = index;
        self.last = index;
        index
    }

    fn next_of(&mut self, index: u32) -> &mut u32 {
        if index == NONE { &mut self.first } else { &mut self.places[index as usize].next }
    }

    fn previous_of(&mut self, index: u32) -> &mut u32 {
        if index == NONE { &mut self.last } else { &mut self.places[index as usize].previous }
    }

    fn index_id(&mut self, hash: u64, index: u32) {
        let (places, hasher) = (&self.places, self.hasher);
        let hash_of = |&index: &u32| {
            let member = places[index as usize].member.as_ref().expect("invariant: only members are indexed");
            hasher.hash_text(member.id.as_str())
        };
        if self.by_id.is_empty() {
            // Not in steps of one, two and four: each would hash all again.
            self.by_id.reserve(SMALL_GROUP, hash_of);
        }
        self.by_id.insert_unique(hash, index, hash_of);
    }

    fn unindex_id(&mut self, id: &MemberId, index: MemberIndex) {
        let hash = self.hasher.hash_text(id.as_str());
        let entry = self.by_id.find_entry(hash, |&other| other == index.0);
        entry.expect("invariant: every member is indexed by its id").remove();
    }
}

impl std::ops::Index<MemberIndex> for Members {
    type Output = Member;

    fn index(&self, index: MemberIndex) -> &Member {
        self.places[index.0 as usize]
            .member
            .as_ref()
            .expect("invariant: an index names a member of its group")
    }
}

impl std::ops::IndexMut<MemberIndex> for Members {
    fn index_mut(&mut self, index: MemberIndex) -> &mut Member {
        self.places[index.0 as usize]
            .member
            .as_mut()
            .expect("invariant: an index names a member of its group")
    }
}

struct InJoinOrder<'m> {
    members: &'m Members,
    next: Option<MemberIndex>,
    left: usize,
}

impl<'m> Iterator for InJoinOrder<'m> {
    type Item = (MemberIndex, &'m Member);

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next?;
        self.next = self.members.after(index);
        self.left -= 1;
        Some((index, &self.members[index]))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for InJoinOrder<'_> {}
