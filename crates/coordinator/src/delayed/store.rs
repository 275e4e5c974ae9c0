//! Waits until a write is kept.
//!
//! Ready: the host reported it, whatever the outcome. Expired: it took too long, which counts as REQUEST_TIMED_OUT; a
//! later report finds nobody waiting. What follows is decided afresh when the write ends, since the group may
//! have moved on, or be gone.

use super::{Delayed, WatchKey, heartbeat, join, sync};
use crate::coordinator::Coordinator;
use crate::events::EventKind;
use crate::group::{Group, MemberIndex, Phase, PhaseEvent};
use crate::groups::GroupIndex;
use crate::ids::{Generation, MemberId};
use crate::messages::{GroupError, Response, StoreError, StoreId};
use crate::requests::{join_group, offset_commit, txn_offset_commit};
use crate::turn::Turn;

/// Who waits for a write.
#[derive(Debug)]
pub(crate) enum DelayedStore {
    /// The members of a generation, for the leader's assignment.
    Assignment(AssignmentStore),
    /// A static member that came back under a new id.
    Replacement(ReplacementStore),
    /// Whoever committed offsets.
    OffsetCommit(offset_commit::Pending),
    /// Whoever committed offsets within a transaction.
    TxnOffsetCommit(txn_offset_commit::Pending),
}

/// The leader's assignment, which the group keeps meanwhile.
#[derive(Debug)]
pub(crate) struct AssignmentStore {
    pub(crate) group: GroupIndex,
    pub(crate) generation: Generation,
    /// Who brought it.
    pub(crate) leader: MemberId,
}

/// What it takes to answer a replaced static member, or to take the replacement back.
#[derive(Debug)]
pub(crate) struct ReplacementStore {
    pub(crate) group: GroupIndex,
    pub(crate) member: MemberIndex,
    pub(crate) new_id: MemberId,
    pub(crate) old_id: MemberId,
    /// Who led before: told to clients that could not be told to skip the assignment.
    pub(crate) old_leader: MemberId,
    pub(crate) old_session_timeout_ms: i32,
    pub(crate) old_rebalance_timeout_ms: i32,
    pub(crate) supports_skipping_assignment: bool,
}

/// A write was reported.
pub(crate) fn on_stored(coordinator: &mut Coordinator, id: StoreId, outcome: Result<(), StoreError>) {
    // A late, repeated or unknown report finds nobody waiting, and so does that of a write nobody waited for.
    let stored = coordinator.turn.purgatory.complete_next(&WatchKey::Store(id), |_| true);
    let Some(Delayed::Store(waiting)) = stored else { return };
    on_ended(coordinator, *waiting, outcome);
}

/// A write was not reported in time.
pub(crate) fn on_expired(coordinator: &mut Coordinator, waiting: DelayedStore) {
    coordinator.turn.counters.stores_expired += 1;
    match waiting {
        DelayedStore::OffsetCommit(pending) => offset_commit::on_expired(coordinator, pending),
        DelayedStore::TxnOffsetCommit(pending) => txn_offset_commit::on_expired(coordinator, pending),
        DelayedStore::Assignment(_) | DelayedStore::Replacement(_) => {
            on_ended(coordinator, waiting, Err(StoreError::RequestTimedOut));
        }
    }
}

fn on_ended(coordinator: &mut Coordinator, waiting: DelayedStore, outcome: Result<(), StoreError>) {
    match waiting {
        DelayedStore::Assignment(waiting) => {
            if let Some((turn, group)) = coordinator.turn_and_group(waiting.group) {
                on_assignment_ended(turn, group, waiting, outcome);
            }
        }
        DelayedStore::Replacement(waiting) => {
            if let Some((turn, group)) = coordinator.turn_and_group(waiting.group) {
                on_replacement_ended(turn, group, &waiting, outcome);
            }
        }
        DelayedStore::OffsetCommit(pending) => offset_commit::on_stored(coordinator, pending, outcome),
        DelayedStore::TxnOffsetCommit(pending) => txn_offset_commit::on_stored(coordinator, pending, outcome),
    }
}

