//! Files of a store that are lost, cut, foreign, newer, or changed: each is told, and left as it is.

use groupd::store::{Batch, EmbeddedSettings, EmbeddedStore, Store, StoreFailure, Upkeep};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::crash::{Expected, PARTITIONS, SEED, check, run, workload};
use super::disk::{Disk, small_settings};
use super::model::{Model, any_record, loaded};
use super::planted::Plant;

/// A store with some commits in its logs, and where the first log's entries are.
fn lived_in(commits: usize) -> (Disk, Expected) {
    let disk = Disk::new(3);
    let mut expected = Expected::default();
    run(&disk, &workload(7, commits), &mut expected, Plant::Nothing).unwrap();
    (disk, expected)
}

/// Opens it. If that is refused, no file may have been changed by it.
fn open(disk: &Disk) -> Result<EmbeddedStore, StoreFailure> {
    let before = [0, 1, 2].map(|file| disk.contents(file));
    let opened = EmbeddedStore::open(disk.store_files(), small_settings(), SEED);
    let unchanged = opened.is_ok() || [0, 1, 2].map(|file| disk.contents(file)) == before;
    assert!(unchanged, "{:?}, and a file was changed", opened.map(drop));
    opened
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
    let (syncs, operations) = (disk.done().syncs, disk.operations());
    store.append(&batches).unwrap();
    assert_eq!(disk.done().syncs - syncs, 1);
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
