//! The consumer protocol: what consumers tell each other in the metadata and the assignments of a group.
//!
//! The coordinator never looks into them; tools and tests do.

use crate::message::message;
use crate::structure::structures;

structures! {
    /// What a consumer wants, and what it has: the metadata of a `JoinGroup`.
    ConsumerProtocolSubscription<'a> {
        topics: Vec<&'a str> => 0..;
        user_data: Option<&'a [u8]> => 0.., nullable 0..;
        owned_partitions: Vec<TopicPartition<'a>> => 1.., ignorable;
        generation_id: i32 = -1 => 2.., ignorable;
        rack_id: Option<&'a str> => 3.., nullable 3.., ignorable;
    }

    /// Partitions of one topic.
    TopicPartition<'a> {
        topic: &'a str => 1..;
        partitions: Vec<i32> => 1..;
    }

    /// What a consumer gets: its part of a `SyncGroup`.
    ConsumerProtocolAssignment<'a> {
        assigned_partitions: Vec<TopicPartition<'a>> => 0..;
        user_data: Option<&'a [u8]> => 0.., nullable 0..;
    }
}

message!(ConsumerProtocolSubscription<'a>, versions 0..=3, flexible from i16::MAX);
message!(ConsumerProtocolAssignment<'a>, versions 0..=3, flexible from i16::MAX);
