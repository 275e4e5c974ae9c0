//! Read offsets. Anyone may, whatever state the group is in.
//!
//! All offsets of a group may be very many: then they are read a page a turn, each as it stands when its page is read.

use std::sync::Arc;

use crate::coordinator::Coordinator;
use crate::delayed::Delayed;
use crate::group::{Group, Phase};
use crate::groups::GroupIndex;
use crate::ids::{GroupId, TopicPartition};
use crate::messages::{FetchedOffset, GroupError, OffsetFetch, OffsetFetchResponse, Response, Token};
use crate::offsets::{Found, GroupOffsets};

/// How many partitions are looked at in one turn: about half a millisecond of work.
const PAGE: usize = 5_000;

/// All offsets of a group, as far as they have been read.
#[derive(Debug)]
pub(crate) struct Reading {
    token: Token,
    name: GroupId,
    group: GroupIndex,
    require_stable: bool,
    found: Vec<FetchedOffset>,
    /// The last partition that was looked at.
    after: Option<TopicPartition>,
}

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: OffsetFetch) {
    let index = match coordinator.find(&request.group) {
        Ok(index) => index,
        Err(error) => return respond(coordinator, token, Err(error)),
    };
    let none = GroupOffsets::default();
    let living = index.and_then(|index| living(coordinator, index));
    let offsets = living.map_or(&none, |group| &group.offsets);
    let require_stable = request.require_stable;
    match (request.partitions, living) {
        (Some(partitions), _) => {
            let mut fetches = Vec::with_capacity(partitions.len());
            offsets.find_each(partitions, |partition, found| {
                fetches.push(fetched(partition, found, require_stable));
            });
            respond(coordinator, token, Ok(fetches));
        }
        (None, None) => respond(coordinator, token, Ok(Vec::new())),
        (None, Some(group)) => {
            // At once, since growing would move what was read before.
            let found = Vec::with_capacity(offsets.len());
            let (name, group) = (request.group, group.index);
            go_on(coordinator, Reading { token, name, group, require_stable, found, after: None });
        }
    }
}

/// Reads the next page, and answers if it was the last.
pub(crate) fn go_on(coordinator: &mut Coordinator, mut reading: Reading) {
    let Some(group) = living(coordinator, reading.group) else {
        // It is gone meanwhile: for good, or with its partition.
        let found = coordinator.find(&reading.name).map(|_| reading.found);
        return respond(coordinator, reading.token, found);
    };
    let (mut looked_at, mut last) = (0, None);
    let after = reading.after.take();
    for (topic, partition, found) in group.offsets.iter_after(after.as_ref()).take(PAGE) {
        looked_at += 1;
        last = Some((topic, partition));
        // Partitions with nothing but a pending commit are left out.
        if found.committed.is_some() {
            let partition = TopicPartition { topic: topic.clone(), partition };
            reading.found.push(fetched(partition, found, reading.require_stable));
        }
    }
    if looked_at < PAGE {
        return respond(coordinator, reading.token, Ok(reading.found));
    }
    reading.after = last.map(|(topic, partition)| TopicPartition { topic: topic.clone(), partition });
    // The next tick, not this one: else the turn would go on to the end.
    let next = coordinator.turn.after_ms(1_u32);
    coordinator.turn.purgatory.watch(Delayed::Fetch(Box::new(reading)), [], next);
}

fn living(coordinator: &Coordinator, index: GroupIndex) -> Option<&Group> {
    coordinator.groups.get(index).filter(|group| group.phase() != Phase::Dead)
}

fn respond(coordinator: &mut Coordinator, token: Token, found: Result<Vec<FetchedOffset>, GroupError>) {
    let (offsets, error) = match found {
        Ok(offsets) => (offsets, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    coordinator.turn.respond(token, Response::OffsetFetch(OffsetFetchResponse { error, offsets }));
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
