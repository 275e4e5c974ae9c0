//! Rows as redb keeps them: each with a checksum of its key and itself, and for each partition the sum of these.
//!
//! redb trusts the pages it reads. So a row that changed is known by its checksum, and one that is lost, or is an older
//! one come back, by the sum: what a reader is given is what was written, or an error.

use std::collections::BTreeMap;

use redb::{Range, ReadTransaction, ReadableTable, Table, TableDefinition, WriteTransaction};

use super::tables::redb_failure;
use crate::store::StoreFailure;

/// Row key to row, as [`fold`](crate::store::fold) has them, and the row's checksum.
const ROWS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("rows");
/// What the keys of a partition's rows begin with, to the sum of their checksums.
pub(super) const SUMS: TableDefinition<'static, [u8; 4], u64> = TableDefinition::new("sums");

type RowTable<'txn> = Table<'txn, &'static [u8], &'static [u8]>;

/// Makes the tables.
pub(super) fn create(write: &WriteTransaction) -> Result<(), StoreFailure> {
    write.open_table(ROWS).map_err(redb_failure)?;
    write.open_table(SUMS).map_err(redb_failure)?;
    Ok(())
}

fn checksum(key: &[u8], row: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(key), row)
}

/// A row and its checksum, from what is kept.
fn checked<'a>(key: &[u8], kept: &'a [u8]) -> Result<(&'a [u8], u32), StoreFailure> {
    match kept.split_last_chunk() {
        Some((row, sum)) if u32::from_le_bytes(*sum) == checksum(key, row) => {
            Ok((row, u32::from_le_bytes(*sum)))
        }
        _ => Err(StoreFailure::Damaged("a row is not what was written".to_owned())),
    }
}

fn prefix_of(key: &[u8]) -> Result<[u8; 4], StoreFailure> {
    key.first_chunk().copied().ok_or_else(|| StoreFailure::Damaged("a row has no partition".to_owned()))
}

/// The rows within a transaction that changes them.
pub(super) struct RowsInChange<'txn> {
    rows: RowTable<'txn>,
    sums: Table<'txn, [u8; 4], u64>,
    /// How the sums change.
    changes: BTreeMap<[u8; 4], u64>,
}

impl<'txn> RowsInChange<'txn> {
    pub(super) fn open(write: &'txn WriteTransaction) -> Result<Self, StoreFailure> {
        let rows = write.open_table(ROWS).map_err(redb_failure)?;
        let sums = write.open_table(SUMS).map_err(redb_failure)?;
        Ok(Self { rows, sums, changes: BTreeMap::new() })
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        let Some(kept) = self.rows.get(key).map_err(redb_failure)? else { return Ok(None) };
        Ok(Some(checked(key, kept.value())?.0.to_vec()))
    }

    /// Writes or removes a row; `bytes` counts those of keys and rows.
    pub(super) fn put(
        &mut self,
        key: &[u8],
        row: Option<&[u8]>,
        bytes: &mut u64,
    ) -> Result<(), StoreFailure> {
        let sum = self.changes.entry(prefix_of(key)?).or_default();
        let old = match row {
            Some(row) => {
                let new = checksum(key, row);
                *sum = sum.wrapping_add(new.into());
                *bytes += size(key, row);
                self.rows.insert(key, [row, &new.to_le_bytes()].concat().as_slice())
            }
            None => self.rows.remove(key),
        };
        if let Some(old) = old.map_err(redb_failure)? {
            let (row, old) = checked(key, old.value())?;
            *sum = sum.wrapping_sub(old.into());
            *bytes = bytes.saturating_sub(size(key, row));
        }
        Ok(())
    }

    /// Writes the sums.
    pub(super) fn finish(mut self) -> Result<(), StoreFailure> {
        for (partition, change) in self.changes {
            let old = self.sums.get(partition).map_err(redb_failure)?.map_or(0, |sum| sum.value());
            self.sums.insert(partition, old.wrapping_add(change)).map_err(redb_failure)?;
        }
        Ok(())
    }
}

fn size(key: &[u8], row: &[u8]) -> u64 {
    (key.len() + row.len()) as u64
}

/// Reads the rows of one partition, as they are when it is made.
pub(super) struct RowReader {
    prefix: [u8; 4],
    rows: Range<'static, &'static [u8], &'static [u8]>,
    /// The sum there must be in the end, less what was read.
    missing: u64,
}

impl RowReader {
    pub(super) fn new(read: &ReadTransaction, prefix: [u8; 4]) -> Result<Self, StoreFailure> {
        let rows = read.open_table(ROWS).map_err(redb_failure)?;
        let sums = read.open_table(SUMS).map_err(redb_failure)?;
        let missing = sums.get(prefix).map_err(redb_failure)?.map_or(0, |sum| sum.value());
        Ok(Self { prefix, rows: rows.range::<&[u8]>(prefix.as_slice()..).map_err(redb_failure)?, missing })
    }

    /// The next row, given to `visit` with its key. False: there is none, and none is missing.
    pub(super) fn next(
        &mut self,
        visit: impl FnOnce(&[u8], &[u8]) -> Result<(), StoreFailure>,
    ) -> Result<bool, StoreFailure> {
        let next = self.rows.next().transpose().map_err(redb_failure)?;
        let Some((key, kept)) = next.filter(|(key, _)| key.value().starts_with(&self.prefix)) else {
            if self.missing != 0 {
                return Err(StoreFailure::Damaged("rows are lost, or older ones came back".to_owned()));
            }
            return Ok(false);
        };
        let (row, sum) = checked(key.value(), kept.value())?;
        self.missing = self.missing.wrapping_sub(sum.into());
        visit(key.value(), row)?;
        Ok(true)
    }
}
