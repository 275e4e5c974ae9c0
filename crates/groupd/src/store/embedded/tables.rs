//! What is kept in redb, besides the [`rows`].

use std::io;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableError};

use coordinator::ids::{OffsetsPartition, OwnerEpoch};

use super::{Epochs, FORMAT_VERSION, rows, seal};
use crate::store::StoreFailure;

/// An open transaction's key, then the key of a row it waits in.
pub(super) const OPEN: TableDefinition<'static, &[u8], ()> = TableDefinition::new("open");
/// The epoch of each partition's owner.
pub(super) const EPOCHS: TableDefinition<'static, i32, i32> = TableDefinition::new("epochs");
/// The few numbers of [`Meta`].
pub(super) const META: TableDefinition<'static, &str, u64> = TableDefinition::new("meta");

const FORMAT: &str = "format";
const STORE: &str = "store";
const FOLDED: &str = "folded";
const LIVE_BYTES: &str = "live_bytes";
const BEGUN: &str = "begun";

/// What the store knows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    /// What checksums are seeded with.
    pub(super) store: u64,
    /// The last generation of a log that is folded; 0: none.
    pub(super) folded: u64,
    /// The last generation of a log that may hold what was acknowledged: it must be there, or a later one.
    pub(super) begun: u64,
    /// Bytes of the records that the rows stand for.
    pub(super) live_bytes: u64,
}

/// Reads what the store knows of itself.
pub(super) fn read_meta(database: &Database) -> Result<Meta, StoreFailure> {
    let read = database.begin_read().map_err(redb_failure)?;
    let table = match read.open_table(META) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => {
            return Err(StoreFailure::Damaged("the rows are not groupd's".to_owned()));
        }
        Err(error) => return Err(redb_failure(error)),
    };
    let number = |name: &str| -> Result<Option<u64>, StoreFailure> {
        Ok(table.get(name).map_err(redb_failure)?.map(|guard| guard.value()))
    };
    let needed = |name: &str| {
        number(name)?.ok_or_else(|| StoreFailure::Damaged(format!("the rows do not say their '{name}'")))
    };
    let format = needed(FORMAT)?;
    if format > u64::from(FORMAT_VERSION) {
        return Err(StoreFailure::Newer(format!("the rows have format version {format}")));
    }
    // A store of before it was kept does not say; then 0 asks for nothing.
    let begun = number(BEGUN)?.unwrap_or(0);
    Ok(Meta { store: needed(STORE)?, folded: needed(FOLDED)?, begun, live_bytes: needed(LIVE_BYTES)? })
}

/// Makes all tables of a new store.
pub(super) fn create(database: &Database, store: u64) -> Result<Meta, StoreFailure> {
    let meta = Meta { store, folded: 0, begun: 0, live_bytes: 0 };
    let mut write = database.begin_write().map_err(redb_failure)?;
    write.set_quick_repair(true);
    rows::create(&write)?;
    write.open_table(OPEN).map_err(redb_failure)?;
    write.open_table(EPOCHS).map_err(redb_failure)?;
    {
        let mut table = write.open_table(META).map_err(redb_failure)?;
        table.insert(FORMAT, u64::from(FORMAT_VERSION)).map_err(redb_failure)?;
        table.insert(STORE, store).map_err(redb_failure)?;
    }
    write_live_bytes(&write, meta.live_bytes)?;
    write_folded(&write, meta.folded)?;
    seal::write(&write)?;
    write.commit().map_err(redb_failure)?;
    Ok(meta)
}

/// Says durably that the log of `generation` has begun. Written after its header and before its first entry, so
/// that a log that is gone is missed.
pub(super) fn write_begun(database: &Database, generation: u64) -> Result<(), StoreFailure> {
    let mut write = database.begin_write().map_err(redb_failure)?;
    write.set_quick_repair(true);
    {
        let mut table = write.open_table(META).map_err(redb_failure)?;
        table.insert(BEGUN, generation).map_err(redb_failure)?;
    }
    seal::write(&write)?;
    write.commit().map_err(redb_failure)
}

/// Writes which generation is the last one folded.
pub(super) fn write_folded(write: &redb::WriteTransaction, generation: u64) -> Result<(), StoreFailure> {
    let mut table = write.open_table(META).map_err(redb_failure)?;
    table.insert(FOLDED, generation).map(drop).map_err(redb_failure)
}

/// Writes how much the rows stand for: with each change of them.
pub(super) fn write_live_bytes(write: &redb::WriteTransaction, bytes: u64) -> Result<(), StoreFailure> {
    let mut table = write.open_table(META).map_err(redb_failure)?;
    table.insert(LIVE_BYTES, bytes).map(drop).map_err(redb_failure)
}

/// Reads all epochs.
pub(super) fn read_epochs(database: &Database) -> Result<Epochs, StoreFailure> {
    let read = database.begin_read().map_err(redb_failure)?;
    let table = read.open_table(EPOCHS).map_err(redb_failure)?;
    let mut epochs = Epochs::default();
    for entry in table.iter().map_err(redb_failure)? {
        let (partition, epoch) = entry.map_err(redb_failure)?;
        epochs.insert(OffsetsPartition(partition.value()), OwnerEpoch(epoch.value()));
    }
    Ok(epochs)
}

/// What a failing file means.
#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
pub(super) fn io_failure(error: io::Error) -> StoreFailure {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreFailure::DiskFull,
        // The disk did well: what it holds is not what was written.
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            StoreFailure::Damaged(format!("a file is foreign, or part of it is lost ({error})"))
        }
        _ => StoreFailure::Io(error.to_string()),
    }
}

/// What a failing redb means.
pub(super) fn redb_failure(error: impl Into<redb::Error>) -> StoreFailure {
    match error.into() {
        redb::Error::Io(error) => io_failure(error),
        redb::Error::Corrupted(what) => StoreFailure::Damaged(what),
        redb::Error::UpgradeRequired(version) => {
            StoreFailure::Newer(format!("its rows are in redb's file format {version}"))
        }
        other => StoreFailure::Io(other.to_string()),
    }
}
