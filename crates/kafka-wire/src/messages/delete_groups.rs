//! The `DeleteGroups` API: empty groups go, with their offsets.

use crate::structure::structures;

structures! {
    /// Deletes groups.
    DeleteGroupsRequest<'a> {
        groups_names: Vec<&'a str> => 0..;
    }

    /// Per group, whether it is gone.
    DeleteGroupsResponse<'a> {
        throttle_time_ms: i32 => 0..;
        results: Vec<DeletableGroupResult<'a>> => 0..;
    }

    /// One of [`DeleteGroupsResponse::results`].
    DeletableGroupResult<'a> {
        group_id: &'a str => 0..;
        error_code: i16 => 0..;
    }
}
