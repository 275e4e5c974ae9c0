//! TxnOffsetCommit, versions 0 to 5: topics by name. From 5 on it adds its group to the transaction by itself
//! (`transaction.version` 2, KIP-890).
//!
//! As for OffsetCommit, what does not exist is refused here, and only what remains goes on: to the coordinator of the
//! transaction first, then to that of the group.

use coordinator::ids::{Generation, GroupId, InstanceId, MemberId, ProducerId};
use coordinator::messages::{GroupError, OffsetCommit, OffsetCommitResponse, TxnOffsetCommit};
use coordinator::transactions::{AddOffsetsToTxn, ProducerEpoch, TransactionalId};
use kafka_wire::txn_offset_commit::{TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic};
use kafka_wire::{TxnOffsetCommitRequest, TxnOffsetCommitResponse, Uuid, WireError};

use super::commits::{Asked, Commit, Commits};
use super::errors;
use super::limits::{self, Unreadable, at_most};
use crate::shard::OffsetsQuestion;
use crate::topics::Topics;

/// From here on a client knows `TRANSACTION_ABORTABLE` (KIP-890).
const ABORTABLE: i16 = 4;
/// From here on no AddOffsetsToTxn comes before it.
const ADDS: i16 = 5;

pub(super) fn decode(
    version: i16,
    body: &[u8],
    topics: &Topics,
) -> Result<(OffsetsQuestion, TxnOffsetCommit, Asked), Unreadable> {
    let request = TxnOffsetCommitRequest::decode(version, body)?;
    let partitions = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    at_most(limits::PARTITIONS, "partitions", partitions)?;
    let mut commits = Commits::default();
    for topic in &request.topics {
        let known = topics.get(topic.name).ok_or(errors::UNKNOWN_TOPIC_OR_PARTITION);
        let partitions = topic.partitions.iter().map(|of| Commit {
            index: of.partition_index,
            offset: of.committed_offset,
            leader_epoch: of.committed_leader_epoch,
            metadata: of.committed_metadata,
        });
        commits.add((topic.name, Uuid::default()), known, partitions);
    }
    let (offsets, asked) = commits.finish();
    let group = GroupId::new(request.group_id);
    let producer = ProducerEpoch { producer: ProducerId(request.producer_id), epoch: request.producer_epoch };
    let commit = OffsetCommit {
        group: group.clone(),
        generation: Generation(request.generation_id),
        member: MemberId::new(request.member_id),
        instance: request.group_instance_id.map(InstanceId::new),
        retention_time_ms: -1,
        offsets,
    };
    let commit = TxnOffsetCommit {
        commit,
        producer: producer.producer,
        producer_epoch: producer.epoch,
        // Until its transaction's coordinator has been asked.
        verification: Err(GroupError::InvalidTxnState),
    };
    let transactional_id = TransactionalId::new(request.transactional_id);
    let question = AddOffsetsToTxn { transactional_id, producer, group };
    let question =
        if version >= ADDS { OffsetsQuestion::Add(question) } else { OffsetsQuestion::Verify(question) };
    Ok((question, commit, asked))
}

/// `response` is `None` where nothing was asked of the coordinators.
pub(super) fn encode(
    asked: &Asked,
    response: Option<&OffsetCommitResponse>,
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let partition =
        |(partition_index, error_code)| TxnOffsetCommitResponsePartition { partition_index, error_code };
    let outcomes = asked.outcomes(response, |error| code(error, version));
    let topics = outcomes.map(|(topic, codes)| TxnOffsetCommitResponseTopic {
        name: topic.name.as_str(),
        partitions: codes.into_iter().map(partition).collect(),
    });
    TxnOffsetCommitResponse { throttle_time_ms: 0, topics: topics.collect() }.encode(version, out)
}

/// A client that knows how aborts and goes on; an older one is beyond help.
fn code(error: Option<GroupError>, version: i16) -> i16 {
    match error {
        Some(GroupError::InvalidTxnState) if version >= ABORTABLE => errors::TRANSACTION_ABORTABLE,
        error => errors::code(error),
    }
}
