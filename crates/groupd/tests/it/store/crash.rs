//! The embedded store on a disk that crashes, fails, fills up and is damaged.
//!
//! The workload is run once to count the disk's operations, then once for each of them with a fault there. After
//! each, the store is opened again from what such a crash may leave, and must hold what was acknowledged, with at
//! most the batches of the commit in flight beyond it, each wholly.

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::Record;
use groupd::store::{Batch, EmbeddedSettings, EmbeddedStore, Store, StoreFailure, Upkeep};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::disk::{Disk, Fault, small_settings};
use super::model::{Model, any_record, loaded};
use super::planted::Plant;

const PARTITIONS: [OffsetsPartition; 2] = [OffsetsPartition(0), OffsetsPartition(1)];
const SEED: u64 = 0x5eed;

/// A commit: some batches, each for one of the partitions.
type Commit = Vec<(usize, Vec<Record>)>;

fn workload(seed: u64, commits: usize) -> Vec<Commit> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let batch = |rng: &mut ChaCha8Rng| {
        let records = (0..rng.random_range(1..4)).map(|_| any_record(rng)).collect();
        (rng.random_range(0..2), records)
    };
    (0..commits).map(|_| (0..rng.random_range(1..4)).map(|_| batch(&mut rng)).collect()).collect()
}

/// What must be there, and what may be.
#[derive(Clone, Default)]
struct Expected {
    acknowledged: [Model; 2],
    in_flight: Commit,
    epochs: Vec<OwnerEpoch>,
    /// Operations of the disk until all was done: later ones are redb's own when it closes.
    finished_at: Option<u64>,
}

impl Expected {
    fn acknowledge(&mut self) {
        for (partition, records) in std::mem::take(&mut self.in_flight) {
            for record in records {
                self.acknowledged[partition].apply(&record);
            }
        }
    }

    /// Whether the partition may look like this: with some of the batches in flight, each wholly.
    fn allows(&self, partition: usize, found: &Model) -> bool {
        let mut model = self.acknowledged[partition].clone();
        let batches = self.in_flight.iter().filter(|batch| batch.0 == partition);
        let mut allowed = model.view() == found.view();
        for (_, records) in batches {
            for record in records {
                model.apply(record);
            }
            allowed |= model.view() == found.view();
        }
        allowed
    }
}

/// Opens the store and does all of it, housekeeping too, until the disk fails.
fn run(disk: &Disk, work: &[Commit], expected: &mut Expected, plant: Plant) -> Result<(), StoreFailure> {
    let mut store = plant.open(disk)?;
    let epochs = store.acquire(&PARTITIONS)?;
    expected.epochs.clone_from(&epochs);
    for commit in work {
        let batch = |(partition, records): &(usize, Vec<Record>)| {
            Batch::new(PARTITIONS[*partition], epochs[*partition], records).unwrap()
        };
        let batches: Vec<_> = commit.iter().map(batch).collect();
        expected.in_flight.clone_from(commit);
        let outcomes = store.append(&batches)?;
        assert!(outcomes.iter().all(Result::is_ok));
        expected.acknowledge();
        if store.upkeep_due() != Upkeep::None {
            store.upkeep()?;
        }
    }
    expected.finished_at = Some(disk.operations());
    Ok(())
}

/// Opens what is left, checks it, and goes on with it: a store that came back must also work.
fn check(disk: &Disk, expected: &Expected, context: &str, plant: Plant) {
    let mut store = plant.open(disk).unwrap_or_else(|failure| panic!("{context}: {failure}"));
    let epochs = store.acquire(&PARTITIONS).unwrap();
    for (index, epoch) in epochs.iter().enumerate() {
        assert!(expected.epochs.get(index).is_none_or(|old| epoch > old), "{context}: an epoch went back");
        let mut found = loaded(store.as_mut(), PARTITIONS[index], *epoch);
        assert!(
            expected.allows(index, &found),
            "{context}: partition {index} holds {:#?}, acknowledged {:#?}, in flight {:#?}",
            found.view(),
            expected.acknowledged[index].view(),
            expected.in_flight
        );
        let record = any_record(&mut ChaCha8Rng::seed_from_u64(9));
        found.apply(&record);
        let batch = Batch::new(PARTITIONS[index], *epoch, &[record]).unwrap();
        assert_eq!(store.append(&[batch]).unwrap(), [Ok(())]);
        while store.upkeep_due() != Upkeep::None {
            store.upkeep().unwrap();
        }
        drop(store);
        store = plant.open(disk).unwrap();
        let again = loaded(store.as_mut(), PARTITIONS[index], *epoch);
        assert_eq!(again.view(), found.view(), "{context}: after going on");
    }
}

