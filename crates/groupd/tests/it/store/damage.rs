//! Rows that are written over while the store is open: an error, never a panic, and never another value.

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::Record;
use groupd::store::{Batch, EmbeddedSettings, EmbeddedStore, Store, StoreFailure, Upkeep};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::disk::{Disk, small_settings};
use super::model::{Model, offset};

const P: OffsetsPartition = OffsetsPartition(0);
const GROUPS: i64 = 300;

/// A store whose groups are in its rows, none of which it keeps in memory.
fn lived_in() -> (Disk, EmbeddedStore, OwnerEpoch, Model) {
    let disk = Disk::new(3);
    let settings = EmbeddedSettings { cache: 0, fold_step: 100_000, ..small_settings() };
    let mut store = EmbeddedStore::open(disk.store_files(), settings, 1).unwrap();
    let epoch = store.acquire(&[P]).unwrap()[0];
    let mut model = Model::default();
    let records = generation(0);
    for record in &records {
        model.apply(record);
    }
    commit(&mut store, epoch, &records).unwrap();
    (disk, store, epoch, model)
}

/// Another offset for each group.
fn generation(number: i64) -> Vec<Record> {
    (0..GROUPS).map(|group| offset(&format!("group-{group}"), 0, group * 1_000 + number)).collect()
}

fn commit(store: &mut EmbeddedStore, epoch: OwnerEpoch, records: &[Record]) -> Result<(), StoreFailure> {
    store.append(&[Batch::new(P, epoch, records).unwrap()])?;
    while store.upkeep_due() != Upkeep::None {
        store.upkeep()?;
    }
    Ok(())
}

fn read(store: &mut EmbeddedStore, epoch: OwnerEpoch) -> Result<Model, StoreFailure> {
    let mut model = Model::default();
    for chunk in store.load(P, epoch)? {
        chunk?.iter().for_each(|record| model.apply(record));
    }
    Ok(model)
}

#[test]
fn rows_written_over_beneath_an_open_store_are_an_error_and_no_panic() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut told, mut unseen) = (0, 0);
    for _ in 0..150 {
        let (disk, mut store, epoch, model) = lived_in();
        // A sector of garbage, or a single bit, where there is something.
        let contents = disk.contents(0);
        let written: Vec<_> = (0..contents.len()).filter(|&at| contents[at] != 0).collect();
        let at = written[rng.random_range(0..written.len())];
        let (at, bytes) = if rng.random() { (at / 512 * 512, 512) } else { (at, 1) };
        (at..at + bytes).for_each(|at| disk.damage(0, at, 0x10));
        match read(&mut store, epoch) {
            Ok(found) => {
                assert!(found.view() == model.view(), "{bytes} bytes at {at}: other values were read");
                unseen += 1;
            }
            Err(StoreFailure::Damaged(_) | StoreFailure::Newer(_)) => told += 1,
            Err(other) => panic!("{bytes} bytes at {at}: {other}"),
        }
        // Folding reads them as well.
        match commit(&mut store, epoch, &generation(1)) {
            Ok(()) | Err(StoreFailure::Damaged(_) | StoreFailure::Newer(_)) => {}
            Err(other) => panic!("{bytes} bytes at {at}: {other}"),
        }
    }
    assert!(told >= 10 && unseen >= 10, "{told} were told, {unseen} hit nothing that was read");
}
