//! The `JoinGroup` API: a member enters a rebalance, and waits for the others.

use crate::structure::structures;

structures! {
    /// Joins a group, or joins it again.
    JoinGroupRequest<'a> {
        group_id: &'a str => 0..;
        session_timeout_ms: i32 => 0..;
        /// Version 0 lacks it: the session timeout stands for both.
        rebalance_timeout_ms: i32 = -1 => 1.., ignorable;
        member_id: &'a str => 0..;
        group_instance_id: Option<&'a str> => 5.., nullable 5..;
        protocol_type: &'a str => 0..;
        /// By preference. The metadata is opaque to the coordinator.
        protocols: Vec<JoinGroupRequestProtocol<'a>> => 0..;
        reason: Option<&'a str> => 8.., nullable 8.., ignorable;
    }

    /// One of [`JoinGroupRequest::protocols`].
    JoinGroupRequestProtocol<'a> {
        name: &'a str => 0..;
        metadata: &'a [u8] => 0..;
    }

    /// The generation that was formed. Only its leader gets the members.
    JoinGroupResponse<'a> {
        throttle_time_ms: i32 => 2.., ignorable;
        error_code: i16 => 0..;
        generation_id: i32 = -1 => 0..;
        protocol_type: Option<&'a str> => 7.., nullable 7.., ignorable;
        /// Never null before version 7: a refusal then carries an empty one.
        protocol_name: Option<&'a str> = Some("") => 0.., nullable 7..;
        leader: &'a str => 0..;
        /// The leader must not assign anew (KIP-814).
        skip_assignment: bool => 9..;
        member_id: &'a str => 0..;
        members: Vec<JoinGroupResponseMember<'a>> => 0..;
    }

    /// One of [`JoinGroupResponse::members`].
    JoinGroupResponseMember<'a> {
        member_id: &'a str => 0..;
        group_instance_id: Option<&'a str> => 5.., nullable 5.., ignorable;
        metadata: &'a [u8] => 0..;
    }
}
