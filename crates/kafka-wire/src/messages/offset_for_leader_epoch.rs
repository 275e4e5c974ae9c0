//! The `OffsetForLeaderEpoch` API: where the log of an epoch ends (KIP-320).

use crate::structure::structures;

structures! {
    /// Asks where epochs end.
    OffsetForLeaderEpochRequest<'a> {
        replica_id: i32 = -2 => 3.., ignorable;
        topics: Vec<OffsetForLeaderTopic<'a>> => 0..;
    }

    /// One of [`OffsetForLeaderEpochRequest::topics`].
    OffsetForLeaderTopic<'a> {
        topic: &'a str => 0..;
        partitions: Vec<OffsetForLeaderPartition> => 0..;
    }

    /// One of [`OffsetForLeaderTopic::partitions`].
    OffsetForLeaderPartition {
        partition: i32 => 0..;
        current_leader_epoch: i32 = -1 => 2.., ignorable;
        leader_epoch: i32 => 0..;
    }

    /// Where they end.
    OffsetForLeaderEpochResponse<'a> {
        throttle_time_ms: i32 => 2.., ignorable;
        topics: Vec<OffsetForLeaderTopicResult<'a>> => 0..;
    }

    /// One of [`OffsetForLeaderEpochResponse::topics`].
    OffsetForLeaderTopicResult<'a> {
        topic: &'a str => 0..;
        partitions: Vec<EpochEndOffset> => 0..;
    }

    /// One of [`OffsetForLeaderTopicResult::partitions`].
    EpochEndOffset {
        error_code: i16 => 0..;
        partition: i32 => 0..;
        leader_epoch: i32 = -1 => 1.., ignorable;
        end_offset: i64 = -1 => 0..;
    }
}
