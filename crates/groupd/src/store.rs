//! Group state kept: what is acknowledged is durable, what is not is wholly there or wholly absent.
//!
//! A [`Store`] takes batches of records, each fenced by the epoch of its partition's owner, and gives a
//! partition's records back in an order in which the last one of a key wins. It is driven by one thread, the
//! [`CommitThread`], which gathers what all shards want written and makes it durable with one sync. A store may
//! block there. What a record *means* is not known here, beyond how transactions resolve when records are
//! folded ([`fold`]).
//!
//! The trait fits engines that replicate: a batch is a conditional transaction (`epoch` unchanged, then puts),
//! [`Store::acquire`] raises the epoch, [`Store::load`] is a paged range read.

pub mod commit;
mod embedded;
mod file_system;
pub mod fold;
mod identity;
pub mod layout;
mod memory;
mod offline;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::{Record, StoreError};
use coordinator::transactions::TransactionRecord;

pub use commit::{CommitSettings, CommitThread, Inbox, StoreClient, StoreHandle, StoreStatus, Stored};
pub use embedded::{
    EmbeddedSettings, EmbeddedStore, FILES, FORMAT_VERSION, FoldingThread, LOCK_FILE, OpenError, SECTOR,
    StoreFiles,
};
pub use file_system::{FileSystem, SystemFiles};
pub use identity::cluster_id;
pub use memory::MemoryStore;
pub use offline::{Directory, StoreCommand};

use layout::{Kept, LayoutError, RawRecord};

/// The most bytes of records one batch may have. A larger one is refused with
/// [`StoreError::RecordListTooLarge`]: a group this large would not travel over the protocol either.
pub const MAX_BATCH_BYTES: usize = 32 * 1024 * 1024;

/// The partition in which the topic catalog is kept: not one that groups map to.
pub const CATALOG_PARTITION: OffsetsPartition = OffsetsPartition(-1);

/// The partition in which it is kept how far producer ids are handed out.
pub const PRODUCER_IDS_PARTITION: OffsetsPartition = OffsetsPartition(-2);

/// A place where group state is kept.
///
/// Every method may block. A failure of the store itself (not of one batch) is a [`StoreFailure`]: the caller
/// stops using the store, since what a failed sync left on disk is unknown and asking again may be told lies.
pub trait Store: Send + 'static {
    /// Takes the ownership of `partitions` durably and returns the new epoch of each, in order: higher than any
    /// before. Batches under an older epoch are refused from now on.
    ///
    /// # Errors
    /// [`StoreFailure`], after which nothing is acquired.
    fn acquire(&mut self, partitions: &[OffsetsPartition]) -> Result<Vec<OwnerEpoch>, StoreFailure>;

    /// Starts to read what is kept for a partition, as it is now. The reader may be used on another thread
    /// while the store goes on.
    ///
    /// # Errors
    /// [`StoreFailure::Fenced`], if `epoch` is not the partition's current one; others as they come.
    fn load(
        &mut self,
        partition: OffsetsPartition,
        epoch: OwnerEpoch,
    ) -> Result<PartitionReader, StoreFailure>;

    /// Makes all batches durable, in order, with one sync; each wholly or not at all. The outcomes are in the
    /// order of the batches: a stale one is [`StoreError::NotLeaderOrFollower`] and leaves no trace.
    ///
    /// # Errors
    /// [`StoreFailure`]: nothing may be acknowledged, though some may be found after a restart.
    fn append(&mut self, batches: &[Batch]) -> Result<Vec<Result<(), StoreError>>, StoreFailure>;

    /// Gives the store a way to say, from any thread, that [`Store::upkeep_due`] is worth another look though nobody
    /// has used the store since.
    fn wake_with(&mut self, waker: Waker) {
        drop(waker);
    }

    /// How much housekeeping waits.
    fn upkeep_due(&self) -> Upkeep {
        Upkeep::None
    }

    /// Does one bounded step of housekeeping.
    ///
    /// # Errors
    /// [`StoreFailure`].
    fn upkeep(&mut self) -> Result<(), StoreFailure> {
        Ok(())
    }
}

/// Whether a store wants to be given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Upkeep {
    /// There is nothing to do.
    None,
    /// When nobody waits for a write.
    WhenIdle,
    /// Now, one step after each commit: space or memory runs away otherwise.
    Now,
}

/// Records to be written together or not at all, encoded. Built on the thread that has them, so that the commit
/// thread only copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    partition: OffsetsPartition,
    epoch: OwnerEpoch,
    count: u32,
    records: Vec<u8>,
}

impl Batch {
    /// A batch of a coordinator's records.
    ///
    /// # Errors
    /// [`StoreError::RecordListTooLarge`] above [`MAX_BATCH_BYTES`].
    pub fn new(
        partition: OffsetsPartition,
        epoch: OwnerEpoch,
        records: &[Record],
    ) -> Result<Self, StoreError> {
        let mut bytes = Vec::with_capacity(records.len() * 96);
        for record in records {
            layout::encode_record(record, &mut bytes);
        }
        Self::from_encoded(partition, epoch, records.len(), bytes)
    }

    /// A batch of one record of a transaction coordinator.
    ///
    /// # Errors
    /// As [`Batch::new`].
    pub fn of_transaction(
        partition: OffsetsPartition,
        epoch: OwnerEpoch,
        record: &TransactionRecord,
    ) -> Result<Self, StoreError> {
        let mut bytes = Vec::with_capacity(96);
        layout::encode_transaction(record, &mut bytes);
        Self::from_encoded(partition, epoch, 1, bytes)
    }

