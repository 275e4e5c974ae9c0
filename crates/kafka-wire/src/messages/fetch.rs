//! The `Fetch` API: records from partitions, waited for if there are none yet.
//!
//! From version 13 on topics go by id. Sessions (KIP-227) are from version 7 on.

use crate::field::Uuid;
use crate::structure::structures;

structures! {
    /// Asks for records, and says how long to wait for how many bytes.
    FetchRequest<'a> {
        cluster_id: Option<&'a str> => 12.., nullable 12.., tag 0, ignorable;
        replica_id: i32 = -1 => 0..=14;
        replica_state: ReplicaState => 15.., tag 1;
        max_wait_ms: i32 => 0..;
        min_bytes: i32 => 0..;
        max_bytes: i32 = i32::MAX => 3.., ignorable;
        isolation_level: i8 => 4.., ignorable;
        session_id: i32 => 7.., ignorable;
        session_epoch: i32 = -1 => 7.., ignorable;
        topics: Vec<FetchTopic<'a>> => 0..;
        forgotten_topics_data: Vec<ForgottenTopic<'a>> => 7..;
        rack_id: &'a str => 11.., ignorable;
    }

    /// The [`FetchRequest::replica_state`].
    ReplicaState {
        replica_id: i32 = -1 => 15..;
        replica_epoch: i64 = -1 => 15..;
    }

    /// One of [`FetchRequest::topics`].
    FetchTopic<'a> {
        topic: &'a str => 0..=12, ignorable;
        topic_id: Uuid => 13.., ignorable;
        partitions: Vec<FetchPartition> => 0..;
    }

    /// One of [`FetchTopic::partitions`].
    FetchPartition {
        partition: i32 => 0..;
        current_leader_epoch: i32 = -1 => 9.., ignorable;
        fetch_offset: i64 => 0..;
        last_fetched_epoch: i32 = -1 => 12..;
        log_start_offset: i64 = -1 => 5.., ignorable;
        partition_max_bytes: i32 => 0..;
        replica_directory_id: Uuid => 17.., tag 0, ignorable;
        high_watermark: i64 = i64::MAX => 18.., tag 1, ignorable;
    }

    /// One of [`FetchRequest::forgotten_topics_data`].
    ForgottenTopic<'a> {
        topic: &'a str => 7..=12, ignorable;
        topic_id: Uuid => 13.., ignorable;
        partitions: Vec<i32> => 7..;
    }

    /// Records of the partitions asked for.
    FetchResponse<'a> {
        throttle_time_ms: i32 => 1.., ignorable;
        error_code: i16 => 7.., ignorable;
        session_id: i32 => 7..;
        responses: Vec<FetchableTopicResponse<'a>> => 0..;
        node_endpoints: Vec<NodeEndpoint<'a>> => 16.., tag 0;
    }

    /// One of [`FetchResponse::responses`].
    FetchableTopicResponse<'a> {
        topic: &'a str => 0..=12, ignorable;
        topic_id: Uuid => 13.., ignorable;
        partitions: Vec<PartitionData<'a>> => 0..;
    }

    /// One of [`FetchableTopicResponse::partitions`].
    PartitionData<'a> {
        partition_index: i32 => 0..;
        error_code: i16 => 0..;
        high_watermark: i64 => 0..;
        last_stable_offset: i64 = -1 => 4.., ignorable;
        log_start_offset: i64 = -1 => 5.., ignorable;
        diverging_epoch: EpochEndOffset => 12.., tag 0;
        current_leader: LeaderIdAndEpoch => 12.., tag 1;
        snapshot_id: SnapshotId => 12.., tag 2;
        aborted_transactions: Option<Vec<AbortedTransaction>> = Some(Vec::new()) => 4.., nullable 4.., ignorable;
        preferred_read_replica: i32 = -1 => 11..;
        /// Whole record batches, which this crate does not look into. Clients crash on null:
        /// an empty slice is the answer that there are none.
        records: Option<&'a [u8]> => 0.., nullable 0..;
    }

    /// The [`PartitionData::diverging_epoch`].
    EpochEndOffset {
        epoch: i32 = -1 => 12..;
        end_offset: i64 = -1 => 12..;
    }

    /// The [`PartitionData::current_leader`].
    LeaderIdAndEpoch {
        leader_id: i32 = -1 => 12..;
        leader_epoch: i32 = -1 => 12..;
    }

    /// The [`PartitionData::snapshot_id`].
    SnapshotId {
        end_offset: i64 = -1 => 0..;
        epoch: i32 = -1 => 0..;
    }

    /// One of [`PartitionData::aborted_transactions`].
    AbortedTransaction {
        producer_id: i64 => 4..;
        first_offset: i64 => 4..;
    }

    /// One of [`FetchResponse::node_endpoints`].
    NodeEndpoint<'a> {
        node_id: i32 => 16..;
        host: &'a str => 16..;
        port: i32 => 16..;
        rack: Option<&'a str> => 16.., nullable 16..;
    }
}
