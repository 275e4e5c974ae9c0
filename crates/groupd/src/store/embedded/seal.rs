//! One checksum over all that redb keeps beside the rows: the few numbers, the epochs, the sums, the open transactions.
//!
//! redb trusts the pages it reads. The rows have checksums of their own, and the [`sums`](super::rows) tell of lost ones;
//! what tells of lost or older sums, epochs and numbers is this. It is written with every change, and compared at every
//! start.

use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, Table, WriteTransaction};

use super::rows::SUMS;
use super::tables::{EPOCHS, META, OPEN, redb_failure};
use crate::store::StoreFailure;

const SEAL: &str = "seal";
/// The sum of the checksums of the open transactions' keys: there may be many, so that it is kept as they change.
const OPEN_SUM: &str = "open_sum";

/// The checksum in the making.
struct Sealing(u32);

impl Sealing {
    fn add(&mut self, bytes: &[u8]) {
        self.0 = crc32c::crc32c_append(self.0, bytes);
    }

    fn numbers(&mut self, meta: &impl ReadableTable<&'static str, u64>) -> Result<(), StoreFailure> {
        for entry in meta.iter().map_err(redb_failure)? {
            let (name, number) = entry.map_err(redb_failure)?;
            if name.value() != SEAL {
                self.add(name.value().as_bytes());
                self.add(&number.value().to_le_bytes());
            }
        }
        Ok(())
    }

    fn epochs(&mut self, epochs: &impl ReadableTable<i32, i32>) -> Result<(), StoreFailure> {
        for entry in epochs.iter().map_err(redb_failure)? {
            let (partition, epoch) = entry.map_err(redb_failure)?;
            self.add(&partition.value().to_le_bytes());
            self.add(&epoch.value().to_le_bytes());
        }
        Ok(())
    }

    fn sums(&mut self, sums: &impl ReadableTable<[u8; 4], u64>) -> Result<(), StoreFailure> {
        for entry in sums.iter().map_err(redb_failure)? {
            let (partition, sum) = entry.map_err(redb_failure)?;
            self.add(&partition.value());
            self.add(&sum.value().to_le_bytes());
        }
        Ok(())
    }
}

/// Writes the seal. The last thing in a transaction that changes anything.
pub(super) fn write(write: &WriteTransaction) -> Result<(), StoreFailure> {
    let mut meta = write.open_table(META).map_err(redb_failure)?;
    let mut sealing = Sealing(0);
    sealing.numbers(&meta)?;
    sealing.epochs(&write.open_table(EPOCHS).map_err(redb_failure)?)?;
    sealing.sums(&write.open_table(SUMS).map_err(redb_failure)?)?;
    meta.insert(SEAL, u64::from(sealing.0)).map_err(redb_failure)?;
    Ok(())
}

/// Compares what is there with the seal.
///
/// # Errors
/// [`StoreFailure::Damaged`].
pub(super) fn verify(database: &Database) -> Result<(), StoreFailure> {
    let read = database.begin_read().map_err(redb_failure)?;
    let meta = read.open_table(META).map_err(redb_failure)?;
    let mut sealing = Sealing(0);
    sealing.numbers(&meta)?;
    sealing.epochs(&read.open_table(EPOCHS).map_err(redb_failure)?)?;
    sealing.sums(&read.open_table(SUMS).map_err(redb_failure)?)?;
    let number = |name| meta.get(name).map(|found| found.map(|number| number.value())).map_err(redb_failure);
    let is_sealed = number(SEAL)? == Some(u64::from(sealing.0));
    if is_sealed && number(OPEN_SUM)?.unwrap_or(0) == sum_of_open(&read)? {
        return Ok(());
    }
    Err(StoreFailure::Damaged("what the rows say of themselves is not what was written".to_owned()))
}

fn sum_of_open(read: &ReadTransaction) -> Result<u64, StoreFailure> {
    let mut sum = 0_u64;
    for entry in read.open_table(OPEN).map_err(redb_failure)?.iter().map_err(redb_failure)? {
        sum = sum.wrapping_add(crc32c::crc32c(entry.map_err(redb_failure)?.0.value()).into());
    }
    Ok(sum)
}

/// The open transactions within a transaction of redb that changes them.
pub(super) struct OpenInChange<'txn> {
    pub(super) table: Table<'txn, &'static [u8], ()>,
    /// How the sum changes.
    change: u64,
}

impl<'txn> OpenInChange<'txn> {
    pub(super) fn open(write: &'txn WriteTransaction) -> Result<Self, StoreFailure> {
        Ok(Self { table: write.open_table(OPEN).map_err(redb_failure)?, change: 0 })
    }

    pub(super) fn insert(&mut self, key: &[u8]) -> Result<(), StoreFailure> {
        if self.table.insert(key, ()).map_err(redb_failure)?.is_none() {
            self.change = self.change.wrapping_add(crc32c::crc32c(key).into());
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, key: &[u8]) -> Result<(), StoreFailure> {
        if self.table.remove(key).map_err(redb_failure)?.is_some() {
            self.change = self.change.wrapping_sub(crc32c::crc32c(key).into());
        }
        Ok(())
    }

    /// Writes the sum.
    pub(super) fn finish(self, write: &WriteTransaction) -> Result<(), StoreFailure> {
        let mut meta = write.open_table(META).map_err(redb_failure)?;
        let old = meta.get(OPEN_SUM).map_err(redb_failure)?.map_or(0, |sum| sum.value());
        meta.insert(OPEN_SUM, old.wrapping_add(self.change)).map_err(redb_failure)?;
        Ok(())
    }
}
