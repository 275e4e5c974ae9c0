//! Which offsets are old enough to go (KIP-211).

use super::GroupOffsets;
use super::slot::Slot;
use crate::ids::{TopicName, TopicPartition};

/// From when on a group's offsets age. Offsets with an expiry time of their own obey that alone, unless the group
/// keeps everything or subscribes to the topic.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Retention<'a> {
    /// Nothing expires: the group has members, and what they consume is not known or may change.
    KeepAll,
    /// The group became empty then (ms since the Unix epoch): all of it ages from there.
    SinceEmpty(i64),
    /// Each offset ages from its commit. Topics the group subscribes to are kept; sorted.
    SinceCommit(&'a [TopicName]),
}

/// What became of a slice of a group's offsets.
#[derive(Debug, Default)]
pub(crate) struct Expired {
    /// Whose offsets went.
    pub(crate) partitions: Vec<TopicPartition>,
    pub(crate) looked_at: usize,
    /// The last that was looked at, if there may be more.
    pub(crate) last: Option<TopicPartition>,
}

impl GroupOffsets {
    /// Removes the offsets that are older than `retention_ms` by `rule` at `now_ms`, of up to `count` partitions behind
    /// `after`.
    ///
    /// What a write or a transaction is under way to stays until that has ended.
    pub(crate) fn expire(
        &mut self,
        now_ms: i64,
        retention_ms: i64,
        rule: Retention<'_>,
        (after, count): (Option<&TopicPartition>, usize),
    ) -> Expired {
        let since_empty = match rule {
            Retention::KeepAll => return Expired::default(),
            Retention::SinceEmpty(since) => Some(since),
            Retention::SinceCommit(_) => None,
        };
        let (mut expired, mut last) = (Expired::default(), None);
        for (topic, slot) in self.committed.slots_after(after).take(count) {
            expired.looked_at += 1;
            last = Some((topic, slot));
            let is_kept = match rule {
                Retention::SinceCommit(subscribed) => subscribed.binary_search(topic).is_ok(),
                Retention::KeepAll | Retention::SinceEmpty(_) => false,
            };
            if !is_kept && is_expired(slot, now_ms, retention_ms, since_empty) {
                let partition = TopicPartition { topic: topic.clone(), partition: slot.partition() };
                expired.partitions.push(partition);
            }
        }
        if expired.looked_at == count {
            let name = |(topic, slot): (&TopicName, &Slot)| TopicPartition {
                topic: topic.clone(),
                partition: slot.partition(),
            };
            expired.last = last.map(name);
        }
        for partition in &expired.partitions {
            self.committed.remove(partition);
        }
        expired
    }
}

fn is_expired(slot: &Slot, now_ms: i64, retention_ms: i64, since_empty: Option<i64>) -> bool {
    let Some(committed) = slot.committed().filter(|_| slot.is_stable()) else { return false };
    if let Some(expire_timestamp_ms) = committed.expire_timestamp_ms {
        return now_ms >= expire_timestamp_ms;
    }
    let since = since_empty.unwrap_or(committed.commit_timestamp_ms);
    now_ms.saturating_sub(since) >= retention_ms
}
