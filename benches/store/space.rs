//! What a long life costs in space, while keys are overwritten and when most of them are deleted.
//!
//! Commits are appended many at a time, as the commit thread does for many clients: the question is space, not time.

use std::path::Path;
use std::time::{Duration, Instant};

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::Record;
use groupd::store::{Batch, EmbeddedSettings, EmbeddedStore, FILES, Store, Upkeep};

use super::Options;
use super::counted::{self, Counters};
use super::records::{PARTITIONS, megabytes, ratio, record};

/// Offsets of a group, all in one batch.
const BATCH: u32 = 100;
/// Batches that share one sync, at most.
const TOGETHER: u32 = 50;
/// Rows of the table.
const ROWS: u32 = 10;

/// Overwrites the same keys again and again, then deletes nine of ten, and prints what it took.
pub(crate) fn measure(options: &Options) {
    let place = tempfile::tempdir_in(&options.directory).expect("the directory can be written to");
    let counters = Counters::default();
    let mut life = Life::begin(place.path(), &counters, options.keys);
    println!(
        "\n{} offsets committed over {} keys, {BATCH} a batch, {TOGETHER} batches a sync; live data: {:.2} MB",
        options.commits,
        options.keys,
        megabytes(life.live())
    );
    println!("     commits | seconds | files MB, most | x live | files MB, now");
    let start = Instant::now();
    let (batches, mut largest) = (options.commits / BATCH, 0);
    for row in 1..=ROWS {
        let until = u64::from(batches) * u64::from(row) / u64::from(ROWS);
        let most = life.overwrite(u32::try_from(until).expect("not more than all"));
        largest = largest.max(most);
        println!(
            "{:>12} | {:>7.1} | {:>14.2} | {:>6.2} | {:>13.2}",
            until * u64::from(BATCH),
            start.elapsed().as_secs_f64(),
            megabytes(most),
            ratio(most, life.live()),
            megabytes(length(place.path()))
        );
    }
    println!("  at most          {:>10.2} x live", ratio(largest, life.live()));
    println!("  written          {:>10.2} bytes a byte committed", ratio(counters.written(), life.committed));
    let kept = life.delete_most(place.path());
    println!("  after nine of ten keys are deleted, and as much is committed over those left:");
    sizes(place.path(), kept);
    drop(life);
    come_back(place.path(), options.keys / 10);
    println!("  after the restart:");
    sizes(place.path(), kept);
}

/// The files, and how they compare with what is alive.
fn sizes(directory: &Path, live: u64) {
    println!(
        "    files          {:>10.2} MB, {:.2} x live",
        megabytes(length(directory)),
        ratio(length(directory), live)
    );
    for name in FILES {
        println!("      {name:<12} {:>10.2} MB", megabytes(file_length(directory, name)));
    }
}

/// A store that is lived in.
struct Life<'a> {
    store: EmbeddedStore,
    epochs: Vec<OwnerEpoch>,
    directory: &'a Path,
    groups: u32,
    /// Batches so far.
    batches: u32,
    committed: u64,
}

impl<'a> Life<'a> {
    fn begin(directory: &'a Path, counters: &Counters, keys: u32) -> Self {
        let files = counted::files(directory, counters).expect("files can be made");
        let mut store =
            EmbeddedStore::open(files, EmbeddedSettings::default(), 1).expect("a new store opens");
        let epochs = store.acquire(&partitions()).expect("a new store can be owned");
        Self { store, epochs, directory, groups: (keys / BATCH).max(1), batches: 0, committed: 0 }
    }

    /// Bytes of the last record of each key.
    fn live(&self) -> u64 {
        (0..self.groups).map(|group| encoded(&batch(group, self.batches))).sum()
    }

    /// Commits until so many batches are committed, each group once before any comes again. Returns the most bytes that
    /// the files had: those of the fold, which has a thread of its own, as well.
    fn overwrite(&mut self, until: u32) -> u64 {
        let mut largest = 0;
        while self.batches < until {
            let groups = self.groups;
            let together = TOGETHER.min(until - self.batches);
            let next = (self.batches..).map(|number| (number.wrapping_mul(7919) % groups, number));
            let all: Vec<_> =
                next.take(together as usize).map(|(group, number)| (group, batch(group, number))).collect();
            self.append(&all);
            self.batches += together;
            largest = largest.max(length(self.directory));
        }
        largest
    }

    /// Deletes nine of ten groups and commits over the rest for as long as it takes to fold that; returns the bytes of
    /// what is left.
    fn delete_most(&mut self, directory: &Path) -> u64 {
        let left = (self.groups / 10).max(1);
        for group in left..self.groups {
            let delete = |record| match record {
                Record::Offset(offset) => Record::OffsetTombstone(offset.group, offset.partition),
                other => other,
            };
            let tombstones = batch(group, 0).into_iter().map(delete).collect();
            self.append(&[(group, tombstones)]);
        }
        self.groups = left;
        let until = self.batches + 2 * u32::try_from(length(directory) / 8_000).expect("few");
        self.overwrite(until);
        self.live()
    }

    fn append(&mut self, all: &[(u32, Vec<Record>)]) {
        let batches: Vec<_> = all
            .iter()
            .map(|(group, records)| {
                let partition = i32::try_from(*group).expect("groups are few") % PARTITIONS;
                let epoch = self.epochs[usize::try_from(partition).expect("not negative")];
                Batch::new(OffsetsPartition(partition), epoch, records).expect("a small batch")
            })
            .collect();
        self.committed += batches.iter().map(|batch| batch.records().len() as u64).sum::<u64>();
        let outcomes = self.store.append(&batches).expect("the store works");
        assert!(outcomes.iter().all(Result::is_ok));
        if self.store.upkeep_due() == Upkeep::Now {
            self.store.upkeep().expect("the store works");
        }
    }
}

/// What a group commits.
fn batch(group: u32, number: u32) -> Vec<Record> {
    let partitions = 0..i32::try_from(BATCH).expect("few");
    partitions.map(|partition| record(group, partition, i64::from(number))).collect()
}

fn encoded(records: &[Record]) -> u64 {
    let mut bytes = Vec::new();
    for record in records {
        groupd::store::layout::encode_record(record, &mut bytes);
    }
    bytes.len() as u64
}

fn partitions() -> Vec<OffsetsPartition> {
    (0..PARTITIONS).map(OffsetsPartition).collect()
}

/// Opens what was left, and reads all of it.
fn come_back(directory: &Path, keys: u32) {
    let start = Instant::now();
    let files = counted::reopen(directory).expect("the files are there");
    let mut store = EmbeddedStore::open(files, EmbeddedSettings::default(), 1).expect("the store comes back");
    let opened = start.elapsed();
    let epochs = store.acquire(&partitions()).expect("it can be owned");
    let mut records = 0;
    for (partition, epoch) in partitions().into_iter().zip(epochs) {
        for chunk in store.load(partition, epoch).expect("it can be read") {
            records += chunk.expect("it can be read").len();
        }
    }
    assert!(records >= keys as usize, "{records} records for {keys} keys");
    let took: Duration = start.elapsed();
    println!("  reopened in {opened:.1?}, read in {:.1?}: {records} records", took.saturating_sub(opened));
}

fn length(directory: &Path) -> u64 {
    FILES.iter().map(|name| file_length(directory, name)).sum()
}

fn file_length(directory: &Path, name: &str) -> u64 {
    directory.join(name).metadata().map_or(0, |metadata| metadata.len())
}
