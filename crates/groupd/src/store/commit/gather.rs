//! The commit thread's loop.

use std::sync::Arc;
use std::time::Instant;

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::StoreError;
use crossbeam_channel::Receiver;

use super::{CommitSettings, Request, StoreClient, StoreStatus, Waiting};
use crate::store::{Batch, PartitionReader, Store, StoreFailure, Upkeep};
use crate::telemetry::name;

/// The thread's own state.
pub(super) struct Committer {
    store: Box<dyn Store>,
    requests: Receiver<Request>,
    settings: CommitSettings,
    shared: StoreClient,
    meters: Meters,
    batches: Vec<Batch>,
    replies: Vec<Waiting>,
}

impl Committer {
    pub(super) fn new(
        store: Box<dyn Store>,
        requests: Receiver<Request>,
        settings: CommitSettings,
        shared: StoreClient,
    ) -> Self {
        let meters = Meters::new();
        Self { store, requests, settings, shared, meters, batches: Vec::new(), replies: Vec::new() }
    }

    /// Serves until told to stop or nobody is left who could ask.
    pub(super) fn run(mut self) {
        let alarm = PanicAlarm(Arc::clone(&self.shared.status));
        while let Some(request) = self.next_request() {
            if !self.serve(request) {
                break;
            }
        }
        self.drain();
        drop(alarm);
    }

    /// What was queued before the end was told, or came while it was.
    fn drain(&mut self) {
        while let Ok(request) = self.requests.try_recv() {
            self.serve(request);
        }
    }

    /// The next request; housekeeping fills the time until it comes.
    fn next_request(&mut self) -> Option<Request> {
        loop {
            if self.shared.status.is_poisoned() || self.store.upkeep_due() == Upkeep::None {
                return self.requests.recv().ok();
            }
            match self.requests.try_recv() {
                Ok(request) => return Some(request),
                Err(crossbeam_channel::TryRecvError::Disconnected) => return None,
                Err(crossbeam_channel::TryRecvError::Empty) => self.upkeep(),
            }
        }
    }

    /// Serves a request and, if it is a write, what waits behind it. False: it was the end.
    fn serve(&mut self, request: Request) -> bool {
        let mut next = Some(request);
        while let Some(request) = next.take() {
            match request {
                Request::Append(batch, reply) => next = self.commit_with_followers(batch, reply),
                // An answer nobody waits for any more is dropped: an epoch too many harms nobody.
                Request::Acquire(partitions, answer) => drop(answer.send(self.acquire(&partitions))),
                Request::Load(partition, epoch, answer) => drop(answer.send(self.load(partition, epoch))),
                Request::Wake => {}
                Request::Shutdown => return false,
            }
        }
        true
    }

    /// Gathers writes up to the bound, commits them, and returns the request that ended the gathering.
    fn commit_with_followers(&mut self, first: Batch, reply: Waiting) -> Option<Request> {
        let mut bytes = first.records().len();
        self.batches.push(first);
        self.replies.push(reply);
        let mut other = None;
        while bytes < self.settings.commit_bytes && self.batches.len() < self.settings.queue.max(1) {
            match self.requests.try_recv() {
                Ok(Request::Append(batch, reply)) => {
                    bytes += batch.records().len();
                    self.batches.push(batch);
                    self.replies.push(reply);
                }
                Ok(request) => {
                    other = Some(request);
                    break;
                }
                Err(_) => break,
            }
        }
        self.commit(bytes);
        other
    }

    fn commit(&mut self, bytes: usize) {
        let outcomes = if self.shared.status.is_poisoned() {
            Err(StoreFailure::Poisoned)
        } else {
            self.store.append(&self.batches)
        };
        self.measure(bytes);
        match outcomes {
            Ok(outcomes) => {
                assert_eq!(outcomes.len(), self.batches.len(), "a store answers each batch once");
                for (waiting, outcome) in self.replies.drain(..).zip(outcomes) {
                    self.meters.failures.increment(u64::from(outcome.is_err()));
                    waiting.reply.answer(outcome);
                }
            }
            Err(failure) => {
                self.fail(&failure);
                for waiting in self.replies.drain(..) {
                    self.meters.failures.increment(1);
                    waiting.reply.answer(Err(StoreError::KafkaStorageError));
                }
            }
        }
        self.batches.clear();
        if !self.shared.status.is_poisoned() && self.store.upkeep_due() == Upkeep::Now {
            self.upkeep();
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts below 2^52")]
    fn measure(&self, bytes: usize) {
        let now = Instant::now();
        for waiting in &self.replies {
            self.meters.seconds.record(now.duration_since(waiting.since));
        }
        self.meters.writes.record(self.replies.len() as f64);
        self.meters.bytes.increment(bytes as u64);
        self.meters.waiting.set(self.requests.len() as f64);
        self.meters.waiting_bytes.set(self.shared.room.used().saturating_sub(bytes) as f64);
    }

    fn acquire(&mut self, partitions: &[OffsetsPartition]) -> Result<Vec<OwnerEpoch>, StoreFailure> {
        self.refuse_if_poisoned()?;
        self.store.acquire(partitions).inspect_err(|failure| self.fail(failure))
    }

    fn load(
        &mut self,
        partition: OffsetsPartition,
        epoch: OwnerEpoch,
    ) -> Result<PartitionReader, StoreFailure> {
        self.refuse_if_poisoned()?;
        self.store.load(partition, epoch)
    }

    fn upkeep(&mut self) {
        let start = Instant::now();
        if let Err(failure) = self.store.upkeep() {
            self.fail(&failure);
        }
        self.meters.upkeep.record(start.elapsed());
    }

    fn refuse_if_poisoned(&self) -> Result<(), StoreFailure> {
        if self.shared.status.is_poisoned() { Err(StoreFailure::Poisoned) } else { Ok(()) }
    }

    fn fail(&self, failure: &StoreFailure) {
        self.shared.status.poison(&failure.to_string());
    }
}

/// A store that panics is a store that stopped.
struct PanicAlarm(Arc<StoreStatus>);

impl Drop for PanicAlarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.poison("the store's thread panicked");
        }
    }
}

/// What the thread tells the metrics.
struct Meters {
    seconds: metrics::Histogram,
    writes: metrics::Histogram,
    failures: metrics::Counter,
    bytes: metrics::Counter,
    waiting: metrics::Gauge,
    waiting_bytes: metrics::Gauge,
    upkeep: metrics::Histogram,
}

impl Meters {
    fn new() -> Self {
        Self {
            seconds: metrics::histogram!(name::STORE_SECONDS),
            writes: metrics::histogram!(name::STORE_BATCH),
            failures: metrics::counter!(name::STORE_FAILURES),
            bytes: metrics::counter!(name::STORE_BYTES),
            waiting: metrics::gauge!(name::STORE_QUEUE),
            waiting_bytes: metrics::gauge!(name::STORE_QUEUE_BYTES),
            upkeep: metrics::histogram!(name::STORE_UPKEEP_SECONDS),
        }
    }
}
