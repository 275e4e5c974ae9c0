//! The members of a group in the order they joined, found by instance and removed in O(1). By id they are found in
//! [`Sessions`](crate::sessions::Sessions).

use hashbrown::HashMap;

use super::member::Member;
use crate::hasher::Hasher;
use crate::ids::InstanceId;

/// A member's place in its group: good until the member is removed, then used again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct MemberIndex(u32);

impl MemberIndex {
    /// Below [`Members::places`].
    pub(crate) fn place(self) -> usize {
        self.0 as usize
    }
}

/// No place: ends a chain.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct Members {
    places: Vec<Place>,
    len: usize,
    /// The ends of the chain of taken places, in join order.
    first: u32,
    last: u32,
    /// The start of the chain of free places.
    free: u32,
    /// Most groups have no static members: then this is not allocated.
    by_instance: HashMap<InstanceId, MemberIndex, Hasher>,
}

#[derive(Debug)]
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
            len: 0,
            by_instance: HashMap::with_hasher(hasher),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
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
        let instance = member.instance().cloned();
        let index = self.take_place(member);
        if let Some(instance) = instance {
            self.by_instance.insert(instance, MemberIndex(index));
        }
        self.len += 1;
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
        self.len -= 1;
        if let Some(instance) = member.instance() {
            self.by_instance.remove(instance);
        }
        if self.len == 0 {
            *self = Self::new(*self.by_instance.hasher());
        }
        member
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
