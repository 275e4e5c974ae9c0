//! The `Metadata` API: brokers, and who leads which partition.
//!
//! From version 10 on topics have ids, from 12 on they can be asked for by id alone.

use crate::field::Uuid;
use crate::structure::structures;

structures! {
    /// Asks about topics and brokers.
    MetadataRequest<'a> {
        /// `None` asks for all topics; so does an empty list in version 0.
        topics: Option<Vec<MetadataRequestTopic<'a>>> = Some(Vec::new()) => 0.., nullable 1..;
        allow_auto_topic_creation: bool = true => 4..;
        include_cluster_authorized_operations: bool => 8..=10;
        include_topic_authorized_operations: bool => 8..;
    }

    /// One of [`MetadataRequest::topics`].
    MetadataRequestTopic<'a> {
        topic_id: Uuid => 10.., ignorable;
        name: Option<&'a str> = Some("") => 0.., nullable 10..;
    }

    /// The brokers, and the topics asked for.
    MetadataResponse<'a> {
        throttle_time_ms: i32 => 3.., ignorable;
        brokers: Vec<MetadataResponseBroker<'a>> => 0..;
        cluster_id: Option<&'a str> => 2.., nullable 2.., ignorable;
        controller_id: i32 = -1 => 1.., ignorable;
        topics: Vec<MetadataResponseTopic<'a>> => 0..;
        cluster_authorized_operations: i32 = i32::MIN => 8..=10;
        error_code: i16 => 13.., ignorable;
    }

    /// One of [`MetadataResponse::brokers`].
    MetadataResponseBroker<'a> {
        node_id: i32 => 0..;
        host: &'a str => 0..;
        port: i32 => 0..;
        rack: Option<&'a str> => 1.., nullable 1.., ignorable;
    }

    /// One of [`MetadataResponse::topics`].
    MetadataResponseTopic<'a> {
        error_code: i16 => 0..;
        /// `None` only if asked for by an id that no topic has.
        name: Option<&'a str> = Some("") => 0.., nullable 12..;
        topic_id: Uuid => 10.., ignorable;
        is_internal: bool => 1.., ignorable;
        partitions: Vec<MetadataResponsePartition> => 0..;
        topic_authorized_operations: i32 = i32::MIN => 8..;
    }

    /// One of [`MetadataResponseTopic::partitions`].
    MetadataResponsePartition {
        error_code: i16 => 0..;
        partition_index: i32 => 0..;
        leader_id: i32 => 0..;
        leader_epoch: i32 = -1 => 7.., ignorable;
        replica_nodes: Vec<i32> => 0..;
        isr_nodes: Vec<i32> => 0..;
        offline_replicas: Vec<i32> => 5.., ignorable;
    }
}
