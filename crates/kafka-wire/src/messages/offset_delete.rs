//! The `OffsetDelete` API: committed offsets go, their group stays (KIP-496).

use crate::structure::structures;

structures! {
    /// Deletes offsets of a group.
    OffsetDeleteRequest<'a> {
        group_id: &'a str => 0..;
        topics: Vec<OffsetDeleteRequestTopic<'a>> => 0..;
    }

    /// One of [`OffsetDeleteRequest::topics`].
    OffsetDeleteRequestTopic<'a> {
        name: &'a str => 0..;
        partitions: Vec<OffsetDeleteRequestPartition> => 0..;
    }

    /// One of [`OffsetDeleteRequestTopic::partitions`].
    OffsetDeleteRequestPartition {
        partition_index: i32 => 0..;
    }

    /// Per partition, whether its offset is gone.
    OffsetDeleteResponse<'a> {
        error_code: i16 => 0..;
        throttle_time_ms: i32 => 0.., ignorable;
        topics: Vec<OffsetDeleteResponseTopic<'a>> => 0..;
    }

    /// One of [`OffsetDeleteResponse::topics`].
    OffsetDeleteResponseTopic<'a> {
        name: &'a str => 0..;
        partitions: Vec<OffsetDeleteResponsePartition> => 0..;
    }

    /// One of [`OffsetDeleteResponseTopic::partitions`].
    OffsetDeleteResponsePartition {
        partition_index: i32 => 0..;
        error_code: i16 => 0..;
    }
}
