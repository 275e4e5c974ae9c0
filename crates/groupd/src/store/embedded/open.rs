//! Opens a store: takes the directory, finds what is there, refuses what it does not understand.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Waker;

use parking_lot::Mutex;
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
/// What a file of redb begins with: part of its file format.
const ROWS_MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";

/// Why a directory could not be opened as a store. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory is not there and cannot be made.
    #[error("cannot create the data directory {}: {cause}; name another with --data-dir", path.display())]
    Create {
        /// Which.
        path: PathBuf,
        /// Why. Not a source: the message says it already.
        cause: io::Error,
    },
    /// A file in it cannot be opened for reading and writing.
    #[error(
        "cannot open {} for reading and writing: {cause}; \
         give this user the right to, or name another directory with --data-dir", path.display()
    )]
    Access {
        /// Which.
        path: PathBuf,
        /// Why. Not a source: the message says it already.
        cause: io::Error,
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
        std::fs::create_dir_all(path).map_err(|cause| OpenError::Create { path: path.to_owned(), cause })?;
        look_before_making(path)?;
        let lock = open_locked(path, LOCK_FILE)?;
        let [rows, first, second] = FILES.map(|name| open_backend(path, name));
        let logs = [first?, second?];
        let files = StoreFiles { rows: rows?, logs, lock: Some(lock) };
        // The names must be as durable as what will be in the files.
        sync_directory(path).map_err(|cause| OpenError::Access { path: path.to_owned(), cause })?;
        Self::open(files, settings, seed)
            .map_err(|failure| OpenError::Store { path: path.to_owned(), failure })
    }
}

/// Opens or makes a file, and keeps others out of it for as long as it is open.
fn open_locked(directory: &Path, name: &str) -> Result<File, OpenError> {
    let path = directory.join(name);
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let locked = opened.map_err(TryLockError::Error).and_then(|file| file.try_lock().map(|()| file));
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => OpenError::InUse { path: directory.to_owned() },
        TryLockError::Error(cause) => OpenError::Access { path, cause },
    })
}

/// A file of the store. It is locked itself too: the lock file may have been removed beneath a server.
fn open_backend(directory: &Path, name: &str) -> Result<Arc<dyn StorageBackend>, OpenError> {
    let backend = FileBackend::new(open_locked(directory, name)?)
        .map_err(|error| OpenError::Store { path: directory.to_owned(), failure: redb_failure(error) })?;
    Ok(Arc::new(backend))
}

/// Refuses files that are no store's before anything is made beside them.
fn look_before_making(directory: &Path) -> Result<(), OpenError> {
    let mut sectors = [const { Vec::new() }; 3];
    for (name, sector) in FILES.iter().zip(&mut sectors) {
        let path = directory.join(name);
        let read = match File::open(&path) {
            Ok(file) => file.take(SECTOR).read_to_end(sector),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        };
        read.map_err(|cause| OpenError::Access { path, cause })?;
    }
    let [rows, first, second] = &sectors;
    recognize(rows, [first, second])
        .map(drop)
        .map_err(|failure| OpenError::Store { path: directory.to_owned(), failure })
}

/// What the first sectors of three files say of them together.
#[derive(Clone, Copy, Debug)]
enum Found {
    /// No store, and nothing else, as far as the first sectors tell.
    Nothing,
    /// A store whose making was cut short, of this id.
    Making(u64),
    /// A store, with what its logs say.
    Store([Option<Header>; 2]),
}

/// Tells from the first sectors of three files (all of a shorter one) what they are; refuses what is no store.
fn recognize(rows: &[u8], logs: [&[u8]; 2]) -> Result<Found, StoreFailure> {
    let headers = [Header::read(logs[0])?, Header::read(logs[1])?];
    if let Some(Header { store, generation: MAKING, .. }) = headers[0] {
        return Ok(Found::Making(store));
    }
    if !rows.is_empty() {
        if rows.starts_with(ROWS_MAGIC) {
            return Ok(Found::Store(headers));
        }
        return Err(StoreFailure::Damaged(format!("{} is foreign, or has lost its beginning", FILES[0])));
    }
    if headers != [None; 2] {
        let what = format!("{} is empty or gone, but its logs are there", FILES[0]);
        return Err(StoreFailure::Damaged(what));
    }
    match logs.iter().position(|sector| sector.iter().any(|&byte| byte != 0)) {
        Some(log) => Err(foreign_log(log)),
        None => Ok(Found::Nothing),
    }
}

