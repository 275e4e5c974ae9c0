//! Folds a full log into rows, step by step, here or on a thread of its own.
//!
//! Each step is a transaction of some frames' rows. Which producers' transactions are open, the rows in which one
//! waits that began in this log, the epochs and `folded` change with the last step only: after a crash between
//! steps the whole log is folded again, over rows that hold some of it already, and comes to the same (see
//! [`fold`](crate::store::fold)).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::thread::JoinHandle;

use coordinator::ids::OffsetsPartition;
use parking_lot::{Condvar, Mutex};
use redb::{Database, ReadableTable, Table, WriteTransaction};

use super::rows::{Row, RowsInChange};
use super::seal::{self, OpenInChange};
use super::tables::{EPOCHS, OPEN, io_failure, redb_failure, write_folded, write_live_bytes};
use super::tail::Tail;
use super::{Epochs, FoldingThread};
use crate::store::StoreFailure;
use crate::store::fold::{Rows, fold, waiting_in};
use crate::store::layout::{Frame, RawRecord};

/// Rows that a step changes, about, at most: bounds how long it takes where each frame has few records.
const ROWS_A_STEP: usize = 4096;

/// A fold that is durable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folded {
    pub(super) live_bytes: u64,
}

/// A fold in progress.
#[derive(Debug)]
pub(super) enum Folding {
    Here(Box<Folder>),
    Thread(FoldThread),
}

impl Folding {
    pub(super) fn start(
        folder: Folder,
        thread: FoldingThread,
        waker: &Arc<Mutex<Waker>>,
    ) -> Result<Self, StoreFailure> {
        match thread {
            FoldingThread::Callers => Ok(Self::Here(Box::new(folder))),
            FoldingThread::Own => {
                Ok(Self::Thread(FoldThread::start(folder, Arc::clone(waker)).map_err(io_failure)?))
            }
        }
    }

    /// One step; or waits until the thread has folded `bytes` of the log, or all. None: there is more to do.
    pub(super) fn step(&mut self, bytes: u64) -> Result<Option<Folded>, StoreFailure> {
        match self {
            Self::Here(folder) => folder.guarded_step(),
            Self::Thread(thread) if thread.progress.wait_for(bytes) => thread.join().map(Some),
            Self::Thread(_) => Ok(None),
        }
    }
}

/// A folder on its own thread; dropped, it stops after the step it is in.
#[derive(Debug)]
pub(super) struct FoldThread {
    stop: Arc<AtomicBool>,
    progress: Arc<Progress>,
    thread: Option<JoinHandle<Result<Folded, StoreFailure>>>,
}

impl FoldThread {
    fn start(mut folder: Folder, waker: Arc<Mutex<Waker>>) -> std::io::Result<Self> {
        let (stop, progress) = (Arc::new(AtomicBool::new(false)), Arc::new(Progress::default()));
        let stopped = Arc::clone(&stop);
        let end = End { progress: Arc::clone(&progress), waker };
        let run = move || {
            while !stopped.load(Ordering::Relaxed) {
                if let Some(folded) = folder.guarded_step()? {
                    return Ok(folded);
                }
                end.progress.advance(folder.folded);
            }
            Err(StoreFailure::Poisoned)
        };
        let thread = std::thread::Builder::new().name("store-fold".to_owned()).spawn(run)?;
        Ok(Self { stop, progress, thread: Some(thread) })
    }

    /// Whether joining it takes no time to speak of.
    pub(super) fn is_finished(&self) -> bool {
        self.progress.0.lock().is_finished
    }

