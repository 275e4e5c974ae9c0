//! Rows as redb keeps them: each with a checksum of its key and itself, and for each partition the sum of these.
//!
//! redb trusts the pages it reads. So a row that changed is known by its checksum, and one that is lost, or is an older
//! one come back, by the sum: what a reader is given is what was written, or an error.

use std::collections::BTreeMap;

use redb::{Range, ReadTransaction, ReadableTable, Table, TableDefinition, WriteTransaction};

use super::tables::redb_failure;
use crate::store::StoreFailure;
use crate::store::fold::unfolded_bytes;

/// Row key to row, as [`fold`](crate::store::fold) has them, and the row's checksum.
const ROWS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("rows");
/// What the keys of a partition's rows begin with, to the sum of their checksums.
pub(super) const SUMS: TableDefinition<'static, [u8; 4], u64> = TableDefinition::new("sums");

/// Bytes of a row's checksum, kept behind it.
const CHECKSUM: usize = 4;
/// Bytes by which a row is expected to grow when it is changed.
const ROOM: usize = 64;

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

/// A row in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// What it is to be; empty: nothing.
    pub(super) bytes: Vec<u8>,
    /// What it is in the table; none if it is not there.
    before: Option<Before>,
}

/// What a partition's sums have of a row.
#[derive(Clone, Copy, Debug)]
struct Before {
    sum: u32,
    /// Bytes of its records.
    live_bytes: u64,
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

    /// The row as it is, empty if there is none.
    pub(super) fn get(&self, key: &[u8]) -> Result<Row, StoreFailure> {
        let Some(kept) = self.rows.get(key).map_err(redb_failure)? else { return Ok(Row::default()) };
        let (row, sum) = checked(key, kept.value())?;
        let mut bytes = Vec::with_capacity(row.len() + ROOM);
        bytes.extend_from_slice(row);
        Ok(Row { bytes, before: Some(Before { sum, live_bytes: unfolded_bytes(key, row)? }) })
    }

    /// Writes a row that was read with [`RowsInChange::get`] and changed, or removes it if it is empty; `live_bytes`
    /// counts those of the records that all rows stand for.
    pub(super) fn put(&mut self, key: &[u8], row: &Row, live_bytes: &mut u64) -> Result<(), StoreFailure> {
        let sum = self.changes.entry(prefix_of(key)?).or_default();
        if let Some(before) = row.before {
            *sum = sum.wrapping_sub(before.sum.into());
            *live_bytes = live_bytes.saturating_sub(before.live_bytes);
        }
        if row.bytes.is_empty() {
            self.rows.remove(key).map_err(redb_failure)?;
            return Ok(());
        }
        let new = checksum(key, &row.bytes);
        *sum = sum.wrapping_add(new.into());
        *live_bytes += unfolded_bytes(key, &row.bytes)?;
        let length = row.bytes.len() + CHECKSUM;
        let mut kept = self.rows.insert_reserve(key, length).map_err(redb_failure)?;
        let (kept_row, kept_sum) = kept.as_mut().split_at_mut(row.bytes.len());
        kept_row.copy_from_slice(&row.bytes);
        kept_sum.copy_from_slice(&new.to_le_bytes());
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
