//! The `ListGroups` API: the groups that one broker coordinates.

use crate::structure::structures;

structures! {
    /// Asks for the groups of a broker, by state (KIP-518) and type (KIP-848).
    ListGroupsRequest<'a> {
        states_filter: Vec<&'a str> => 4..;
        types_filter: Vec<&'a str> => 5..;
    }

    /// The groups.
    ListGroupsResponse<'a> {
        throttle_time_ms: i32 => 1.., ignorable;
        error_code: i16 => 0..;
        groups: Vec<ListedGroup<'a>> => 0..;
    }

    /// One of [`ListGroupsResponse::groups`].
    ListedGroup<'a> {
        group_id: &'a str => 0..;
        protocol_type: &'a str => 0..;
        group_state: &'a str => 4.., ignorable;
        group_type: &'a str => 5.., ignorable;
    }
}
