//! The store that all brokers share: groupd's own embedded store over a simulated disk, one commit at a time.
//!
//! It stands for a replicated store, or for the one thread that drives the store of a single groupd: writes are
//! gathered while a commit is under way, committed together with one sync, and answered. Each partition's owner is
//! told by an epoch, which the store raises durably and by which it refuses writes of former owners.

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::{self, Record, StoreError, StoreId};
use groupd::store::{
    Batch, EmbeddedSettings, EmbeddedStore, FoldingThread, SECTOR, Store, StoreFailure, Upkeep,
};

use crate::disk::{Disk, DiskFault};
use crate::planted::Plant;

/// Writes that one commit takes, at most.
const COMMIT: usize = 4_096;
/// Steps of housekeeping done after a commit, when nobody waits.
const IDLE_STEPS: usize = 2;

/// A write that waits for a commit.
#[derive(Debug)]
pub struct Write {
    /// Of which broker, and in which life of it.
    pub broker: usize,
    /// See `broker`.
    pub life: u32,
    /// As the coordinator named it.
    pub id: StoreId,
    batch: Result<Batch, StoreError>,
    /// Refused without being written, or written and reported as failed.
    pub sabotage: Option<Sabotage>,
}

/// How a write is reported as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// It is not written.
    Refused(StoreError),
    /// It is written all the same.
    Lied(StoreError),
}

impl Write {
    /// The write that a coordinator asks for.
    pub fn new(broker: usize, life: u32, store: &messages::Store, sabotage: Option<Sabotage>) -> Self {
        let batch = Batch::new(store.partition, store.epoch, &store.records);
        Self { broker, life, id: store.id, batch, sabotage }
    }

    /// A write of one record that no coordinator asks for: the marker of a transaction.
    pub fn of_marker(
        (broker, life): (usize, u32),
        id: StoreId,
        (partition, epoch): (OffsetsPartition, OwnerEpoch),
        marker: Record,
        sabotage: Option<Sabotage>,
    ) -> Self {
        Self { broker, life, id, batch: Batch::new(partition, epoch, &[marker]), sabotage }
    }
}

/// The outcome of one write.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Of which broker.
    pub broker: usize,
    /// In which life of it.
    pub life: u32,
    /// Which write.
    pub id: StoreId,
    /// What is reported.
    pub result: Result<(), StoreError>,
}

/// The store and its disk.
#[derive(Debug)]
pub struct StoreNode {
    disk: Disk,
    settings: EmbeddedSettings,
    seed: u64,
    store: Option<EmbeddedStore>,
    queue: Vec<Write>,
    /// A commit is under way.
    pub busy: bool,
    /// Raised with every start, so that news of an earlier life is told from that of this one.
    pub life: u32,
    plant: Plant,
}

impl StoreNode {
    /// An empty store.
    ///
    /// # Errors
    /// [`StoreFailure`]: a bug.
    pub fn new(seed: u64, small: bool, plant: Plant) -> Result<Self, StoreFailure> {
        let (min_log, fold_step) = if small { (32 * SECTOR, 8_000) } else { (256 * SECTOR, 64_000) };
        let settings = EmbeddedSettings {
            min_log,
            max_log: 4 * min_log,
            log_growth: 64 * SECTOR,
            fold_step,
            cache: 1 << 20,
            folding: FoldingThread::Callers,
            verify: false,
        };
        let disk = Disk::new();
        if plant == Plant::LyingDisk {
            disk.lie();
        }
        let mut node =
            Self { disk, settings, seed, store: None, queue: Vec::new(), busy: false, life: 0, plant };
        node.start()?;
        Ok(node)
    }

    /// Whether it serves.
    pub fn is_up(&self) -> bool {
        self.store.is_some()
    }

    /// Opens what is on the disk.
    ///
    /// # Errors
    /// [`StoreFailure`]: what was acknowledged is lost.
    pub fn start(&mut self) -> Result<(), StoreFailure> {
        self.store = Some(EmbeddedStore::open(self.disk.store_files(), self.settings, self.seed)?);
        Ok(())
    }

    /// The power goes, within the commit that is under way if there is one. What waited is reported as failed.
    pub fn lose_power(&mut self, seed: u64) -> Vec<Outcome> {
        if self.busy {
            // The write is on its way to the disk, and its sync does not end.
            self.disk.fail_next_sync(DiskFault::PowerLoss);
            let mut failed = self.commit();
            failed.extend(self.refuse_all());
            self.stop();
            self.disk = self.disk.after_power_loss(seed);
            return failed;
        }
        self.stop();
        self.disk = self.disk.after_power_loss(seed);
        self.refuse_all()
    }

    /// The disk fails at its next sync; the store stops there by itself.
    pub fn fail_disk(&self, fault: DiskFault) {
        self.disk.fail_next_sync(fault);
    }

    /// The disk fails no more.
    pub fn heal(&self) {
        self.disk.heal();
    }

    /// The process ends.
    fn stop(&mut self) {
        self.store = None;
        self.busy = false;
        self.life += 1;
    }

