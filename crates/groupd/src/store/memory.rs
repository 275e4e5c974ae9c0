//! Keeps group state in memory: for tests, and for those who do not mind losing it.

use std::collections::{BTreeMap, BTreeSet};

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::StoreError;

use super::fold::{Rows, fold, partition_prefix, unfold};
use super::{Batch, PartitionReader, ReadPartition, Store, StoreFailure, records_of};

/// A [`Store`] that forgets when it is dropped.
#[derive(Debug, Default)]
pub struct MemoryStore {
    epochs: BTreeMap<OffsetsPartition, OwnerEpoch>,
    rows: MemoryRows,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn epoch(&self, partition: OffsetsPartition) -> OwnerEpoch {
        self.epochs.get(&partition).copied().unwrap_or_default()
    }
}

impl Store for MemoryStore {
    fn acquire(&mut self, partitions: &[OffsetsPartition]) -> Result<Vec<OwnerEpoch>, StoreFailure> {
        let raise = |&partition| {
            let epoch = self.epochs.entry(partition).or_default();
            epoch.0 += 1;
            *epoch
        };
        Ok(partitions.iter().map(raise).collect())
    }

    fn load(
        &mut self,
        partition: OffsetsPartition,
        epoch: OwnerEpoch,
    ) -> Result<PartitionReader, StoreFailure> {
        let current = self.epoch(partition);
        if epoch != current {
            return Err(StoreFailure::Fenced { partition, asked: epoch, current });
        }
        let prefix = partition_prefix(partition);
        let mut records = Vec::new();
        for (key, row) in self.rows.rows.range(prefix.to_vec()..) {
            if !key.starts_with(&prefix) {
                break;
            }
            let mut record = Vec::new();
            unfold(key, row, &mut record)?;
            records.push(record);
        }
        Ok(PartitionReader::new(Box::new(MemoryReader { rows: records.into_iter() })))
    }

    fn append(&mut self, batches: &[Batch]) -> Result<Vec<Result<(), StoreError>>, StoreFailure> {
        let mut outcomes = Vec::with_capacity(batches.len());
        for batch in batches {
            if batch.epoch() != self.epoch(batch.partition()) {
                outcomes.push(Err(StoreError::NotLeaderOrFollower));
                continue;
            }
            for record in records_of(batch) {
                fold(&mut self.rows, batch.partition(), &record?)?;
            }
            outcomes.push(Ok(()));
        }
        Ok(outcomes)
    }
}

/// What was there when the reader was made.
struct MemoryReader {
    rows: std::vec::IntoIter<Vec<u8>>,
}

impl ReadPartition for MemoryReader {
    fn read(&mut self, limit: usize, out: &mut Vec<u8>) -> Result<(), StoreFailure> {
        while out.len() < limit {
            let Some(row) = self.rows.next() else { break };
            out.extend_from_slice(&row);
        }
        Ok(())
    }
}

/// Rows in sorted maps.
#[derive(Debug, Default)]
struct MemoryRows {
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    open: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    /// The key of the row that was asked for last: it may have been left empty.
    last: Vec<u8>,
}

impl MemoryRows {
    fn forget_if_empty(&mut self) {
        if self.rows.get(&self.last).is_some_and(Vec::is_empty) {
            self.rows.remove(&self.last);
        }
    }
}

impl Rows for MemoryRows {
    fn row(&mut self, key: &[u8]) -> Result<&mut Vec<u8>, StoreFailure> {
        // The row before is whole by now.
        self.forget_if_empty();
        self.last.clear();
        self.last.extend_from_slice(key);
        Ok(self.rows.entry(key.to_vec()).or_default())
    }

    fn add_open(&mut self, open: &[u8], key: &[u8]) -> Result<(), StoreFailure> {
        self.open.entry(open.to_vec()).or_default().insert(key.to_vec());
        Ok(())
    }

    fn take_open(&mut self, open: &[u8]) -> Result<Vec<Vec<u8>>, StoreFailure> {
        Ok(self.open.remove(open).into_iter().flatten().collect())
    }
}
