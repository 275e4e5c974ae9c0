//! The `OffsetCommit` API: a group remembers how far it has read.
//!
//! From version 10 on topics go by id (KIP-848).

use crate::field::Uuid;
use crate::structure::structures;

structures! {
    /// Stores offsets for a group.
    OffsetCommitRequest<'a> {
        group_id: &'a str => 0..;
        /// The generation, or the member epoch of the new protocol; -1 from outside any group.
        generation_id_or_member_epoch: i32 = -1 => 1.., ignorable;
        member_id: &'a str => 1.., ignorable;
        group_instance_id: Option<&'a str> => 7.., nullable 7..;
        retention_time_ms: i64 = -1 => 2..=4, ignorable;
        topics: Vec<OffsetCommitRequestTopic<'a>> => 0..;
    }

    /// One of [`OffsetCommitRequest::topics`].
    OffsetCommitRequestTopic<'a> {
        name: &'a str => 0..=9, ignorable;
        topic_id: Uuid => 10.., ignorable;
        partitions: Vec<OffsetCommitRequestPartition<'a>> => 0..;
    }

    /// One of [`OffsetCommitRequestTopic::partitions`].
    OffsetCommitRequestPartition<'a> {
        partition_index: i32 => 0..;
        committed_offset: i64 => 0..;
        committed_leader_epoch: i32 = -1 => 6.., ignorable;
        committed_metadata: Option<&'a str> = Some("") => 0.., nullable 0..;
    }

    /// Per partition, whether its offset was stored.
    OffsetCommitResponse<'a> {
        throttle_time_ms: i32 => 3.., ignorable;
        topics: Vec<OffsetCommitResponseTopic<'a>> => 0..;
    }

    /// One of [`OffsetCommitResponse::topics`].
    OffsetCommitResponseTopic<'a> {
        name: &'a str => 0..=9, ignorable;
        topic_id: Uuid => 10.., ignorable;
        partitions: Vec<OffsetCommitResponsePartition> => 0..;
    }

    /// One of [`OffsetCommitResponseTopic::partitions`].
    OffsetCommitResponsePartition {
        partition_index: i32 => 0..;
        error_code: i16 => 0..;
    }
}
