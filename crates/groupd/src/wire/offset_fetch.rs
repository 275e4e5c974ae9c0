//! OffsetFetch, versions 1 to 10: one group until 7, several from 8 on, topics by id from 10 on.

use coordinator::ids::{GroupId, TopicName, TopicPartition};
use coordinator::messages::{FetchedOffset, GroupError, OffsetFetch, OffsetFetchResponse};
use hashbrown::HashSet;
use kafka_wire::{Uuid, WireError};

use super::errors;
use super::limits::{self, Unreadable, at_most};
use crate::topics::{TopicId, Topics};

/// From here on the whole request has an error code of its own.
const TOP_LEVEL_ERROR: i16 = 2;
/// From here on a request names several groups.
const GROUPS: i16 = 8;
/// From here on topics are named by their ids.
const BY_ID: i16 = 10;

/// What was asked, group by group, for the answer.
#[derive(Debug)]
pub(crate) struct Asked {
    groups: Vec<AskedGroup>,
}

#[derive(Debug)]
struct AskedGroup {
    group: GroupId,
    /// `None`: everything.
    topics: Option<Vec<AskedTopic>>,
    /// Named before in the same request, which is refused: an answer is no larger than what there is to tell.
    again: bool,
}

#[derive(Debug)]
struct AskedTopic {
    /// `None`: nobody has this id.
    name: Option<TopicName>,
    id: Uuid,
    partitions: Vec<i32>,
}

/// One question to the coordinator per group.
pub(super) fn decode(
    version: i16,
    body: &[u8],
    topics: &Topics,
) -> Result<(Vec<OffsetFetch>, Asked), Unreadable> {
    let request = kafka_wire::OffsetFetchRequest::decode(version, body)?;
    at_most(limits::GROUPS, "groups", request.groups.len())?;
    at_most(limits::PARTITIONS, "partitions", partitions_named(&request))?;
    let groups: Vec<AskedGroup> = if version >= GROUPS {
        let mut seen = HashSet::new();
        let mut asked = Vec::with_capacity(request.groups.len());
        for group in &request.groups {
            let again = !seen.insert(group.group_id);
            asked.push(asked_group(group, again, version, topics));
        }
        asked
    } else {
        let named = request.topics.as_ref().map(|named| named.iter().map(by_name).collect());
        vec![AskedGroup { group: GroupId::new(request.group_id), topics: named, again: false }]
    };
    let questions = groups.iter().filter(|group| !group.again).map(|group| OffsetFetch {
        group: group.group.clone(),
        partitions: group.topics.as_deref().map(partitions),
        require_stable: request.require_stable,
    });
    let questions = questions.collect();
    Ok((questions, Asked { groups }))
}

fn partitions_named(request: &kafka_wire::OffsetFetchRequest<'_>) -> usize {
    let alone = request.topics.iter().flatten().map(|topic| topic.partition_indexes.len());
    let by_group = request.groups.iter().flat_map(|group| group.topics.iter().flatten());
    alone.chain(by_group.map(|topic| topic.partition_indexes.len())).sum()
}

fn by_name(topic: &kafka_wire::OffsetFetchRequestTopic<'_>) -> AskedTopic {
    let name = Some(TopicName::new(topic.name));
    AskedTopic { name, id: Uuid::ZERO, partitions: topic.partition_indexes.clone() }
}

fn asked_group(
    group: &kafka_wire::OffsetFetchRequestGroup<'_>,
    again: bool,
    version: i16,
    topics: &Topics,
) -> AskedGroup {
    let asked = |topic: &kafka_wire::OffsetFetchRequestTopics<'_>| AskedTopic {
        name: if version >= BY_ID {
            topics.by_id(TopicId(topic.topic_id.0)).map(|topic| topic.name.clone())
        } else {
            Some(TopicName::new(topic.name))
        },
        id: topic.topic_id,
        partitions: topic.partition_indexes.clone(),
    };
    AskedGroup {
        group: GroupId::new(group.group_id),
        topics: group.topics.as_ref().map(|named| named.iter().map(asked).collect()),
        again,
    }
}

fn partitions(topics: &[AskedTopic]) -> Vec<TopicPartition> {
    let named = topics.iter().filter_map(|topic| topic.name.as_ref().map(|name| (name, &topic.partitions)));
    let partition = |name: &TopicName, index: &i32| TopicPartition { topic: name.clone(), partition: *index };
    named.flat_map(|(name, indexes)| indexes.iter().map(move |index| partition(name, index))).collect()
}

pub(super) fn encode(
    asked: &Asked,
    responses: &[OffsetFetchResponse],
    version: i16,
    topics: &Topics,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let mut responses = responses.iter();
    if version >= GROUPS {
        let groups = asked.groups.iter().map(|group| {
            let response = if group.again { None } else { responses.next() };
            answered_group(group, response, version, topics)
        });
        return kafka_wire::OffsetFetchResponse { groups: groups.collect(), ..Default::default() }
            .encode(version, out);
    }
    let (Some(group), Some(response)) = (asked.groups.first(), responses.next()) else {
        unreachable!("one group was asked for, and has an answer")
    };
    let answered = answered(group, response, version, topics);
    kafka_wire::OffsetFetchResponse {
        topics: answered.iter().map(Answered::alone).collect(),
        error_code: if version >= TOP_LEVEL_ERROR { errors::code(response.error) } else { errors::NONE },
        ..Default::default()
    }
    .encode(version, out)
}

