//! The `ConsumerGroupHeartbeat` API: the whole of the new group protocol in one request (KIP-848).

use crate::field::Uuid;
use crate::structure::structures;

structures! {
    /// Joins, stays in or leaves a group. `None` means: as I said last.
    ConsumerGroupHeartbeatRequest<'a> {
        group_id: &'a str => 0..;
        member_id: &'a str => 0..;
        /// 0 joins, -1 leaves, -2 leaves for a while as a static member.
        member_epoch: i32 => 0..;
        instance_id: Option<&'a str> => 0.., nullable 0..;
        rack_id: Option<&'a str> => 0.., nullable 0..;
        rebalance_timeout_ms: i32 = -1 => 0..;
        subscribed_topic_names: Option<Vec<&'a str>> => 0.., nullable 0..;
        subscribed_topic_regex: Option<&'a str> => 1.., nullable 1..;
        server_assignor: Option<&'a str> => 0.., nullable 0..;
        topic_partitions: Option<Vec<TopicPartitions>> => 0.., nullable 0..;
    }

    /// Partitions of one topic, by its id.
    TopicPartitions {
        topic_id: Uuid => 0..;
        partitions: Vec<i32> => 0..;
    }

    /// The epoch of the member, and its assignment if that has changed.
    ConsumerGroupHeartbeatResponse<'a> {
        throttle_time_ms: i32 => 0..;
        error_code: i16 => 0..;
        error_message: Option<&'a str> => 0.., nullable 0..;
        member_id: Option<&'a str> => 0.., nullable 0..;
        member_epoch: i32 => 0..;
        heartbeat_interval_ms: i32 => 0..;
        assignment: Option<Assignment> => 0.., nullable 0..;
    }

    /// All partitions that a member is to own.
    Assignment {
        topic_partitions: Vec<TopicPartitions> => 0..;
    }
}
