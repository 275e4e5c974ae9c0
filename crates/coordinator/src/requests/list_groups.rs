//! Name the groups, those of partitions that still load left out.
//!
//! A long list is made a page a turn, so that nobody else waits long for it. It shows each group as it is when its
//! page is made.

use crate::coordinator::Coordinator;
use crate::delayed::Delayed;
use crate::group::Group;
use crate::messages::{GroupError, ListGroups, ListGroupsResponse, ListedGroup, Response, Token};

/// The type of every group here (KIP-848 calls it so).
const CLASSIC: &str = "classic";

/// How many groups' places are looked at in one turn: well below a millisecond of work.
const PAGE: usize = 1_000;

/// A list in the making.
#[derive(Debug)]
pub(crate) struct Listing {
    token: Token,
    request: ListGroups,
    found: Vec<ListedGroup>,
    /// Where the next page begins.
    place: u32,
}

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: ListGroups) {
    // At once as large as it is likely to become: growing would copy all of it in one turn, onto pages that the system has
    // to clear first, which takes ten times as long as a page of the list. What is not used is never touched.
    let groups = coordinator.groups.len();
    let found = Vec::with_capacity(groups + groups / 4);
    go_on(coordinator, Listing { token, request, found, place: 0 });
}

/// Makes the next page, and answers if it was the last.
pub(crate) fn go_on(coordinator: &mut Coordinator, mut listing: Listing) {
    let (groups, next) = coordinator.groups.page(listing.place, PAGE);
    listing.found.extend(groups.filter(|group| is_wanted(group, &listing.request)).map(show));
    if let Some(place) = next {
        listing.place = place;
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