fn answered_group<'a>(
    group: &'a AskedGroup,
    response: Option<&'a OffsetFetchResponse>,
    version: i16,
    topics: &Topics,
) -> kafka_wire::OffsetFetchResponseGroup<'a> {
    let answered = response.map(|response| answered(group, response, version, topics)).unwrap_or_default();
    kafka_wire::OffsetFetchResponseGroup {
        group_id: group.group.as_str(),
        topics: answered.iter().map(Answered::by_group).collect(),
        error_code: response.map_or(errors::INVALID_REQUEST, |response| errors::code(response.error)),
    }
}

/// One topic of an answer.
struct Answered<'a> {
    name: &'a str,
    id: Uuid,
    partitions: Vec<Partition<'a>>,
}

struct Partition<'a> {
    index: i32,
    offset: i64,
    leader_epoch: i32,
    metadata: &'a str,
    error: i16,
}

impl<'a> Answered<'a> {
    fn by_group(&self) -> kafka_wire::OffsetFetchResponseTopics<'a> {
        let partition = |partition: &Partition<'a>| kafka_wire::OffsetFetchResponsePartitions {
            partition_index: partition.index,
            committed_offset: partition.offset,
            committed_leader_epoch: partition.leader_epoch,
            metadata: Some(partition.metadata),
            error_code: partition.error,
        };
        kafka_wire::OffsetFetchResponseTopics {
            name: self.name,
            topic_id: self.id,
            partitions: self.partitions.iter().map(partition).collect(),
        }
    }

    fn alone(&self) -> kafka_wire::OffsetFetchResponseTopic<'a> {
        let partition = |partition: &Partition<'a>| kafka_wire::OffsetFetchResponsePartition {
            partition_index: partition.index,
            committed_offset: partition.offset,
            committed_leader_epoch: partition.leader_epoch,
            metadata: Some(partition.metadata),
            error_code: partition.error,
        };
        kafka_wire::OffsetFetchResponseTopic {
            name: self.name,
            partitions: self.partitions.iter().map(partition).collect(),
        }
    }
}

/// The topics of one group's answer: those asked for in their order, or all there are.
fn answered<'a>(
    asked: &'a AskedGroup,
    response: &'a OffsetFetchResponse,
    version: i16,
    topics: &Topics,
) -> Vec<Answered<'a>> {
    match (&asked.topics, response.error) {
        (Some(asked), None) => {
            let mut offsets = response.offsets.iter();
            asked.iter().map(|topic| answered_topic(topic, &mut offsets)).collect()
        }
        (None, None) => everything(&response.offsets, version, topics),
        // A refusal without a place of its own stands at each partition.
        (Some(asked), Some(error)) if version < TOP_LEVEL_ERROR => {
            asked.iter().map(|topic| refused_topic(topic, errors::group_error(error))).collect()
        }
        (_, Some(_)) => Vec::new(),
    }
}

fn answered_topic<'a>(
    asked: &'a AskedTopic,
    offsets: &mut impl Iterator<Item = &'a FetchedOffset>,
) -> Answered<'a> {
    let Some(name) = &asked.name else { return refused_topic(asked, errors::UNKNOWN_TOPIC_ID) };
    let partitions = asked.partitions.iter().map(|index| match offsets.next() {
        Some(fetched) => fetched_partition(fetched),
        None => nothing(*index, errors::group_error(GroupError::UnknownServerError)),
    });
    Answered { name: name.as_str(), id: asked.id, partitions: partitions.collect() }
}

fn refused_topic(asked: &AskedTopic, error: i16) -> Answered<'_> {
    Answered {
        name: asked.name.as_ref().map_or("", TopicName::as_str),
        id: asked.id,
        partitions: asked.partitions.iter().map(|index| nothing(*index, error)).collect(),
    }
}

/// `offsets` are sorted by topic. By id only topics that still exist can be told.
fn everything<'a>(offsets: &'a [FetchedOffset], version: i16, topics: &Topics) -> Vec<Answered<'a>> {
    let of_topic = offsets.chunk_by(|a, b| a.partition.topic == b.partition.topic);
    let answered = of_topic.filter_map(|offsets| {
        let name = offsets.first()?.partition.topic.as_str();
        let id = topics.get(name).map(|topic| Uuid(topic.id.0));
        let id = if version >= BY_ID { id? } else { id.unwrap_or_default() };
        Some(Answered { name, id, partitions: offsets.iter().map(fetched_partition).collect() })
    });
    answered.collect()
}

fn fetched_partition(fetched: &FetchedOffset) -> Partition<'_> {
    Partition {
        index: fetched.partition.partition,
        offset: fetched.offset,
        leader_epoch: fetched.leader_epoch,
        metadata: &fetched.metadata,
        error: errors::code(fetched.error),
    }
}

fn nothing(index: i32, error: i16) -> Partition<'static> {
    Partition { index, offset: -1, leader_epoch: -1, metadata: "", error }
}
