//! Slots by topic and partition: what is committed, or what one transaction will commit.

use std::ops::Bound;

use super::slot::Slot;
use super::sorted_map::{Keyed, SortedMap};
use super::topic_names::TopicNames;
use crate::ids::{TopicName, TopicPartition};

/// The slots of one topic. Never empty while in a [`Layer`].
#[derive(Debug)]
pub(crate) struct Topic {
    name: TopicName,
    slots: SortedMap<Slot>,
}

impl Topic {
    pub(crate) fn name(&self) -> &TopicName {
        &self.name
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter()
    }

    fn slots_from(&self, start: Bound<&i32>) -> impl Iterator<Item = &Slot> {
        self.slots.iter_from(start)
    }

    #[inline]
    pub(crate) fn slot(&self, partition: i32) -> Option<&Slot> {
        self.slots.get(&partition)
    }

    #[inline]
    pub(crate) fn slot_mut(&mut self, partition: i32) -> Option<&mut Slot> {
        self.slots.get_mut(&partition)
    }

    /// Makes room for `count` slots if there are none yet.
    pub(crate) fn expect_slots(&mut self, count: usize) {
        self.slots.expect(count);
    }

    /// The partition's slot, and whether it is new.
    pub(crate) fn slot_or_new(&mut self, partition: i32) -> (&mut Slot, bool) {
        let mut is_new = false;
        let slot = self.slots.get_or_insert_with(&partition, || {
            is_new = true;
            Slot::new(partition)
        });
        (slot, is_new)
    }

    pub(crate) fn retain(&mut self, keep: impl FnMut(&mut Slot) -> bool) {
        self.slots.retain(keep);
    }
}

impl Keyed for Topic {
    type Key = TopicName;

    fn key(&self) -> &TopicName {
        &self.name
    }

    fn guess(_: &TopicName) -> usize {
        0
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    topics: SortedMap<Topic>,
}

impl Layer {
    pub(crate) fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }

    pub(crate) fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.topics.iter()
    }

    /// How many slots there are.
    pub(crate) fn len(&self) -> usize {
        self.topics().map(|topic| topic.slots.len()).sum()
    }

    /// The slots behind that of `after`, or all, in the order of topic and partition.
    pub(crate) fn slots_after<'a>(
        &'a self,
        after: Option<&'a TopicPartition>,
    ) -> impl Iterator<Item = (&'a TopicName, &'a Slot)> {
        let start = after.map_or(Bound::Unbounded, |after| Bound::Included(&after.topic));
        self.topics.iter_from(start).flat_map(move |topic| {
            let after = after.filter(|after| after.topic == topic.name);
            let start = after.map_or(Bound::Unbounded, |after| Bound::Excluded(&after.partition));
            topic.slots_from(start).map(move |slot| (&topic.name, slot))
        })
    }

    pub(crate) fn topic(&self, name: &TopicName) -> Option<&Topic> {
        self.topics.get(name)
    }

    pub(crate) fn topic_mut(&mut self, name: &TopicName) -> Option<&mut Topic> {
        self.topics.get_mut(name)
    }

    pub(crate) fn topic_or_new(&mut self, name: &TopicName, names: &mut TopicNames) -> &mut Topic {
        let new = || Topic { name: names.shared(name), slots: SortedMap::default() };
        self.topics.get_or_insert_with(name, new)
    }

    pub(crate) fn slot(&self, partition: &TopicPartition) -> Option<&Slot> {
        self.topic(&partition.topic)?.slot(partition.partition)
    }

    pub(crate) fn slot_mut(&mut self, partition: &TopicPartition) -> Option<&mut Slot> {
        self.topic_mut(&partition.topic)?.slot_mut(partition.partition)
    }

    /// The partition's slot, and whether it is new.
    pub(crate) fn slot_or_new(
        &mut self,
        partition: &TopicPartition,
        names: &mut TopicNames,
    ) -> (&mut Slot, bool) {
        self.topic_or_new(&partition.topic, names).slot_or_new(partition.partition)
    }

    pub(crate) fn remove(&mut self, partition: &TopicPartition) -> Option<Slot> {
        let topic = self.topics.get_mut(&partition.topic)?;
        let removed = topic.slots.remove(&partition.partition);
        if topic.slots.is_empty() {
            self.topics.remove(&partition.topic);
        }
        removed
    }

    /// Drops the partition's slot if it is vacant.
    pub(crate) fn tidy(&mut self, partition: &TopicPartition) {
        if self.slot(partition).is_some_and(Slot::is_vacant) {
            self.remove(partition);
        }
    }

    /// Keeps the slots for which `keep` says so. Asked in the order of topic and partition.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&TopicName, &mut Slot) -> bool) {
        self.topics.retain(|topic| {
            let name = topic.name.clone();
            topic.retain(|slot| keep(&name, slot));
            !topic.slots.is_empty()
        });
    }
}
