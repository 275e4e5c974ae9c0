//! One partition's place in an offset table: the committed offset, and what is under way to it.

use std::sync::Arc;

use super::sorted_map::{Keyed, SortedMap};
use crate::ids::{TopicName, TopicPartition};
use crate::messages::{CommitOffset, OffsetRecord, StoreId};

/// Where a record stands in the log, as far as one group goes: writes are kept in the order in which a coordinator
/// asks for them, and what it loads comes before what it writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Position(u64);

impl Position {
    pub(crate) const FIRST: Self = Self(0);
    pub(crate) const LAST: Self = Self(u64::MAX);
    const FIRST_STORED: u64 = 1 << 63;

    /// Of the nth record that is loaded from a log.
    pub(crate) fn loaded(n: u64) -> Self {
        Self(n.min(Self::FIRST_STORED - 1))
    }

    /// Of a write.
    pub(crate) fn stored(id: StoreId) -> Self {
        Self(Self::FIRST_STORED | id.0)
    }

    /// The write at this position.
    pub(crate) fn store_id(self) -> StoreId {
        StoreId(self.0 & !Self::FIRST_STORED)
    }
}

/// What is stored for a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "Kafka's name for both, as in the messages")]
pub(crate) struct Offset {
    pub(crate) offset: i64,
    /// -1: none.
    pub(crate) leader_epoch: i32,
    pub(crate) metadata: Arc<str>,
    pub(crate) commit_timestamp_ms: i64,
    /// Set by commits that carry a retention of their own.
    pub(crate) expire_timestamp_ms: Option<i64>,
}

impl Offset {
    /// What `commit` stores. Its commit timestamp has been decided.
    pub(crate) fn of_commit(commit: &CommitOffset, expire_timestamp_ms: Option<i64>) -> Self {
        Self {
            offset: commit.offset,
            leader_epoch: commit.leader_epoch,
            metadata: Arc::clone(&commit.metadata),
            commit_timestamp_ms: commit.commit_timestamp_ms,
            expire_timestamp_ms,
        }
    }

    pub(crate) fn of_record(record: &OffsetRecord) -> Self {
        Self {
            offset: record.offset,
            leader_epoch: record.leader_epoch,
            metadata: Arc::clone(&record.metadata),
            commit_timestamp_ms: record.commit_timestamp_ms,
            expire_timestamp_ms: record.expire_timestamp_ms,
        }
    }
}

/// A partition's place. 48 bytes; metadata, if there is any, beside it.
#[derive(Debug)]
pub(crate) struct Slot {
    /// Of the write that brought the committed offset.
    position: Position,
    offset: i64,
    commit_timestamp_ms: i64,
    rare: Option<Box<Rare>>,
    leader_epoch: i32,
    partition: i32,
    /// Writes asked for and not yet ended.
    in_flight: u32,
    /// Open transactions with a commit for this partition, times two; plus one if there is a committed offset.
    open_and_committed: u32,
}

/// What most offsets do without.
#[derive(Debug)]
struct Rare {
    metadata: Arc<str>,
    expire_timestamp_ms: Option<i64>,
}

/// A committed offset, looked at where it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Committed<'a>(&'a Slot);

impl Slot {
    fn new(partition: i32) -> Self {
        Self {
            position: Position::default(),
            offset: 0,
            commit_timestamp_ms: 0,
            rare: None,
            leader_epoch: 0,
            partition,
            in_flight: 0,
            open_and_committed: 0,
        }
    }

    pub(crate) fn partition(&self) -> i32 {
        self.partition
    }

    /// Stores what the write at `position` brings, unless a later write's is stored already.
    pub(crate) fn store(&mut self, position: Position, value: &Offset) {
        if self.is_committed() && position < self.position {
            return;
        }
        self.position = position;
        self.offset = value.offset;
        self.leader_epoch = value.leader_epoch;
        self.commit_timestamp_ms = value.commit_timestamp_ms;
        self.store_rare(&value.metadata, value.expire_timestamp_ms);
        self.open_and_committed |= 1;
    }

    fn store_rare(&mut self, metadata: &Arc<str>, expire_timestamp_ms: Option<i64>) {
        if metadata.is_empty() && expire_timestamp_ms.is_none() {
            self.rare = None;
        } else if let Some(rare) = &mut self.rare {
            rare.metadata = Arc::clone(metadata);
            rare.expire_timestamp_ms = expire_timestamp_ms;
        } else {
            self.rare = Some(Box::new(Rare { metadata: Arc::clone(metadata), expire_timestamp_ms }));
        }
    }

