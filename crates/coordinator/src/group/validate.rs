//! Who may do what: the checks that requests share, in the order in which Kafka makes them.

use super::{Group, MemberIndex, Phase};
use crate::ids::{Generation, InstanceId, MemberId};
use crate::messages::GroupError;
use crate::sessions::Sessions;

impl Group {
    /// Finds the member a request comes from: fencing first, then whether it is known at all.
    pub(crate) fn current_member(
        &self,
        sessions: &Sessions,
        member: &MemberId,
        instance: Option<&InstanceId>,
    ) -> Result<MemberIndex, GroupError> {
        let Some(instance) = instance else {
            return sessions.find_in(self, member).ok_or(GroupError::UnknownMemberId);
        };
        match self.static_member(instance) {
            Some(index) if self.members[index].id == *member => Ok(index),
            Some(_) => Err(GroupError::FencedInstanceId),
            None => Err(GroupError::UnknownMemberId),
        }
    }

    /// As [`Group::current_member`], and that the member speaks of this generation.
    pub(crate) fn member_of_generation(
        &self,
        sessions: &Sessions,
        member: &MemberId,
        instance: Option<&InstanceId>,
        generation: Generation,
    ) -> Result<MemberIndex, GroupError> {
        let index = self.current_member(sessions, member, instance)?;
        if generation == self.generation { Ok(index) } else { Err(GroupError::IllegalGeneration) }
    }

    /// Whether offsets may be committed by this sender, and by which member if it is one.
    ///
    /// An empty group takes commits of generation -1 without looking at ids. A group with members takes those
    /// of members, and anonymous ones only as part of a transaction, since old producers send no ids.
    pub(crate) fn check_commit(
        &self,
        sessions: &Sessions,
        member: &MemberId,
        instance: Option<&InstanceId>,
        generation: Generation,
        is_transactional: bool,
    ) -> Result<Option<MemberIndex>, GroupError> {
        if self.phase() == Phase::Dead {
            return Err(GroupError::CoordinatorNotAvailable);
        }
        let is_anonymous = generation.0 < 0 && member.is_empty() && instance.is_none();
        if generation.0 < 0 && self.phase() == Phase::Empty {
            Ok(None)
        } else if !is_anonymous {
            self.member_of_generation(sessions, member, instance, generation).map(Some)
        } else if is_transactional {
            Ok(None)
        } else {
            Err(GroupError::UnknownMemberId)
        }
    }
}
