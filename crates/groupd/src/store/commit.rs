//! The one thread that drives a store: gathers what waits, one append, one sync, answers all.
//!
//! Its queue is bounded in writes and in bytes: [`StoreHandle::append`] waits while it is full, which is the
//! back-pressure. An answer
//! never waits for a shard, or the two could wait for each other: an [`Inbox`] takes what it is given, and
//! since each answer belongs to a write that had a place in the queue, the queue's bound bounds the answers too.
//!
//! After a failure of the store nothing more is acknowledged: the disk's state is unknown, and a second sync may
//! say "fine" about pages the kernel has already dropped. The thread goes on, to refuse what comes.

mod gather;
mod room;
mod status;

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::JoinHandle;
use std::time::Instant;

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::{self, StoreError, StoreId};
use crossbeam_channel::{Sender, bounded};

use super::{Batch, PartitionReader, Store, StoreFailure};
use room::{Place, Room};
pub use status::StoreStatus;

/// The outcome of one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Which write.
    pub id: StoreId,
    /// Whether it is durable. An error: it is not acknowledged, though after a failure of the disk it may be
    /// found at the next start.
    pub result: Result<(), StoreError>,
}

/// Where outcomes go: a shard's inbox. Called on the commit thread; must not wait.
pub trait Inbox: Send + Sync + 'static {
    /// Takes an outcome. A shard that is gone loses nothing: its clients are gone as well.
    fn stored(&self, stored: Stored);
}

impl<M: From<Stored> + Send + 'static> Inbox for Sender<M> {
    fn stored(&self, stored: Stored) {
        // A send fails only if the shard is gone, and nobody is left to tell.
        let _ = self.send(stored.into());
    }
}

/// The bounds of a commit thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitSettings {
    /// Writes that may wait; the next one waits for a place. At least 1.
    pub queue: usize,
    /// Bytes of records that may wait or be in the making; who wants to write more waits. One batch alone may be larger.
    pub queue_bytes: usize,
    /// Bytes of records after which a commit takes no more batches. One batch may be larger.
    pub commit_bytes: usize,
}

impl Default for CommitSettings {
    fn default() -> Self {
        Self { queue: 4096, queue_bytes: 32 * 1024 * 1024, commit_bytes: 4 * 1024 * 1024 }
    }
}

/// A store on its own thread. Dropping it finishes what is queued, then drops the store.
#[derive(Debug)]
pub struct CommitThread {
    client: StoreClient,
    thread: Option<JoinHandle<()>>,
}

impl CommitThread {
    /// Starts to drive `store`.
    ///
    /// # Errors
    /// The system's, if it has no thread left.
    pub fn start(mut store: Box<dyn Store>, settings: CommitSettings) -> std::io::Result<Self> {
        let (queue, requests) = bounded(settings.queue.max(1));
        let room = Arc::new(Room::new(settings.queue_bytes));
        let client = StoreClient { queue, room, status: Arc::default() };
        store.wake_with(Waker::from(Arc::new(Bell(client.queue.clone()))));
        let committer = gather::Committer::new(store, requests, settings, client.clone());
        let thread = std::thread::Builder::new().name("store".to_owned()).spawn(move || committer.run())?;
        Ok(Self { client, thread: Some(thread) })
    }

    /// A way in for a shard, whose outcomes go to `inbox`.
    pub fn handle(&self, inbox: Arc<dyn Inbox>) -> StoreHandle {
        StoreHandle { client: self.client(), inbox }
    }

    /// A way in for everybody else.
    pub fn client(&self) -> StoreClient {
        self.client.clone()
    }

    /// How the store is.
    pub fn status(&self) -> &Arc<StoreStatus> {
        &self.client.status
    }

    /// Finishes what is queued and closes the store. Writes that come later are refused.
    pub fn shutdown(self) {
        drop(self);
    }
}

