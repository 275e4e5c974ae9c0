//! The `ConsumerGroupDescribe` API: state and members of groups of the new protocol (KIP-848).

use crate::field::Uuid;
use crate::structure::structures;

structures! {
    /// Asks about groups.
    ConsumerGroupDescribeRequest<'a> {
        group_ids: Vec<&'a str> => 0..;
        include_authorized_operations: bool => 0..;
    }

    /// What is known of them.
    ConsumerGroupDescribeResponse<'a> {
        throttle_time_ms: i32 => 0..;
        groups: Vec<DescribedGroup<'a>> => 0..;
    }

    /// One of [`ConsumerGroupDescribeResponse::groups`].
    DescribedGroup<'a> {
        error_code: i16 => 0..;
        error_message: Option<&'a str> => 0.., nullable 0..;
        group_id: &'a str => 0..;
        group_state: &'a str => 0..;
        group_epoch: i32 => 0..;
        assignment_epoch: i32 => 0..;
        assignor_name: &'a str => 0..;
        members: Vec<Member<'a>> => 0..;
        authorized_operations: i32 = i32::MIN => 0..;
    }

    /// One of [`DescribedGroup::members`].
    Member<'a> {
        member_id: &'a str => 0..;
        instance_id: Option<&'a str> => 0.., nullable 0..;
        rack_id: Option<&'a str> => 0.., nullable 0..;
        member_epoch: i32 => 0..;
        client_id: &'a str => 0..;
        client_host: &'a str => 0..;
        subscribed_topic_names: Vec<&'a str> => 0..;
        subscribed_topic_regex: Option<&'a str> => 0.., nullable 0..;
        assignment: Assignment<'a> => 0..;
        target_assignment: Assignment<'a> => 0..;
        member_type: i8 = -1 => 1.., ignorable;
    }

    /// The partitions of a member.
    Assignment<'a> {
        topic_partitions: Vec<TopicPartitions<'a>> => 0..;
    }

    /// Partitions of one topic.
    TopicPartitions<'a> {
        topic_id: Uuid => 0..;
        topic_name: &'a str => 0..;
        partitions: Vec<i32> => 0..;
    }
}
