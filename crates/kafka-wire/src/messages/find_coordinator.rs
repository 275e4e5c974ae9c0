//! The `FindCoordinator` API: which broker coordinates a group or a transaction.
//!
//! From version 4 on a request can have many keys (KIP-699).

use crate::structure::structures;

structures! {
    /// Asks for the coordinator of a key.
    FindCoordinatorRequest<'a> {
        key: &'a str => 0..=3;
        /// 0 is a group, 1 a transaction, 2 a share group.
        key_type: i8 => 1..;
        coordinator_keys: Vec<&'a str> => 4..;
    }

    /// The coordinators found.
    FindCoordinatorResponse<'a> {
        throttle_time_ms: i32 => 1.., ignorable;
        error_code: i16 => 0..=3;
        error_message: Option<&'a str> = Some("") => 1..=3, nullable 1..=3, ignorable;
        node_id: i32 => 0..=3;
        host: &'a str => 0..=3;
        port: i32 => 0..=3;
        coordinators: Vec<Coordinator<'a>> => 4..;
    }

    /// One of [`FindCoordinatorResponse::coordinators`].
    Coordinator<'a> {
        key: &'a str => 4..;
        node_id: i32 => 4..;
        host: &'a str => 4..;
        port: i32 => 4..;
        error_code: i16 => 4..;
        error_message: Option<&'a str> = Some("") => 4.., nullable 4.., ignorable;
    }
}
