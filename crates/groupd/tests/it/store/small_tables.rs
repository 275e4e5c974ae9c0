//! Damage to what the store keeps beside its rows, which redb would not see: told at the start, and nothing is changed.

use std::io;
use std::sync::Arc;

use coordinator::ids::{OffsetsPartition, ProducerId};
use coordinator::messages::{Record, TransactionOutcome};
use groupd::store::{Batch, EmbeddedSettings, EmbeddedStore, Store, StoreFailure, Upkeep};
use redb::{Builder, StorageBackend, TableDefinition, WriteTransaction};

use super::disk::{Disk, small_settings};
use super::model::{Model, loaded, offset, offset_record};

const SMALL: OffsetsPartition = OffsetsPartition(3);

/// A file of the simulated disk as redb takes it.
#[derive(Debug)]
struct File(Arc<dyn StorageBackend>);

impl StorageBackend for File {
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
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

fn open(disk: &Disk) -> Result<EmbeddedStore, StoreFailure> {
    EmbeddedStore::open(disk.store_files(), small_settings(), 1)
}

/// Writes some offsets, and transactions' that end or stay open, and folds all of it.
fn live(disk: &Disk) -> Model {
    let mut store = open(disk).unwrap();
    let epoch = store.acquire(&[SMALL]).unwrap()[0];
    let mut model = Model::default();
    for number in 0..30 {
        let records = [
            offset("g", number, 7),
            Record::TxnOffset(ProducerId(number.into()), offset_record("t", number, 8)),
            Record::TxnMarker(ProducerId(i64::from(number) - 2), TransactionOutcome::Commit),
        ];
        for record in &records {
            model.apply(record);
        }
        store.append(&[Batch::new(SMALL, epoch, &records).unwrap()]).unwrap();
        while store.upkeep_due() != Upkeep::None {
            store.upkeep().unwrap();
        }
    }
    model
}

fn change(disk: &Disk, change: impl FnOnce(&WriteTransaction)) {
    let database = Builder::new().create_with_backend(File(disk.store_files().rows)).unwrap();
    let write = database.begin_write().unwrap();
    change(&write);
    write.commit().unwrap();
}

const META: TableDefinition<'static, &str, u64> = TableDefinition::new("meta");
const EPOCHS: TableDefinition<'static, i32, i32> = TableDefinition::new("epochs");
const SUMS: TableDefinition<'static, [u8; 4], u64> = TableDefinition::new("sums");
const ROWS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("rows");
const OPEN: TableDefinition<'static, &[u8], ()> = TableDefinition::new("open");

/// Another number under a name, or none.
fn number(write: &WriteTransaction, name: &str, change: Option<fn(u64) -> u64>) {
    let mut meta = write.open_table(META).unwrap();
    let old = meta.remove(name).unwrap().unwrap().value();
    if let Some(change) = change {
        meta.insert(name, change(old)).unwrap();
    }
}

type Damage = fn(&WriteTransaction);

/// Each as a lost write, an older page or a flipped bit may leave it. (Rows have checksums of their own.)
const DAMAGES: [(&str, Damage); 13] = [
    ("an older format", |write| number(write, "format", Some(|old| old - 1))),
    ("another id", |write| number(write, "store", Some(|old| old ^ 4))),
    ("a fold taken back", |write| number(write, "folded", Some(|old| old - 1))),
    ("a fold that was not", |write| number(write, "folded", Some(|old| old + 1))),
    ("an older log begun", |write| number(write, "begun", Some(|old| old - 1))),
    ("other bytes alive", |write| number(write, "live_bytes", Some(|old| old ^ 1))),
    ("no bytes alive", |write| number(write, "live_bytes", None)),
    ("no seal", |write| number(write, "seal", None)),
    ("an older epoch", |write| {
        write.open_table(EPOCHS).unwrap().insert(SMALL.0, 0).unwrap();
    }),
    ("no epoch", |write| {
        write.open_table(EPOCHS).unwrap().remove(SMALL.0).unwrap();
    }),
    ("all rows lost, and their sums", |write| {
        write.open_table(ROWS).unwrap().retain(|_, _| false).unwrap();
        write.open_table(SUMS).unwrap().retain(|_, _| false).unwrap();
    }),
    ("an open transaction lost", |write| {
        assert!(write.open_table(OPEN).unwrap().pop_last().unwrap().is_some());
    }),
    ("an open transaction come back", |write| {
        write.open_table(OPEN).unwrap().insert([1, 2, 3].as_slice(), ()).unwrap();
    }),
];

#[test]
fn damage_beside_the_rows_is_told_and_nothing_is_changed() {
    for (damage, apply) in DAMAGES {
        let disk = Disk::new(3);
        live(&disk);
        change(&disk, apply);
        let before: Vec<_> = (0..3).map(|file| disk.contents(file)).collect();
        for _ in 0..2 {
            let failure = open(&disk).map(drop);
            assert!(matches!(&failure, Err(StoreFailure::Damaged(_))), "{damage}: {failure:?}");
        }
        assert!((0..3).map(|file| disk.contents(file)).eq(before), "{damage}: a file was changed");
    }
}

#[test]
fn rows_of_a_newer_format_are_named_as_such_and_nothing_is_changed() {
    let disk = Disk::new(3);
    live(&disk);
    change(&disk, |write| number(write, "format", Some(|_| 2)));
    let before: Vec<_> = (0..3).map(|file| disk.contents(file)).collect();
    let failure = open(&disk).map(drop);
    assert!(
        matches!(&failure, Err(StoreFailure::Newer(what)) if what.contains("the rows have format version 2"))
    );
    assert!((0..3).map(|file| disk.contents(file)).eq(before), "a file was changed");
}

/// A byte of the file of rows that changed, wherever it is: the start is refused and changes nothing, or all is there.
#[test]
fn a_changed_byte_anywhere_in_the_rows_is_told_or_harmless() {
    let disk = Disk::new(3);
    let model = live(&disk);
    let rows = disk.contents(0);
    let (mut told, mut harmless) = (0, 0);
    for at in (0..rows.len()).filter(|&at| rows[at] != 0).step_by(11) {
        let damaged = disk.after_kill();
        damaged.damage(0, at, 0x10);
        let before: Vec<_> = (0..3).map(|file| damaged.contents(file)).collect();
        let verify = EmbeddedSettings { verify: true, ..small_settings() };
        let found = EmbeddedStore::open(damaged.store_files(), verify, 1).and_then(|mut store| {
            let epoch = store.epoch(SMALL).unwrap();
            let mut found = Model::default();
            for chunk in store.load(SMALL, epoch)? {
                chunk?.iter().for_each(|record| found.apply(record));
            }
            Ok(found)
        });
        match found {
            Ok(found) => {
                assert!(found.view() == model.view(), "byte {at}: other values were read");
                harmless += 1;
            }
            Err(StoreFailure::Damaged(_) | StoreFailure::Newer(_)) => {
                let same = (0..3).map(|file| damaged.contents(file)).eq(before);
                assert!(same, "byte {at}: refused, and a file was changed");
                told += 1;
            }
            Err(other) => panic!("byte {at}: {other}"),
        }
    }
    println!("{told} bytes were told, {harmless} are of nothing that is read");
    assert!(told >= 20 && harmless >= 1, "{told} were told, {harmless} harmless");
}

#[test]
fn what_is_kept_beside_the_rows_survives_a_life() {
    let disk = Disk::new(3);
    let model = live(&disk);
    let mut store = open(&disk).unwrap();
    let epoch = store.acquire(&[SMALL]).unwrap()[0];
    assert_eq!(loaded(&mut store, SMALL, epoch).view(), model.view());
}