    /// Bytes of frames that it has folded.
    pub(super) fn folded(&self) -> u64 {
        self.progress.0.lock().folded
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

/// How far a fold is, for those who wait for it.
#[derive(Debug, Default)]
struct Progress(Mutex<Reached>, Condvar);

#[derive(Debug, Default)]
struct Reached {
    /// Bytes of frames.
    folded: u64,
    /// Whether it has ended, however it did.
    is_finished: bool,
}

impl Progress {
    fn advance(&self, folded: u64) {
        self.0.lock().folded = folded;
        self.1.notify_all();
    }

    fn finish(&self) {
        self.0.lock().is_finished = true;
        self.1.notify_all();
    }

    /// Waits until so much is folded; whether all is.
    fn wait_for(&self, folded: u64) -> bool {
        let mut reached = self.0.lock();
        while reached.folded < folded && !reached.is_finished {
            self.1.wait(&mut reached);
        }
        reached.is_finished
    }
}

/// Tells that a fold has ended, however it did: a failure must not wait for the next commit to be noticed.
struct End {
    progress: Arc<Progress>,
    waker: Arc<Mutex<Waker>>,
}

impl Drop for End {
    fn drop(&mut self) {
        // In this order: who sets a waker looks at the flag after that.
        self.progress.finish();
        self.waker.lock().wake_by_ref();
    }
}

/// What is left to fold of one log.
#[derive(Debug)]
pub(super) struct Folder {
    database: Arc<Database>,
    tail: Arc<Tail>,
    epochs: Epochs,
    live_bytes: u64,
    /// Bytes of frames a step takes, about.
    step: usize,
    /// Partitions, and how many of their frames are folded.
    work: VecDeque<(OffsetsPartition, usize)>,
    /// Bytes of frames that are folded.
    folded: u64,
    opens: Opens,
    /// Rows that may be seen only when all is folded.
    held: BTreeMap<Vec<u8>, Row>,
    /// The frame being folded.
    frame: Vec<u8>,
}

impl Folder {
    /// All of `tail` is to be folded, about `step` bytes at a time.
    pub(super) fn new(
        database: Arc<Database>,
        tail: Arc<Tail>,
        epochs: Epochs,
        live_bytes: u64,
        step: usize,
    ) -> Self {
        let work = tail.partitions().into_iter().map(|partition| (partition, 0)).collect();
        Self {
            database,
            tail,
            epochs,
            live_bytes,
            step: step.max(1),
            work,
            folded: 0,
            opens: Opens::default(),
            held: BTreeMap::new(),
            frame: Vec::new(),
        }
    }

    fn guarded_step(&mut self) -> Result<Option<Folded>, StoreFailure> {
        StoreFailure::guard(|| self.step())
    }

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
        write_live_bytes(&write, self.live_bytes)?;
        seal::write(&write)?;
        write.commit().map_err(redb_failure)?;
        Ok(finished.then_some(Folded { live_bytes: self.live_bytes }))
    }

    fn fold_frames(&mut self, write: &WriteTransaction) -> Result<(), StoreFailure> {
        let table = RowsInChange::open(write)?;
        let open = write.open_table(OPEN).map_err(redb_failure)?;
        let mut rows = StepRows {
            table: &table,
            open: &open,
            current: (Vec::new(), Row::default()),
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
            if bytes > self.step || rows.changed.len() >= ROWS_A_STEP {
                break;
            }
            frame.read(&file, &mut self.frame)?;
            for record in RawRecord::all(Frame::read(&mut self.frame.as_slice())?.records) {
                fold(&mut rows, *partition, &record?)?;
            }
            bytes += frame.length();
            *done += 1;
        }
        self.folded += bytes as u64;
        let changed = rows.changed();
        self.write_rows(table, changed)
    }

    /// Writes what a step changed, but for the rows that must not be seen yet.
    fn write_rows(
        &mut self,
        mut table: RowsInChange<'_>,
        changed: BTreeMap<Vec<u8>, Row>,
    ) -> Result<(), StoreFailure> {
        for (key, row) in changed {
            self.held.remove(&key);
            if self.opens.began_in(&key, &row.bytes)? {
                self.held.insert(key, row);
            } else {
                table.put(&key, &row, &mut self.live_bytes)?;
            }
        }
        table.finish()
    }

    /// What changes with the last step.
    fn finish(&mut self, write: &WriteTransaction) -> Result<(), StoreFailure> {
        let mut rows = RowsInChange::open(write)?;
        for (key, row) in std::mem::take(&mut self.held) {
            rows.put(&key, &row, &mut self.live_bytes)?;
        }
        rows.finish()?;
        let mut open = OpenInChange::open(write)?;
        for ended in &self.opens.ended {
            for key in waiting_rows(&open.table, ended)? {
                open.remove(&[ended.as_slice(), &key].concat())?;
            }
        }
        for (begun, keys) in &self.opens.begun {
            for key in keys {
                open.insert(&[begun.as_slice(), key].concat())?;
            }
        }
        open.finish(write)?;
        let mut epochs = write.open_table(EPOCHS).map_err(redb_failure)?;
        for (partition, epoch) in &self.epochs {
            epochs.insert(partition.0, epoch.0).map_err(redb_failure)?;
        }
        write_folded(write, self.tail.generation())
    }
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
    table: &'a RowsInChange<'txn>,
    open: &'a Table<'txn, &'static [u8], ()>,
    /// The row that was asked for last, and its key: often the next one asked for as well.
    current: (Vec<u8>, Row),
    /// The others, in order, so that rows side by side share the pages that are written.
    changed: BTreeMap<Vec<u8>, Row>,
    opens: &'a mut Opens,
    held: &'a BTreeMap<Vec<u8>, Row>,
}

impl StepRows<'_, '_> {
    /// All rows that were asked for.
    fn changed(mut self) -> BTreeMap<Vec<u8>, Row> {
        self.put_back();
        self.changed
    }

    fn put_back(&mut self) {
        let (key, row) = std::mem::take(&mut self.current);
        if !key.is_empty() {
            self.changed.insert(key, row);
        }
    }

    fn take(&mut self, key: &[u8]) -> Result<Row, StoreFailure> {
        if let Some(row) = self.changed.remove(key) {
            return Ok(row);
        }
        match self.held.get(key) {
            Some(row) => Ok(row.clone()),
            None => self.table.get(key),
        }
    }
}

impl Rows for StepRows<'_, '_> {
    fn row(&mut self, key: &[u8]) -> Result<&mut Vec<u8>, StoreFailure> {
        if self.current.0 != key {
            self.put_back();
            self.current = (key.to_vec(), self.take(key)?);
        }
        Ok(&mut self.current.1.bytes)
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
