//! Waits until every member of one generation has sent SyncGroup.
//!
//! Ready: all have, or the generation is over. Expired: who has not is removed; the rest rejoin.

use super::{Delayed, WatchKey, heartbeat, join};
use crate::events::EventKind;
use crate::group::{Group, MemberIndex, Phase, PhaseEvent};
use crate::ids::{Blob, Generation, MemberId};
use crate::messages::{GroupError, Response, SyncGroupResponse};
use crate::turn::Turn;

/// Gives the members of the new generation the rebalance timeout to sync.
pub(crate) fn watch(turn: &mut Turn, group: &Group) {
    let operation = Delayed::Sync(group.index, group.generation);
    let deadline = turn.after_ms(group.rebalance_timeout_ms());
    turn.purgatory.watch(operation, [WatchKey::Sync(group.index)], deadline);
}

/// A member has synced; the last one ends the wait.
pub(crate) fn received(turn: &mut Turn, group: &mut Group, member: MemberIndex) {
    group.sync_received(member);
    end_if_ready(turn, group);
}

/// The generation is over: nobody is expected to sync.
pub(crate) fn forget_due(turn: &mut Turn, group: &mut Group) {
    group.forget_syncs_due();
    end_if_ready(turn, group);
}

/// Members of `generation` did not sync in time: they are removed, and the rest rejoin.
pub(crate) fn on_expired(turn: &mut Turn, group: &mut Group, generation: Generation) {
    let is_over = group.generation != generation
        || !matches!(group.phase(), Phase::CompletingRebalance | Phase::Stable);
    let owing = group.owing_sync();
    if is_over || owing.is_empty() {
        return;
    }
    for &index in &owing {
        let member = heartbeat::drop_member(turn, group, index);
        turn.counters.syncs_expired += 1;
        turn.event(group, EventKind::SyncExpired { member });
    }
    let cause = "members did not sync in time".into();
    join::prepare_rebalance(turn, group, PhaseEvent::RebalanceNeeded, MemberId::default(), cause);
}

/// Every member gets its part of the stored assignment, given in join order; those who wait are answered.
pub(crate) fn assign(turn: &mut Turn, group: &mut Group, assignments: Vec<Blob>) {
    let mut next = group.members.first();
    for assignment in assignments {
        let index = next.expect("invariant: members stay while their generation's assignment is stored");
        next = group.members.after(index);
        group.members[index].assignment = assignment;
        if let Some(token) = turn.unpark_sync(group, index) {
            turn.respond(token, Response::SyncGroup(synced(group, index)));
            heartbeat::renew(turn, group, index);
        }
    }
}

/// No assignment counts any more; those who wait for theirs are told `error`.
pub(crate) fn fail_parked(turn: &mut Turn, group: &mut Group, error: GroupError) {
    let mut next = group.members.first();
    while let Some(index) = next {
        next = group.members.after(index);
        group.members[index].assignment = Blob::default();
        if let Some(token) = turn.unpark_sync(group, index) {
            turn.respond(token, Response::SyncGroup(SyncGroupResponse::refusal(error)));
            heartbeat::renew(turn, group, index);
        }
    }
}

/// What a member is told of the assignment that counts.
pub(crate) fn synced(group: &Group, member: MemberIndex) -> SyncGroupResponse {
    SyncGroupResponse {
        error: None,
        protocol_type: group.protocol_type.clone(),
        protocol: group.protocol.clone(),
        assignment: group.members[member].assignment.clone(),
    }
}

fn end_if_ready(turn: &mut Turn, group: &Group) {
    if group.all_synced() {
        drop(turn.purgatory.complete_next(&WatchKey::Sync(group.index), |_| true));
    }
}