    /// The committed offset goes; what is under way stays.
    pub(crate) fn clear(&mut self) {
        self.rare = None;
        self.open_and_committed &= !1;
    }

    pub(crate) fn committed(&self) -> Option<Committed<'_>> {
        self.is_committed().then_some(Committed(self))
    }

    pub(crate) fn is_committed(&self) -> bool {
        self.open_and_committed & 1 == 1
    }

    /// Neither a write nor a transaction may still change what is committed.
    pub(crate) fn is_stable(&self) -> bool {
        self.in_flight == 0 && self.open_and_committed < 2
    }

    /// Nothing committed, nothing under way.
    pub(crate) fn is_vacant(&self) -> bool {
        self.in_flight == 0 && self.open_and_committed == 0
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub(crate) fn begin_write(&mut self) {
        self.in_flight += 1;
    }

    pub(crate) fn end_write(&mut self) {
        self.in_flight = self.in_flight.checked_sub(1).expect("invariant: a write ends once");
    }

    pub(crate) fn open_transactions(&self) -> u32 {
        self.open_and_committed / 2
    }

    pub(crate) fn begin_transaction(&mut self) {
        self.open_and_committed += 2;
    }

    pub(crate) fn end_transaction(&mut self) {
        self.open_and_committed =
            self.open_and_committed.checked_sub(2).expect("invariant: a transaction ends once");
    }
}

impl Committed<'_> {
    pub(crate) fn position(self) -> Position {
        self.0.position
    }

    pub(crate) fn offset(self) -> i64 {
        self.0.offset
    }

    pub(crate) fn leader_epoch(self) -> i32 {
        self.0.leader_epoch
    }

    pub(crate) fn commit_timestamp_ms(self) -> i64 {
        self.0.commit_timestamp_ms
    }

    pub(crate) fn expire_timestamp_ms(self) -> Option<i64> {
        self.0.rare.as_ref().and_then(|rare| rare.expire_timestamp_ms)
    }

    pub(crate) fn metadata(self) -> Arc<str> {
        self.0.rare.as_deref().map_or_else(Arc::default, |rare| Arc::clone(&rare.metadata))
    }

    pub(crate) fn to_offset(self) -> Offset {
        Offset {
            offset: self.offset(),
            leader_epoch: self.leader_epoch(),
            metadata: self.metadata(),
            commit_timestamp_ms: self.commit_timestamp_ms(),
            expire_timestamp_ms: self.expire_timestamp_ms(),
        }
    }
}

impl Keyed for Slot {
    type Key = i32;

    fn key(&self) -> &i32 {
        &self.partition
    }

    fn guess(key: &i32) -> usize {
        usize::try_from(*key).unwrap_or(usize::MAX)
    }
}

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

    pub(crate) fn slot(&self, partition: i32) -> Option<&Slot> {
        self.slots.get(&partition)
    }

    pub(crate) fn slot_mut(&mut self, partition: i32) -> Option<&mut Slot> {
        self.slots.get_mut(&partition)
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

/// Slots by topic and partition: what is committed, or what one transaction will commit.
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

    pub(crate) fn topic(&self, name: &TopicName) -> Option<&Topic> {
        self.topics.get(name)
    }

    pub(crate) fn topic_mut(&mut self, name: &TopicName) -> Option<&mut Topic> {
        self.topics.get_mut(name)
    }

    pub(crate) fn topic_or_new(&mut self, name: &TopicName) -> &mut Topic {
        self.topics.get_or_insert_with(name, || Topic { name: name.clone(), slots: SortedMap::default() })
    }

    pub(crate) fn slot(&self, partition: &TopicPartition) -> Option<&Slot> {
        self.topic(&partition.topic)?.slot(partition.partition)
    }

    pub(crate) fn slot_mut(&mut self, partition: &TopicPartition) -> Option<&mut Slot> {
        self.topic_mut(&partition.topic)?.slot_mut(partition.partition)
    }

    pub(crate) fn slot_or_new(&mut self, partition: &TopicPartition) -> (&mut Slot, bool) {
        self.topic_or_new(&partition.topic).slot_or_new(partition.partition)
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