fn operations_of(work: &[Commit]) -> u64 {
    let disk = Disk::new(3);
    run(&disk, work, &mut Expected::default(), Plant::Nothing).unwrap();
    disk.operations()
}

/// Crashes at every operation of a workload, and looks at several things each crash may leave.
fn crash_everywhere(seed: u64, commits: usize, outcomes: u64, step: u64, plant: Plant) {
    let work = workload(seed, commits);
    let operations = operations_of(&work);
    for at in (0..operations).step_by(usize::try_from(step).unwrap()) {
        let disk = Disk::new(3);
        disk.fail_at(at, Fault::Crash);
        let mut expected = Expected::default();
        // The last operations are redb's own when it closes: there is nobody to tell.
        drop(run(&disk, &work, &mut expected, plant));
        assert!(disk.has_crashed());
        for outcome in 0..outcomes {
            let mut rng = ChaCha8Rng::seed_from_u64(at * 1000 + outcome);
            let left = disk.after_crash(&mut rng);
            let context = format!("seed {seed}, crash at {at} of {operations}, outcome {outcome}");
            check(&left, &expected, &context, plant);
        }
        let context = format!("seed {seed}, killed at {at} of {operations}");
        check(&disk.after_kill(), &expected, &context, plant);
    }
}

#[test]
fn a_crash_at_every_operation_loses_nothing_acknowledged() {
    crash_everywhere(1, 14, 4, 1, Plant::Nothing);
}

