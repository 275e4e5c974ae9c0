//! Where every member of every group is: found by the names of both in one step, since heartbeats come in any order.
//!
//! One table beside the groups, not one in each. It knows of each member the index of its timer, which is also where its
//! [`Session`] is: half a cache line with all that a heartbeat needs. So a heartbeat's look at the session and its look at
//! the timer, each a cache miss, do not wait for one another. Texts are not looked at: a [`Fingerprint`] of both names
//! stands for them. Never knows phases or generations.

mod fingerprint;
mod slots;
#[cfg(test)]
mod tests;

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;
use purgatory::OperationId;

use self::fingerprint::Keys;
pub(crate) use self::fingerprint::{Fingerprint, NameSum};
use self::slots::Slots;
use crate::group::{Group, Joining, Member, MemberIndex, Rejoin};
use crate::groups::GroupPlace;
use crate::ids::{GroupId, MemberId};
use crate::secret::Secret;

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
    parts: Vec<HashTable<u32>>,
    slots: Slots,
    len: usize,
    keys: Keys,
}

/// What a heartbeat needs to know of a member: half a cache line, and never across two.
#[derive(Debug)]
#[repr(align(32))]
pub(crate) struct Session {
    fingerprint: Fingerprint,
    /// The member's one `DelayedHeartbeat`.
    pub(crate) timer: OperationId,
    pub(crate) timeout_ms: i32,
    pub(crate) group: GroupPlace,
    index: MemberIndex,
}

impl Sessions {
    pub(crate) fn new(secret: Secret) -> Self {
        Self { parts: Vec::new(), slots: Slots::default(), len: 0, keys: Keys::new(secret) }
    }

    /// How many members there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// What a group's name adds to the fingerprints of its members.
    pub(crate) fn name_sum(&self, group: &GroupId) -> NameSum {
        self.keys.name_sum(group.as_str())
    }

    /// The fingerprint of a member of this id in a group of this name, whether or not there is one.
    pub(crate) fn fingerprint(&self, group: &GroupId, member: &MemberId) -> Fingerprint {
        self.keys.fingerprint(self.name_sum(group), member.as_str())
    }

    /// The member with this fingerprint.
    pub(crate) fn find(&self, fingerprint: Fingerprint) -> Option<&Session> {
        self.find_with_index(fingerprint).map(|(_, session)| session)
    }

    /// The same, with the index of the member's timer.
    pub(crate) fn find_with_index(&self, fingerprint: Fingerprint) -> Option<(u32, &Session)> {
        let is_it = |&index: &u32| self.at(index).is_some_and(|session| session.fingerprint == fingerprint);
        let index = *self.parts.get(part_of(fingerprint))?.find(fingerprint.spread(), is_it)?;
        Some((index, self.at(index)?))
    }

    /// The index of the timer of whoever may have this fingerprint: nearly always the one who is meant. Looks at the table
    /// alone.
    pub(crate) fn guess(&self, fingerprint: Fingerprint) -> Option<u32> {
        self.parts.get(part_of(fingerprint))?.find(fingerprint.spread(), |_| true).copied()
    }

    /// The session whose timer has this index.
    pub(crate) fn at(&self, index: u32) -> Option<&Session> {
        self.slots.get(index)
    }

    /// The group's member of this id.
    pub(crate) fn find_in(&self, group: &Group, member: &MemberId) -> Option<MemberIndex> {
        let fingerprint = self.keys.fingerprint(group.name_sum, member.as_str());
        let is_it = |of: &Member| of.hash == fingerprint.start() && of.id == *member;
        if group.members.len() <= FEW {
            // They lie side by side; a look into the large table would be a cache miss or two.
            return group.members.iter().find(|(_, of)| is_it(of)).map(|(index, _)| index);
        }
        let session = self.find(fingerprint).filter(|session| session.group == group.index.place())?;
        Some(session.index).filter(|&index| is_it(&group.members[index]))
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
            let session = self.slots.get_mut(member.heartbeat.index());
            session.expect("invariant: every member has a session").timeout_ms = timeout_ms;
        }
    }

    /// The member has another timer from now on.
    pub(crate) fn set_timer(&mut self, group: &mut Group, index: MemberIndex, timer: OperationId) {
        let old = group.members[index].heartbeat.index();
        let mut session = self.slots.take(old).expect("invariant: every member has a session");
        session.timer = timer;
        *entry(&mut self.parts, session.fingerprint, old).get_mut() = timer.index();
        self.slots.put(timer.index(), session);
        group.members[index].heartbeat = timer;
    }

    /// Forgets a member that is about to go, with its group or without.
    pub(crate) fn forget(&mut self, group: &Group, index: MemberIndex) {
        let slot = group.members[index].heartbeat.index();
        let session = self.slots.take(slot).expect("invariant: every member has a session");
        let (_, vacant) = entry(&mut self.parts, session.fingerprint, slot).remove();
        let part = vacant.into_table();
        if part.capacity() > SMALL_PART && part.len() < part.capacity() / 4 {
            part.shrink_to(part.len() * 2, |&index| spread_at(&self.slots, index));
        }
        self.len -= 1;
    }

    fn insert(&mut self, group: &mut Group, index: MemberIndex) {
        if self.parts.is_empty() {
            self.parts.resize_with(PARTS, HashTable::new);
        }
        let member = &mut group.members[index];
        let fingerprint = self.keys.fingerprint(group.name_sum, member.id.as_str());
        member.hash = fingerprint.start();
        let slot = member.heartbeat.index();
        let session = Session {
            fingerprint,
            timer: member.heartbeat,
            timeout_ms: member.session_timeout_ms,
            group: group.index.place(),
            index,
        };
        self.slots.put(slot, session);
        let slots = &self.slots;
        let spread_of = |&other: &u32| spread_at(slots, other);
        self.parts[part_of(fingerprint)].insert_unique(fingerprint.spread(), slot, spread_of);
        self.len += 1;
    }
}

fn entry(parts: &mut [HashTable<u32>], fingerprint: Fingerprint, slot: u32) -> OccupiedEntry<'_, u32> {
    let part = parts.get_mut(part_of(fingerprint));
    let entry = part.and_then(|part| part.find_entry(fingerprint.spread(), |&other| other == slot).ok());
    entry.expect("invariant: every session is in the table")
}

fn spread_at(slots: &Slots, index: u32) -> u64 {
    slots.get(index).expect("invariant: what the table names is there").fingerprint.spread()
}

fn part_of(fingerprint: Fingerprint) -> usize {
    fingerprint.start() as usize % PARTS
}
