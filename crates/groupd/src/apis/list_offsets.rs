//! ListOffsets, versions 1 to 11: every partition is an empty log that begins and ends at 0.

use kafka_wire::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse, WireError,
};

use crate::node::Node;
use crate::topics::Topic;
use crate::wire::errors;

/// The end of the log.
const LATEST: i64 = -1;
/// Its beginning.
const EARLIEST: i64 = -2;
/// The beginning of what is on local disks (KIP-405).
const EARLIEST_LOCAL: i64 = -4;

pub(super) fn answer(node: &Node, version: i16, body: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    let request = ListOffsetsRequest::decode(version, body)?;
    let existing = node.catalog.topics();
    let topics = request.topics.iter().map(|asked| {
        let topic = existing.get(asked.name);
        let partition = |partition| answer_partition(partition, topic);
        ListOffsetsTopicResponse {
            name: asked.name,
            partitions: asked.partitions.iter().map(partition).collect(),
        }
    });
    ListOffsetsResponse { topics: topics.collect(), ..Default::default() }.encode(version, out)
}

fn answer_partition(asked: &ListOffsetsPartition, topic: Option<&Topic>) -> ListOffsetsPartitionResponse {
    let exists = topic.is_some_and(|topic| (0..topic.partitions).contains(&asked.partition_index));
    let empty = ListOffsetsPartitionResponse {
        partition_index: asked.partition_index,
        error_code: errors::NONE,
        timestamp: -1,
        offset: -1,
        leader_epoch: -1,
    };
    match asked.timestamp {
        _ if !exists => {
            ListOffsetsPartitionResponse { error_code: errors::UNKNOWN_TOPIC_OR_PARTITION, ..empty }
        }
        LATEST | EARLIEST | EARLIEST_LOCAL => ListOffsetsPartitionResponse { offset: 0, ..empty },
        // No record has this time, the latest time, or a place in tiered storage.
        _ => empty,
    }
}