    /// A batch of records that are encoded already.
    ///
    /// # Errors
    /// As [`Batch::new`].
    pub fn from_encoded(
        partition: OffsetsPartition,
        epoch: OwnerEpoch,
        count: usize,
        records: Vec<u8>,
    ) -> Result<Self, StoreError> {
        match u32::try_from(count) {
            Ok(count) if records.len() <= MAX_BATCH_BYTES => Ok(Self { partition, epoch, count, records }),
            Ok(_) | Err(_) => Err(StoreError::RecordListTooLarge),
        }
    }

    /// Where it belongs.
    pub fn partition(&self) -> OffsetsPartition {
        self.partition
    }

    /// Under which ownership it is written.
    pub fn epoch(&self) -> OwnerEpoch {
        self.epoch
    }

    /// How many records it has.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The encoded records.
    pub fn records(&self) -> &[u8] {
        &self.records
    }
}

/// Why a store as a whole stopped working.
#[derive(Debug, thiserror::Error)]
pub enum StoreFailure {
    /// A partition is asked for under an epoch that is not its owner's.
    #[error("partition {} is not owned under epoch {}: its epoch is {}", .partition.0, .asked.0, .current.0)]
    Fenced {
        /// Which partition.
        partition: OffsetsPartition,
        /// The epoch given.
        asked: OwnerEpoch,
        /// The one that would be right.
        current: OwnerEpoch,
    },
    /// What was read is not what was written.
    #[error("the store is damaged: {0}; restore it from a backup, or move it away to start empty")]
    Damaged(String),
    /// What was read was written by a newer version.
    #[error("the store was written by a newer groupd ({0}); run that version, nothing was changed")]
    Newer(String),
    /// The disk is full.
    #[error("the disk is full: free some space and restart; nothing acknowledged is lost")]
    DiskFull,
    /// The disk failed.
    #[error("the disk failed: {0}; nothing more is acknowledged until a restart")]
    Io(String),
    /// An earlier failure stopped the store.
    #[error("the store stopped after an earlier failure; restart to go on from what is durable")]
    Poisoned,
}

impl StoreFailure {
    /// What `work` comes to, where a library in it trusts what it reads: it may panic over rows that were written over
    /// by somebody else. Nothing that `work` held may be used after that.
    fn guard<T>(work: impl FnOnce() -> Result<T, Self>) -> Result<T, Self> {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
            Err(Self::Damaged(format!("{} was written over, or part of it is lost", FILES[0])))
        })
    }
}

impl From<LayoutError> for StoreFailure {
    fn from(error: LayoutError) -> Self {
        match error {
            LayoutError::Newer(_) | LayoutError::Kind(_) => Self::Newer(error.to_string()),
            LayoutError::Truncated
            | LayoutError::Checksum
            | LayoutError::Text
            | LayoutError::Number
            | LayoutError::Trailing => Self::Damaged(error.to_string()),
        }
    }
}

/// Where a [`PartitionReader`] gets its bytes.
pub trait ReadPartition: Send {
    /// Appends encoded records to `out`: about `limit` bytes, at least one record unless there is none left.
    ///
    /// # Errors
    /// [`StoreFailure`].
    fn read(&mut self, limit: usize, out: &mut Vec<u8>) -> Result<(), StoreFailure>;
}

/// What is kept for one partition, read piece by piece, to be loaded in this order. As an iterator it gives chunks of
/// records of groups, and leaves those of transactions out. Ends after the first failure.
pub struct PartitionReader {
    source: Box<dyn ReadPartition>,
    finished: bool,
}

impl PartitionReader {
    /// Bytes of encoded records in a chunk, about.
    const CHUNK: usize = 64 * 1024;

    /// A reader of this source.
    pub fn new(source: Box<dyn ReadPartition>) -> Self {
        Self { source, finished: false }
    }

    /// The next chunk as encoded records; none at the end.
    ///
    /// # Errors
    /// [`StoreFailure`].
    pub fn next_encoded(&mut self) -> Result<Option<Vec<u8>>, StoreFailure> {
        let mut chunk = Vec::new();
        if !self.finished {
            let read = StoreFailure::guard(|| self.source.read(Self::CHUNK, &mut chunk));
            self.finished = read.is_err() || chunk.is_empty();
            read?;
        }
        Ok((!chunk.is_empty()).then_some(chunk))
    }

    /// The next chunk; none at the end.
    ///
    /// # Errors
    /// [`StoreFailure`].
    pub fn next_kept(&mut self) -> Result<Option<Kept>, StoreFailure> {
        let Some(bytes) = self.next_encoded()? else { return Ok(None) };
        let kept = layout::decode_kept(&bytes);
        self.finished |= kept.is_err();
        Ok(Some(kept?))
    }
}

impl Iterator for PartitionReader {
    type Item = Result<Vec<Record>, StoreFailure>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.next_kept().transpose()?.map(|kept| kept.groups))
    }
}

impl std::fmt::Debug for PartitionReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartitionReader").field("finished", &self.finished).finish_non_exhaustive()
    }
}

/// The records of one batch, for stores that fold them.
pub(crate) fn records_of(batch: &Batch) -> impl Iterator<Item = Result<RawRecord<'_>, LayoutError>> {
    RawRecord::all(&batch.records)
}
