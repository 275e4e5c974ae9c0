//! The `WriteTxnMarkers` API: a transaction coordinator tells the outcome to leaders of partitions.

use crate::structure::structures;

structures! {
    /// Writes commit or abort markers.
    WriteTxnMarkersRequest<'a> {
        markers: Vec<WritableTxnMarker<'a>> => 0..;
    }

    /// One of [`WriteTxnMarkersRequest::markers`].
    WritableTxnMarker<'a> {
        producer_id: i64 => 0..;
        producer_epoch: i16 => 0..;
        transaction_result: bool => 0..;
        topics: Vec<WritableTxnMarkerTopic<'a>> => 0..;
        coordinator_epoch: i32 => 0..;
        transaction_version: i8 => 2.., ignorable;
    }

    /// One of [`WritableTxnMarker::topics`].
    WritableTxnMarkerTopic<'a> {
        name: &'a str => 0..;
        partition_indexes: Vec<i32> => 0..;
    }

    /// Per partition, whether the marker was written.
    WriteTxnMarkersResponse<'a> {
        markers: Vec<WritableTxnMarkerResult<'a>> => 0..;
    }

    /// One of [`WriteTxnMarkersResponse::markers`].
    WritableTxnMarkerResult<'a> {
        producer_id: i64 => 0..;
        topics: Vec<WritableTxnMarkerTopicResult<'a>> => 0..;
    }

    /// One of [`WritableTxnMarkerResult::topics`].
    WritableTxnMarkerTopicResult<'a> {
        name: &'a str => 0..;
        partitions: Vec<WritableTxnMarkerPartitionResult> => 0..;
    }

    /// One of [`WritableTxnMarkerTopicResult::partitions`].
    WritableTxnMarkerPartitionResult {
        partition_index: i32 => 0..;
        error_code: i16 => 0..;
    }
}
