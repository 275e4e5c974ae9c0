//! A server that ends in the middle of a transaction, in each of its states, and comes back.
//!
//! A stopped server's store is opened by the next one. Where a state does not stay by itself (a decision whose markers
//! are not written), its record is put into the store.

use std::path::Path;

use coordinator::Partitioner;
use coordinator::ids::{GroupId, OffsetsPartition, ProducerId, TopicPartition};
use coordinator::messages::TransactionOutcome::{Abort, Commit};
use coordinator::messages::{OffsetRecord, Record};
use coordinator::transactions::{
    ProducerEpoch, TransactionPhase, TransactionRecord, TransactionState, TransactionalId,
};
use groupd::settings::{Settings, StoreKind};
use groupd::store::{Batch, CATALOG_PARTITION, EmbeddedSettings, EmbeddedStore, Store};

use super::{
    CONCURRENT_TRANSACTIONS, Client, INVALID_TXN_STATE, PRODUCER_FENCED, Producer, UNSTABLE_OFFSET_COMMIT,
    fetch, fetch_stable, settings, start,
};

pub(super) fn kept_in(directory: &Path) -> Settings {
    Settings { store: StoreKind::Embedded, data_dir: directory.to_owned(), shards: 3, ..settings() }
}

#[test]
fn an_open_transaction_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let settings = kept_in(directory.path());
    let server = start(&settings);
    let mut producer = Producer::new(&server, "a");
    // Empty.
    server.stop();
    let server = start(&settings);
    producer = producer.again(&server);
    assert_eq!(producer.add("g"), 0);
    // Ongoing, with nothing pended.
    server.stop();
    let server = start(&settings);
    producer = producer.again(&server);
    assert_eq!(producer.commit("g", 7), 0);
    // Ongoing, with an offset; twice, since what was loaded once can be loaded again.
    server.stop();
    start(&settings).stop();
    let server = start(&settings);
    producer = producer.again(&server);
    let mut reader = Client::connect(server.address());
    assert_eq!(fetch(&mut reader, "g"), Err(UNSTABLE_OFFSET_COMMIT));
    assert_eq!(producer.end(true), 0);
    assert_eq!(fetch(&mut reader, "g"), Ok(7));
    // Complete.
    server.stop();
    let server = start(&settings);
    producer = producer.again(&server);
    let mut reader = Client::connect(server.address());
    assert_eq!(fetch(&mut reader, "g"), Ok(7));
    assert_eq!(producer.end(true), 0, "the answer was lost");
    assert_eq!(producer.end(false), INVALID_TXN_STATE);
    assert_eq!(producer.add("g"), 0);
    assert_eq!(producer.commit("g", 8), 0);
    assert_eq!(producer.end(false), 0);
    assert_eq!(fetch(&mut reader, "g"), Ok(7));
    server.stop();
}

#[test]
fn what_nobody_comes_back_for_is_aborted() {
    let directory = tempfile::tempdir().unwrap();
    let settings = kept_in(directory.path());
    let server = start(&settings);
    let mut producer = Producer::connect(&server, "a");
    assert_eq!(producer.init(500), 0);
    assert_eq!(producer.add("g"), 0);
    assert_eq!(producer.commit("g", 7), 0);
    server.stop();
    let server = start(&settings);
    let mut reader = Client::connect(server.address());
    assert_eq!(fetch_stable(&mut reader, "g"), -1);
    assert_eq!(producer.again(&server).end_until_done(true), PRODUCER_FENCED);
    server.stop();
}

#[test]
fn a_zombie_stays_fenced() {
    let directory = tempfile::tempdir().unwrap();
    let settings = kept_in(directory.path());
    let server = start(&settings);
    let mut zombie = Producer::new(&server, "a");
    assert_eq!(zombie.add("g"), 0);
    assert_eq!(zombie.commit("g", 7), 0);
    let mut heir = Producer::connect(&server, "a");
    assert_eq!(heir.init(60_000), CONCURRENT_TRANSACTIONS);
    server.stop();
    let server = start(&settings);
    let (mut zombie, mut heir) = (zombie.again(&server), heir.again(&server));
    assert_eq!(zombie.end(true), PRODUCER_FENCED);
    assert_eq!(heir.init_until_free(60_000), 0);
    assert_eq!(zombie.add("g"), PRODUCER_FENCED);
    let mut reader = Client::connect(server.address());
    assert_eq!(fetch_stable(&mut reader, "g"), -1);
    server.stop();
}

#[test]
fn producer_ids_of_one_run_are_not_those_of_another() {
    let directory = tempfile::tempdir().unwrap();
    let settings = kept_in(directory.path());
    let mut seen = Vec::new();
    for id in ["a", "b", "c"] {
        let server = start(&settings);
        seen.push(Producer::new(&server, id).number);
        server.stop();
    }
    seen.dedup();
    assert!(seen.len() == 3 && seen.is_sorted(), "{seen:?}");
}

