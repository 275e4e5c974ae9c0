//! When offsets go: they expire, or their topic is deleted; and with the last one the empty group goes (KIP-211).
//!
//! Both mean a pass over all groups, which there may be millions of. It is made in slices, a tick apart, so that no
//! turn is held up: few groups are done at once, many within moments. A group that comes meanwhile may be missed, but
//! it has nothing yet that is old.
//!
//! A deleted topic may be made anew, and be committed to, before the pass has come to the group. What was asked for
//! since the deletion stays. Where it cannot be told from what was there before, because a write or a transaction of
//! the partition is under way, the offset stays as well: one too many rather than one that was acknowledged too few.

use super::{Expired, GroupOffsets, Position, Retention, Subscription};
use crate::coordinator::Coordinator;
use crate::delayed::Delayed;
use crate::events::EventKind;
use crate::group::{Group, Phase};
use crate::groups::GroupIndex;
use crate::ids::TopicPartition;
use crate::messages::{Record, StoreId};
use crate::turn::Turn;

/// How many groups one slice looks at: well under a millisecond if nothing is to be done.
const SLICE: usize = 1_000;
/// How many offsets one slice looks at: about a millisecond if all of them go.
const SLICE_OFFSETS: usize = 4_000;

/// A pass over all groups, as far as it has come.
#[derive(Debug)]
pub(crate) struct Pass {
    work: Work,
    /// The first place that has not been looked at.
    place: u32,
    /// The last partition that was, of the group there: its offsets are too many for one slice.
    after: Option<TopicPartition>,
    /// The same where partitions are deleted: how many of them are done in the group there.
    deleted: usize,
}

#[derive(Debug)]
enum Work {
    /// Expired offsets go, then empty groups without offsets.
    CleanUp,
    /// These partitions were deleted: the offsets committed for them before go, then empty groups without offsets.
    Delete(Vec<TopicPartition>, Position),
}

impl Pass {
    pub(crate) fn clean_up() -> Self {
        Self { work: Work::CleanUp, place: 0, after: None, deleted: 0 }
    }

    /// The partitions were deleted at the time of `mark`.
    pub(crate) fn delete(mut partitions: Vec<TopicPartition>, mark: StoreId) -> Self {
        partitions.sort_unstable();
        partitions.dedup();
        let work = Work::Delete(partitions, Position::stored(mark));
        Self { work, place: 0, after: None, deleted: 0 }
    }

    /// Does the next slice, and leaves the rest for the next tick.
    pub(crate) fn go_on(mut self, coordinator: &mut Coordinator) {
        let (slice, mut next) = coordinator.groups.slice(self.place, SLICE);
        let mut left = SLICE_OFFSETS;
        for index in slice {
            if left == 0 {
                next = Some(index.number());
                break;
            }
            // What was begun of this group is gone on with only if it is still the one in that place.
            let after = self.after.take().filter(|_| index.number() == self.place);
            let deleted = std::mem::take(&mut self.deleted);
            let deleted = if index.number() == self.place { deleted } else { 0 };
            let looked_at = match &self.work {
                Work::CleanUp => {
                    let expired = expire(coordinator, index, (after.as_ref(), left));
                    self.after = expired.last;
                    expired.looked_at
                }
                Work::Delete(partitions, at) => {
                    let partitions_left = (&partitions[deleted..], *at);
                    let (looked_at, done) = delete_some(coordinator, index, partitions_left, left);
                    self.deleted = if deleted + done < partitions.len() { deleted + done } else { 0 };
                    looked_at
                }
            };
            if self.after.is_some() || self.deleted > 0 {
                next = Some(index.number());
                break;
            }
            left = left.saturating_sub(looked_at);
        }
        if let Some(place) = next {
            self.place = place;
            let deadline = coordinator.turn.after_ms(1_u32);
            coordinator.turn.purgatory.watch(Delayed::Retention(Box::new(self)), [], deadline);
        }
    }
}

/// Removes what is expired of so many offsets behind a partition; then the group, if nothing is left of it.
fn expire(
    coordinator: &mut Coordinator,
    index: GroupIndex,
    slice: (Option<&TopicPartition>, usize),
) -> Expired {
    let Some((turn, group)) = coordinator.turn_and_group(index) else { return Expired::default() };
    let (now_ms, retention_ms) = (turn.unix_ms(), turn.config.offsets_retention_ms);
    let mut offsets = std::mem::take(&mut group.offsets);
    let mut expired = offsets.expire(now_ms, retention_ms, rule(group), slice);
    group.offsets = offsets;
    let partitions = std::mem::take(&mut expired.partitions);
    forget(turn, group, partitions, |partition| EventKind::OffsetExpired { partition });
    remove_if_bare(coordinator, index, "it is empty and keeps no offsets");
    expired
}

/// Removes the offsets of the first of these partitions, which were deleted at a position, `most` of them if the group
/// has any. Returns how many were looked at, and how many partitions are done.
fn delete_some(
    coordinator: &mut Coordinator,
    index: GroupIndex,
    (partitions, at): (&[TopicPartition], Position),
    most: usize,
) -> (usize, usize) {
    let (mut looked_at, mut done) = (0, 0);
    while looked_at < most && done < partitions.len() {
        let end = partitions.len().min(done + most - looked_at);
        looked_at += delete(coordinator, index, &partitions[done..end], at);
        done = end;
    }
    (looked_at, done)
}

/// Removes the offsets of partitions that were deleted at a position; returns how many were looked at: none to speak of
/// if there were none.
fn delete(
    coordinator: &mut Coordinator,
    index: GroupIndex,
    partitions: &[TopicPartition],
    at: Position,
) -> usize {
    let Some((turn, group)) = coordinator.turn_and_group(index) else { return 0 };
    if group.since > at {
        return 0;
    }
    let deleted = if group.last_commit < at {
        remove(turn, &mut group.offsets, partitions)
    } else {
        let settled = group.offsets.settled_before(at, partitions);
        remove(turn, &mut group.offsets, &settled)
    };
    let looked_at = if deleted.is_empty() { 0 } else { partitions.len() };
    forget(turn, group, deleted, |partition| EventKind::OffsetDeleted { partition });
    remove_if_bare(coordinator, index, "it is empty and the topics of its offsets are deleted");
    looked_at
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
    offsets.remove(position, partitions)
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
