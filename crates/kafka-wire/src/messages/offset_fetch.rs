//! The `OffsetFetch` API: how far a group has read.
//!
//! Up to version 7 a request is about one group, in the fields of the request itself. From version 8 on it
//! is about many (KIP-709), in `groups`, and the old fields are gone. From version 10 on topics go by id.

use crate::field::Uuid;
use crate::structure::structures;

structures! {
    /// Asks for committed offsets.
    OffsetFetchRequest<'a> {
        group_id: &'a str => 0..=7;
        /// `None` asks for all topics.
        topics: Option<Vec<OffsetFetchRequestTopic<'a>>> = Some(Vec::new()) => 0..=7, nullable 2..=7;
        groups: Vec<OffsetFetchRequestGroup<'a>> => 8..;
        require_stable: bool => 7..;
    }

    /// One of [`OffsetFetchRequest::topics`].
    OffsetFetchRequestTopic<'a> {
        name: &'a str => 0..=7;
        partition_indexes: Vec<i32> => 0..=7;
    }

    /// One of [`OffsetFetchRequest::groups`].
    OffsetFetchRequestGroup<'a> {
        group_id: &'a str => 8..;
        member_id: Option<&'a str> => 9.., nullable 9.., ignorable;
        member_epoch: i32 = -1 => 9.., ignorable;
        /// `None` asks for all topics.
        topics: Option<Vec<OffsetFetchRequestTopics<'a>>> = Some(Vec::new()) => 8.., nullable 8..;
    }

    /// One of [`OffsetFetchRequestGroup::topics`].
    OffsetFetchRequestTopics<'a> {
        name: &'a str => 8..=9, ignorable;
        topic_id: Uuid => 10.., ignorable;
        partition_indexes: Vec<i32> => 8..;
    }

    /// The committed offsets; -1 where there is none.
    OffsetFetchResponse<'a> {
        throttle_time_ms: i32 => 3.., ignorable;
        topics: Vec<OffsetFetchResponseTopic<'a>> => 0..=7;
        error_code: i16 => 2..=7, ignorable;
        groups: Vec<OffsetFetchResponseGroup<'a>> => 8..;
    }

    /// One of [`OffsetFetchResponse::topics`].
    OffsetFetchResponseTopic<'a> {
        name: &'a str => 0..=7;
        partitions: Vec<OffsetFetchResponsePartition<'a>> => 0..=7;
    }

    /// One of [`OffsetFetchResponseTopic::partitions`].
    OffsetFetchResponsePartition<'a> {
        partition_index: i32 => 0..=7;
        committed_offset: i64 => 0..=7;
        committed_leader_epoch: i32 = -1 => 5..=7, ignorable;
        metadata: Option<&'a str> = Some("") => 0..=7, nullable 0..=7;
        error_code: i16 => 0..=7;
    }

    /// One of [`OffsetFetchResponse::groups`].
    OffsetFetchResponseGroup<'a> {
        group_id: &'a str => 8..;
        topics: Vec<OffsetFetchResponseTopics<'a>> => 8..;
        error_code: i16 => 8..;
    }

    /// One of [`OffsetFetchResponseGroup::topics`].
    OffsetFetchResponseTopics<'a> {
        name: &'a str => 8..=9, ignorable;
        topic_id: Uuid => 10.., ignorable;
        partitions: Vec<OffsetFetchResponsePartitions<'a>> => 8..;
    }

    /// One of [`OffsetFetchResponseTopics::partitions`].
    OffsetFetchResponsePartitions<'a> {
        partition_index: i32 => 8..;
        committed_offset: i64 => 8..;
        committed_leader_epoch: i32 = -1 => 8.., ignorable;
        metadata: Option<&'a str> = Some("") => 8.., nullable 8..;
        error_code: i16 => 8..;
    }
}
