//! The `CreateTopics` API.

use crate::field::Uuid;
use crate::structure::structures;

structures! {
    /// Creates topics.
    CreateTopicsRequest<'a> {
        topics: Vec<CreatableTopic<'a>> => 0..;
        timeout_ms: i32 = 60000 => 0..;
        validate_only: bool => 1..;
    }

    /// One of [`CreateTopicsRequest::topics`].
    CreatableTopic<'a> {
        name: &'a str => 0..;
        /// -1 takes the default of the broker, or goes with explicit assignments.
        num_partitions: i32 => 0..;
        /// -1 takes the default of the broker, or goes with explicit assignments.
        replication_factor: i16 => 0..;
        assignments: Vec<CreatableReplicaAssignment> => 0..;
        configs: Vec<CreatableTopicConfig<'a>> => 0..;
    }

    /// One of [`CreatableTopic::assignments`].
    CreatableReplicaAssignment {
        partition_index: i32 => 0..;
        broker_ids: Vec<i32> => 0..;
    }

    /// One of [`CreatableTopic::configs`].
    CreatableTopicConfig<'a> {
        name: &'a str => 0..;
        value: Option<&'a str> = Some("") => 0.., nullable 0..;
    }

    /// Per topic, whether it was created, and how.
    CreateTopicsResponse<'a> {
        throttle_time_ms: i32 => 2.., ignorable;
        topics: Vec<CreatableTopicResult<'a>> => 0..;
    }

    /// One of [`CreateTopicsResponse::topics`].
    CreatableTopicResult<'a> {
        name: &'a str => 0..;
        topic_id: Uuid => 7.., ignorable;
        error_code: i16 => 0..;
        error_message: Option<&'a str> = Some("") => 1.., nullable 0.., ignorable;
        topic_config_error_code: i16 => 5.., tag 0, ignorable;
        num_partitions: i32 = -1 => 5.., ignorable;
        replication_factor: i16 = -1 => 5.., ignorable;
        configs: Option<Vec<CreatableTopicConfigs<'a>>> = Some(Vec::new()) => 5.., nullable 5.., ignorable;
    }

    /// One of [`CreatableTopicResult::configs`].
    CreatableTopicConfigs<'a> {
        name: &'a str => 5..;
        value: Option<&'a str> = Some("") => 5.., nullable 5..;
        read_only: bool => 5..;
        config_source: i8 = -1 => 5.., ignorable;
        is_sensitive: bool => 5..;
    }
}
