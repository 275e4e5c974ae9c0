//! Which partitions a shard owns, under which epoch, and whether they are loaded.

use std::collections::BTreeMap;

use coordinator::ids::{OffsetsPartition, OwnerEpoch};

/// The partitions of one shard.
#[derive(Debug, Default)]
pub(super) struct OwnedPartitions {
    partitions: BTreeMap<OffsetsPartition, Ownership>,
}

#[derive(Clone, Copy, Debug)]
struct Ownership {
    epoch: OwnerEpoch,
    loaded: bool,
}

impl OwnedPartitions {
    /// It is owned from now on, and being loaded.
    pub(super) fn begin(&mut self, partition: OffsetsPartition, epoch: OwnerEpoch) {
        self.partitions.insert(partition, Ownership { epoch, loaded: false });
    }

    /// All that is kept for it has been read.
    pub(super) fn loaded(&mut self, partition: OffsetsPartition) {
        if let Some(ownership) = self.partitions.get_mut(&partition) {
            ownership.loaded = true;
        }
    }

    /// Whether it still loads.
    pub(super) fn is_loading(&self, partition: OffsetsPartition) -> bool {
        self.partitions.get(&partition).is_some_and(|ownership| !ownership.loaded)
    }

    /// Under which epoch it is owned.
    pub(super) fn epoch(&self, partition: OffsetsPartition) -> Option<OwnerEpoch> {
        self.partitions.get(&partition).map(|ownership| ownership.epoch)
    }

    /// Gives all of them up, in order.
    pub(super) fn take(&mut self) -> Vec<(OffsetsPartition, OwnerEpoch)> {
        let all = std::mem::take(&mut self.partitions).into_iter();
        all.map(|(partition, ownership)| (partition, ownership.epoch)).collect()
    }
}
