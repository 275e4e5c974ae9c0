//! Opens a store: takes the directory, finds what is there, refuses what it does not understand.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::backends::FileBackend;
use redb::{Builder, Database, StorageBackend};

use super::log::{EntryBuffer, Header, LogFile, SECTOR};
use super::tables::{self, Meta, RowsFile, redb_failure};
use super::tail::Tail;
use super::{EmbeddedSettings, EmbeddedStore, Epochs, Other, StoreFiles};
use crate::store::StoreFailure;

pub(super) use super::tables::io_failure;

/// The names of a store's files in its directory: rows, then the logs.
pub const FILES: [&str; 3] = ["groupd.redb", "groupd.log.0", "groupd.log.1"];
/// The file whose lock keeps a second server out.
pub const LOCK_FILE: &str = "groupd.lock";

/// The generation of the first log while a store is being made: nothing was acknowledged yet, so what a crash left
/// of the rows is thrown away. (redb does not make its file in one step.)
const MAKING: u64 = 0;

/// Why a directory could not be opened as a store. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory is not there and cannot be made.
    #[error("cannot create the data directory {}: {source}; name another with --data-dir", path.display())]
    Create {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file in it cannot be opened for reading and writing.
    #[error(
        "cannot open {} for reading and writing: {source}; \
         give this user the right to, or name another directory with --data-dir", path.display()
    )]
    Access {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process has it open.
    #[error(
        "the data directory {} is in use by another groupd; \
         stop that one, or name another directory with --data-dir", path.display()
    )]
    InUse {
        /// Which.
        path: PathBuf,
    },
    /// What is in it cannot be used.
    #[error("cannot use the data directory {}: {failure}", path.display())]
    Store {
        /// Which.
        path: PathBuf,
        /// Why.
        failure: StoreFailure,
    },
}

impl EmbeddedStore {
    /// Opens the store in a directory, or makes both. See [`EmbeddedStore::open`] for `seed`.
    ///
    /// # Errors
    /// [`OpenError`]: says what to do.
    pub fn open_directory(path: &Path, settings: EmbeddedSettings, seed: u64) -> Result<Self, OpenError> {
        std::fs::create_dir_all(path)
            .map_err(|source| OpenError::Create { path: path.to_owned(), source })?;
        let lock = open_file(&path.join(LOCK_FILE))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => {
                return Err(OpenError::Access { path: path.join(LOCK_FILE), source });
            }
        }
        let [rows, first, second] = FILES.map(|name| open_backend(&path.join(name)));
        let logs = [first?, second?];
        let files = StoreFiles { rows: rows?, logs, lock: Some(lock) };
        // The names must be as durable as what will be in the files.
        sync_directory(path).map_err(|source| OpenError::Access { path: path.to_owned(), source })?;
        Self::open(files, settings, seed)
            .map_err(|failure| OpenError::Store { path: path.to_owned(), failure })
    }
}

fn open_file(path: &Path) -> Result<File, OpenError> {
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    options.map_err(|source| OpenError::Access { path: path.to_owned(), source })
}

fn open_backend(path: &Path) -> Result<Arc<dyn StorageBackend>, OpenError> {
    let backend = FileBackend::new(open_file(path)?)
        .map_err(|error| OpenError::Store { path: path.to_owned(), failure: redb_failure(error) })?;
    Ok(Arc::new(backend))
}

