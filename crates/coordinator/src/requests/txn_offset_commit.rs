//! Store offsets as part of a transaction: kept, they wait for its end.

use super::offset_write::{self, Accepted};
use crate::coordinator::Coordinator;
use crate::delayed::DelayedStore;
use crate::groups::GroupIndex;
use crate::ids::ProducerId;
use crate::messages::{
    GroupError, OffsetCommitResponse, Record, Response, StoreError, Token, TxnOffsetCommit,
};
use crate::offsets::Position;

/// Who waits for the offsets to be kept, and what becomes of them.
#[derive(Debug)]
pub(crate) struct Pending {
    group: GroupIndex,
    producer: ProducerId,
    position: Position,
    accepted: Accepted,
    /// `None`: the answer was due before the outcome was known.
    token: Option<Token>,
}

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: TxnOffsetCommit) {
    let found = match admit(coordinator, &request) {
        Ok(found) => found,
        Err(error) => {
            let results = offset_write::refuse_all(request.commit.offsets, error);
            coordinator.turn.respond(token, Response::TxnOffsetCommit(OffsetCommitResponse { results }));
            return;
        }
    };
    let producer = request.producer;
    let index = found.unwrap_or_else(|| coordinator.create_group(request.commit.group));
    let accepted = Accepted::of(&coordinator.turn, request.commit.offsets);
    if accepted.offsets.is_empty() {
        let results = accepted.into_results(None);
        coordinator.turn.respond(token, Response::TxnOffsetCommit(OffsetCommitResponse { results }));
        return;
    }
    let (turn, group) = coordinator.turn_and_group(index).expect("invariant: found in this turn");
    let record = |offset| Record::TxnOffset(producer, offset_write::record(&group.name, offset, None));
    let records = accepted.offsets.iter().map(record).collect();
    let position = Position::stored(turn.next_store_id());
    group.last_commit = position;
    let names = &mut turn.topic_names;
    group.offsets.begin_transactional_commit(position, producer, &accepted.offsets, names);
    let pending = Pending { group: index, producer, position, accepted, token: Some(token) };
    turn.store_and_wait(group, records, DelayedStore::TxnOffsetCommit(pending));
    let partition = group.partition;
    coordinator.open_transactions.add(producer, partition, index);
}

/// Whether the sender may commit: the group to commit to, or `None` if it is to be made.
///
/// Unlike a plain commit this is no sign of life, and a rebalance does not stand in its way: the transaction
/// fences zombies by its own means.
fn admit(coordinator: &mut Coordinator, request: &TxnOffsetCommit) -> Result<Option<GroupIndex>, GroupError> {
    let found = coordinator.find_named(&request.commit.group)?;
    request.verification.map_err(|error| match error {
        GroupError::Store(error) => offset_write::error(error),
        other => other,
    })?;
    let commit = &request.commit;
    let Some(index) = found else {
        return if commit.generation.0 < 0 { Ok(None) } else { Err(GroupError::UnknownMemberId) };
    };
    let (group, sessions) = (&coordinator.groups[index], &coordinator.turn.sessions);
    group.check_commit(sessions, &commit.member, commit.instance.as_ref(), commit.generation, true)?;
    Ok(Some(index))
}

/// The write ended. The group may be gone by now.
pub(crate) fn on_stored(coordinator: &mut Coordinator, pending: Pending, outcome: Result<(), StoreError>) {
    if let Some(group) = coordinator.groups.get_mut(pending.group) {
        let offsets = &pending.accepted.offsets;
        group.offsets.end_transactional_commit(pending.position, pending.producer, offsets, outcome.is_ok());
    }
    if let Some(token) = pending.token {
        let results = pending.accepted.into_results(outcome.err().map(offset_write::error));
        coordinator.turn.respond(token, Response::TxnOffsetCommit(OffsetCommitResponse { results }));
    }
}

/// The write takes too long: as for a plain commit, the client is told, and the outcome still decides.
pub(crate) fn on_expired(coordinator: &mut Coordinator, mut pending: Pending) {
    if let Some(token) = pending.token.take() {
        let results = pending.accepted.results(GroupError::RequestTimedOut);
        coordinator.turn.respond(token, Response::TxnOffsetCommit(OffsetCommitResponse { results }));
    }
    let id = pending.position.store_id();
    coordinator.turn.wait_on(id, DelayedStore::TxnOffsetCommit(pending));
}
