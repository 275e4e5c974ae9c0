//! The `Heartbeat` API: a member says that it lives, and hears whether to rejoin.

use crate::structure::structures;

structures! {
    /// Keeps a session alive.
    HeartbeatRequest<'a> {
        group_id: &'a str => 0..;
        generation_id: i32 => 0..;
        member_id: &'a str => 0..;
        group_instance_id: Option<&'a str> => 3.., nullable 3..;
    }

    /// Whether the member may go on.
    HeartbeatResponse {
        throttle_time_ms: i32 => 1.., ignorable;
        error_code: i16 => 0..;
    }
}
