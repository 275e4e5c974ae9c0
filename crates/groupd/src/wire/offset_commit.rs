//! OffsetCommit, versions 2 to 10: topics by name until 9, by id from 10 on.

use coordinator::ids::{Generation, GroupId, InstanceId, MemberId};
use coordinator::messages::{OffsetCommit, OffsetCommitResponse};
use kafka_wire::WireError;
use kafka_wire::offset_commit::{
    OffsetCommitRequest, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};

use super::commits::{Asked, Commit, Commits};
use super::errors;
use super::limits::{self, Unreadable, at_most};
use crate::topics::{TopicId, Topics};

/// From here on topics are named by their ids.
const BY_ID: i16 = 10;

pub(super) fn decode(
    version: i16,
    body: &[u8],
    topics: &Topics,
) -> Result<(OffsetCommit, Asked), Unreadable> {
    let request = OffsetCommitRequest::decode(version, body)?;
    let partitions = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    at_most(limits::PARTITIONS, "partitions", partitions)?;
    let mut commits = Commits::default();
    for topic in &request.topics {
        let known = if version >= BY_ID {
            topics.by_id(TopicId(topic.topic_id.0)).ok_or(errors::UNKNOWN_TOPIC_ID)
        } else {
            topics.get(topic.name).ok_or(errors::UNKNOWN_TOPIC_OR_PARTITION)
        };
        let partitions = topic.partitions.iter().map(|of| Commit {
            index: of.partition_index,
            offset: of.committed_offset,
            leader_epoch: of.committed_leader_epoch,
            metadata: of.committed_metadata,
        });
        commits.add((topic.name, topic.topic_id), known, partitions);
    }
    let (offsets, asked) = commits.finish();
    let commit = OffsetCommit {
        group: GroupId::new(request.group_id),
        generation: Generation(request.generation_id_or_member_epoch),
        member: MemberId::new(request.member_id),
        instance: request.group_instance_id.map(InstanceId::new),
        retention_time_ms: request.retention_time_ms,
        offsets,
    };
    Ok((commit, asked))
}

/// `response` is `None` where nothing was asked of the coordinator.
pub(super) fn encode(
    asked: &Asked,
    response: Option<&OffsetCommitResponse>,
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let partition =
        |(partition_index, error_code)| OffsetCommitResponsePartition { partition_index, error_code };
    let topics = asked.outcomes(response, errors::code).map(|(topic, codes)| OffsetCommitResponseTopic {
        name: topic.name.as_str(),
        topic_id: topic.id,
        partitions: codes.into_iter().map(partition).collect(),
    });
    let topics = topics.collect();
    kafka_wire::OffsetCommitResponse { throttle_time_ms: 0, topics }.encode(version, out)
}
