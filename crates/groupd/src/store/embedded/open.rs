//! Opens a store: finds what its files hold, refuses what it does not understand.

use std::sync::Arc;
use std::task::Waker;

use parking_lot::Mutex;
use redb::{Builder, Database, StorageBackend};

use super::log::{EntryBuffer, Header, LogFile, SECTOR};
use super::seal;
use super::tables::{self, Meta, redb_failure};
use super::tail::Tail;
use super::trial::RowsFile;
use super::{EmbeddedSettings, EmbeddedStore, Epochs, FILES, Other, StoreFiles};
use crate::store::StoreFailure;

pub(super) use super::tables::io_failure;

/// The generation of the first log while a store is being made: nothing was acknowledged yet, so what a crash left
/// of the rows is thrown away. (redb does not make its file in one step.)
const MAKING: u64 = 0;
/// What a file of redb begins with: part of its file format.
const ROWS_MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";

/// What the first sectors of three files say of them together.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// No store, and nothing else, as far as the first sectors tell.
    Nothing,
    /// A store whose making was cut short, of this id.
    Making(u64),
    /// A store, with what its logs say.
    Store([Option<Header>; 2]),
}

/// Tells from the first sectors of three files (all of a shorter one) what they are; refuses what is no store.
pub(super) fn recognize(rows: &[u8], logs: [&[u8]; 2]) -> Result<Found, StoreFailure> {
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
    let rows = RowsFile::on_trial(files.rows);
    let (database, meta, mut epochs) = read_rows(rows.clone(), &settings)?;
    let (active, full, free) = replay(logs, headers, &meta, &mut epochs)?;
    rows.accept().map_err(io_failure)?;
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
    lock: Option<Arc<dyn StorageBackend>>,
) -> Result<EmbeddedStore, StoreFailure> {
    logs[0].start(seed, MAKING, 0)?;
    rows.set_len(0).map_err(io_failure)?;
    let database = open_rows(RowsFile::new(rows), &settings)?;
    let meta = tables::create(&database, seed)?;
    let active = Tail::start(Arc::clone(&logs[0]), seed, 1, 0)?;
    tables::write_begun(&database, active.generation())?;
    let [_, free] = logs;
    Ok(assemble(database, settings, &meta, Epochs::default(), (active, free), lock))
}

/// Opens the rows and reads what is needed of them at once.
fn read_rows(rows: RowsFile, settings: &EmbeddedSettings) -> Result<(Database, Meta, Epochs), StoreFailure> {
    StoreFailure::guard(|| {
        let database = open_rows(rows, settings)?;
        // First what may say that the rest is newer.
        let meta = tables::read_meta(&database)?;
        seal::verify(&database)?;
        let epochs = tables::read_epochs(&database)?;
        Ok((database, meta, epochs))
    })
}

fn open_rows(rows: RowsFile, settings: &EmbeddedSettings) -> Result<Database, StoreFailure> {
    let mut builder = Builder::new();
    builder.set_cache_size(settings.cache).set_check_integrity_on_open(settings.verify);
    builder.create_with_backend(rows).map_err(redb_failure)
}

fn assemble(
    database: Database,
    settings: EmbeddedSettings,
    meta: &Meta,
    epochs: Epochs,
    (active, free): (Tail, Arc<LogFile>),
    lock: Option<Arc<dyn StorageBackend>>,
) -> EmbeddedStore {
    EmbeddedStore {
        database: Arc::new(database),
        settings,
        id: meta.store,
        epochs,
        active,
        other: Other::Free(free),
        live_bytes: meta.live_bytes,
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
