//! Faults of the store, as a shard sees them: writes that fail, outcomes that come late. Only a server for tests has any.
//!
//! An outcome that is held back holds back those behind it: a store answers in order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use coordinator::ids::GroupId;
use coordinator::messages::{Record, Store, StoreError, StoreId};
use hashbrown::HashMap;
use purgatory::Timestamp;

use super::inbox::Message;
use crate::testing::{Faults, Released, WriteStrike};

/// The faults of one shard's writes.
#[derive(Debug, Default)]
pub(super) struct StoreFaults {
    faults: Option<Arc<Faults>>,
    /// Writes under way whose outcomes are to come late.
    slow: HashMap<StoreId, (Duration, Released)>,
    held: VecDeque<Held>,
}

#[derive(Debug)]
struct Held {
    outcome: Message,
    /// By the host's clock; none where it only waits for those in front.
    until: Option<(Timestamp, Released)>,
}

impl StoreFaults {
    /// Those of `faults`, if there can be any.
    pub(super) fn new(faults: Option<Arc<Faults>>) -> Self {
        Self { faults, ..Self::default() }
    }

    /// Why `write` fails, if it is to; it is not to be made then.
    pub(super) fn refuse(&mut self, write: &Store) -> Option<StoreError> {
        let faults = self.faults.as_ref()?;
        match faults.strike_write(group(write).map(GroupId::as_str))? {
            WriteStrike::Fail(error) => Some(error),
            WriteStrike::Slow(by, released) => {
                self.slow.insert(write.id, (by, released));
                None
            }
        }
    }

    /// An outcome came at `host`: it is given back, or held.
    pub(super) fn arrived(&mut self, host: Timestamp, outcome: Message) -> Option<Message> {
        let slow = match &outcome {
            Message::Stored(id, _) if !self.slow.is_empty() => self.slow.remove(id),
            _ => None,
        };
        if slow.is_none() && self.held.is_empty() {
            return Some(outcome);
        }
        let ms = |by: Duration| u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        let until = slow.map(|(by, released)| (host.saturating_add(ms(by)), released));
        self.held.push_back(Held { outcome, until });
        None
    }

    /// The next outcome that is held no longer.
    pub(super) fn next(&mut self, host: Timestamp) -> Option<Message> {
        let is_due = |held: &mut Held| {
            held.until.as_ref().is_none_or(|(until, released)| *until <= host || released.is_now())
        };
        self.held.pop_front_if(is_due).map(|held| held.outcome)
    }

    /// When [`StoreFaults::next`] has something to give.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let front = self.held.front()?;
        Some(front.until.as_ref().map_or(Timestamp::ZERO, |(until, _)| *until))
    }

    /// All that is held is held no longer.
    pub(super) fn release(&mut self) {
        self.faults = None;
        self.slow.clear();
        self.held.iter_mut().for_each(|held| held.until = None);
    }

    /// How many outcomes are held.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }
}

/// The group that a write is about: all of its records are one group's, or of one deletion.
fn group(write: &Store) -> Option<&GroupId> {
    match write.records.first()? {
        Record::Group(record) => Some(&record.group),
        Record::Offset(record) | Record::TxnOffset(_, record) => Some(&record.group),
        Record::GroupTombstone(group) | Record::OffsetTombstone(group, _) => Some(group),
        Record::TxnMarker(..) => None,
    }
}
