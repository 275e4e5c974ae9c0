//! The `TxnOffsetCommit` API: offsets that count once their transaction commits.

use crate::structure::structures;

structures! {
    /// Stores offsets for a group, pending a transaction.
    TxnOffsetCommitRequest<'a> {
        transactional_id: &'a str => 0..;
        group_id: &'a str => 0..;
        producer_id: i64 => 0..;
        producer_epoch: i16 => 0..;
        generation_id: i32 = -1 => 3..;
        member_id: &'a str => 3..;
        group_instance_id: Option<&'a str> => 3.., nullable 3..;
        topics: Vec<TxnOffsetCommitRequestTopic<'a>> => 0..;
    }

    /// One of [`TxnOffsetCommitRequest::topics`].
    TxnOffsetCommitRequestTopic<'a> {
        name: &'a str => 0..;
        partitions: Vec<TxnOffsetCommitRequestPartition<'a>> => 0..;
    }

    /// One of [`TxnOffsetCommitRequestTopic::partitions`].
    TxnOffsetCommitRequestPartition<'a> {
        partition_index: i32 => 0..;
        committed_offset: i64 => 0..;
        committed_leader_epoch: i32 = -1 => 2.., ignorable;
        committed_metadata: Option<&'a str> = Some("") => 0.., nullable 0..;
    }

    /// Per partition, whether its offset is pending.
    TxnOffsetCommitResponse<'a> {
        throttle_time_ms: i32 => 0..;
        topics: Vec<TxnOffsetCommitResponseTopic<'a>> => 0..;
    }

    /// One of [`TxnOffsetCommitResponse::topics`].
    TxnOffsetCommitResponseTopic<'a> {
        name: &'a str => 0..;
        partitions: Vec<TxnOffsetCommitResponsePartition> => 0..;
    }

    /// One of [`TxnOffsetCommitResponseTopic::partitions`].
    TxnOffsetCommitResponsePartition {
        partition_index: i32 => 0..;
        error_code: i16 => 0..;
    }
}
