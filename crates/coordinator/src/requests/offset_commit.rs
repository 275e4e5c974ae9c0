//! Store offsets. They count once they are kept; until then the old ones are served.

use super::offset_write::{self, Accepted};
use crate::coordinator::Coordinator;
use crate::delayed::{DelayedStore, heartbeat};
use crate::group::Phase;
use crate::groups::GroupIndex;
use crate::messages::{GroupError, OffsetCommit, OffsetCommitResponse, Record, Response, StoreError, Token};
use crate::offsets::Position;

/// Who waits for the offsets to be kept, and what becomes of them.
#[derive(Debug)]
pub(crate) struct Pending {
    group: GroupIndex,
    position: Position,
    accepted: Accepted,
    expire_timestamp_ms: Option<i64>,
    /// `None`: the answer was due before the outcome was known.
    token: Option<Token>,
}

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: OffsetCommit) {
    let found = match admit(coordinator, &request) {
        Ok(found) => found,
        Err(error) => {
            let results = offset_write::refuse_all(request.offsets, error);
            coordinator.turn.respond(token, Response::OffsetCommit(OffsetCommitResponse { results }));
            return;
        }
    };
    let index = found.unwrap_or_else(|| coordinator.create_group(request.group));
    let accepted = Accepted::of(&coordinator.turn, request.offsets);
    if accepted.offsets.is_empty() {
        let results = accepted.into_results(None);
        coordinator.turn.respond(token, Response::OffsetCommit(OffsetCommitResponse { results }));
        return;
    }
    let (turn, group) = coordinator.turn_and_group(index).expect("invariant: found in this turn");
    // What versions 2 to 4 carry counts from now, not from the commit's own timestamp.
    let expire_timestamp_ms =
        (request.retention_time_ms >= 0).then(|| turn.unix_ms().saturating_add(request.retention_time_ms));
    let record = |offset| Record::Offset(offset_write::record(&group.name, offset, expire_timestamp_ms));
    let records = accepted.offsets.iter().map(record).collect();
    group.offsets.begin_commit(&accepted.offsets, &mut turn.topic_names);
    let position = Position::stored(turn.next_store_id());
    group.last_commit = position;
    let pending = Pending { group: index, position, accepted, expire_timestamp_ms, token: Some(token) };
    turn.store_and_wait(group, records, DelayedStore::OffsetCommit(pending));
}

/// Whether the sender may commit: the group to commit to, or `None` if it is to be made.
fn admit(coordinator: &mut Coordinator, request: &OffsetCommit) -> Result<Option<GroupIndex>, GroupError> {
    let Some(index) = coordinator.find(&request.group)? else {
        return if request.generation.0 < 0 { Ok(None) } else { Err(GroupError::IllegalGeneration) };
    };
    let (turn, group) = coordinator.turn_and_group(index).expect("invariant: found in this turn");
    let instance = request.instance.as_ref();
    let member = group.check_commit(&turn.sessions, &request.member, instance, request.generation, false)?;
    if group.phase() == Phase::CompletingRebalance {
        return Err(GroupError::RebalanceInProgress);
    }
    // A commit is a sign of life. During PreparingRebalance too: what was consumed should not be lost.
    if let Some(member) = member {
        heartbeat::renew(turn, group, member);
    }
    Ok(Some(index))
}

/// The write ended. The group may be gone by now.
pub(crate) fn on_stored(coordinator: &mut Coordinator, pending: Pending, outcome: Result<(), StoreError>) {
    if let Some(group) = coordinator.groups.get_mut(pending.group) {
        let offsets = &pending.accepted.offsets;
        group.offsets.end_commit(pending.position, offsets, pending.expire_timestamp_ms, outcome.is_ok());
    }
    if let Some(token) = pending.token {
        let results = pending.accepted.into_results(outcome.err().map(offset_write::error));
        coordinator.turn.respond(token, Response::OffsetCommit(OffsetCommitResponse { results }));
    }
}

/// The write takes too long. The client is told so; whether the offsets count is decided when the write ends, lest
/// memory and log part ways.
pub(crate) fn on_expired(coordinator: &mut Coordinator, mut pending: Pending) {
    if let Some(token) = pending.token.take() {
        let results = pending.accepted.results(GroupError::RequestTimedOut);
        coordinator.turn.respond(token, Response::OffsetCommit(OffsetCommitResponse { results }));
    }
    let id = pending.position.store_id();
    coordinator.turn.wait_on(id, DelayedStore::OffsetCommit(pending));
}
