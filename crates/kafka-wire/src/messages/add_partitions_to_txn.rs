//! The `AddPartitionsToTxn` API: which partitions a transaction writes to.
//!
//! Up to version 3 it is a client's, about one transaction; from version 4 on it is between brokers, about
//! many (KIP-890).

use crate::structure::structures;

structures! {
    /// Adds partitions to transactions.
    AddPartitionsToTxnRequest<'a> {
        transactions: Vec<AddPartitionsToTxnTransaction<'a>> => 4..;
        v3_and_below_transactional_id: &'a str => 0..=3;
        v3_and_below_producer_id: i64 => 0..=3;
        v3_and_below_producer_epoch: i16 => 0..=3;
        v3_and_below_topics: Vec<AddPartitionsToTxnTopic<'a>> => 0..=3;
    }

    /// One of [`AddPartitionsToTxnRequest::transactions`].
    AddPartitionsToTxnTransaction<'a> {
        transactional_id: &'a str => 4..;
        producer_id: i64 => 4..;
        producer_epoch: i16 => 4..;
        verify_only: bool => 4..;
        topics: Vec<AddPartitionsToTxnTopic<'a>> => 4..;
    }

    /// One of [`AddPartitionsToTxnRequest::v3_and_below_topics`].
    AddPartitionsToTxnTopic<'a> {
        name: &'a str => 0..;
        partitions: Vec<i32> => 0..;
    }

    /// Per partition, whether it was added.
    AddPartitionsToTxnResponse<'a> {
        throttle_time_ms: i32 => 0..;
        error_code: i16 => 4.., ignorable;
        results_by_transaction: Vec<AddPartitionsToTxnResult<'a>> => 4..;
        results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult<'a>> => 0..=3;
    }

    /// One of [`AddPartitionsToTxnResponse::results_by_transaction`].
    AddPartitionsToTxnResult<'a> {
        transactional_id: &'a str => 4..;
        topic_results: Vec<AddPartitionsToTxnTopicResult<'a>> => 4..;
    }

    /// One of [`AddPartitionsToTxnResponse::results_by_topic_v3_and_below`].
    AddPartitionsToTxnTopicResult<'a> {
        name: &'a str => 0..;
        results_by_partition: Vec<AddPartitionsToTxnPartitionResult> => 0..;
    }

    /// One of [`AddPartitionsToTxnTopicResult::results_by_partition`].
    AddPartitionsToTxnPartitionResult {
        partition_index: i32 => 0..;
        partition_error_code: i16 => 0..;
    }
}