#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// See [`EmbeddedStore::open`].
pub(super) fn open(
    files: StoreFiles,
    settings: EmbeddedSettings,
    seed: u64,
) -> Result<EmbeddedStore, StoreFailure> {
    let [first, second] = files.logs;
    let logs = [
        Arc::new(LogFile::new(first, settings.log_growth)?),
        Arc::new(LogFile::new(second, settings.log_growth)?),
    ];
    let headers = [logs[0].header()?, logs[1].header()?];
    let is_empty = files.rows.len().map_err(io_failure)? == 0;
    if (is_empty && headers == [None; 2]) || headers[0].is_some_and(|header| header.generation == MAKING) {
        logs[0].start(seed, MAKING)?;
        files.rows.set_len(0).map_err(io_failure)?;
        let database = open_rows(files.rows, &settings)?;
        let meta = tables::create(&database, seed)?;
        let active = Tail::start(Arc::clone(&logs[0]), seed, 1)?;
        let [_, free] = logs;
        return Ok(assemble(database, settings, &meta, Epochs::default(), (active, free), files.lock));
    }
    if is_empty {
        let what = format!("{} is empty or gone, but its logs are there", FILES[0]);
        return Err(StoreFailure::Damaged(what));
    }
    let database = open_rows(files.rows, &settings)?;
    let meta = tables::read_meta(&database)?;
    let mut epochs = tables::read_epochs(&database)?;
    let (active, full, free) = replay(logs, headers, &meta, &mut epochs)?;
    let mut store = assemble(database, settings, &meta, epochs, (active, free), files.lock);
    if let Some(full) = full {
        store.fold(Arc::new(full))?;
    }
    Ok(store)
}

fn open_rows(rows: Arc<dyn StorageBackend>, settings: &EmbeddedSettings) -> Result<Database, StoreFailure> {
    let mut builder = Builder::new();
    builder.set_cache_size(settings.cache).set_check_integrity_on_open(settings.verify);
    builder.create_with_backend(RowsFile(rows)).map_err(redb_failure)
}

fn assemble(
    database: Database,
    settings: EmbeddedSettings,
    meta: &Meta,
    epochs: Epochs,
    (active, free): (Tail, Arc<LogFile>),
    lock: Option<File>,
) -> EmbeddedStore {
    EmbeddedStore {
        database: Arc::new(database),
        settings,
        id: meta.store,
        epochs,
        active,
        other: Other::Free(free),
        row_bytes: meta.row_bytes,
        buffer: EntryBuffer::new(),
        _lock: lock,
    }
}

/// Finds the active log, and the full one if it is not folded yet, and reads both. Also returns the file that is
/// not active.
fn replay(
    logs: [Arc<LogFile>; 2],
    headers: [Option<Header>; 2],
    meta: &Meta,
    epochs: &mut Epochs,
) -> Result<(Tail, Option<Tail>, Arc<LogFile>), StoreFailure> {
    let mut live = Vec::new();
    for (log, header) in logs.iter().zip(headers) {
        if let Some(generation) = live_generation(log, header, meta)? {
            live.push((generation, log));
        }
    }
    live.sort_by_key(|(generation, _)| *generation);
    let generations: Vec<u64> = live.iter().map(|(generation, _)| *generation).collect();
    let first = meta.folded + 1;
    if generations.is_empty() && meta.folded == 0 {
        // Making the store was cut short within the header of its first generation.
        let active = Tail::start(Arc::clone(&logs[0]), meta.store, first)?;
        return Ok((active, None, Arc::clone(&logs[1])));
    }
    if generations != [first] && generations != [first, first + 1] {
        let what = format!("the rows need the log of generation {first}, the logs have {generations:?}");
        return Err(StoreFailure::Damaged(what));
    }
    let mut tails = Vec::with_capacity(2);
    for (generation, log) in live {
        tails.push(Tail::replay(Arc::clone(log), meta.store, generation, epochs)?);
    }
    let active = tails.pop().ok_or(StoreFailure::Poisoned)?;
    let is_active = Arc::ptr_eq(&active.file(), &logs[0]);
    let [zero, one] = logs;
    Ok((active, tails.pop(), if is_active { one } else { zero }))
}

/// The generation in a log, if it is not folded yet.
fn live_generation(log: &LogFile, header: Option<Header>, meta: &Meta) -> Result<Option<u64>, StoreFailure> {
    match header {
        Some(header) if header.store != meta.store => {
            Err(StoreFailure::Damaged("a log belongs to another store".to_owned()))
        }
        Some(header) => Ok((header.generation > meta.folded).then_some(header.generation)),
        // A torn header is a generation that has not begun: then no entry of it can be there.
        None if log.any_entry(SECTOR, meta.store, |generation| generation > meta.folded, None)? => {
            Err(StoreFailure::Damaged("a log has lost its header".to_owned()))
        }
        None => Ok(None),
    }
}
