//! The offsets of one group: committed ones, commits waiting for the store, and those of open transactions.
//!
//! What counts in the end is the order of the records in the log, so each change carries its [`Position`] there. The
//! table after any mix of commits, transactions and deletions is the table that a replay of their records builds.
//! Nothing here knows members, phases, tokens or the store: only positions, partitions and what they stand at.

mod expiry;
mod layer;
pub(crate) mod loading;
pub(crate) mod retention;
mod slot;
mod sorted_map;
mod subscription;
mod topic_names;
pub(crate) mod transactions;
mod under_way;

#[cfg(test)]
mod tests;

pub(crate) use expiry::{Expired, Retention};
pub(crate) use loading::LoadedOffsets;
pub(crate) use slot::{Position, Value};
pub(crate) use subscription::Subscription;
pub(crate) use topic_names::TopicNames;

use layer::Layer;
use slot::Slot;
use under_way::UnderWay;

use crate::ids::{GroupId, ProducerId, TopicName, TopicPartition};
use crate::messages::{CommitOffset, OffsetRecord, Record};

/// The offsets of one group. 32 bytes, 48 for each partition, and nothing else while no transaction is open.
#[derive(Debug, Default)]
pub(crate) struct GroupOffsets {
    /// A slot for each partition with an offset, a write in flight or a commit in an open transaction.
    committed: Layer,
    /// What few groups have; boxed for the sake of the others.
    under_way: Option<Box<UnderWay>>,
}

impl GroupOffsets {
    /// Neither an offset nor anything under way to one.
    pub(crate) fn is_empty(&self) -> bool {
        self.committed.is_empty()
    }

    /// Tells `of_each` what each of `partitions` stands at, in order. Fastest if those of a topic stand together.
    pub(crate) fn find_each(
        &self,
        partitions: Vec<TopicPartition>,
        mut of_each: impl FnMut(TopicPartition, Found<'_>),
    ) {
        let mut rest = partitions.into_iter();
        while let Some(run) = rest.as_slice().chunk_by(|a, b| a.topic == b.topic).next() {
            let (topic, of_topic) = (self.committed.topic(&run[0].topic), run.len());
            for partition in rest.by_ref().take(of_topic) {
                let found = Found::of(topic.and_then(|topic| topic.slot(partition.partition)));
                of_each(partition, found);
            }
        }
    }

    /// How many partitions are in the table, whatever they stand at.
    pub(crate) fn len(&self) -> usize {
        self.committed.len()
    }

    /// What the partitions behind `after`, or all, stand at, in the order of topic and partition.
    pub(crate) fn iter_after<'a>(
        &'a self,
        after: Option<&'a TopicPartition>,
    ) -> impl Iterator<Item = (&'a TopicName, i32, Found<'a>)> {
        let slots = self.committed.slots_after(after);
        slots.map(|(topic, slot)| (topic, slot.partition(), Found::of(Some(slot))))
    }

    /// A commit was asked to be stored: its partitions are unstable until [`GroupOffsets::end_commit`].
    pub(crate) fn begin_commit(&mut self, offsets: &[CommitOffset], names: &mut TopicNames) {
        for run in runs(offsets) {
            let topic = self.committed.topic_or_new(&run[0].partition.topic, names);
            topic.expect_slots(run.len());
            for offset in run {
                topic.slot_or_new(offset.partition.partition).0.begin_write();
            }
        }
    }

    /// The store of a commit ended. `stored`: the offsets count, each from its record's position on, unless its
    /// partition was deleted meanwhile.
    pub(crate) fn end_commit(
        &mut self,
        position: Position,
        offsets: &[CommitOffset],
        expire_timestamp_ms: Option<i64>,
        stored: bool,
    ) {
        for run in runs(offsets) {
            let mut topic = self.committed.topic_mut(&run[0].partition.topic);
            for offset in run {
                if UnderWay::take_void(&mut self.under_way, &offset.partition, position) {
                    continue;
                }
                let slot = topic.as_mut().and_then(|topic| topic.slot_mut(offset.partition.partition));
                let slot = slot.expect("invariant: a slot per write");
                slot.end_write();
                if stored {
                    slot.store(position, Value::of_commit(offset, expire_timestamp_ms));
                }
            }
        }
        if !stored {
            for offset in offsets {
                self.committed.tidy(&offset.partition);
            }
        }
    }

    /// An offset was read from the log, where it stands at `position`.
    pub(crate) fn load(&mut self, position: Position, record: &OffsetRecord, names: &mut TopicNames) {
        let (slot, _) = self.committed.slot_or_new(&record.partition, names);
        slot.store(position, Value::of_record(record));
    }

    /// Those of `partitions` whose offset was stored before `position`, and to which nothing is under way.
    pub(crate) fn settled_before(
        &self,
        position: Position,
        partitions: &[TopicPartition],
    ) -> Vec<TopicPartition> {
        let is_settled = |slot: &Slot| slot.is_stable() && slot.position() < position;
        partitions.iter().filter(|p| self.committed.slot(p).is_some_and(is_settled)).cloned().collect()
    }

    /// The partitions' offsets go, with all that is under way to them: tombstones stand at `position`. Returns those that
    /// were there. Fastest if those of a topic stand together.
    pub(crate) fn remove(
        &mut self,
        position: Position,
        partitions: &[TopicPartition],
    ) -> Vec<TopicPartition> {
        let (mut removed, mut in_transactions) = (Vec::new(), Vec::new());
        for run in partitions.chunk_by(|a, b| a.topic == b.topic) {
            if self.committed.topic(&run[0].topic).is_none() {
                continue;
            }
            for partition in run {
                let Some(slot) = self.committed.remove(partition) else { continue };
                if slot.in_flight() > 0 {
                    let writes = slot.in_flight();
                    UnderWay::add_void(&mut self.under_way, partition.clone(), position, writes);
                }
                if slot.open_transactions() > 0 {
                    in_transactions.push(partition.clone());
                }
                removed.push(partition.clone());
            }
        }
        if !in_transactions.is_empty() {
            in_transactions.sort_unstable();
            self.remove_from_transactions(position, &in_transactions);
        }
        removed
    }

    /// All partitions in the table, whatever they stand at.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = TopicPartition> {
        self.committed.topics().flat_map(|topic| {
            topic
                .slots()
                .map(|slot| TopicPartition { topic: topic.name().clone(), partition: slot.partition() })
        })
    }

    /// Forgets everything, what is under way included; hands back a tombstone for each partition, in order.
    pub(crate) fn take_tombstones(&mut self, group: &GroupId) -> Vec<Record> {
        let offsets = std::mem::take(self);
        offsets.partitions().map(|partition| Record::OffsetTombstone(group.clone(), partition)).collect()
    }

    /// Those with an open transaction here.
    pub(crate) fn producers(&self) -> impl Iterator<Item = ProducerId> {
        self.under_way.iter().flat_map(|under_way| under_way.open_producers())
    }
}

/// What a partition stands at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) committed: Option<Value<'a>>,
    /// No write and no open transaction may still change it.
    pub(crate) is_stable: bool,
}

impl<'a> Found<'a> {
    fn of(slot: Option<&'a Slot>) -> Self {
        match slot {
            Some(slot) => Self { committed: slot.committed(), is_stable: slot.is_stable() },
            None => Self { committed: None, is_stable: true },
        }
    }
}

/// Offsets in runs of the same topic, so that each topic is looked up once.
fn runs(offsets: &[CommitOffset]) -> impl Iterator<Item = &[CommitOffset]> {
    offsets.chunk_by(|a, b| a.partition.topic == b.partition.topic)
}