#[test]
fn a_crash_somewhere_in_a_longer_life_loses_nothing_acknowledged() {
    // `STORE_SEED=1000` hunts further: ten lives from that seed on.
    let first = std::env::var("STORE_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seeds = first.map_or(2..4, |first| first..first + 10);
    for seed in seeds {
        crash_everywhere(seed, 60, 2, 23, Plant::Nothing);
    }
}

#[test]
fn a_second_crash_while_coming_back_loses_nothing_acknowledged() {
    let work = workload(5, 12);
    let operations = operations_of(&work);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for _ in 0..60 {
        let disk = Disk::new(3);
        let at = rng.random_range(0..operations);
        disk.fail_at(at, Fault::Crash);
        let mut expected = Expected::default();
        drop(run(&disk, &work, &mut expected, Plant::Nothing));
        let left = disk.after_crash(&mut rng);
        let again = rng.random_range(0..12);
        left.fail_at(again, Fault::Crash);
        let opened = EmbeddedStore::open(left.store_files(), small_settings(), SEED);
        drop(opened.and_then(|mut store| store.acquire(&PARTITIONS)));
        let context = format!("crash at {at} of {operations}, then at {again}");
        check(&left.after_crash(&mut rng), &expected, &context, Plant::Nothing);
    }
}

#[test]
fn a_failing_operation_is_told_and_what_was_acknowledged_stays() {
    let work = workload(6, 14);
    let operations = operations_of(&work);
    for at in 0..operations {
        let fault = if at % 2 == 0 { Fault::Error } else { Fault::Full };
        let disk = Disk::new(3);
        disk.fail_at(at, fault);
        let mut expected = Expected::default();
        let told = run(&disk, &work, &mut expected, Plant::Nothing);
        match (&told, fault) {
            (Err(StoreFailure::DiskFull), Fault::Full) | (Err(StoreFailure::Io(_)), Fault::Error) => {}
            (Ok(()), _) if expected.finished_at.is_some_and(|finished| at >= finished) => {}
            other => panic!("operation {at} of {operations}: {other:?}"),
        }
        check(&disk.after_kill(), &expected, &format!("{fault:?} at {at}"), Plant::Nothing);
        let mut rng = ChaCha8Rng::seed_from_u64(at);
        let left = disk.after_crash(&mut rng);
        check(&left, &expected, &format!("{fault:?} at {at}, then a crash"), Plant::Nothing);
    }
}

#[test]
fn planted_faults_are_found() {
    for plant in [Plant::AcknowledgedBeforeSync, Plant::LostBatch, Plant::StaleLoad] {
        let found = std::panic::catch_unwind(|| crash_everywhere(1, 14, 4, 1, plant));
        assert!(found.is_err(), "{plant:?} went unseen");
    }
}

/// A store with some commits in its logs, and where the first log's entries are.
fn lived_in(commits: usize) -> (Disk, Expected) {
    let disk = Disk::new(3);
    let mut expected = Expected::default();
    run(&disk, &workload(7, commits), &mut expected, Plant::Nothing).unwrap();
    (disk, expected)
}

fn open(disk: &Disk) -> Result<EmbeddedStore, StoreFailure> {
    EmbeddedStore::open(disk.store_files(), small_settings(), SEED)
}

#[test]
fn damage_to_an_acknowledged_entry_is_never_taken_for_a_torn_end() {
    let (disk, expected) = lived_in(2);
    // The header, the epochs, two commits. All but the last entry have a good one behind them.
    for at in (0..3 * 512).filter(|at| at % 512 < 40 || at % 7 == 0) {
        let damaged = disk.after_kill();
        damaged.damage(1, at, 0x20);
        match open(&damaged) {
            Err(StoreFailure::Damaged(_)) => {}
            Err(other) => panic!("byte {at}: {other}"),
            // Padding means nothing.
            Ok(_) => check(&damaged, &expected, &format!("byte {at}"), Plant::Nothing),
        }
    }
}

#[test]
fn files_that_are_lost_or_not_ours_are_refused_and_left_alone() {
    let (disk, _) = lived_in(20);
    let garbage = vec![0x55; 8192];
    for file in 0..2 {
        let other = disk.after_kill();
        other.set_contents(file, &garbage);
        let failure = open(&other).map(drop);
        assert!(failure.is_err(), "file {file}");
        assert_eq!(other.contents(file), garbage, "file {file}");
    }
    let rows_gone = disk.after_kill();
    rows_gone.set_contents(0, &[]);
    assert!(matches!(open(&rows_gone), Err(StoreFailure::Damaged(what)) if what.contains("groupd.redb")));
    assert!(rows_gone.contents(0).is_empty());
    // The active log and, while it is folded, the full one: neither may be missing.
    for commits in 1..40 {
        let (disk, _) = lived_in(commits);
        let logs = [disk.contents(1), disk.contents(2)];
        let generation =
            |log: &Vec<u8>| log.get(20..28).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
        let active = usize::from(generation(&logs[1]) > generation(&logs[0]));
        for contents in [Vec::new(), vec![0; logs[active].len()], garbage.clone()] {
            disk.set_contents(active + 1, &contents);
            let failure = open(&disk).map(drop);
            assert!(matches!(&failure, Err(StoreFailure::Damaged(_))), "{commits} commits: {failure:?}");
        }
    }
    let logs_gone = disk.after_kill();
    logs_gone.set_contents(1, &[]);
    logs_gone.set_contents(2, &[]);
    assert!(matches!(open(&logs_gone), Err(StoreFailure::Damaged(_))));
}

#[test]
fn rows_that_were_cut_or_written_over_are_told_as_damage() {
    let (disk, _) = lived_in(20);
    let rows = disk.contents(0);
    for keep in [9, 10, 63, 64, 320, 511, 512, 4095, 4096, 8192, rows.len() / 2, rows.len() - 4096] {
        let mut filled = rows[..keep].to_vec();
        filled.resize(rows.len(), 0x55);
        let damaged = disk.after_kill();
        damaged.set_contents(0, &rows[..keep]);
        let failure = open(&damaged).map(drop);
        assert!(matches!(&failure, Err(StoreFailure::Damaged(_))), "cut to {keep}: {failure:?}");
        damaged.set_contents(0, &filled);
        let settings = EmbeddedSettings { verify: true, ..small_settings() };
        let failure = EmbeddedStore::open(damaged.store_files(), settings, SEED).map(drop);
        // The last pages may be free ones.
        let told = keep + 4096 == rows.len() && failure.is_ok();
        assert!(
            told || matches!(&failure, Err(StoreFailure::Damaged(_))),
            "written over from {keep}: {failure:?}"
        );
    }
}

#[test]
fn a_log_that_was_cut_is_refused() {
    let growth = usize::try_from(small_settings().log_growth).unwrap();
    for commits in 1..30 {
        let (disk, expected) = lived_in(commits);
        for file in [1, 2] {
            let log = disk.contents(file);
            for cut in (0..log.len()).step_by(100).chain((0..log.len()).step_by(512)) {
                let damaged = disk.after_kill();
                damaged.set_contents(file, &log[..cut]);
                let context = format!("{commits} commits, file {file} cut to {cut} of {}", log.len());
                match open(&damaged) {
                    Err(StoreFailure::Damaged(_)) => {}
                    Err(other) => panic!("{context}: {other}"),
                    // Only where all that was written since the file last grew is cut too can it go unseen.
                    Ok(store) if cut < log.len() / growth * growth - growth => {
                        drop(store);
                        check(&damaged, &expected, &context, Plant::Nothing);
                    }
                    Ok(_) => {}
                }
            }
        }
    }
}

#[test]
fn a_log_of_another_store_is_refused() {
    let (disk, _) = lived_in(2);
    let other = Disk::new(3);
    drop(EmbeddedStore::open(other.store_files(), small_settings(), SEED + 1).unwrap());
    disk.set_contents(1, &other.contents(1));
    assert!(matches!(open(&disk), Err(StoreFailure::Damaged(what)) if what.contains("another store")));
}

#[test]
fn a_newer_log_is_named_as_such() {
    let (disk, _) = lived_in(2);
    let mut log = disk.contents(1);
    log[8..12].copy_from_slice(&2_u32.to_le_bytes());
    let checksum = crc32c::crc32c(&log[..44]);
    log[44..48].copy_from_slice(&checksum.to_le_bytes());
    disk.set_contents(1, &log);
    assert!(matches!(open(&disk), Err(StoreFailure::Newer(_))));
    assert_eq!(disk.contents(1), log);
}

#[test]
fn a_commit_costs_one_sync_however_many_batches() {
    let disk = Disk::new(3);
    let settings = EmbeddedSettings { log_growth: 1 << 20, ..small_settings() };
    let mut store = EmbeddedStore::open(disk.store_files(), settings, SEED).unwrap();
    let epochs = store.acquire(&PARTITIONS).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let batches: Vec<_> =
        (0..100).map(|_| Batch::new(PARTITIONS[0], epochs[0], &[any_record(&mut rng)]).unwrap()).collect();
    let (syncs, operations) = (disk.syncs(), disk.operations());
    store.append(&batches).unwrap();
    assert_eq!(disk.syncs() - syncs, 1);
    assert_eq!(disk.operations() - operations, 2, "a write, a sync");
}

#[test]
fn a_reader_keeps_what_it_reads_from_being_written_over() {
    let disk = Disk::new(3);
    let mut store = open(&disk).unwrap();
    let epochs = store.acquire(&PARTITIONS).unwrap();
    let mut before = Model::default();
    let mut rng: Box<dyn Rng> = Box::new(ChaCha8Rng::seed_from_u64(10));
    let mut write = |store: &mut EmbeddedStore, model: &mut Model| {
        let record = any_record(&mut rng);
        model.apply(&record);
        store.append(&[Batch::new(PARTITIONS[0], epochs[0], &[record]).unwrap()]).unwrap();
        for _ in 0..8 {
            if store.upkeep_due() != Upkeep::None {
                store.upkeep().unwrap();
            }
        }
    };
    for _ in 0..11 {
        write(&mut store, &mut before);
    }
    let reader = store.load(PARTITIONS[0], epochs[0]).unwrap();
    let mut after = before.clone();
    for _ in 0..60 {
        write(&mut store, &mut after);
    }
    let mut read = Model::default();
    for record in reader.flat_map(Result::unwrap) {
        read.apply(&record);
    }
    assert_eq!(read.view(), before.view());
    assert_eq!(loaded(&mut store, PARTITIONS[0], epochs[0]).view(), after.view());
}