fn on_assignment_ended(
    turn: &mut Turn,
    group: &mut Group,
    waiting: AssignmentStore,
    outcome: Result<(), StoreError>,
) {
    // Somebody may have joined, left or come back meanwhile; the group may even wait for the assignment of a later
    // generation. Then this write decides nothing: who waited for it was told when the group moved on.
    if group.phase() != Phase::CompletingRebalance || group.generation != waiting.generation {
        if group.assigned_in == waiting.generation {
            group.brought = Vec::new();
        }
        return;
    }
    let assignments = std::mem::take(&mut group.brought);
    match outcome {
        Ok(()) => {
            sync::assign(turn, group, assignments);
            turn.transition(group, PhaseEvent::AssignmentStored);
            turn.counters.rebalances_completed += 1;
            let (members, took_ms) = (group.members.len(), turn.now.ticks_since(group.round_started));
            turn.event(group, EventKind::RebalanceCompleted { members, took_ms });
        }
        Err(error) => {
            turn.event(group, EventKind::StoreFailed);
            sync::fail_parked(turn, group, group_write_error(error));
            let cause = "the assignment could not be stored".into();
            join::prepare_rebalance(turn, group, PhaseEvent::StoreFailed, waiting.leader, cause);
        }
    }
}

fn on_replacement_ended(
    turn: &mut Turn,
    group: &mut Group,
    waiting: &ReplacementStore,
    outcome: Result<(), StoreError>,
) {
    // The member may have been replaced once more, removed, or answered by a round that ended meanwhile.
    if turn.sessions.find_in(group, &waiting.new_id) != Some(waiting.member) {
        return;
    }
    let Some(token) = turn.unpark_join(group, waiting.member) else { return };
    let mut response = join_group::joined(group, waiting.member);
    response.members.clear();
    match outcome {
        Ok(()) if waiting.supports_skipping_assignment && group.phase() == Phase::Stable => {
            if group.is_leader(waiting.member) {
                response.members = join_group::members_for_leader(group);
                response.skip_assignment = true;
            }
        }
        // An older client must not think that it leads: its assignment would be ignored (KIP-345).
        Ok(()) => response.leader = waiting.old_leader.clone(),
        Err(error) => {
            turn.sessions.rename(group, waiting.member, waiting.old_id.clone());
            turn.sessions.set_timeout(group, waiting.member, waiting.old_session_timeout_ms);
            group.members[waiting.member].rebalance_timeout_ms = waiting.old_rebalance_timeout_ms;
            heartbeat::renew(turn, group, waiting.member);
            response.error = Some(group_write_error(error));
            response.leader = waiting.old_leader.clone();
            response.member = MemberId::default();
        }
    }
    turn.respond(token, Response::JoinGroup(response));
}

/// What the members of a group are told of a failed write of the group.
pub(crate) fn group_write_error(error: StoreError) -> GroupError {
    match error {
        StoreError::UnknownTopicOrPartition
        | StoreError::NotEnoughReplicas
        | StoreError::NotEnoughReplicasAfterAppend => GroupError::CoordinatorNotAvailable,
        StoreError::NotLeaderOrFollower | StoreError::KafkaStorageError => GroupError::NotCoordinator,
        StoreError::RequestTimedOut => GroupError::RebalanceInProgress,
        StoreError::MessageTooLarge | StoreError::RecordListTooLarge | StoreError::InvalidFetchSize => {
            GroupError::UnknownServerError
        }
        StoreError::UnknownServerError
        | StoreError::CorruptMessage
        | StoreError::InvalidRequiredAcks
        | StoreError::NetworkException
        | StoreError::CoordinatorNotAvailable
        | StoreError::NotCoordinator
        | StoreError::InvalidProducerEpoch
        | StoreError::ProducerFenced
        | StoreError::InvalidTxnState
        | StoreError::ClusterAuthorizationFailed
        | StoreError::InvalidRecord => GroupError::Store(error),
    }
}
