//! TxnOffsetCommit, versions 0 to 4: topics by name.
//!
//! As for OffsetCommit, what does not exist is refused here, and only what remains goes on: to the coordinator of the
//! transaction first, then to that of the group.

use coordinator::ids::{Generation, GroupId, InstanceId, MemberId, ProducerId, TopicName, TopicPartition};
use coordinator::messages::{CommitOffset, GroupError, OffsetCommit, OffsetCommitResponse, TxnOffsetCommit};
use coordinator::transactions::{AddOffsetsToTxn, ProducerEpoch, TransactionalId};
use kafka_wire::txn_offset_commit::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use kafka_wire::{TxnOffsetCommitRequest, TxnOffsetCommitResponse, WireError};

use super::errors;
use super::limits::{self, Unreadable, at_most};
use crate::topics::Topics;

/// From here on a client knows `TRANSACTION_ABORTABLE` (KIP-890).
const ABORTABLE: i16 = 4;

/// What was asked, topic by topic, for the answer.
#[derive(Debug)]
pub(crate) struct Asked {
    topics: Vec<AskedTopic>,
}

#[derive(Debug)]
struct AskedTopic {
    name: TopicName,
    /// Each with whether it exists: then the coordinators are asked.
    partitions: Vec<(i32, bool)>,
}

pub(super) fn decode(
    version: i16,
    body: &[u8],
    topics: &Topics,
) -> Result<(AddOffsetsToTxn, TxnOffsetCommit, Asked), Unreadable> {
    let request = TxnOffsetCommitRequest::decode(version, body)?;
    let partitions = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    at_most(limits::PARTITIONS, "partitions", partitions)?;
    let mut asked = Vec::with_capacity(request.topics.len());
    let mut offsets = Vec::new();
    for topic in &request.topics {
        let known = topics.get(topic.name);
        let (name, count) = match known {
            Some(known) => (known.name.clone(), known.partitions),
            None => (TopicName::new(topic.name), 0),
        };
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in &topic.partitions {
            let exists = (0..count).contains(&partition.partition_index);
            if exists {
                offsets.push(commit_offset(&name, partition));
            }
            partitions.push((partition.partition_index, exists));
        }
        asked.push(AskedTopic { name, partitions });
    }
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
    Ok((AddOffsetsToTxn { transactional_id, producer, group }, commit, Asked { topics: asked }))
}

fn commit_offset(topic: &TopicName, partition: &TxnOffsetCommitRequestPartition<'_>) -> CommitOffset {
    CommitOffset {
        partition: TopicPartition { topic: topic.clone(), partition: partition.partition_index },
        offset: partition.committed_offset,
        leader_epoch: partition.committed_leader_epoch,
        metadata: partition.committed_metadata.unwrap_or_default().into(),
        commit_timestamp_ms: -1,
    }
}

/// `response` is `None` where nothing was asked of the coordinators.
pub(super) fn encode(
    asked: &Asked,
    response: Option<&OffsetCommitResponse>,
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let results = response.map_or(&[][..], |response| &response.results);
    let mut results = results.iter().map(|(_, error)| *error);
    // The coordinator answers in the order of the request.
    let mut next = || results.next().unwrap_or(Some(GroupError::UnknownServerError));
    let topics = asked.topics.iter().map(|topic| {
        let outcomes = topic.partitions.iter().map(|(partition_index, exists)| {
            let error_code = if *exists { code(next(), version) } else { errors::UNKNOWN_TOPIC_OR_PARTITION };
            TxnOffsetCommitResponsePartition { partition_index: *partition_index, error_code }
        });
        TxnOffsetCommitResponseTopic { name: topic.name.as_str(), partitions: outcomes.collect() }
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
