//! How far commits may get ahead of a fold, and how long they wait for it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use groupd::store::{Batch, EmbeddedSettings, EmbeddedStore, FoldingThread, SECTOR, Store, Upkeep};
use parking_lot::{Condvar, Mutex};
use redb::StorageBackend;

use super::disk::{Disk, small_settings};
use super::model::offset;

const P: OffsetsPartition = OffsetsPartition(0);
/// Entries after which a log is full.
const BOUND: u64 = 64;

/// Lets the folding thread sync the rows so many times, and counts.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
    opened: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    permits: u64,
    syncs: u64,
}

impl Gate {
    fn permit(&self, syncs: u64) {
        self.state.lock().permits += syncs;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let mut state = self.state.lock();
        while state.permits == 0 {
            self.opened.wait(&mut state);
        }
        state.permits -= 1;
        state.syncs += 1;
    }
}

#[derive(Debug)]
struct Gated(Arc<dyn StorageBackend>, Arc<Gate>);

impl StorageBackend for Gated {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        if std::thread::current().name() == Some("store-fold") {
            self.1.pass();
        }
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

/// A store whose first log is full and being folded, as far as the gate lets it.
fn folding() -> (EmbeddedStore, OwnerEpoch, Arc<Gate>) {
    let settings = EmbeddedSettings {
        min_log: BOUND * SECTOR,
        max_log: BOUND * SECTOR,
        fold_step: 100,
        folding: FoldingThread::Own,
        ..small_settings()
    };
    let gate = Arc::new(Gate::default());
    let mut files = Disk::new(3).store_files();
    files.rows = Arc::new(Gated(files.rows, Arc::clone(&gate)));
    let mut store = EmbeddedStore::open(files, settings, 1).unwrap();
    let epoch = store.acquire(&[P]).unwrap()[0];
    commit_until_due(&mut store, epoch);
    store.upkeep().unwrap();
    (store, epoch, gate)
}

/// Commits, a sector each, until the store wants time; how many it were.
fn commit_until_due(store: &mut EmbeddedStore, epoch: OwnerEpoch) -> u64 {
    let mut commits = 0;
    while store.upkeep_due() != Upkeep::Now {
        assert!(commits < 10 * BOUND, "nothing holds commits back");
        let records = [offset("g", i32::try_from(commits).unwrap(), 1)];
        store.append(&[Batch::new(P, epoch, &records).unwrap()]).unwrap();
        commits += 1;
    }
    commits
}

/// Gives the store time on a thread of its own, and returns it once that is over.
fn upkeep(mut store: EmbeddedStore) -> EmbeddedStore {
    let (done, is_done) = crossbeam_channel::bounded(1);
    std::thread::spawn(move || {
        store.upkeep().unwrap();
        done.send(store).unwrap();
    });
    is_done.recv_timeout(Duration::from_mins(1)).expect("commits wait for more than they wrote")
}

#[test]
fn commits_get_a_quarter_of_a_log_ahead_of_a_fold_that_stands_still() {
    let (mut store, epoch, gate) = folding();
    let ahead = commit_until_due(&mut store, epoch);
    assert!((BOUND / 4..=BOUND / 4 + 2).contains(&ahead), "{ahead} commits");
    gate.permit(u64::MAX / 2);
}

#[test]
fn a_commit_waits_for_a_part_of_a_fold() {
    // How often a whole fold syncs.
    let (mut store, epoch, gate) = folding();
    gate.permit(u64::MAX / 2);
    while store.upkeep_due() != Upkeep::Now {
        std::thread::yield_now();
    }
    store = upkeep(store);
    assert_eq!(commit_until_due(&mut store, epoch), BOUND, "the fold is not over");
    let whole = gate.state.lock().syncs;

    let (mut store, epoch, gate) = folding();
    commit_until_due(&mut store, epoch);
    gate.permit(whole / 4);
    store = upkeep(store);
    assert!(gate.state.lock().syncs <= whole / 4);
    // What was folded makes room for more, and not for a whole log.
    let more = commit_until_due(&mut store, epoch);
    assert!(more < BOUND / 2, "{more} commits");
    gate.permit(u64::MAX / 2);
}
