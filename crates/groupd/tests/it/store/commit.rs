//! The commit thread: grouping, order, back-pressure, failure, the end.

use std::sync::Arc;

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::{StoreError, StoreId};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use groupd::store::{
    Batch, CommitSettings, CommitThread, EmbeddedSettings, EmbeddedStore, FoldingThread, MemoryStore,
    PartitionReader, SECTOR, Store, StoreFailure, StoreHandle, Stored, Upkeep,
};

use super::disk::{Disk, small_settings};
use super::model::{Model, loaded, offset};

const P: OffsetsPartition = OffsetsPartition(0);

/// A memory store whose every append waits for leave, and reports how many batches it had.
struct Gated {
    inner: MemoryStore,
    entered: Sender<usize>,
    leave: Receiver<Result<(), StoreFailure>>,
}

impl Store for Gated {
    fn acquire(&mut self, partitions: &[OffsetsPartition]) -> Result<Vec<OwnerEpoch>, StoreFailure> {
        self.inner.acquire(partitions)
    }

    fn load(
        &mut self,
        partition: OffsetsPartition,
        epoch: OwnerEpoch,
    ) -> Result<PartitionReader, StoreFailure> {
        self.inner.load(partition, epoch)
    }

    fn append(&mut self, batches: &[Batch]) -> Result<Vec<Result<(), StoreError>>, StoreFailure> {
        self.entered.send(batches.len()).unwrap();
        self.leave.recv().unwrap()?;
        self.inner.append(batches)
    }
}

struct Bench {
    thread: CommitThread,
    handle: StoreHandle,
    outcomes: Receiver<Stored>,
    entered: Receiver<usize>,
    leave: Sender<Result<(), StoreFailure>>,
    epoch: OwnerEpoch,
}

fn bench(queue: usize) -> Bench {
    bench_with(CommitSettings { queue, ..CommitSettings::default() })
}

fn bench_with(settings: CommitSettings) -> Bench {
    let (enter, entered) = unbounded();
    let (leave, left) = unbounded();
    let store = Gated { inner: MemoryStore::new(), entered: enter, leave: left };
    let thread = CommitThread::start(Box::new(store), settings).unwrap();
    let (inbox, outcomes) = unbounded::<Stored>();
    let handle = thread.handle(Arc::new(inbox));
    let epoch = thread.client().acquire(&[P]).unwrap()[0];
    Bench { thread, handle, outcomes, entered, leave, epoch }
}

fn batch(epoch: OwnerEpoch, value: i64) -> Batch {
    Batch::new(P, epoch, &[offset("g", 0, value)]).unwrap()
}

fn ok(id: u64) -> Stored {
    Stored { id: StoreId(id), result: Ok(()) }
}

#[test]
fn what_waits_is_committed_together_and_answered_in_order() {
    let b = bench(8);
    b.handle.append(StoreId(0), batch(b.epoch, 0));
    assert_eq!(b.entered.recv(), Ok(1));
    for id in 1..6 {
        b.handle.append(StoreId(id), batch(b.epoch, id.cast_signed()));
    }
    assert!(b.outcomes.is_empty(), "acknowledged before it was durable");
    b.leave.send(Ok(())).unwrap();
    assert_eq!(b.entered.recv(), Ok(5));
    assert_eq!(b.outcomes.recv(), Ok(ok(0)));
    assert!(b.outcomes.is_empty(), "acknowledged before it was durable");
    b.leave.send(Ok(())).unwrap();
    for id in 1..6 {
        assert_eq!(b.outcomes.recv(), Ok(ok(id)));
    }
    let mut reader = b.thread.client().load(P, b.epoch).unwrap();
    assert_eq!(reader.next().unwrap().unwrap(), [offset("g", 0, 5)]);
}

