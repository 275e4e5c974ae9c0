//! One partition's place in an offset table: the committed offset, and what is under way to it.

use std::sync::Arc;

use super::sorted_map::Keyed;
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

/// What a commit brings to a partition, looked at where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value<'a> {
    pub(crate) offset: i64,
    /// -1: none.
    pub(crate) leader_epoch: i32,
    /// `None`: empty.
    metadata: Option<&'a Arc<str>>,
    pub(crate) commit_timestamp_ms: i64,
    /// Set by commits that carry a retention of their own.
    pub(crate) expire_timestamp_ms: Option<i64>,
}

impl<'a> Value<'a> {
    /// Of a commit whose timestamp has been decided.
    pub(crate) fn of_commit(commit: &'a CommitOffset, expire_timestamp_ms: Option<i64>) -> Self {
        Self {
            offset: commit.offset,
            leader_epoch: commit.leader_epoch,
            metadata: Some(&commit.metadata).filter(|metadata| !metadata.is_empty()),
            commit_timestamp_ms: commit.commit_timestamp_ms,
            expire_timestamp_ms,
        }
    }

    pub(crate) fn of_record(record: &'a OffsetRecord) -> Self {
        Self {
            offset: record.offset,
            leader_epoch: record.leader_epoch,
            metadata: Some(&record.metadata).filter(|metadata| !metadata.is_empty()),
            commit_timestamp_ms: record.commit_timestamp_ms,
            expire_timestamp_ms: record.expire_timestamp_ms,
        }
    }

    pub(crate) fn metadata(&self) -> Arc<str> {
        self.metadata.map_or_else(Arc::default, Arc::clone)
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
    metadata: Option<Arc<str>>,
    expire_timestamp_ms: Option<i64>,
}

impl Slot {
    /// A vacant one.
    pub(crate) fn new(partition: i32) -> Self {
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
    pub(crate) fn store(&mut self, position: Position, value: Value<'_>) {
        if self.is_committed() && position < self.position {
            return;
        }
        self.position = position;
        self.offset = value.offset;
        self.leader_epoch = value.leader_epoch;
        self.commit_timestamp_ms = value.commit_timestamp_ms;
        self.open_and_committed |= 1;
        match (value.metadata, value.expire_timestamp_ms, &mut self.rare) {
            (None, None, None) => {}
            (None, None, rare @ Some(_)) => *rare = None,
            // The room of the last commit's metadata serves this one's.
            (metadata, expire_timestamp_ms, Some(rare)) => {
                **rare = Rare { metadata: metadata.cloned(), expire_timestamp_ms };
            }
            (metadata, expire_timestamp_ms, rare @ None) => {
                *rare = Some(Box::new(Rare { metadata: metadata.cloned(), expire_timestamp_ms }));
            }
        }
    }

    /// The committed offset goes; what is under way stays.
    pub(crate) fn clear(&mut self) {
        self.rare = None;
        self.open_and_committed &= !1;
    }

    pub(crate) fn committed(&self) -> Option<Value<'_>> {
        self.is_committed().then(|| Value {
            offset: self.offset,
            leader_epoch: self.leader_epoch,
            metadata: self.rare.as_ref().and_then(|rare| rare.metadata.as_ref()),
            commit_timestamp_ms: self.commit_timestamp_ms,
            expire_timestamp_ms: self.rare.as_ref().and_then(|rare| rare.expire_timestamp_ms),
        })
    }

    /// Of the write that brought the committed offset.
    pub(crate) fn position(&self) -> Position {
        self.position
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

impl Keyed for Slot {
    type Key = i32;

    fn key(&self) -> &i32 {
        &self.partition
    }

    fn guess(key: &i32) -> usize {
        usize::try_from(*key).unwrap_or(usize::MAX)
    }
}