/// A decision is carried out, whether or not some of its markers were written.
#[test]
fn a_decided_transaction_is_completed_at_the_start() {
    for (outcome, seen) in [(Commit, 7), (Abort, 3)] {
        let directory = tempfile::tempdir().unwrap();
        let settings = kept_in(directory.path());
        start(&settings).stop();
        put_decision(directory.path(), outcome);
        // Killed again while it completes, perhaps; then let go on.
        start(&settings).stop();
        let server = start(&settings);
        let mut reader = Client::connect(server.address());
        for group in ["g", "h"] {
            assert_eq!(fetch_stable(&mut reader, group), seen);
        }
        let mut producer = Producer { number: 5, epoch: 2, ..Producer::connect(&server, "a") };
        assert_eq!(producer.end_until_done(outcome == Commit), 0);
        assert_eq!(producer.end(outcome != Commit), INVALID_TXN_STATE);
        assert_eq!(producer.add("g"), 0);
        assert_eq!(producer.commit("g", 20), 0);
        assert_eq!(producer.end(true), 0);
        assert_eq!(fetch(&mut reader, "g"), Ok(20));
        server.stop();
    }
}

/// The transaction of producer 5 was decided, and its marker written for group `h` but not for `g`.
fn put_decision(directory: &Path, outcome: coordinator::messages::TransactionOutcome) {
    let producer = ProducerId(5);
    let partitioner = Partitioner::Kafka { partitions: 50 };
    let of = |group: &str| partitioner.partition(&GroupId::from(group));
    let mut store = EmbeddedStore::open_directory(directory, EmbeddedSettings::default(), 1).unwrap();
    let mut partitions = vec![of("g"), of("h")];
    partitions.sort_unstable();
    let mut put = |partition: OffsetsPartition, batch: &dyn Fn(OffsetsPartition, _) -> Batch| {
        let epoch = store.epoch(partition).unwrap();
        assert_eq!(store.append(&[batch(partition, epoch)]).unwrap(), [Ok(())]);
    };
    for group in ["g", "h"] {
        let mut records =
            vec![Record::Offset(offset(group, 3)), Record::TxnOffset(producer, offset(group, 7))];
        if group == "h" {
            records.push(Record::TxnMarker(producer, outcome));
        }
        put(of(group), &|partition, epoch| Batch::new(partition, epoch, &records).unwrap());
    }
    let state = TransactionState {
        transactional_id: TransactionalId::new("a"),
        producer: ProducerEpoch { producer, epoch: 2 },
        last_epoch: -1,
        ended_by: None,
        next_producer: None,
        timeout_ms: 60_000,
        phase: TransactionPhase::Prepare(outcome),
        partitions,
        started_ms: 1,
        updated_ms: i64::MAX / 2,
    };
    let record = TransactionRecord::State(state);
    put(of("a"), &|partition, epoch| Batch::of_transaction(partition, epoch, &record).unwrap());
}

fn offset(group: &str, offset: i64) -> OffsetRecord {
    OffsetRecord {
        group: group.into(),
        partition: TopicPartition { topic: "orders".into(), partition: 2 },
        offset,
        leader_epoch: -1,
        metadata: "".into(),
        commit_timestamp_ms: i64::MAX / 2,
        expire_timestamp_ms: None,
    }
}

/// What groupd wrote before it knew transactions: no producer ids, no transactional ids.
#[test]
fn a_store_from_before_transactions_opens() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = EmbeddedStore::open_directory(directory.path(), EmbeddedSettings::default(), 1).unwrap();
    let mut partitions = vec![CATALOG_PARTITION];
    partitions.extend((0..50).map(OffsetsPartition));
    let epochs = store.acquire(&partitions).unwrap();
    let at = Partitioner::Kafka { partitions: 50 }.partition(&GroupId::from("g"));
    let epoch = epochs[partitions.iter().position(|partition| *partition == at).unwrap()];
    let batch = Batch::new(at, epoch, &[Record::Offset(offset("g", 3))]).unwrap();
    assert_eq!(store.append(&[batch]).unwrap(), [Ok(())]);
    drop(store);
    let server = start(&kept_in(directory.path()));
    let mut producer = Producer::new(&server, "a");
    assert_eq!((producer.number, producer.epoch), (0, 0));
    assert_eq!(fetch(&mut producer.client, "g"), Ok(3));
    assert_eq!(producer.add("g"), 0);
    assert_eq!(producer.commit("g", 4), 0);
    assert_eq!(producer.end(true), 0);
    assert_eq!(fetch(&mut producer.client, "g"), Ok(4));
    server.stop();
}