    /// After a failure: the process ends, and all that was written is still there.
    pub fn kill(&mut self) -> Vec<Outcome> {
        self.stop();
        self.disk = self.disk.after_kill();
        self.refuse_all()
    }

    fn refuse_all(&mut self) -> Vec<Outcome> {
        let refuse = |write: Write| write.ended(Err(StoreError::KafkaStorageError));
        self.queue.drain(..).map(refuse).collect()
    }

    /// Takes a write. `true`: a commit may begin now.
    pub fn push(&mut self, write: Write) -> bool {
        self.queue.push(write);
        !self.busy
    }

    /// Whether a commit may begin.
    pub fn has_work(&self) -> bool {
        !self.busy && !self.queue.is_empty()
    }

    /// Commits what waits, and does some housekeeping.
    ///
    /// A failure of the store is reported to all who wait; then [`StoreNode::is_up`] is false.
    pub fn commit(&mut self) -> Vec<Outcome> {
        self.busy = false;
        let Some(store) = &mut self.store else { return self.refuse_all() };
        let rest = self.queue.split_off(self.queue.len().min(COMMIT));
        let writes = std::mem::replace(&mut self.queue, rest);
        let written = |write: &&Write| !matches!(write.sabotage, Some(Sabotage::Refused(_)));
        let batches: Vec<Batch> =
            writes.iter().filter(written).filter_map(|write| write.batch.clone().ok()).collect();
        let batches = if self.plant == Plant::NoFencing { unfenced(store, batches) } else { batches };
        let outcomes = store.append(&batches);
        let upkeep = outcomes.is_ok().then(|| upkeep(store, self.queue.is_empty()));
        if !matches!(upkeep, Some(Ok(()))) {
            self.store = None;
        }
        let mut outcomes = outcomes.map(Vec::into_iter);
        let outcome = |write: Write| {
            let result = match (&write.batch, &mut outcomes) {
                (Err(error), _) => Err(*error),
                (Ok(_), _) if matches!(write.sabotage, Some(Sabotage::Refused(_))) => Ok(()),
                (Ok(_), Ok(outcomes)) => outcomes.next().unwrap_or(Err(StoreError::UnknownServerError)),
                (Ok(_), Err(_)) => Err(StoreError::KafkaStorageError),
            };
            let result = match write.sabotage {
                None => result,
                Some(Sabotage::Refused(error) | Sabotage::Lied(error)) => result.and(Err(error)),
            };
            write.ended(result)
        };
        writes.into_iter().map(outcome).collect()
    }

    /// Gives a partition a new owner: its epoch, and what is kept for it, in chunks.
    ///
    /// # Errors
    /// [`StoreFailure`].
    #[expect(clippy::type_complexity, reason = "an epoch, and chunks of records")]
    pub fn acquire(
        &mut self,
        partition: OffsetsPartition,
    ) -> Result<Option<(OwnerEpoch, Vec<Vec<Record>>)>, StoreFailure> {
        let Some(store) = &mut self.store else { return Ok(None) };
        let Some(&epoch) = store.acquire(&[partition])?.first() else { return Ok(None) };
        let mut chunks = store.load(partition, epoch)?.collect::<Result<Vec<_>, _>>()?;
        if self.plant == Plant::StaleLoad {
            let is_offset = |record: &Record| matches!(record, Record::Offset(_));
            let newest = chunks.iter_mut().rev().find(|chunk| chunk.iter().any(is_offset));
            if let Some((chunk, place)) = newest.and_then(|c| c.iter().rposition(is_offset).map(|at| (c, at)))
            {
                chunk.remove(place);
            }
        }
        Ok(Some((epoch, chunks)))
    }

    /// The epoch of a partition's owner.
    pub fn epoch(&self, partition: OffsetsPartition) -> Option<OwnerEpoch> {
        self.store.as_ref().and_then(|store| store.epoch(partition))
    }
}

impl Write {
    fn ended(self, result: Result<(), StoreError>) -> Outcome {
        Outcome { broker: self.broker, life: self.life, id: self.id, result }
    }
}

fn upkeep(store: &mut EmbeddedStore, is_idle: bool) -> Result<(), StoreFailure> {
    for _ in 0..IDLE_STEPS {
        match store.upkeep_due() {
            Upkeep::None => break,
            Upkeep::WhenIdle if !is_idle => break,
            Upkeep::WhenIdle | Upkeep::Now => store.upkeep()?,
        }
    }
    Ok(())
}

/// The planted fault: whoever writes passes for the owner.
fn unfenced(store: &EmbeddedStore, batches: Vec<Batch>) -> Vec<Batch> {
    let as_owner = |batch: Batch| {
        let epoch = store.epoch(batch.partition()).unwrap_or(batch.epoch());
        let count = usize::try_from(batch.count()).unwrap_or(usize::MAX);
        Batch::from_encoded(batch.partition(), epoch, count, batch.records().to_vec()).unwrap_or(batch)
    };
    batches.into_iter().map(as_owner).collect()
}