#[test]
fn a_full_queue_holds_its_writers_back() {
    let b = bench(2);
    b.handle.append(StoreId(0), batch(b.epoch, 0));
    assert_eq!(b.entered.recv(), Ok(1));
    b.handle.append(StoreId(1), batch(b.epoch, 1));
    b.handle.append(StoreId(2), batch(b.epoch, 2));
    let (done, is_done) = bounded(1);
    let (handle, epoch) = (b.handle.clone(), b.epoch);
    let writer = std::thread::spawn(move || {
        handle.append(StoreId(3), batch(epoch, 3));
        done.send(()).unwrap();
    });
    assert!(is_done.try_recv().is_err());
    b.leave.send(Ok(())).unwrap();
    is_done.recv().unwrap();
    writer.join().unwrap();
    for _ in 0..3 {
        b.leave.send(Ok(())).unwrap();
    }
    let ids: Vec<_> = (0..4).map(|_| b.outcomes.recv().unwrap().id.0).collect();
    assert_eq!(ids, [0, 1, 2, 3]);
}

#[test]
fn bytes_that_wait_hold_writers_back_as_well() {
    let bytes = batch(OwnerEpoch(1), 0).records().len();
    let settings = CommitSettings { queue_bytes: 3 * bytes, commit_bytes: 1, ..CommitSettings::default() };
    let b = bench_with(settings);
    let (done, is_done) = unbounded();
    b.handle.append(StoreId(0), batch(b.epoch, 0));
    assert_eq!(b.entered.recv(), Ok(1));
    b.handle.append(StoreId(1), batch(b.epoch, 1));
    b.handle.append(StoreId(2), batch(b.epoch, 2));
    // Three are there, one of them being written. A large one waits until it is alone, and who comes then waits for it.
    let (handle, epoch) = (b.handle.clone(), b.epoch);
    let large: Vec<_> = (0..5).map(|partition| offset("g", partition, 9)).collect();
    let writer = std::thread::spawn(move || {
        handle.append(StoreId(3), Batch::new(P, epoch, &large).unwrap());
        done.send(()).unwrap();
    });
    for answered in 0..3 {
        assert!(is_done.try_recv().is_err(), "let in beside {} others", 3 - answered);
        b.leave.send(Ok(())).unwrap();
        assert_eq!(b.outcomes.recv(), Ok(ok(answered)));
    }
    is_done.recv().unwrap();
    writer.join().unwrap();
    b.leave.send(Ok(())).unwrap();
    assert_eq!(b.outcomes.recv(), Ok(ok(3)));
    // All of it was given back.
    for id in 4..7 {
        b.handle.append(StoreId(id), batch(b.epoch, 0));
        b.leave.send(Ok(())).unwrap();
    }
    assert_eq!((4..7).map(|_| b.outcomes.recv().unwrap().id.0).collect::<Vec<_>>(), [4, 5, 6]);
}

