//! Keeps group state in a directory: a log that makes it durable, and rows that it is folded into.
//!
//! A commit appends the frames of all its batches to the active of two logs, as one entry, and syncs once; no
//! other file is touched. When the active log is about as large as the rows, the other log becomes the active
//! one and the full one is folded, step by step, into a table with one row for each key ([redb]); then its space
//! is used again. So both bytes written and bytes kept stay within a small factor of what is alive, and what a
//! commit costs does not depend on how much is kept.
//!
//! ```text
//! groupd.redb    rows, open transactions, epochs, format, `folded`: the last generation folded,
//!                `begun`: the last one begun, which must be there
//! groupd.log.0   generation g      every generation above `folded` is replayed at the start:
//! groupd.log.1   generation g + 1  the higher is active, the lower (if above `folded`) is being folded
//! ```
//!
//! Logs are read again for loading and folding rather than kept in memory; what is kept is where each frame
//! lies. All files are [`StorageBackend`]s, so that tests stand a simulated disk under the whole store.

mod directory;
mod fold_job;
mod log;
mod open;
mod reader;
mod rows;
mod seal;
mod tables;
mod tail;
mod trial;

use std::sync::Arc;
use std::task::Waker;

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::StoreError;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use parking_lot::Mutex;
use redb::{Database, StorageBackend};

use super::layout::write_frame;
use super::{Batch, PartitionReader, Store, StoreFailure, Upkeep};
pub use directory::{FILES, LOCK_FILE, OpenError};
use fold_job::{Folder, Folding};
pub use log::SECTOR;
use log::{EntryBuffer, LogFile};
use reader::EmbeddedReader;
use tail::Tail;

type Epochs = HashMap<OffsetsPartition, OwnerEpoch, RandomState>;

/// The layout of the files as a whole that this build writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;

/// The three files of a store. They are the store's own: nobody else writes to them meanwhile.
#[derive(Debug)]
pub struct StoreFiles {
    /// What redb keeps.
    pub rows: Arc<dyn StorageBackend>,
    /// The two logs.
    pub logs: [Arc<dyn StorageBackend>; 2],
    /// Held while the store is open: what keeps others out.
    pub lock: Option<Arc<dyn StorageBackend>>,
}

/// The bounds of an embedded store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbeddedSettings {
    /// A log is folded when it is three fifths as long as a log of only what is alive, but not below this many
    /// bytes. While it is folded, the other one grows to at most a quarter more: commits wait for the fold so far
    /// that it does not get ahead.
    pub min_log: u64,
    /// Nor above this many: bounds the time a start takes to replay, and the memory that knows where frames lie.
    pub max_log: u64,
    /// A log's file grows by this much at a time, each time with a sync of its own.
    pub log_growth: u64,
    /// About how many bytes of a log one step folds: bounds its memory, and the pages that are there twice.
    pub fold_step: usize,
    /// Bytes of rows that redb may cache.
    pub cache: usize,
    /// Who folds.
    pub folding: FoldingThread,
    /// Verify every page of the rows at the start: slow, for a check only.
    pub verify: bool,
}

impl Default for EmbeddedSettings {
    fn default() -> Self {
        Self {
            min_log: 2 << 20,
            max_log: 256 << 20,
            log_growth: 1 << 20,
            fold_step: 2 << 20,
            cache: 32 << 20,
            folding: FoldingThread::Own,
            verify: false,
        }
    }
}

/// Which thread folds a full log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldingThread {
    /// A thread of its own, while commits go on.
    Own,
    /// The one that drives the store, a step for each upkeep: every run is the same.
    Callers,
}

/// A [`Store`] in files.
#[derive(Debug)]
pub struct EmbeddedStore {
    database: Arc<Database>,
    settings: EmbeddedSettings,
    /// What the store's checksums are seeded with.
    id: u64,
    epochs: Epochs,
    active: Tail,
    other: Other,
    /// Bytes of the records that the rows stand for.
    live_bytes: u64,
    buffer: EntryBuffer,
    /// Who wants to know that a fold has ended.
    waker: Arc<Mutex<Waker>>,
    /// Last, so that it is let go of last.
    _lock: Option<Arc<dyn StorageBackend>>,
}

