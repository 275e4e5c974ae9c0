//! ListGroups, versions 0 to 5: asked of every shard, answered as one list.

use coordinator::messages::{ListGroups, ListGroupsResponse};
use kafka_wire::WireError;

use super::errors;
use super::limits::Unreadable;

pub(super) fn decode(version: i16, body: &[u8]) -> Result<ListGroups, Unreadable> {
    let request = kafka_wire::ListGroupsRequest::decode(version, body)?;
    Ok(ListGroups {
        states: request.states_filter.iter().map(|state| (*state).into()).collect(),
        types: request.types_filter.iter().map(|kind| (*kind).into()).collect(),
    })
}

pub(super) fn encode(
    shards: &[ListGroupsResponse],
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    // A list that is not whole is none: the client asks again.
    let error = shards.iter().find_map(|shard| shard.error);
    let mut groups: Vec<_> =
        shards.iter().filter(|_| error.is_none()).flat_map(|shard| &shard.groups).collect();
    groups.sort_unstable_by(|a, b| a.group.cmp(&b.group));
    let groups = groups.into_iter().map(|listed| kafka_wire::ListedGroup {
        group_id: listed.group.as_str(),
        protocol_type: &listed.protocol_type,
        group_state: listed.state,
        group_type: listed.group_type,
    });
    kafka_wire::ListGroupsResponse {
        throttle_time_ms: 0,
        error_code: errors::code(error),
        groups: groups.collect(),
    }
    .encode(version, out)
}
