//! A directory full of offsets, and a server that comes back on it.

use std::path::Path;

use coordinator::Partitioner;
use coordinator::ids::{GroupId, OffsetsPartition, OwnerEpoch};
use coordinator::messages::Record;
use groupd::server::Server;
use groupd::settings::{HostPort, Settings};
use groupd::store::{Batch, EmbeddedSettings, EmbeddedStore, Store, Upkeep};

use super::records::{PARTITIONS, record};

/// Records that share a sync while the directory is filled.
const TOGETHER: usize = 20_000;

/// Commits the offsets of so many groups, and closes the store as a stopped server does. Returns how many bytes its
/// files have.
pub(crate) fn fill(directory: &Path, groups: u32, each: i32) -> u64 {
    let mut store = EmbeddedStore::open_directory(directory, EmbeddedSettings::default(), 1)
        .expect("the directory is new");
    let partitions: Vec<_> = (0..PARTITIONS).map(OffsetsPartition).collect();
    let epochs = store.acquire(&partitions).expect("a new store can be owned");
    let mut waiting: Vec<Vec<Record>> = partitions.iter().map(|_| Vec::new()).collect();
    let mut count = 0;
    for group in 0..groups {
        for partition in 0..each {
            let record = record(group, partition, i64::from(group));
            waiting[place_of(&record)].push(record);
            count += 1;
        }
        if count >= TOGETHER || group + 1 == groups {
            append(&mut store, &epochs, &mut waiting);
            count = 0;
        }
    }
    while store.upkeep_due() != Upkeep::None {
        store.upkeep().expect("the store works");
    }
    drop(store);
    let files = std::fs::read_dir(directory).expect("it was made");
    files.map(|file| file.and_then(|file| file.metadata()).map_or(0, |metadata| metadata.len())).sum()
}

/// Where a server looks for it.
fn place_of(record: &Record) -> usize {
    let group: &GroupId = match record {
        Record::Offset(offset) => &offset.group,
        _ => unreachable!("only offsets are made here"),
    };
    let partitioner = Partitioner::Kafka { partitions: PARTITIONS };
    usize::try_from(partitioner.partition(group).0).expect("not negative")
}

fn append(store: &mut EmbeddedStore, epochs: &[OwnerEpoch], waiting: &mut [Vec<Record>]) {
    let mut batches = Vec::new();
    for ((records, &epoch), partition) in waiting.iter_mut().zip(epochs).zip(0..) {
        batches.push(Batch::new(OffsetsPartition(partition), epoch, records).expect("a small batch"));
        records.clear();
    }
    store.append(&batches).expect("the store works");
    if store.upkeep_due() == Upkeep::Now {
        store.upkeep().expect("the store works");
    }
}

/// Starts a server on what is there, and returns it when all is loaded.
pub(crate) fn come_back(directory: &str) -> Server {
    let settings = Settings {
        listen: HostPort { host: "127.0.0.1".into(), port: 0 },
        http: None,
        data_dir: directory.into(),
        ..Settings::default()
    };
    let mut server = Server::start(&settings).expect("it starts");
    server.wait_until_loaded().expect("all can be loaded");
    server
}
