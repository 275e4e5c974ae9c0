//! The `CreatePartitions` API: topics grow.

use crate::structure::structures;

structures! {
    /// Raises the number of partitions of topics.
    CreatePartitionsRequest<'a> {
        topics: Vec<CreatePartitionsTopic<'a>> => 0..;
        timeout_ms: i32 => 0..;
        validate_only: bool => 0..;
    }

    /// One of [`CreatePartitionsRequest::topics`].
    CreatePartitionsTopic<'a> {
        name: &'a str => 0..;
        /// The new total, not the difference.
        count: i32 => 0..;
        assignments: Option<Vec<CreatePartitionsAssignment>> = Some(Vec::new()) => 0.., nullable 0..;
    }

    /// One of [`CreatePartitionsTopic::assignments`].
    CreatePartitionsAssignment {
        broker_ids: Vec<i32> => 0..;
    }

    /// Per topic, whether it grew.
    CreatePartitionsResponse<'a> {
        throttle_time_ms: i32 => 0..;
        results: Vec<CreatePartitionsTopicResult<'a>> => 0..;
    }

    /// One of [`CreatePartitionsResponse::results`].
    CreatePartitionsTopicResult<'a> {
        name: &'a str => 0..;
        error_code: i16 => 0..;
        error_message: Option<&'a str> => 0.., nullable 0..;
    }
}
