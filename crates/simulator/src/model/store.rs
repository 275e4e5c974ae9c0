//! The store of a model: the last record of the one group, and who may write.

use coordinator::ids::OwnerEpoch;
use coordinator::messages::{GroupRecord, Record, Store, StoreError};

use super::Plant;

/// What is kept.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) group: Option<GroupRecord>,
    /// Of whoever may write.
    pub(super) epoch: OwnerEpoch,
}

impl Kept {
    pub(super) fn new() -> Self {
        Self { group: None, epoch: OwnerEpoch(1) }
    }

    /// Writes, if its owner still is one.
    pub(super) fn write(&mut self, write: &Store, plant: Plant) -> Result<(), StoreError> {
        if write.epoch < self.epoch && plant != Plant::UnfencedStore {
            return Err(StoreError::NotLeaderOrFollower);
        }
        if plant == Plant::LostWrite {
            return Ok(());
        }
        for record in &write.records {
            match record {
                Record::Group(group) => self.group = Some(group.clone()),
                Record::GroupTombstone(_) => self.group = None,
                Record::Offset(_)
                | Record::OffsetTombstone(..)
                | Record::TxnOffset(..)
                | Record::TxnMarker(..) => unreachable!("nobody commits offsets here"),
            }
        }
        Ok(())
    }
}
