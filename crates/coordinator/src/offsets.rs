//! What a group has committed, and what it is about to.

pub(crate) mod loading;
pub(crate) mod retention;
pub(crate) mod subscription;
pub(crate) mod transactions;

pub(crate) use loading::LoadedOffsets;
pub(crate) use subscription::Subscription;

use crate::ids::GroupId;
use crate::messages::Record;

/// The offsets of one group. Small while there are none: most of its size is behind one pointer.
#[derive(Debug, Default)]
pub(crate) struct GroupOffsets {}

impl GroupOffsets {
    /// Forgets everything, pending commits included; hands back a tombstone for each offset that was committed, in
    /// order of partition.
    pub(crate) fn take_tombstones(&mut self, _group: &GroupId) -> Vec<Record> {
        Vec::new()
    }
}
