//! What a long life costs: space while keys are overwritten, and the time to come back.

use std::path::Path;
use std::time::{Duration, Instant};

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::Record;
use groupd::store::{Batch, EmbeddedSettings, EmbeddedStore, FILES, Store, Upkeep};

use super::counted::{self, Counters};
use super::{Options, PARTITIONS, record};

/// Records a batch.
const BATCH: u32 = 100;

/// Overwrites the same keys again and again, then comes back from an unclean end, and prints what it took.
pub(crate) fn live(options: &Options) {
    let place = tempfile::tempdir_in(&options.directory).expect("the directory can be written to");
    let counters = Counters::default();
    let (mut store, epochs) = open(place.path(), &counters);
    let (keys, commits) = (options.keys, options.commits);
    let mut committed = 0;
    let mut largest = 0;
    let start = Instant::now();
    for commit in 0..commits / BATCH {
        committed += append(&mut store, &epochs, keys, commit);
        // The fold has its own thread: what its files reach meanwhile counts as well.
        if commit.is_multiple_of(256) {
            largest = largest.max(length(place.path()));
        }
    }
    let took = start.elapsed();
    largest = largest.max(length(place.path()));
    let live: u64 = (0..keys).map(|key| encoded(key, commits)).sum();
    println!("\n{commits} offsets committed over {keys} keys, {BATCH} a batch, one commit at a time:");
    println!("  live data        {:>10.2} MB", megabytes(live));
    println!(
        "  files            {:>10.2} MB at most, {:.2} x live",
        megabytes(largest),
        ratio(largest, live)
    );
    for name in FILES {
        println!("    {name:<14} {:>10.2} MB", megabytes(file_length(place.path(), name)));
    }
    println!("  written          {:>10.2} bytes a byte committed", ratio(counters.written(), committed));
    println!("  durable offsets  {:>10.0} a second", f64::from(commits) / took.as_secs_f64());
    // Nothing is closed: what a killed process leaves.
    std::mem::forget(store);
    come_back(place.path(), keys);
}

fn come_back(directory: &Path, keys: u32) {
    let start = Instant::now();
    let files = counted::reopen(directory).expect("the files are there");
    let mut store = EmbeddedStore::open(files, EmbeddedSettings::default(), 1).expect("the store comes back");
    let opened = start.elapsed();
    let reading = Instant::now();
    let partitions: Vec<_> = (0..PARTITIONS).map(OffsetsPartition).collect();
    let epochs = store.acquire(&partitions).expect("it can be owned");
    let mut records = 0;
    for (&partition, &epoch) in partitions.iter().zip(&epochs) {
        for chunk in store.load(partition, epoch).expect("it can be read") {
            records += chunk.expect("it can be read").len();
        }
    }
    let loaded = start.elapsed();
    assert!(records >= keys as usize, "{records} records for {keys} keys");
    println!(
        "  reopened after a kill in {opened:.1?}; {records} records decoded in {:.1?}",
        reading.elapsed()
    );
    println!("  {:.2?} a million records", per_million(loaded, records));
}

fn open(directory: &Path, counters: &Counters) -> (EmbeddedStore, Vec<OwnerEpoch>) {
    let files = counted::files(directory, counters).expect("files can be made");
    let mut store = EmbeddedStore::open(files, EmbeddedSettings::default(), 1).expect("a new store opens");
    let partitions: Vec<_> = (0..PARTITIONS).map(OffsetsPartition).collect();
    let epochs = store.acquire(&partitions).expect("a new store can be owned");
    (store, epochs)
}

/// Commits one batch, each key once before any comes again; returns its bytes.
fn append(store: &mut EmbeddedStore, epochs: &[OwnerEpoch], keys: u32, commit: u32) -> u64 {
    // One group a batch, as a client would: groups come in no order.
    let groups = (keys / BATCH).max(1);
    let group = commit.wrapping_mul(7919) % groups;
    let partition = i32::try_from(group).expect("groups are few") % PARTITIONS;
    let epoch = epochs[usize::try_from(partition).expect("not negative")];
    let records: Vec<Record> = (0..i32::try_from(BATCH).expect("few"))
        .map(|index| record(group, index, i64::from(commit)))
        .collect();
    let batch = Batch::new(OffsetsPartition(partition), epoch, &records).expect("a small batch");
    let bytes = batch.records().len() as u64;
    let outcomes = store.append(&[batch]).expect("the store works");
    assert!(outcomes.iter().all(Result::is_ok));
    if store.upkeep_due() == Upkeep::Now {
        store.upkeep().expect("the store works");
    }
    bytes
}

fn encoded(key: u32, commit: u32) -> u64 {
    let index = i32::try_from(key % BATCH).expect("few");
    let record = record(key / BATCH, index, i64::from(commit / BATCH));
    let mut bytes = Vec::new();
    groupd::store::layout::encode_record(&record, &mut bytes);
    bytes.len() as u64
}

fn length(directory: &Path) -> u64 {
    FILES.iter().map(|name| file_length(directory, name)).sum()
}

fn file_length(directory: &Path, name: &str) -> u64 {
    directory.join(name).metadata().map_or(0, |metadata| metadata.len())
}

#[expect(clippy::cast_precision_loss, reason = "figures to print")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "figures to print")]
fn ratio(bytes: u64, of: u64) -> f64 {
    bytes as f64 / of as f64
}

#[expect(clippy::cast_precision_loss, reason = "figures to print")]
fn per_million(time: Duration, records: usize) -> Duration {
    time.mul_f64(1e6 / records as f64)
}
