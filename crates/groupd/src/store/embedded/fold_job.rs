//! Folds a full log into rows, step by step, here or on a thread of its own.
//!
//! Each step is a transaction of some frames' rows. Which producers' transactions are open, the rows in which one
//! waits that began in this log, the epochs and `folded` change with the last step only: after a crash between
//! steps the whole log is folded again, over rows that hold some of it already, and comes to the same (see
//! [`fold`](crate::store::fold)).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use coordinator::ids::OffsetsPartition;
use redb::{Database, ReadableTable, Table, WriteTransaction};

use super::tables::{EPOCHS, OPEN, ROWS, io_failure, redb_failure, write_progress};
use super::tail::Tail;
use super::{EmbeddedSettings, Epochs, FoldingThread};
use crate::store::StoreFailure;
use crate::store::fold::{Rows, fold, waiting_in};
use crate::store::layout::RawRecord;

/// A fold that is durable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folded {
    pub(super) row_bytes: u64,
}

/// A fold in progress.
#[derive(Debug)]
pub(super) enum Folding {
    Here(Box<Folder>),
    Thread(FoldThread),
}

impl Folding {
    pub(super) fn start(
        database: Arc<Database>,
        tail: Arc<Tail>,
        epochs: Epochs,
        row_bytes: u64,
        settings: &EmbeddedSettings,
    ) -> Result<Self, StoreFailure> {
        let work = tail.partitions().into_iter().map(|partition| (partition, 0)).collect();
        let step = settings.fold_step.max(1);
        let folder = Folder {
            database,
            tail,
            epochs,
            row_bytes,
            step,
            work,
            opens: Opens::default(),
            held: BTreeMap::new(),
        };
        match settings.folding {
            FoldingThread::Callers => Ok(Self::Here(Box::new(folder))),
            FoldingThread::Own => Ok(Self::Thread(FoldThread::start(folder).map_err(io_failure)?)),
        }
    }

    /// One step; or the end of the thread, waiting for it. None: there is more to do.
    pub(super) fn step(&mut self) -> Result<Option<Folded>, StoreFailure> {
        match self {
            Self::Here(folder) => folder.step(),
            Self::Thread(thread) => thread.join().map(Some),
        }
    }
}

/// A folder on its own thread; dropped, it stops after the step it is in.
#[derive(Debug)]
pub(super) struct FoldThread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Folded, StoreFailure>>>,
}

impl FoldThread {
    fn start(mut folder: Folder) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let run = move || {
            while !stopped.load(Ordering::Relaxed) {
                if let Some(folded) = folder.step()? {
                    return Ok(folded);
                }
            }
            Err(StoreFailure::Poisoned)
        };
        let thread = std::thread::Builder::new().name("store-fold".to_owned()).spawn(run)?;
        Ok(Self { stop, thread: Some(thread) })
    }

    pub(super) fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn join(&mut self) -> Result<Folded, StoreFailure> {
        let Some(thread) = self.thread.take() else { return Err(StoreFailure::Poisoned) };
        thread.join().unwrap_or_else(|_| Err(StoreFailure::Io("the folding thread panicked".to_owned())))
    }
}

impl Drop for FoldThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // What it would say is found again by the next start.
        drop(self.join());
    }
}

