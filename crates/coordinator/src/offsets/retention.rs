//! When offsets go: they expire, or their topic is deleted; and with the last one the empty group goes (KIP-211).

use super::{GroupOffsets, Position, Retention, Subscription};
use crate::coordinator::Coordinator;
use crate::events::EventKind;
use crate::group::{Group, Phase};
use crate::groups::GroupIndex;
use crate::ids::TopicPartition;
use crate::messages::Record;
use crate::turn::Turn;

/// One pass over all groups: expired offsets go, then empty groups without offsets.
pub(crate) fn clean_up(coordinator: &mut Coordinator) {
    let (now_ms, retention_ms) = (coordinator.turn.unix_ms(), coordinator.turn.config.offsets_retention_ms);
    for index in all_groups(coordinator) {
        let Some((turn, group)) = coordinator.turn_and_group(index) else { continue };
        let mut offsets = std::mem::take(&mut group.offsets);
        let expired = offsets.expire(now_ms, retention_ms, rule(group));
        group.offsets = offsets;
        forget(turn, group, expired, |partition| EventKind::OffsetExpired { partition });
        remove_if_bare(coordinator, index, "it is empty and its offsets have expired");
    }
}

/// The partitions no longer exist: their offsets go, and empty groups without others.
pub(crate) fn delete_partitions(coordinator: &mut Coordinator, partitions: &[TopicPartition]) {
    for index in all_groups(coordinator) {
        let Some((turn, group)) = coordinator.turn_and_group(index) else { continue };
        let deleted = remove(turn, &mut group.offsets, partitions);
        if !deleted.is_empty() {
            forget(turn, group, deleted, |partition| EventKind::OffsetDeleted { partition });
            remove_if_bare(coordinator, index, "it is empty and the topics of its offsets are deleted");
        }
    }
}

/// Removes the offsets of some partitions by request.
pub(crate) fn delete_offsets(
    coordinator: &mut Coordinator,
    index: GroupIndex,
    partitions: &[TopicPartition],
) {
    let Some((turn, group)) = coordinator.turn_and_group(index) else { return };
    let deleted = remove(turn, &mut group.offsets, partitions);
    forget(turn, group, deleted, |partition| EventKind::OffsetDeleted { partition });
    remove_if_bare(coordinator, index, "it is empty and its last offset was deleted by request");
}

fn all_groups(coordinator: &Coordinator) -> Vec<GroupIndex> {
    coordinator.groups.iter().map(|group| group.index).collect()
}

/// What is known of who still needs the group's offsets decides how they age.
fn rule(group: &Group) -> Retention<'_> {
    match (group.phase(), &group.protocol_type, &group.subscription) {
        (Phase::Dead, _, _) => Retention::KeepAll,
        // A simple group: it never had members.
        (_, None, _) => Retention::SinceCommit(&[]),
        // Old records do not say since when the group is empty.
        (Phase::Empty, Some(_), _) if group.state_timestamp_ms < 0 => Retention::SinceCommit(&[]),
        (Phase::Empty, Some(_), _) => Retention::SinceEmpty(group.state_timestamp_ms),
        (Phase::Stable, Some(_), Subscription::Topics(topics)) if group.is_consumer_group() => {
            Retention::SinceCommit(topics)
        }
        (Phase::Stable | Phase::PreparingRebalance | Phase::CompletingRebalance, Some(_), _) => {
            Retention::KeepAll
        }
    }
}

fn remove(turn: &Turn, offsets: &mut GroupOffsets, partitions: &[TopicPartition]) -> Vec<TopicPartition> {
    let position = Position::stored(turn.next_store_id());
    partitions.iter().filter(|partition| offsets.remove(position, partition)).cloned().collect()
}

/// Writes tombstones for partitions that were taken out of the table, and says so.
fn forget(
    turn: &mut Turn,
    group: &Group,
    partitions: Vec<TopicPartition>,
    kind: impl Fn(TopicPartition) -> EventKind,
) {
    if partitions.is_empty() {
        return;
    }
    let tombstone =
        |partition: &TopicPartition| Record::OffsetTombstone(group.name.clone(), partition.clone());
    turn.store(group, partitions.iter().map(tombstone).collect());
    for partition in partitions {
        turn.event(group, kind(partition));
    }
}

/// A group that nobody is in and that keeps nothing is of no use. Handed-out member ids do not count.
fn remove_if_bare(coordinator: &mut Coordinator, index: GroupIndex, cause: &str) {
    let is_bare = |group: &Group| group.phase() == Phase::Empty && group.offsets.is_empty();
    if coordinator.groups.get(index).is_some_and(is_bare) {
        coordinator.delete_group(index, cause);
    }
}
