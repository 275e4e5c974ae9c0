//! Name the groups, those of other partitions that still load left out.

use crate::coordinator::Coordinator;
use crate::group::Group;
use crate::messages::{GroupError, ListGroups, ListGroupsResponse, ListedGroup, Response, Token};

/// The type of every group here (KIP-848 calls it so).
const CLASSIC: &str = "classic";

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: &ListGroups) {
    let has_type = request.types.is_empty() || request.types.iter().any(|t| t.eq_ignore_ascii_case(CLASSIC));
    let mut groups: Vec<ListedGroup> =
        coordinator.groups.iter().filter(|group| has_type && is_wanted(group, request)).map(show).collect();
    groups.sort_unstable_by(|one, other| one.group.cmp(&other.group));
    let is_loading = coordinator.partitions.is_any_loading();
    let error = is_loading.then_some(GroupError::CoordinatorLoadInProgress);
    coordinator.turn.respond(token, Response::ListGroups(ListGroupsResponse { error, groups }));
}

fn is_wanted(group: &Group, request: &ListGroups) -> bool {
    let name = group.phase().name();
    request.states.is_empty() || request.states.iter().any(|state| state.eq_ignore_ascii_case(name))
}

fn show(group: &Group) -> ListedGroup {
    ListedGroup {
        group: group.name.clone(),
        protocol_type: group.protocol_type.clone().unwrap_or_default(),
        state: group.phase().name(),
        group_type: CLASSIC,
    }
}