impl Drop for CommitThread {
    fn drop(&mut self) {
        // Either fails only if the thread died, which it has said in the log.
        let _ = self.client.queue.send(Request::Shutdown);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A shard's way to the store.
#[derive(Clone)]
pub struct StoreHandle {
    client: StoreClient,
    inbox: Arc<dyn Inbox>,
}

impl StoreHandle {
    /// Asks for a coordinator's write; its outcome goes to the inbox, exactly once. Waits while the queue is
    /// full.
    pub fn store(&self, write: &messages::Store) {
        match Batch::new(write.partition, write.epoch, &write.records) {
            Ok(batch) => self.append(write.id, batch),
            Err(error) => self.inbox.stored(Stored { id: write.id, result: Err(error) }),
        }
    }

    /// Asks for `batch` to be made durable; the outcome goes to the inbox, exactly once. Waits while the queue
    /// is full.
    pub fn append(&self, id: StoreId, batch: Batch) {
        self.client.write(batch, ReplyTo::Inbox(id, Arc::clone(&self.inbox)));
    }

    /// What is not a shard's alone.
    pub fn client(&self) -> &StoreClient {
        &self.client
    }
}

impl std::fmt::Debug for StoreHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreHandle").field("client", &self.client).finish_non_exhaustive()
    }
}

/// A way to the store for those who wait for each answer.
#[derive(Clone, Debug)]
pub struct StoreClient {
    queue: Sender<Request>,
    room: Arc<Room>,
    status: Arc<StoreStatus>,
}

impl StoreClient {
    /// Makes `batch` durable. Waits for it: not for a task.
    ///
    /// # Errors
    /// [`StoreError`]: it is not acknowledged.
    pub fn append(&self, batch: Batch) -> Result<(), StoreError> {
        let (answer, receiver) = bounded(1);
        self.write(batch, ReplyTo::Caller(answer));
        receiver.recv().unwrap_or(Err(StoreError::KafkaStorageError))
    }

    /// See [`Store::acquire`]. Waits for the answer: not for a task.
    ///
    /// # Errors
    /// [`StoreFailure`].
    pub fn acquire(&self, partitions: &[OffsetsPartition]) -> Result<Vec<OwnerEpoch>, StoreFailure> {
        let (answer, receiver) = bounded(1);
        self.send(Request::Acquire(partitions.to_vec(), answer));
        receiver.recv().unwrap_or(Err(StoreFailure::Poisoned))
    }

    /// See [`Store::load`]. Waits for the answer: not for a task.
    ///
    /// # Errors
    /// [`StoreFailure`].
    pub fn load(
        &self,
        partition: OffsetsPartition,
        epoch: OwnerEpoch,
    ) -> Result<PartitionReader, StoreFailure> {
        let (answer, receiver) = bounded(1);
        self.send(Request::Load(partition, epoch, answer));
        receiver.recv().unwrap_or(Err(StoreFailure::Poisoned))
    }

    /// How the store is.
    pub fn status(&self) -> &StoreStatus {
        &self.status
    }

    fn write(&self, batch: Batch, to: ReplyTo) {
        let since = Instant::now();
        let place = self.room.take(batch.records().len());
        self.send(Request::Append(batch, Waiting { since, reply: Reply(Some(to)), _place: place }));
    }

    /// A request that finds the thread gone is dropped, which answers it.
    fn send(&self, request: Request) {
        let _ = self.queue.send(request);
    }
}

/// What the thread is asked for.
#[derive(Debug)]
enum Request {
    Append(Batch, Waiting),
    Acquire(Vec<OffsetsPartition>, Sender<Result<Vec<OwnerEpoch>, StoreFailure>>),
    Load(OffsetsPartition, OwnerEpoch, Sender<Result<PartitionReader, StoreFailure>>),
    /// To look whether the store wants upkeep.
    Wake,
    Shutdown,
}

/// What a store wakes its thread with.
struct Bell(Sender<Request>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // A thread with a full queue is awake, and looks after each commit.
        let _ = self.0.try_send(Request::Wake);
    }
}

/// One who waits for a write.
#[derive(Debug)]
struct Waiting {
    since: Instant,
    reply: Reply,
    _place: Place,
}

/// The way back to one writer. Dropped unanswered (the thread died, or shut down), it says that the write
/// failed: a writer hears exactly once.
struct Reply(Option<ReplyTo>);

enum ReplyTo {
    Inbox(StoreId, Arc<dyn Inbox>),
    Caller(Sender<Result<(), StoreError>>),
}

impl Reply {
    fn answer(mut self, result: Result<(), StoreError>) {
        self.send(result);
    }

    fn send(&mut self, result: Result<(), StoreError>) {
        match self.0.take() {
            Some(ReplyTo::Inbox(id, inbox)) => inbox.stored(Stored { id, result }),
            // The caller waits for this; its channel has room for one.
            Some(ReplyTo::Caller(caller)) => drop(caller.send(result)),
            None => {}
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.send(Err(StoreError::KafkaStorageError));
    }
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reply")
    }
}
