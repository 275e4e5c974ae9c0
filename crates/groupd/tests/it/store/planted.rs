//! Stores with a fault planted in them, to show that the checks would see one.

use std::path::Path;

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::StoreError;
use groupd::store::{Batch, EmbeddedStore, PartitionReader, ReadPartition, Store, StoreFailure, Upkeep};

use super::disk::{Disk, small_settings};

/// The data directory; those above it are new too.
pub(super) const HOME: &str = "/var/lib/groupd";

/// What is wrong with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plant {
    Nothing,
    /// Commits are acknowledged though no sync has happened.
    AcknowledgedBeforeSync,
    /// The files' names are never synced.
    NamesNotSynced,
    /// The first batch of every seventh commit is acknowledged and forgotten.
    LostBatch,
    /// The newest records of a partition are left out where it is loaded.
    StaleLoad,
}

impl Plant {
    pub(super) fn open(self, disk: &Disk) -> Result<Box<dyn Store>, StoreFailure> {
        if self == Self::AcknowledgedBeforeSync {
            disk.lie();
        }
        if self == Self::NamesNotSynced {
            disk.forget_names();
        }
        let inner = EmbeddedStore::open_directory_in(disk, Path::new(HOME), small_settings(), 0x5eed)?;
        Ok(match self {
            Self::Nothing | Self::AcknowledgedBeforeSync | Self::NamesNotSynced => Box::new(inner),
            Self::LostBatch | Self::StaleLoad => Box::new(Planted { inner, plant: self, commits: 0 }),
        })
    }
}

struct Planted {
    inner: EmbeddedStore,
    plant: Plant,
    commits: u64,
}

impl Store for Planted {
    fn acquire(&mut self, partitions: &[OffsetsPartition]) -> Result<Vec<OwnerEpoch>, StoreFailure> {
        self.inner.acquire(partitions)
    }

    fn load(
        &mut self,
        partition: OffsetsPartition,
        epoch: OwnerEpoch,
    ) -> Result<PartitionReader, StoreFailure> {
        let mut reader = self.inner.load(partition, epoch)?;
        if self.plant != Plant::StaleLoad {
            return Ok(reader);
        }
        let mut records = Vec::new();
        while let Some(chunk) = reader.next_encoded()? {
            records.push(chunk);
        }
        let all: Vec<u8> = records.concat();
        let whole: Vec<_> = groupd::store::layout::RawRecord::all(&all).collect::<Result<_, _>>()?;
        let mut kept = Vec::new();
        whole.iter().take(whole.len().saturating_sub(2)).for_each(|record| record.write(&mut kept));
        Ok(PartitionReader::new(Box::new(Once(kept))))
    }

    fn append(&mut self, batches: &[Batch]) -> Result<Vec<Result<(), StoreError>>, StoreFailure> {
        self.commits += 1;
        if self.plant == Plant::LostBatch && self.commits.is_multiple_of(7) {
            let mut outcomes = self.inner.append(&batches[1..])?;
            outcomes.push(Ok(()));
            return Ok(outcomes);
        }
        self.inner.append(batches)
    }

    fn upkeep_due(&self) -> Upkeep {
        self.inner.upkeep_due()
    }

    fn upkeep(&mut self) -> Result<(), StoreFailure> {
        self.inner.upkeep()
    }
}

struct Once(Vec<u8>);

impl ReadPartition for Once {
    fn read(&mut self, _: usize, out: &mut Vec<u8>) -> Result<(), StoreFailure> {
        out.append(&mut self.0);
        Ok(())
    }
}
