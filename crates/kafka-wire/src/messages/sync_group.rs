//! The `SyncGroup` API: the leader hands in the assignment, every member gets its part.

use crate::structure::structures;

structures! {
    /// Asks for the assignment of one generation; from its leader, with all assignments.
    SyncGroupRequest<'a> {
        group_id: &'a str => 0..;
        generation_id: i32 => 0..;
        member_id: &'a str => 0..;
        group_instance_id: Option<&'a str> => 3.., nullable 3..;
        protocol_type: Option<&'a str> => 5.., nullable 5.., ignorable;
        protocol_name: Option<&'a str> => 5.., nullable 5.., ignorable;
        assignments: Vec<SyncGroupRequestAssignment<'a>> => 0..;
    }

    /// One of [`SyncGroupRequest::assignments`].
    SyncGroupRequestAssignment<'a> {
        member_id: &'a str => 0..;
        assignment: &'a [u8] => 0..;
    }

    /// What this member is assigned.
    SyncGroupResponse<'a> {
        throttle_time_ms: i32 => 1.., ignorable;
        error_code: i16 => 0..;
        protocol_type: Option<&'a str> => 5.., nullable 5.., ignorable;
        protocol_name: Option<&'a str> => 5.., nullable 5.., ignorable;
        assignment: &'a [u8] => 0..;
    }
}