/// What the log that is not active is doing.
#[derive(Debug)]
enum Other {
    /// All that is in it is folded, or it is empty.
    Free(Arc<LogFile>),
    /// It is full, and being folded. The tail stays for readers until the fold is durable.
    Full(Arc<Tail>, Folding),
    /// A step failed. Whoever drives the store was told.
    Failed,
}

impl EmbeddedStore {
    /// Opens the store in these files, or makes one if all are empty. `seed` is random and used by a new store
    /// only, to seed its checksums: clients cannot guess it, so nothing they send can pass for an entry.
    ///
    /// # Errors
    /// [`StoreFailure`]. Nothing is destroyed: a file that is not understood is left as it is.
    pub fn open(files: StoreFiles, settings: EmbeddedSettings, seed: u64) -> Result<Self, StoreFailure> {
        open::open(files, settings, seed)
    }

    /// The partitions that were ever owned, in order, and the epoch of each.
    pub fn partitions(&self) -> Vec<(OffsetsPartition, OwnerEpoch)> {
        let mut partitions: Vec<_> =
            self.epochs.iter().map(|(&partition, &epoch)| (partition, epoch)).collect();
        partitions.sort_unstable();
        partitions
    }

    /// The epoch of a partition's owner, if it ever had one.
    pub fn epoch(&self, partition: OffsetsPartition) -> Option<OwnerEpoch> {
        self.epochs.get(&partition).copied()
    }

    /// The bytes of entries after which the active log is full.
    fn log_bound(&self) -> u64 {
        let share = self.live_bytes / 5 * 3;
        share.clamp(self.settings.min_log, self.settings.max_log.max(self.settings.min_log))
    }

    /// How many bytes of the full log's frames must be folded before more is written to the active one. The first quarter of a
    /// bound is free; from there on the active log grows as the full one is folded, and when all is, it has at most
    /// one and a quarter bounds. So a commit waits for the fold of about as many bytes as it wrote itself, and of
    /// a step, and never for a whole fold.
    fn debt(&self, full: &Tail) -> u64 {
        let bound = u128::from(self.log_bound());
        let written = u128::from(self.active.bytes()).saturating_sub(bound / 4);
        let debt = written * u128::from(full.frame_bytes()) / bound.max(1);
        u64::try_from(debt).unwrap_or(u64::MAX)
    }

    /// Writes what is in the buffer as one durable entry. `frames` are where its frames lie in it.
    fn commit(&mut self, frames: &[(OffsetsPartition, usize, usize)]) -> Result<(), StoreFailure> {
        let at = self.active.append(&mut self.buffer, self.id)?;
        for &(partition, start, length) in frames {
            self.active.note(partition, at + start as u64, length);
        }
        Ok(())
    }

    /// Makes the free log the active one, and starts to fold the full one.
    fn switch(&mut self, free: Arc<LogFile>) -> Result<(), StoreFailure> {
        free.shrink(self.log_bound())?;
        let next = Tail::start(free, self.id, self.active.generation() + 1, self.active.end())?;
        StoreFailure::guard(|| tables::write_begun(&self.database, next.generation()))?;
        let full = Arc::new(std::mem::replace(&mut self.active, next));
        self.fold(full)
    }

    /// Starts to fold `full`.
    fn fold(&mut self, full: Arc<Tail>) -> Result<(), StoreFailure> {
        let folder = Folder::new(
            Arc::clone(&self.database),
            Arc::clone(&full),
            self.epochs.clone(),
            self.live_bytes,
            self.settings.fold_step,
        );
        let folding = Folding::start(folder, self.settings.folding, &self.waker)?;
        self.other = Other::Full(full, folding);
        Ok(())
    }
}

