//! The least that durability can cost: the bytes at a file's end, and fdatasync. It cannot be read back.

#![expect(clippy::disallowed_types, reason = "the question is what a file costs")]

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::StoreError;
use groupd::store::{Batch, PartitionReader, Store, StoreFailure};

use super::Counters;

/// Appends what it is given.
pub(crate) struct PlainAppend {
    file: File,
    bytes: Vec<u8>,
    counters: Counters,
}

impl PlainAppend {
    pub(crate) fn create(path: &Path, counters: Counters) -> io::Result<Self> {
        Ok(Self { file: File::create(path)?, bytes: Vec::new(), counters })
    }
}

impl Store for PlainAppend {
    fn acquire(&mut self, partitions: &[OffsetsPartition]) -> Result<Vec<OwnerEpoch>, StoreFailure> {
        Ok(vec![OwnerEpoch(1); partitions.len()])
    }

    fn load(&mut self, _: OffsetsPartition, _: OwnerEpoch) -> Result<PartitionReader, StoreFailure> {
        Err(StoreFailure::Poisoned)
    }

    fn append(&mut self, batches: &[Batch]) -> Result<Vec<Result<(), StoreError>>, StoreFailure> {
        self.bytes.clear();
        for batch in batches {
            self.bytes.extend_from_slice(batch.records());
        }
        let written = self.file.write_all(&self.bytes).and_then(|()| self.file.sync_data());
        written.map_err(|error| StoreFailure::Io(error.to_string()))?;
        self.counters.add(self.bytes.len());
        Ok(vec![Ok(()); batches.len()])
    }
}
