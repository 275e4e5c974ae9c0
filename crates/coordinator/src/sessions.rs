//! Where every member of every group is: found by the names of both in one step, since heartbeats come in any order.
//!
//! One table beside the groups, not one in each: a heartbeat reads the table's entry and then, all at once, what the
//! entry names: the two texts, the group, the timer. Never knows phases or generations.

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;
use purgatory::OperationId;

use crate::group::{Group, Joining, Member, MemberIndex, Rejoin};
use crate::groups::GroupPlace;
use crate::hasher::Hasher;
use crate::ids::{GroupId, MemberId};

#[cfg(test)]
mod tests;

/// The table is in so many parts, each of which grows by itself: no turn moves more than a part.
const PARTS: usize = 256;
/// So many members of a group are found by looking at each.
const FEW: usize = 8;
/// Parts smaller than this do not shrink.
const SMALL_PART: usize = 32;

/// The sessions of all members. Whoever adds, renames or removes a member of a group does so here, so that both agree.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// None before the first member.
    parts: Vec<HashTable<Session>>,
    len: usize,
    hasher: Hasher,
}

/// What a heartbeat needs to know of a member.
#[derive(Debug)]
pub(crate) struct Session {
    member: MemberId,
    /// The member's one `DelayedHeartbeat`.
    pub(crate) timer: OperationId,
    pub(crate) timeout_ms: i32,
    pub(crate) group: GroupPlace,
    index: MemberIndex,
    hash: SessionHash,
}

impl Session {
    /// The last byte of the member's id.
    pub(crate) fn text_end(&self) -> u8 {
        self.member.as_str().bytes().next_back().unwrap_or_default()
    }
}

/// The hash of a group's and a member's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SessionHash(u32);

impl SessionHash {
    fn new(hasher: Hasher, group_hash: u64, member: &MemberId) -> Self {
        Self(((group_hash.rotate_left(32) ^ hasher.hash_text(member.as_str())) >> 32) as u32)
    }

    /// From the middle: the part's table takes the place from the low end and a tag from the high end.
    fn part(self) -> usize {
        (self.0 >> 17) as usize % PARTS
    }

    fn spread(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.0)
    }
}

impl Sessions {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self { parts: Vec::new(), len: 0, hasher }
    }

    /// How many members there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The member of this id in the group of this name, where `name_of` tells the names of groups.
    pub(crate) fn find<'g>(
        &self,
        group: &GroupId,
        member: &MemberId,
        name_of: impl Fn(GroupPlace) -> &'g GroupId,
    ) -> Option<&Session> {
        let hash = self.hash(group, member);
        let is_it = |session: &Session| session.member == *member && name_of(session.group) == group;
        self.parts.get(hash.part())?.find(hash.spread(), is_it)
    }

    /// The hash of these names.
    pub(crate) fn hash(&self, group: &GroupId, member: &MemberId) -> SessionHash {
        SessionHash::new(self.hasher, self.hasher.hash_text(group.as_str()), member)
    }

    /// Whose names have this hash: nearly always the one who is meant.
    pub(crate) fn guess(&self, hash: SessionHash) -> Option<&Session> {
        self.parts.get(hash.part())?.find(hash.spread(), |session| session.hash == hash)
    }

    /// The group's member of this id.
    pub(crate) fn find_in(&self, group: &Group, member: &MemberId) -> Option<MemberIndex> {
        let hash = SessionHash::new(self.hasher, group.name_hash, member);
        if group.members.len() <= FEW {
            // They lie side by side; a look into the large table would be a cache miss or two.
            let is_it = |of: &Member| of.hash == hash && of.id == *member;
            return group.members.iter().find(|(_, of)| is_it(of)).map(|(index, _)| index);
        }
        let place = group.index.place();
        let is_it = |session: &Session| session.group == place && session.member == *member;
        self.parts.get(hash.part())?.find(hash.spread(), is_it).map(|session| session.index)
    }

    /// Adds a member whose id and instance are not in the group yet.
    pub(crate) fn add(&mut self, group: &mut Group, joining: Joining, timer: OperationId) -> MemberIndex {
        let index = group.add(joining, timer);
        self.insert(group, index);
        index
    }

    /// Takes a member out of its group.
    pub(crate) fn remove(&mut self, group: &mut Group, index: MemberIndex) -> Member {
        self.forget(group, index);
        group.remove(index)
    }

    /// Gives a member another id; returns the old one.
    pub(crate) fn rename(&mut self, group: &mut Group, index: MemberIndex, id: MemberId) -> MemberId {
        self.forget(group, index);
        let old = std::mem::replace(&mut group.members[index].id, id);
        self.insert(group, index);
        old
    }

    /// Takes over what a member's rejoin brings.
    pub(crate) fn update(&mut self, group: &mut Group, index: MemberIndex, rejoin: Rejoin) {
        self.set_timeout(group, index, rejoin.session_timeout_ms);
        group.update(index, rejoin);
    }

    /// Sets the session timeout of a member.
    pub(crate) fn set_timeout(&mut self, group: &mut Group, index: MemberIndex, timeout_ms: i32) {
        let member = &mut group.members[index];
        if member.session_timeout_ms != timeout_ms {
            member.session_timeout_ms = timeout_ms;
            self.entry(group, index).get_mut().timeout_ms = timeout_ms;
        }
    }

    /// The member has another timer from now on.
    pub(crate) fn set_timer(&mut self, group: &mut Group, index: MemberIndex, timer: OperationId) {
        group.members[index].heartbeat = timer;
        self.entry(group, index).get_mut().timer = timer;
    }

    /// Forgets a member that is about to go, with its group or without.
    pub(crate) fn forget(&mut self, group: &Group, index: MemberIndex) {
        let (_, vacant) = self.entry(group, index).remove();
        let part = vacant.into_table();
        if part.capacity() > SMALL_PART && part.len() < part.capacity() / 4 {
            part.shrink_to(part.len() * 2, |session| session.hash.spread());
        }
        self.len -= 1;
    }

    fn insert(&mut self, group: &mut Group, index: MemberIndex) {
        if self.parts.is_empty() {
            self.parts.resize_with(PARTS, HashTable::new);
        }
        let member = &mut group.members[index];
        let hash = SessionHash::new(self.hasher, group.name_hash, &member.id);
        member.hash = hash;
        let session = Session {
            member: member.id.clone(),
            timer: member.heartbeat,
            timeout_ms: member.session_timeout_ms,
            group: group.index.place(),
            index,
            hash,
        };
        self.parts[hash.part()].insert_unique(hash.spread(), session, |other| other.hash.spread());
        self.len += 1;
    }

    fn entry(&mut self, group: &Group, index: MemberIndex) -> OccupiedEntry<'_, Session> {
        let hash = group.members[index].hash;
        let place = group.index.place();
        let is_it = |session: &Session| session.index == index && session.group == place;
        let part = self.parts.get_mut(hash.part());
        let entry = part.and_then(|part| part.find_entry(hash.spread(), is_it).ok());
        entry.expect("invariant: every member has a session")
    }
}
