//! The `LeaveGroup` API: members go without waiting for their session to end.
//!
//! Up to version 2 a request names one member, from version 3 on many (KIP-345).

use crate::structure::structures;

structures! {
    /// Removes members from a group.
    LeaveGroupRequest<'a> {
        group_id: &'a str => 0..;
        member_id: &'a str => 0..=2;
        members: Vec<MemberIdentity<'a>> => 3..;
    }

    /// One of [`LeaveGroupRequest::members`].
    MemberIdentity<'a> {
        member_id: &'a str => 3..;
        group_instance_id: Option<&'a str> => 3.., nullable 3..;
        reason: Option<&'a str> => 5.., nullable 5.., ignorable;
    }

    /// Per member, whether it is gone.
    LeaveGroupResponse<'a> {
        throttle_time_ms: i32 => 1.., ignorable;
        error_code: i16 => 0..;
        members: Vec<MemberResponse<'a>> => 3..;
    }

    /// One of [`LeaveGroupResponse::members`].
    MemberResponse<'a> {
        member_id: &'a str => 3..;
        group_instance_id: Option<&'a str> = Some("") => 3.., nullable 3..;
        error_code: i16 => 3..;
    }
}
