//! A group as its coordinator sees it: for people, metrics and checks.

use std::sync::Arc;

use super::{Group, Phase};
use crate::ids::{Generation, GroupId, InstanceId, MemberId};

/// What a coordinator knows of a group, beyond what describe shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupView {
    /// Its name.
    pub group: GroupId,
    /// Its phase.
    pub phase: Phase,
    /// Its generation.
    pub generation: Generation,
    /// Who leads; none without members.
    pub leader: Option<MemberId>,
    /// Kept while the group is empty; none if it never had members.
    pub protocol_type: Option<Arc<str>>,
    /// The protocol voted for.
    pub protocol: Option<Arc<str>>,
    /// In the order they joined.
    pub members: Vec<MemberId>,
    /// Instance and member ids of the static members, in the order they joined.
    pub static_members: Vec<(InstanceId, MemberId)>,
    /// How many member ids are handed out and not used yet.
    pub pending_members: usize,
    /// How many members have a JoinGroup parked.
    pub awaiting_join: usize,
}

impl GroupView {
    pub(crate) fn of(group: &Group) -> Self {
        let statics = group.members.iter().filter_map(|(_, member)| {
            member.instance().map(|instance| (instance.clone(), member.id.clone()))
        });
        Self {
            group: group.name.clone(),
            phase: group.phase(),
            generation: group.generation,
            leader: group.leader().map(|leader| leader.id.clone()),
            protocol_type: group.protocol_type.clone(),
            protocol: group.protocol.clone(),
            members: group.members.iter().map(|(_, member)| member.id.clone()).collect(),
            static_members: statics.collect(),
            pending_members: group.pending.len(),
            awaiting_join: group.awaiting_join(),
        }
    }
}
