//! Name the groups, those of partitions that still load left out.
//!
//! A long list is made a page a turn, so that nobody else waits long for it. It shows each group as it is when its
//! page is made.

use crate::coordinator::Coordinator;
use crate::delayed::Delayed;
use crate::group::Group;
use crate::ids::GroupId;
use crate::messages::{GroupError, ListGroups, ListGroupsResponse, ListedGroup, Response, Token};

/// The type of every group here (KIP-848 calls it so).
const CLASSIC: &str = "classic";

/// How many groups are looked at in one turn: well below a millisecond of work.
const PAGE: usize = 1_000;

/// A list in the making.
#[derive(Debug)]
pub(crate) struct Listing {
    token: Token,
    request: ListGroups,
    found: Vec<ListedGroup>,
    /// The last group that was looked at.
    after: Option<GroupId>,
}

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: ListGroups) {
    go_on(coordinator, Listing { token, request, found: Vec::new(), after: None });
}

/// Makes the next page, and answers if it was the last.
pub(crate) fn go_on(coordinator: &mut Coordinator, mut listing: Listing) {
    let mut looked_at = 0;
    let mut last = None;
    for group in coordinator.groups.page(listing.after.as_ref()).take(PAGE) {
        looked_at += 1;
        last = Some(group);
        if is_wanted(group, &listing.request) {
            listing.found.push(show(group));
        }
    }
    if looked_at == PAGE {
        listing.after = last.map(|group| group.name.clone());
        // The next tick, not this one: else the turn would go on to the end of the list.
        let next = coordinator.turn.after_ms(1_u32);
        coordinator.turn.purgatory.watch(Delayed::List(Box::new(listing)), [], next);
        return;
    }
    let is_loading = coordinator.partitions.is_any_loading();
    let error = is_loading.then_some(GroupError::CoordinatorLoadInProgress);
    let response = ListGroupsResponse { error, groups: listing.found };
    coordinator.turn.respond(listing.token, Response::ListGroups(response));
}

fn is_wanted(group: &Group, request: &ListGroups) -> bool {
    let name = group.phase().name();
    let has_state =
        request.states.is_empty() || request.states.iter().any(|state| state.eq_ignore_ascii_case(name));
    let has_type = request.types.is_empty() || request.types.iter().any(|t| t.eq_ignore_ascii_case(CLASSIC));
    has_state && has_type
}

fn show(group: &Group) -> ListedGroup {
    ListedGroup {
        group: group.name.clone(),
        protocol_type: group.protocol_type.clone().unwrap_or_default(),
        state: group.phase().name(),
        group_type: CLASSIC,
    }
}