impl Store for EmbeddedStore {
    fn acquire(&mut self, partitions: &[OffsetsPartition]) -> Result<Vec<OwnerEpoch>, StoreFailure> {
        self.buffer.clear();
        let mut frames = Vec::with_capacity(partitions.len());
        let mut raised = Vec::with_capacity(partitions.len());
        for &partition in partitions {
            let epoch = OwnerEpoch(self.epochs.get(&partition).map_or(0, |epoch| epoch.0) + 1);
            let start = self.buffer.bytes().len();
            // A frame without records: all that it says is its epoch.
            write_frame(self.buffer.bytes(), partition, epoch, 0, &[]);
            frames.push((partition, start, self.buffer.bytes().len() - start));
            raised.push(epoch);
        }
        self.commit(&frames)?;
        self.epochs.extend(partitions.iter().copied().zip(raised.iter().copied()));
        Ok(raised)
    }

    fn load(
        &mut self,
        partition: OffsetsPartition,
        epoch: OwnerEpoch,
    ) -> Result<PartitionReader, StoreFailure> {
        let current = self.epochs.get(&partition).copied().unwrap_or_default();
        if epoch != current {
            return Err(StoreFailure::Fenced { partition, asked: epoch, current });
        }
        let full = match &self.other {
            Other::Full(full, _) => Some(full.as_ref()),
            Other::Free(_) => None,
            Other::Failed => return Err(StoreFailure::Poisoned),
        };
        let reader =
            StoreFailure::guard(|| EmbeddedReader::new(&self.database, full, &self.active, partition))?;
        Ok(PartitionReader::new(Box::new(reader)))
    }

    fn append(&mut self, batches: &[Batch]) -> Result<Vec<Result<(), StoreError>>, StoreFailure> {
        self.buffer.clear();
        let mut frames = Vec::with_capacity(batches.len());
        let mut outcomes = Vec::with_capacity(batches.len());
        for batch in batches {
            if self.epochs.get(&batch.partition()) != Some(&batch.epoch()) {
                outcomes.push(Err(StoreError::NotLeaderOrFollower));
                continue;
            }
            let start = self.buffer.bytes().len();
            write_frame(
                self.buffer.bytes(),
                batch.partition(),
                batch.epoch(),
                batch.count(),
                batch.records(),
            );
            frames.push((batch.partition(), start, self.buffer.bytes().len() - start));
            outcomes.push(Ok(()));
        }
        if !frames.is_empty() {
            self.commit(&frames)?;
        }
        Ok(outcomes)
    }

    fn wake_with(&mut self, waker: Waker) {
        *self.waker.lock() = waker;
    }

    fn upkeep_due(&self) -> Upkeep {
        let (bytes, bound) = (self.active.bytes(), self.log_bound());
        let now_if = |now: bool, otherwise| if now { Upkeep::Now } else { otherwise };
        match &self.other {
            // A reader may still be in the log; then the active one grows meanwhile.
            Other::Free(log) => now_if(bytes >= bound && Arc::strong_count(log) == 1, Upkeep::None),
            Other::Full(_, Folding::Here(_)) => now_if(bytes >= bound, Upkeep::WhenIdle),
            Other::Full(full, Folding::Thread(thread)) => {
                now_if(thread.is_finished() || self.debt(full) > thread.folded(), Upkeep::None)
            }
            Other::Failed => Upkeep::None,
        }
    }

    fn upkeep(&mut self) -> Result<(), StoreFailure> {
        match std::mem::replace(&mut self.other, Other::Failed) {
            Other::Free(free) => self.switch(free),
            Other::Full(full, mut folding) => {
                match folding.step(self.debt(&full))? {
                    Some(folded) => {
                        self.live_bytes = folded.live_bytes;
                        self.other = Other::Free(full.file());
                    }
                    None => self.other = Other::Full(full, folding),
                }
                Ok(())
            }
            Other::Failed => Err(StoreFailure::Poisoned),
        }
    }
}