/// What is left to fold of one log.
#[derive(Debug)]
pub(super) struct Folder {
    database: Arc<Database>,
    tail: Arc<Tail>,
    epochs: Epochs,
    row_bytes: u64,
    /// Bytes of frames a step takes, about.
    step: usize,
    /// Partitions, and how many of their frames are folded.
    work: VecDeque<(OffsetsPartition, usize)>,
    opens: Opens,
    /// Rows that may be seen only when all is folded.
    held: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Folder {
    fn step(&mut self) -> Result<Option<Folded>, StoreFailure> {
        let database = Arc::clone(&self.database);
        let mut write = database.begin_write().map_err(redb_failure)?;
        // With the allocator's state in the commit, a start after a crash need not walk the whole file.
        write.set_quick_repair(true);
        self.fold_frames(&write)?;
        let finished = self.work.is_empty();
        if finished {
            self.finish(&write)?;
        }
        write.commit().map_err(redb_failure)?;
        Ok(finished.then_some(Folded { row_bytes: self.row_bytes }))
    }

    fn fold_frames(&mut self, write: &WriteTransaction) -> Result<(), StoreFailure> {
        let table = write.open_table(ROWS).map_err(redb_failure)?;
        let open = write.open_table(OPEN).map_err(redb_failure)?;
        let mut rows = StepRows {
            table: &table,
            open: &open,
            changed: BTreeMap::new(),
            opens: &mut self.opens,
            held: &self.held,
        };
        let file = self.tail.file();
        let mut bytes = 0;
        while let Some((partition, done)) = self.work.front_mut() {
            let Some(frame) = self.tail.frames_of(*partition).get(*done) else {
                self.work.pop_front();
                continue;
            };
            if bytes > self.step {
                break;
            }
            for record in RawRecord::all(&frame.records(&file)?) {
                fold(&mut rows, *partition, &record?)?;
            }
            bytes += frame.length();
            *done += 1;
        }
        let changed = rows.changed;
        drop((table, open));
        self.write_rows(write, changed)
    }

    /// Writes what a step changed, but for the rows that must not be seen yet.
    fn write_rows(
        &mut self,
        write: &WriteTransaction,
        changed: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    ) -> Result<(), StoreFailure> {
        let mut table = write.open_table(ROWS).map_err(redb_failure)?;
        for (key, row) in changed {
            self.held.remove(&key);
            match row {
                Some(row) if self.opens.began_in(&key, &row)? => {
                    self.held.insert(key, row);
                }
                row => put(&mut table, &mut self.row_bytes, &key, row.as_deref())?,
            }
        }
        Ok(())
    }

    /// What changes with the last step.
    fn finish(&mut self, write: &WriteTransaction) -> Result<(), StoreFailure> {
        let mut rows = write.open_table(ROWS).map_err(redb_failure)?;
        for (key, row) in std::mem::take(&mut self.held) {
            put(&mut rows, &mut self.row_bytes, &key, Some(&row))?;
        }
        let mut open = write.open_table(OPEN).map_err(redb_failure)?;
        for ended in &self.opens.ended {
            for key in waiting_rows(&open, ended)? {
                open.remove([ended.as_slice(), &key].concat().as_slice()).map_err(redb_failure)?;
            }
        }
        for (begun, keys) in &self.opens.begun {
            for key in keys {
                open.insert([begun.as_slice(), key].concat().as_slice(), ()).map_err(redb_failure)?;
            }
        }
        let mut epochs = write.open_table(EPOCHS).map_err(redb_failure)?;
        for (partition, epoch) in &self.epochs {
            epochs.insert(partition.0, epoch.0).map_err(redb_failure)?;
        }
        write_progress(write, self.tail.generation(), self.row_bytes)
    }
}

/// Writes or removes a row, and keeps count of the bytes.
fn put(
    table: &mut Table<'_, &'static [u8], &'static [u8]>,
    row_bytes: &mut u64,
    key: &[u8],
    row: Option<&[u8]>,
) -> Result<(), StoreFailure> {
    let old = match row {
        Some(row) => table.insert(key, row).map_err(redb_failure)?,
        None => table.remove(key).map_err(redb_failure)?,
    };
    let size = |row: usize| (key.len() + row) as u64;
    let gone = old.map_or(0, |old| size(old.value().len()));
    let come = row.map_or(0, |row| size(row.len()));
    *row_bytes = (*row_bytes + come).saturating_sub(gone);
    Ok(())
}

/// How the open transactions change by a log.
#[derive(Debug, Default)]
struct Opens {
    /// Those that ended: what the table says of them is over.
    ended: BTreeSet<Vec<u8>>,
    /// Those that began (again) and have not ended, with the rows they wait in.
    begun: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
}

impl Opens {
    /// Whether a transaction waits in the row that began in this log.
    fn began_in(&self, key: &[u8], row: &[u8]) -> Result<bool, StoreFailure> {
        if self.begun.is_empty() {
            return Ok(false);
        }
        let waiting = waiting_in(key, row)?;
        Ok(waiting.iter().any(|open| self.begun.get(open.as_slice()).is_some_and(|rows| rows.contains(key))))
    }
}

/// The rows as one step changes them, over the rows as they are.
struct StepRows<'a, 'txn> {
    table: &'a Table<'txn, &'static [u8], &'static [u8]>,
    open: &'a Table<'txn, &'static [u8], ()>,
    /// In order, so that rows side by side share the pages that are written.
    changed: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    opens: &'a mut Opens,
    held: &'a BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Rows for StepRows<'_, '_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
        if let Some(row) = self.changed.get(key) {
            return Ok(row.clone());
        }
        if let Some(row) = self.held.get(key) {
            return Ok(Some(row.clone()));
        }
        Ok(self.table.get(key).map_err(redb_failure)?.map(|row| row.value().to_vec()))
    }

    fn set(&mut self, key: Vec<u8>, row: Option<Vec<u8>>) -> Result<(), StoreFailure> {
        self.changed.insert(key, row);
        Ok(())
    }

    fn add_open(&mut self, open: &[u8], key: &[u8]) -> Result<(), StoreFailure> {
        self.opens.begun.entry(open.to_vec()).or_default().insert(key.to_vec());
        Ok(())
    }

    fn take_open(&mut self, open: &[u8]) -> Result<Vec<Vec<u8>>, StoreFailure> {
        let mut keys = self.opens.begun.remove(open).unwrap_or_default();
        if self.opens.ended.insert(open.to_vec()) {
            keys.extend(waiting_rows(self.open, open)?);
        }
        Ok(keys.into_iter().collect())
    }
}

/// The keys of the rows in which the table says a transaction waits.
fn waiting_rows(
    open: &Table<'_, &'static [u8], ()>,
    transaction: &[u8],
) -> Result<Vec<Vec<u8>>, StoreFailure> {
    let mut keys = Vec::new();
    for entry in open.range::<&[u8]>(transaction..).map_err(redb_failure)? {
        let (key, ()) = entry.map(|(key, _)| (key, ())).map_err(redb_failure)?;
        match key.value().strip_prefix(transaction) {
            Some(row) => keys.push(row.to_vec()),
            None => break,
        }
    }
    Ok(keys)
}
