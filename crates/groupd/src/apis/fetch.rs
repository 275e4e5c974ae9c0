//! Fetch, versions 4 to 18: there are no records, so a fetch waits for as long as its client is willing to.
//!
//! The end of a log is wherever its reader stands: a group that committed offsets for records kept elsewhere is
//! not sent back to 0. Fetch sessions are refused in the protocol's own way: session 0.

use coordinator::ids::TopicName;
use kafka_wire::{FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData, Uuid, WireError};

use crate::node::Node;
use crate::shard::Fetch;
use crate::topics::{TopicId, Topics};
use crate::wire::errors;

/// From here on topics are named by their ids.
const BY_ID: i16 = 13;

/// What was asked, for the answer.
#[derive(Debug)]
pub(crate) struct AskedFetch {
    topics: Vec<AskedTopic>,
    max_wait_ms: i32,
    min_bytes: i32,
}

#[derive(Debug)]
struct AskedTopic {
    /// `None`: nobody has this id.
    name: Option<TopicName>,
    id: Uuid,
    partitions: Vec<AskedPartition>,
}

#[derive(Debug)]
struct AskedPartition {
    index: i32,
    offset: i64,
    error: i16,
}

pub(super) fn decode(node: &Node, version: i16, body: &[u8]) -> Result<AskedFetch, WireError> {
    let request = FetchRequest::decode(version, body)?;
    let topics = node.catalog.topics();
    let asked = request.topics.iter().map(|topic| {
        let by_id = version >= BY_ID;
        let name = if by_id {
            topics.by_id(TopicId(topic.topic_id.0)).map(|topic| topic.name.clone())
        } else {
            Some(TopicName::new(topic.topic))
        };
        let count = name.as_ref().and_then(|name| topics.get(name.as_str())).map(|topic| topic.partitions);
        let partitions = topic.partitions.iter().map(|partition| AskedPartition {
            index: partition.partition,
            offset: partition.fetch_offset,
            error: match count {
                Some(count) if (0..count).contains(&partition.partition) => errors::NONE,
                None if by_id => errors::UNKNOWN_TOPIC_ID,
                Some(_) | None => errors::UNKNOWN_TOPIC_OR_PARTITION,
            },
        });
        AskedTopic { name, id: topic.topic_id, partitions: partitions.collect() }
    });
    let asked = asked.collect();
    Ok(AskedFetch { topics: asked, max_wait_ms: request.max_wait_ms, min_bytes: request.min_bytes })
}

impl AskedFetch {
    /// What to park: `None` for a fetch that is answered at once, as one is that wants no bytes, waits no time, or
    /// has an error to tell.
    pub(super) fn patience(&self) -> Option<Fetch> {
        let mut partitions = self.topics.iter().flat_map(|topic| &topic.partitions).peekable();
        let nothing = partitions.peek().is_none();
        let at_once =
            nothing || self.min_bytes <= 0 || partitions.any(|partition| partition.error != errors::NONE);
        let max_wait_ms = u64::try_from(self.max_wait_ms).ok().filter(|wait| *wait > 0 && !at_once)?;
        Some(Fetch {
            max_wait_ms,
            topics: self.topics.iter().filter_map(|topic| topic.name.clone()).collect(),
        })
    }

    /// Writes the body of the response.
    ///
    /// # Errors
    ///
    /// What cannot be said in this version.
    pub(crate) fn encode(&self, topics: &Topics, version: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
        let responses = self.topics.iter().map(|topic| {
            // The topic may have been deleted while the fetch was parked.
            let gone = topic.name.as_ref().is_some_and(|name| topics.get(name.as_str()).is_none());
            let missing =
                if version >= BY_ID { errors::UNKNOWN_TOPIC_ID } else { errors::UNKNOWN_TOPIC_OR_PARTITION };
            let partitions = topic.partitions.iter().map(|asked| match asked.error {
                errors::NONE if gone => partition(asked, missing),
                error => partition(asked, error),
            });
            FetchableTopicResponse {
                topic: topic.name.as_ref().map_or("", TopicName::as_str),
                topic_id: topic.id,
                partitions: partitions.collect(),
            }
        });
        FetchResponse { responses: responses.collect(), ..Default::default() }.encode(version, out)
    }
}

fn partition(asked: &AskedPartition, error_code: i16) -> PartitionData<'static> {
    let end = if error_code == errors::NONE { asked.offset.max(0) } else { -1 };
    PartitionData {
        partition_index: asked.index,
        error_code,
        high_watermark: end,
        last_stable_offset: end,
        log_start_offset: if error_code == errors::NONE { 0 } else { -1 },
        // Never null: some clients take that for a broken answer.
        records: Some(&[]),
        ..Default::default()
    }
}
