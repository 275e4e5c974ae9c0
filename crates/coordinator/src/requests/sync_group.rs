//! Ask for one's assignment; the leader brings everyone's.
//!
//! All wait until the leader's assignment is stored: nobody works on what could be forgotten.

use crate::coordinator::Coordinator;
use crate::delayed::store::{AssignmentStore, DelayedStore};
use crate::delayed::{heartbeat, sync};
use crate::group::{Group, MemberIndex, Parked, Phase};
use crate::ids::{Blob, MemberId};
use crate::messages::{GroupError, Response, SyncGroup, SyncGroupResponse, Token};
use crate::turn::Turn;

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: SyncGroup) {
    let found = match coordinator.find_named(&request.group) {
        // The round under way is lost with the last owner. Old clients do not expect the loading error here, and
        // this one makes them rejoin without looking for another coordinator.
        Err(GroupError::CoordinatorLoadInProgress) => Err(GroupError::RebalanceInProgress),
        Ok(None) => Err(GroupError::UnknownMemberId),
        Ok(Some(index)) => Ok(index),
        Err(error) => Err(error),
    };
    let found = found.map(|index| coordinator.turn_and_group(index).expect("invariant: found in this turn"));
    match found {
        Err(error) => refuse(&mut coordinator.turn, token, error),
        Ok((turn, group)) => match check(turn, group, &request) {
            Err(error) => refuse(turn, token, error),
            Ok(member) => sync(turn, group, member, token, request.assignments),
        },
    }
}

/// Who asks, if it may.
fn check(turn: &Turn, group: &Group, request: &SyncGroup) -> Result<MemberIndex, GroupError> {
    if group.phase() == Phase::Dead {
        return Err(GroupError::CoordinatorNotAvailable);
    }
    let (member, instance) = (&request.member, request.instance.as_ref());
    let index = group.member_of_generation(&turn.sessions, member, instance, request.generation)?;
    let is_other_type = request.protocol_type.is_some() && request.protocol_type != group.protocol_type;
    let is_other_protocol = request.protocol.is_some() && request.protocol != group.protocol;
    if is_other_type || is_other_protocol {
        return Err(GroupError::InconsistentGroupProtocol);
    }
    Ok(index)
}

fn sync(
    turn: &mut Turn,
    group: &mut Group,
    member: MemberIndex,
    token: Token,
    assignments: Vec<(MemberId, Blob)>,
) {
    match group.phase() {
        Phase::Empty | Phase::Dead => refuse(turn, token, GroupError::UnknownMemberId),
        Phase::PreparingRebalance => refuse(turn, token, GroupError::RebalanceInProgress),
        Phase::CompletingRebalance => {
            turn.park(group, member, Parked::Sync(token));
            sync::received(turn, group, member);
            // What followers bring does not count.
            if group.is_leader(member) {
                store_assignment(turn, group, assignments);
            }
        }
        Phase::Stable => {
            sync::received(turn, group, member);
            turn.respond(token, Response::SyncGroup(sync::synced(group, member)));
            heartbeat::renew(turn, group, member);
        }
    }
}

/// Asks for the leader's assignment to be kept. One that it brings once more in the same generation, because it lost
/// its connection, is not looked at: the members are given the first, so the first has to stand last in the log.
fn store_assignment(turn: &mut Turn, group: &mut Group, assignments: Vec<(MemberId, Blob)>) {
    if group.assigned_in != group.generation {
        group.assigned_in = group.generation;
        group.brought = in_order(turn, group, assignments);
    }
    let record = group.record(group.brought.iter());
    let waiting =
        AssignmentStore { group: group.index, generation: group.generation, leader: group.leader_id() };
    turn.store_and_wait(group, vec![record], DelayedStore::Assignment(waiting));
}

/// As the members joined, with nothing for those that were left out. Strangers are ignored.
fn in_order(turn: &Turn, group: &Group, assignments: Vec<(MemberId, Blob)>) -> Vec<Blob> {
    let mut brought = vec![Blob::default(); group.members.places()];
    for (member, assignment) in assignments {
        if let Some(index) = turn.sessions.find_in(group, &member) {
            brought[index.place()] = assignment;
        }
    }
    let take = |(index, _): (MemberIndex, _)| std::mem::take(&mut brought[index.place()]);
    group.members.iter().map(take).collect()
}

fn refuse(turn: &mut Turn, token: Token, error: GroupError) {
    turn.respond(token, Response::SyncGroup(SyncGroupResponse::refusal(error)));
}

impl SyncGroupResponse {
    /// An answer that is not an assignment.
    pub(crate) fn refusal(error: GroupError) -> Self {
        Self { error: Some(error), protocol_type: None, protocol: None, assignment: Blob::default() }
    }
}