#[test]
fn a_fold_that_fails_while_nobody_writes_is_noticed() {
    let disk = Disk::new(3);
    let settings = EmbeddedSettings { folding: FoldingThread::Own, ..small_settings() };
    let store = EmbeddedStore::open(disk.store_files(), settings, 1).unwrap();
    let thread = CommitThread::start(Box::new(store), CommitSettings::default()).unwrap();
    let client = thread.client();
    let epoch = client.acquire(&[P]).unwrap()[0];
    disk.fail_the_fold();
    // Until the log is full, and not once more.
    for value in 0..i64::try_from(settings.min_log / SECTOR).unwrap() {
        assert_eq!(client.append(batch(epoch, value)), Ok(()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let stopped = runtime.block_on(async {
        tokio::time::timeout(std::time::Duration::from_secs(20), thread.status().stopped()).await
    });
    assert!(stopped.expect("noticed").contains("the disk failed: a bad sector"));
}

#[test]
fn a_failure_poisons_for_good_and_is_never_retried() {
    let b = bench(8);
    b.leave.send(Err(StoreFailure::Io("no".to_owned()))).unwrap();
    b.handle.append(StoreId(1), batch(b.epoch, 1));
    let refused = |id| Stored { id: StoreId(id), result: Err(StoreError::KafkaStorageError) };
    assert_eq!(b.outcomes.recv(), Ok(refused(1)));
    assert!(b.thread.status().is_poisoned());
    assert!(b.thread.status().reason().unwrap().contains("the disk failed: no"));
    b.entered.recv().unwrap();
    b.handle.append(StoreId(2), batch(b.epoch, 2));
    assert_eq!(b.outcomes.recv(), Ok(refused(2)));
    assert!(b.entered.is_empty(), "a poisoned store was asked again");
    assert!(matches!(b.thread.client().acquire(&[P]), Err(StoreFailure::Poisoned)));
    assert!(matches!(b.thread.client().load(P, b.epoch), Err(StoreFailure::Poisoned)));
}

#[test]
fn shutting_down_finishes_what_is_queued_and_refuses_the_rest() {
    let b = bench(8);
    for id in 0..4 {
        b.handle.append(StoreId(id), batch(b.epoch, id.cast_signed()));
        b.leave.send(Ok(())).unwrap();
    }
    b.thread.shutdown();
    let ids: Vec<_> = (0..4).map(|_| b.outcomes.recv().unwrap()).collect();
    assert_eq!(ids, [ok(0), ok(1), ok(2), ok(3)]);
    b.handle.append(StoreId(9), batch(b.epoch, 9));
    let refused = Stored { id: StoreId(9), result: Err(StoreError::KafkaStorageError) };
    assert_eq!(b.outcomes.recv(), Ok(refused));
    assert!(matches!(b.handle.client().acquire(&[P]), Err(StoreFailure::Poisoned)));
}

#[test]
fn a_panic_in_the_store_answers_everybody() {
    let b = bench(8);
    drop(b.leave);
    b.handle.append(StoreId(1), batch(b.epoch, 1));
    b.handle.append(StoreId(2), batch(b.epoch, 2));
    let mut ids: Vec<_> = (0..2).map(|_| b.outcomes.recv().unwrap()).collect();
    ids.sort_by_key(|stored| stored.id);
    assert!(ids.iter().all(|stored| stored.result == Err(StoreError::KafkaStorageError)));
    b.thread.shutdown();
    assert!(b.handle.client().status().is_poisoned());
}

#[test]
fn a_caller_can_wait_for_its_write() {
    let thread = CommitThread::start(Box::new(MemoryStore::new()), CommitSettings::default()).unwrap();
    let client = thread.client();
    let epoch = client.acquire(&[P]).unwrap()[0];
    assert_eq!(client.append(batch(epoch, 1)), Ok(()));
    assert_eq!(client.append(batch(OwnerEpoch(0), 1)), Err(StoreError::NotLeaderOrFollower));
    assert!(!thread.status().is_poisoned());
}

/// Wants housekeeping until it has had three steps.
struct Untidy {
    inner: MemoryStore,
    left: usize,
    done: Sender<()>,
}

impl Store for Untidy {
    fn acquire(&mut self, partitions: &[OffsetsPartition]) -> Result<Vec<OwnerEpoch>, StoreFailure> {
        self.inner.acquire(partitions)
    }

    fn load(
        &mut self,
        partition: OffsetsPartition,
        epoch: OwnerEpoch,
    ) -> Result<PartitionReader, StoreFailure> {
        self.inner.load(partition, epoch)
    }

    fn append(&mut self, batches: &[Batch]) -> Result<Vec<Result<(), StoreError>>, StoreFailure> {
        self.inner.append(batches)
    }

    fn upkeep_due(&self) -> Upkeep {
        if self.left > 0 { Upkeep::WhenIdle } else { Upkeep::None }
    }

    fn upkeep(&mut self) -> Result<(), StoreFailure> {
        self.left -= 1;
        if self.left == 0 {
            self.done.send(()).unwrap();
        }
        Ok(())
    }
}

#[test]
fn idle_time_goes_to_housekeeping() {
    let (done, is_done) = bounded(1);
    let store = Untidy { inner: MemoryStore::new(), left: 3, done };
    let _thread = CommitThread::start(Box::new(store), CommitSettings::default()).unwrap();
    is_done.recv().unwrap();
}

#[test]
fn what_was_stored_is_what_loads() {
    let mut store = MemoryStore::new();
    let epoch = store.acquire(&[P]).unwrap()[0];
    store.append(&[batch(epoch, 1), batch(epoch, 2)]).unwrap();
    let mut model = Model::default();
    model.apply(&offset("g", 0, 2));
    assert_eq!(loaded(&mut store, P, epoch).view(), model.view());
}
