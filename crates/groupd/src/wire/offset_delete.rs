//! OffsetDelete, version 0. Topics that do not exist are refused here.

use coordinator::ids::{GroupId, TopicName, TopicPartition};
use coordinator::messages::{OffsetDelete, OffsetDeleteResponse};
use kafka_wire::WireError;

use super::errors;
use super::limits::{self, Unreadable, at_most};
use crate::topics::Topics;

/// What was asked, topic by topic, for the answer.
#[derive(Debug)]
pub(crate) struct Asked {
    topics: Vec<AskedTopic>,
}

#[derive(Debug)]
struct AskedTopic {
    name: TopicName,
    partitions: Vec<i32>,
    exists: bool,
}

pub(super) fn decode(
    version: i16,
    body: &[u8],
    topics: &Topics,
) -> Result<(OffsetDelete, Asked), Unreadable> {
    let request = kafka_wire::OffsetDeleteRequest::decode(version, body)?;
    let partitions = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    at_most(limits::PARTITIONS, "partitions", partitions)?;
    let asked = request.topics.iter().map(|topic| AskedTopic {
        name: TopicName::new(topic.name),
        partitions: topic.partitions.iter().map(|partition| partition.partition_index).collect(),
        exists: topics.get(topic.name).is_some(),
    });
    let asked = Asked { topics: asked.collect() };
    let named = asked.topics.iter().filter(|topic| topic.exists).flat_map(|topic| {
        let name = &topic.name;
        topic
            .partitions
            .iter()
            .map(move |partition| TopicPartition { topic: name.clone(), partition: *partition })
    });
    let delete = OffsetDelete { group: GroupId::new(request.group_id), partitions: named.collect() };
    Ok((delete, asked))
}

pub(super) fn encode(
    asked: &Asked,
    response: &OffsetDeleteResponse,
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let mut results = response.results.iter();
    let topics = asked.topics.iter().filter(|_| response.error.is_none()).map(|topic| {
        let outcomes = topic.partitions.iter().map(|partition| kafka_wire::OffsetDeleteResponsePartition {
            partition_index: *partition,
            error_code: if topic.exists {
                errors::code(results.next().and_then(|(_, error)| *error))
            } else {
                errors::UNKNOWN_TOPIC_OR_PARTITION
            },
        });
        kafka_wire::OffsetDeleteResponseTopic { name: topic.name.as_str(), partitions: outcomes.collect() }
    });
    kafka_wire::OffsetDeleteResponse {
        error_code: errors::code(response.error),
        throttle_time_ms: 0,
        topics: topics.collect(),
    }
    .encode(version, out)
}
