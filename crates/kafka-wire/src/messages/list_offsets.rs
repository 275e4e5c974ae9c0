//! The `ListOffsets` API: the offset of a partition at a time.
//!
//! Negative timestamps are special: -1 is the end, -2 the beginning.

use crate::structure::structures;

structures! {
    /// Asks for an offset by timestamp, per partition.
    ListOffsetsRequest<'a> {
        replica_id: i32 => 0..;
        isolation_level: i8 => 2..;
        topics: Vec<ListOffsetsTopic<'a>> => 0..;
        timeout_ms: i32 => 10.., ignorable;
    }

    /// One of [`ListOffsetsRequest::topics`].
    ListOffsetsTopic<'a> {
        name: &'a str => 0..;
        partitions: Vec<ListOffsetsPartition> => 0..;
    }

    /// One of [`ListOffsetsTopic::partitions`].
    ListOffsetsPartition {
        partition_index: i32 => 0..;
        current_leader_epoch: i32 = -1 => 4.., ignorable;
        timestamp: i64 => 0..;
    }

    /// The offsets found.
    ListOffsetsResponse<'a> {
        throttle_time_ms: i32 => 2.., ignorable;
        topics: Vec<ListOffsetsTopicResponse<'a>> => 0..;
    }

    /// One of [`ListOffsetsResponse::topics`].
    ListOffsetsTopicResponse<'a> {
        name: &'a str => 0..;
        partitions: Vec<ListOffsetsPartitionResponse> => 0..;
    }

    /// One of [`ListOffsetsTopicResponse::partitions`].
    ListOffsetsPartitionResponse {
        partition_index: i32 => 0..;
        error_code: i16 => 0..;
        timestamp: i64 = -1 => 1..;
        offset: i64 = -1 => 1..;
        leader_epoch: i32 = -1 => 4..;
    }
}
