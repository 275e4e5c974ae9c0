//! The `Produce` API: records for partitions.
//!
//! From version 13 on topics go by id.

use crate::field::Uuid;
use crate::structure::structures;

structures! {
    /// Appends record batches.
    ProduceRequest<'a> {
        transactional_id: Option<&'a str> => 3.., nullable 3..;
        acks: i16 => 0..;
        timeout_ms: i32 => 0..;
        topic_data: Vec<TopicProduceData<'a>> => 0..;
    }

    /// One of [`ProduceRequest::topic_data`].
    TopicProduceData<'a> {
        name: &'a str => 0..=12, ignorable;
        topic_id: Uuid => 13.., ignorable;
        partition_data: Vec<PartitionProduceData<'a>> => 0..;
    }

    /// One of [`TopicProduceData::partition_data`].
    PartitionProduceData<'a> {
        index: i32 => 0..;
        /// Whole record batches, which this crate does not look into.
        records: Option<&'a [u8]> => 0.., nullable 0..;
    }

    /// Where the records went, or why not.
    ProduceResponse<'a> {
        responses: Vec<TopicProduceResponse<'a>> => 0..;
        throttle_time_ms: i32 => 1.., ignorable;
        node_endpoints: Vec<NodeEndpoint<'a>> => 10.., tag 0;
    }

    /// One of [`ProduceResponse::responses`].
    TopicProduceResponse<'a> {
        name: &'a str => 0..=12, ignorable;
        topic_id: Uuid => 13.., ignorable;
        partition_responses: Vec<PartitionProduceResponse<'a>> => 0..;
    }

    /// One of [`TopicProduceResponse::partition_responses`].
    PartitionProduceResponse<'a> {
        index: i32 => 0..;
        error_code: i16 => 0..;
        base_offset: i64 => 0..;
        log_append_time_ms: i64 = -1 => 2.., ignorable;
        log_start_offset: i64 = -1 => 5.., ignorable;
        record_errors: Vec<BatchIndexAndErrorMessage<'a>> => 8.., ignorable;
        error_message: Option<&'a str> => 8.., nullable 8.., ignorable;
        current_leader: LeaderIdAndEpoch => 10.., tag 0;
    }

    /// One of [`PartitionProduceResponse::record_errors`].
    BatchIndexAndErrorMessage<'a> {
        batch_index: i32 => 8..;
        batch_index_error_message: Option<&'a str> => 8.., nullable 8..;
    }

    /// The [`PartitionProduceResponse::current_leader`].
    LeaderIdAndEpoch {
        leader_id: i32 = -1 => 10..;
        leader_epoch: i32 = -1 => 10..;
    }

    /// One of [`ProduceResponse::node_endpoints`].
    NodeEndpoint<'a> {
        node_id: i32 => 10..;
        host: &'a str => 10..;
        port: i32 => 10..;
        rack: Option<&'a str> => 10.., nullable 10..;
    }
}
