//! Read offsets. Anyone may, whatever state the group is in.

use std::sync::Arc;

use crate::coordinator::Coordinator;
use crate::group::Phase;
use crate::ids::TopicPartition;
use crate::messages::{FetchedOffset, GroupError, OffsetFetch, OffsetFetchResponse, Response, Token};
use crate::offsets::{Found, GroupOffsets};

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: OffsetFetch) {
    let response = match fetch(coordinator, request) {
        Ok(offsets) => OffsetFetchResponse { error: None, offsets },
        Err(error) => OffsetFetchResponse { error: Some(error), offsets: Vec::new() },
    };
    coordinator.turn.respond(token, Response::OffsetFetch(response));
}

fn fetch(coordinator: &Coordinator, request: OffsetFetch) -> Result<Vec<FetchedOffset>, GroupError> {
    let found = coordinator.find(&request.group)?.map(|index| &coordinator.groups[index]);
    let none = GroupOffsets::default();
    let offsets = match found {
        Some(group) if group.phase() != Phase::Dead => &group.offsets,
        Some(_) | None => &none,
    };
    let require_stable = request.require_stable;
    Ok(match request.partitions {
        Some(partitions) => {
            let mut fetches = Vec::with_capacity(partitions.len());
            offsets.find_each(partitions, |partition, found| {
                fetches.push(fetched(partition, found, require_stable));
            });
            fetches
        }
        // Partitions with nothing but a pending commit are left out.
        None => offsets
            .iter()
            .map(|(topic, partition, committed, is_stable)| {
                let found = Found { committed: Some(committed), is_stable };
                fetched(TopicPartition { topic: topic.clone(), partition }, found, require_stable)
            })
            .collect(),
    })
}

fn fetched(partition: TopicPartition, found: Found<'_>, require_stable: bool) -> FetchedOffset {
    let none = |partition, error| FetchedOffset {
        partition,
        offset: -1,
        leader_epoch: -1,
        metadata: Arc::default(),
        error,
    };
    match found.committed {
        _ if require_stable && !found.is_stable => none(partition, Some(GroupError::UnstableOffsetCommit)),
        None => none(partition, None),
        Some(committed) => FetchedOffset {
            partition,
            offset: committed.offset,
            leader_epoch: committed.leader_epoch,
            metadata: committed.metadata(),
            error: None,
        },
    }
}
