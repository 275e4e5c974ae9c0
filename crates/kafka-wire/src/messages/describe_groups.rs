//! The `DescribeGroups` API: state and members of classic groups.

use crate::structure::structures;

structures! {
    /// Asks about groups.
    DescribeGroupsRequest<'a> {
        groups: Vec<&'a str> => 0..;
        include_authorized_operations: bool => 3..;
    }

    /// What is known of them.
    DescribeGroupsResponse<'a> {
        throttle_time_ms: i32 => 1.., ignorable;
        groups: Vec<DescribedGroup<'a>> => 0..;
    }

    /// One of [`DescribeGroupsResponse::groups`].
    DescribedGroup<'a> {
        error_code: i16 => 0..;
        error_message: Option<&'a str> => 6.., nullable 6..;
        group_id: &'a str => 0..;
        group_state: &'a str => 0..;
        protocol_type: &'a str => 0..;
        protocol_data: &'a str => 0..;
        members: Vec<DescribedGroupMember<'a>> => 0..;
        authorized_operations: i32 = i32::MIN => 3..;
    }

    /// One of [`DescribedGroup::members`].
    DescribedGroupMember<'a> {
        member_id: &'a str => 0..;
        group_instance_id: Option<&'a str> => 4.., nullable 4.., ignorable;
        client_id: &'a str => 0..;
        client_host: &'a str => 0..;
        member_metadata: &'a [u8] => 0..;
        member_assignment: &'a [u8] => 0..;
    }
}
