//! OffsetCommit, versions 2 to 10: topics by name until 9, by id from 10 on.
//!
//! Topics and partitions that do not exist are refused here, as Kafka's request handler does; only what remains goes
//! to the coordinator. A request of which nothing remains is answered without it.

use coordinator::ids::{Generation, GroupId, InstanceId, MemberId, TopicName, TopicPartition};
use coordinator::messages::{CommitOffset, GroupError, OffsetCommit, OffsetCommitResponse};
use kafka_wire::{Uuid, WireError};

use super::errors;
use super::limits::{self, Unreadable, at_most};
use crate::topics::{TopicId, Topics};

/// From here on topics are named by their ids.
const BY_ID: i16 = 10;

/// What was asked, topic by topic, for the answer.
#[derive(Debug)]
pub(crate) struct Asked {
    topics: Vec<AskedTopic>,
}

#[derive(Debug)]
struct AskedTopic {
    name: TopicName,
    id: Uuid,
    partitions: Vec<AskedPartition>,
}

#[derive(Debug)]
struct AskedPartition {
    index: i32,
    /// `None`: asked of the coordinator.
    refused: Option<i16>,
}

pub(super) fn decode(
    version: i16,
    body: &[u8],
    topics: &Topics,
) -> Result<(OffsetCommit, Asked), Unreadable> {
    let request = kafka_wire::OffsetCommitRequest::decode(version, body)?;
    let partitions = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    at_most(limits::PARTITIONS, "partitions", partitions)?;
    let mut asked = Vec::with_capacity(request.topics.len());
    let mut offsets = Vec::new();
    for topic in &request.topics {
        let (known, missing) = if version >= BY_ID {
            (topics.by_id(TopicId(topic.topic_id.0)), errors::UNKNOWN_TOPIC_ID)
        } else {
            (topics.get(topic.name), errors::UNKNOWN_TOPIC_OR_PARTITION)
        };
        let name = known.map_or_else(|| TopicName::new(topic.name), |known| known.name.clone());
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in &topic.partitions {
            let index = partition.partition_index;
            let refused = match known {
                None => Some(missing),
                Some(known) if (0..known.partitions).contains(&index) => None,
                Some(_) => Some(errors::UNKNOWN_TOPIC_OR_PARTITION),
            };
            if refused.is_none() {
                offsets.push(commit_offset(&name, partition));
            }
            partitions.push(AskedPartition { index, refused });
        }
        asked.push(AskedTopic { name, id: topic.topic_id, partitions });
    }
    let commit = OffsetCommit {
        group: GroupId::new(request.group_id),
        generation: Generation(request.generation_id_or_member_epoch),
        member: MemberId::new(request.member_id),
        instance: request.group_instance_id.map(InstanceId::new),
        retention_time_ms: request.retention_time_ms,
        offsets,
    };
    Ok((commit, Asked { topics: asked }))
}

fn commit_offset(
    topic: &TopicName,
    partition: &kafka_wire::OffsetCommitRequestPartition<'_>,
) -> CommitOffset {
    CommitOffset {
        partition: TopicPartition { topic: topic.clone(), partition: partition.partition_index },
        offset: partition.committed_offset,
        leader_epoch: partition.committed_leader_epoch,
        metadata: partition.committed_metadata.unwrap_or_default().into(),
        commit_timestamp_ms: -1,
    }
}

/// `response` is `None` where nothing was asked of the coordinator.
pub(super) fn encode(
    asked: &Asked,
    response: Option<&OffsetCommitResponse>,
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let mut results = response.map_or(&[][..], |response| &response.results).iter();
    let topics = asked.topics.iter().map(|topic| {
        let outcomes = topic.partitions.iter().map(|partition| kafka_wire::OffsetCommitResponsePartition {
            partition_index: partition.index,
            error_code: partition.refused.unwrap_or_else(|| next_code(&mut results)),
        });
        kafka_wire::OffsetCommitResponseTopic {
            name: topic.name.as_str(),
            topic_id: topic.id,
            partitions: outcomes.collect(),
        }
    });
    kafka_wire::OffsetCommitResponse { throttle_time_ms: 0, topics: topics.collect() }.encode(version, out)
}

/// The coordinator answers in the order of the request.
fn next_code<'a>(results: &mut impl Iterator<Item = &'a (TopicPartition, Option<GroupError>)>) -> i16 {
    results
        .next()
        .map_or(errors::group_error(GroupError::UnknownServerError), |(_, error)| errors::code(*error))
}