fn foreign_log(log: usize) -> StoreFailure {
    StoreFailure::Damaged(format!(
        "{} is foreign, or has lost its header, and {} is not there",
        FILES[log + 1],
        FILES[0]
    ))
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
    let rows = LogFile::new(Arc::clone(&files.rows), settings.log_growth)?.first_sector()?;
    let found = recognize(&rows, [&logs[0].first_sector()?, &logs[1].first_sector()?])?;
    let headers = match found {
        Found::Store(headers) => headers,
        Found::Nothing | Found::Making(_) => {
            refuse_to_write_over(&logs, found)?;
            return make(files.rows, logs, settings, seed, files.lock);
        }
    };
    let (database, meta, mut epochs) = read_rows(files.rows, &settings)?;
    let (active, full, free) = replay(logs, headers, &meta, &mut epochs)?;
    if active.generation() > meta.begun {
        tables::write_begun(&database, active.generation())?;
    }
    let mut store = assemble(database, settings, &meta, epochs, (active, free), files.lock);
    if let Some(full) = full {
        store.fold(Arc::new(full))?;
    }
    Ok(store)
}

/// Refuses to make a store where the logs hold something.
fn refuse_to_write_over(logs: &[Arc<LogFile>; 2], found: Found) -> Result<(), StoreFailure> {
    for (index, log) in logs.iter().enumerate() {
        match found {
            Found::Nothing if !log.is_blank()? => return Err(foreign_log(index)),
            // Nothing is written to a log before the making is over: its first header is an old one come back.
            Found::Making(store)
                if log.any_entry(SECTOR, store, |generation| generation > MAKING, None)? =>
            {
                return Err(StoreFailure::Damaged("a log has lost its header".to_owned()));
            }
            Found::Nothing | Found::Making(_) | Found::Store(_) => {}
        }
    }
    Ok(())
}

/// Makes a store. Each step is durable before the next, and until the last a crash leaves what is made anew.
fn make(
    rows: Arc<dyn StorageBackend>,
    logs: [Arc<LogFile>; 2],
    settings: EmbeddedSettings,
    seed: u64,
    lock: Option<File>,
) -> Result<EmbeddedStore, StoreFailure> {
    logs[0].start(seed, MAKING, 0)?;
    rows.set_len(0).map_err(io_failure)?;
    let database = open_rows(rows, &settings)?;
    let meta = tables::create(&database, seed)?;
    let active = Tail::start(Arc::clone(&logs[0]), seed, 1, 0)?;
    tables::write_begun(&database, active.generation())?;
    let [_, free] = logs;
    Ok(assemble(database, settings, &meta, Epochs::default(), (active, free), lock))
}

/// Opens the rows and reads what is needed of them at once.
fn read_rows(
    rows: Arc<dyn StorageBackend>,
    settings: &EmbeddedSettings,
) -> Result<(Database, Meta, Epochs), StoreFailure> {
    StoreFailure::guard(|| {
        let database = open_rows(rows, settings)?;
        let (meta, epochs) = (tables::read_meta(&database)?, tables::read_epochs(&database)?);
        Ok((database, meta, epochs))
    })
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
        waker: Arc::new(Mutex::new(Waker::noop().clone())),
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
        if let Some(header) = live_header(log, header, meta)? {
            live.push((header, log));
        }
    }
    live.sort_by_key(|(header, _)| header.generation);
    let generations: Vec<u64> = live.iter().map(|(header, _)| header.generation).collect();
    let first = meta.folded + 1;
    if generations.last().is_none_or(|&newest| newest < meta.begun) && meta.begun > 0 {
        let what = format!("the log of generation {} is gone, or has lost its header", meta.begun);
        return Err(StoreFailure::Damaged(what));
    }
    if generations.is_empty() && meta.folded == 0 {
        // Making the store was cut short within the header of its first generation.
        let active = Tail::start(Arc::clone(&logs[0]), meta.store, first, 0)?;
        return Ok((active, None, Arc::clone(&logs[1])));
    }
    if generations != [first] && generations != [first, first + 1] {
        let what = format!("the rows need the log of generation {first}, the logs have {generations:?}");
        return Err(StoreFailure::Damaged(what));
    }
    let mut tails: Vec<Tail> = Vec::with_capacity(2);
    for (header, log) in live {
        if tails.last().is_some_and(|full| full.end() != header.before) {
            let what = format!("the log of generation {first} does not end where the next one began");
            return Err(StoreFailure::Damaged(what));
        }
        tails.push(Tail::replay(Arc::clone(log), header, epochs)?);
    }
    let active = tails.pop().ok_or(StoreFailure::Poisoned)?;
    let is_active = Arc::ptr_eq(&active.file(), &logs[0]);
    let [zero, one] = logs;
    Ok((active, tails.pop(), if is_active { one } else { zero }))
}

/// The header of a log, if its generation is not folded yet.
fn live_header(log: &LogFile, header: Option<Header>, meta: &Meta) -> Result<Option<Header>, StoreFailure> {
    match header {
        Some(header) if header.store != meta.store => {
            Err(StoreFailure::Damaged("a log belongs to another store".to_owned()))
        }
        Some(header) => Ok((header.generation > meta.folded).then_some(header)),
        // A torn header is a generation that has not begun: then no entry of it can be there.
        None if log.any_entry(SECTOR, meta.store, |generation| generation > meta.folded, None)? => {
            Err(StoreFailure::Damaged("a log has lost its header".to_owned()))
        }
        None => Ok(None),
    }
}
