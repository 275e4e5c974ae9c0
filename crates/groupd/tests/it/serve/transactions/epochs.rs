//! `transaction.version` 2 (KIP-890): commits add their group by themselves, and each transaction has an epoch of its own.

use std::path::Path;

use coordinator::Partitioner;
use coordinator::ids::ProducerId;
use coordinator::transactions::{
    ProducerEpoch, TransactionPhase, TransactionRecord, TransactionState, TransactionalId,
};
use groupd::server::Server;
use groupd::settings::Settings;
use groupd::store::{Batch, EmbeddedSettings, EmbeddedStore, Store};
use kafka_wire::{ApiVersionsRequest, ApiVersionsResponse, EndTxnResponse, TxnOffsetCommitResponse};

use super::restarts::kept_in;
use super::{
    CONCURRENT_TRANSACTIONS, COORDINATOR_LOAD_IN_PROGRESS, Client, INVALID_PRODUCER_EPOCH,
    INVALID_PRODUCER_ID_MAPPING, INVALID_TXN_STATE, PRODUCER_FENCED, Producer, UNSTABLE_OFFSET_COMMIT, fetch,
    fetch_stable, read, settings, start,
};

const VERSION: i16 = 5;

impl Producer {
    /// TxnOffsetCommit without an AddOffsetsToTxn before it.
    fn add_and_commit(&mut self, group: &str, offset: i64) -> i16 {
        let sent = self.send_commit_as(VERSION, group, offset);
        let body = self.client.receive(sent);
        read::<TxnOffsetCommitResponse<'_>>(VERSION, &body).topics[0].partitions[0].error_code
    }

    /// EndTxn; the producer then is who it was told to be.
    fn end_and_go_on(&mut self, committed: bool) -> i16 {
        loop {
            let sent = self.send_end_as(VERSION, committed);
            let body = self.client.receive(sent);
            let response: EndTxnResponse = read(VERSION, &body);
            match response.error_code {
                CONCURRENT_TRANSACTIONS | COORDINATOR_LOAD_IN_PROGRESS => {}
                0 => {
                    (self.number, self.epoch) = (response.producer_id, response.producer_epoch);
                    return 0;
                }
                error => {
                    assert_eq!((response.producer_id, response.producer_epoch), (-1, -1));
                    return error;
                }
            }
        }
    }
}

#[test]
fn it_is_offered_to_those_who_can_read_it() {
    let server = start(&settings());
    let mut client = Client::connect(server.address());
    for version in 0..=4 {
        let body = client.ask(version, &ApiVersionsRequest::default());
        let response: ApiVersionsResponse<'_> = read(version, &body);
        let supported: Vec<_> =
            response.supported_features.iter().map(|of| (of.name, of.min_version, of.max_version)).collect();
        let finalized: Vec<_> = response
            .finalized_features
            .iter()
            .map(|of| (of.name, of.min_version_level, of.max_version_level))
            .collect();
        if version < 3 {
            assert_eq!((supported, finalized), (vec![], vec![]), "{version}");
        } else {
            assert_eq!(supported, [("transaction.version", 1, 2)], "{version}");
            assert_eq!(finalized, [("transaction.version", 2, 2)], "{version}");
            assert_eq!(response.finalized_features_epoch, 0, "known");
        }
    }
    server.stop();
}

#[test]
fn each_transaction_has_its_own_epoch() {
    let server = start(&Settings { shards: 3, ..settings() });
    let mut reader = Client::connect(server.address());
    // Groups and ids on all three shards, so that every way between two of them is taken.
    for id in ["a", "b", "c"] {
        let mut producer = Producer::new(&server, id);
        for (round, group) in ["g1", "g2", "g3"].into_iter().enumerate() {
            let offset = 10 + i64::try_from(round).unwrap();
            let before = fetch(&mut reader, group);
            let mut old = producer.again(&server);
            for _ in 0..2 {
                assert_eq!(producer.add_and_commit(group, offset), 0);
                assert_eq!(fetch(&mut reader, group), Err(UNSTABLE_OFFSET_COMMIT));
            }
            assert_eq!(producer.end_and_go_on(round != 1), 0);
            assert_eq!((producer.number, producer.epoch), (old.number, old.epoch + 1));
            assert_eq!(fetch(&mut reader, group), if round == 1 { before } else { Ok(offset) });
            // Late, or its answer was lost.
            assert_eq!(old.add_and_commit(group, 99), INVALID_PRODUCER_EPOCH);
            let mut again = old.again(&server);
            assert_eq!(again.end_and_go_on(round != 1), 0);
            assert_eq!((again.number, again.epoch), (producer.number, producer.epoch));
            assert_eq!(old.end_and_go_on(round == 1), INVALID_TXN_STATE);
        }
        let mut last = producer.again(&server);
        assert_eq!(producer.add_and_commit("g1", 50), 0);
        last.epoch -= 1;
        assert_eq!(last.end_and_go_on(true), PRODUCER_FENCED, "the next one is open");
        assert_eq!(producer.end_and_go_on(true), 0);
        assert_eq!(fetch(&mut reader, "g1"), Ok(50));
    }
    server.stop();
}

#[test]
fn an_end_behind_a_commit_comes_behind_it() {
    let server = start(&settings());
    let mut producer = Producer::new(&server, "a");
    let mut reader = Client::connect(server.address());
    for offset in 1..=50 {
        let commit = producer.send_commit_as(VERSION, "g", offset);
        let end = producer.send_end_as(VERSION, true);
        let body = producer.client.receive(commit);
        let response: TxnOffsetCommitResponse<'_> = read(VERSION, &body);
        assert_eq!(response.topics[0].partitions[0].error_code, 0);
        // Either it came before the transaction was stored, and comes again, or it ended it.
        let body = producer.client.receive(end);
        let response: EndTxnResponse = read(VERSION, &body);
        assert!(matches!(response.error_code, 0 | CONCURRENT_TRANSACTIONS), "{}", response.error_code);
        assert_eq!(producer.end_and_go_on(true), 0);
        assert_eq!(fetch(&mut reader, "g"), Ok(offset));
    }
    server.stop();
}

#[test]
fn what_was_refused_before_it_began_is_aborted_all_the_same() {
    let server = start(&settings());
    let mut producer = Producer::new(&server, "a");
    let first = producer.epoch;
    assert_eq!(producer.end_and_go_on(true), INVALID_TXN_STATE);
    assert_eq!(producer.end_and_go_on(false), 0);
    assert_eq!(producer.epoch, first + 1);
    assert_eq!(producer.add_and_commit("g", 4), 0);
    assert_eq!(producer.end_and_go_on(true), 0);
    assert_eq!(fetch(&mut producer.client, "g"), Ok(4));
    server.stop();
}

#[test]
fn what_is_left_open_is_aborted_at_its_timeout() {
    let server = start(&settings());
    let mut producer = Producer::connect(&server, "a");
    assert_eq!(producer.init(200), 0);
    assert_eq!(producer.add_and_commit("g", 7), 0);
    let mut reader = Client::connect(server.address());
    assert_eq!(fetch_stable(&mut reader, "g"), -1);
    assert_eq!(producer.add_and_commit("g", 8), INVALID_PRODUCER_EPOCH);
    assert_eq!(producer.end_and_go_on(true), PRODUCER_FENCED);
    assert_eq!(producer.init_until_free(60_000), 0);
    assert_eq!(producer.add_and_commit("g", 9), 0);
    assert_eq!(producer.end_and_go_on(true), 0);
    assert_eq!(fetch(&mut reader, "g"), Ok(9));
    server.stop();
}

#[test]
fn epochs_outlive_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let settings = kept_in(directory.path());
    let server = start(&settings);
    let mut producer = Producer::new(&server, "a");
    assert_eq!(producer.add_and_commit("g", 7), 0);
    server.stop();
    let server = start(&settings);
    producer = producer.again(&server);
    assert_eq!(fetch(&mut producer.client, "g"), Err(UNSTABLE_OFFSET_COMMIT));
    let mut unanswered = producer.again(&server);
    assert_eq!(producer.end_and_go_on(true), 0);
    server.stop();
    let server = start(&settings);
    unanswered = unanswered.again(&server);
    assert_eq!(unanswered.end_and_go_on(true), 0, "its answer was lost with the server");
    assert_eq!((unanswered.number, unanswered.epoch), (producer.number, producer.epoch));
    assert_eq!(fetch(&mut unanswered.client, "g"), Ok(7));
    assert_eq!(unanswered.add_and_commit("g", 8), 0);
    assert_eq!(unanswered.end_and_go_on(true), 0);
    server.stop();
}

/// Puts a producer into the store that can be given one more epoch, which is not for use.
fn put_nearly_used_up(directory: &Path) -> ProducerEpoch {
    let producer = ProducerEpoch { producer: ProducerId(5), epoch: i16::MAX - 1 };
    let state = TransactionState {
        transactional_id: TransactionalId::new("a"),
        producer,
        last_epoch: -1,
        ended_by: None,
        next_producer: None,
        timeout_ms: 60_000,
        phase: TransactionPhase::Empty,
        partitions: Vec::new(),
        started_ms: -1,
        updated_ms: i64::MAX / 2,
    };
    let partition = Partitioner::Kafka { partitions: 50 }.partition_of("a");
    let mut store = EmbeddedStore::open_directory(directory, EmbeddedSettings::default(), 1).unwrap();
    let epoch = store.epoch(partition).unwrap();
    let batch = Batch::of_transaction(partition, epoch, &TransactionRecord::State(state)).unwrap();
    assert_eq!(store.append(&[batch]).unwrap(), [Ok(())]);
    producer
}

#[test]
fn an_id_whose_epochs_are_used_up_is_followed_by_another() {
    let directory = tempfile::tempdir().unwrap();
    let settings = kept_in(directory.path());
    start(&settings).stop();
    let last = put_nearly_used_up(directory.path());
    let server = start(&settings);
    let of_last = |server: &Server| Producer {
        number: last.producer.0,
        epoch: last.epoch,
        ..Producer::connect(server, "a")
    };
    let mut producer = of_last(&server);
    assert_eq!(producer.add_and_commit("g", 7), 0);
    assert_eq!(producer.end_and_go_on(true), 0);
    assert!(
        producer.number != last.producer.0 && producer.epoch == 0,
        "{} {}",
        producer.number,
        producer.epoch
    );
    server.stop();
    let server = start(&settings);
    let mut unanswered = of_last(&server);
    assert_eq!(unanswered.add_and_commit("g", 99), INVALID_PRODUCER_ID_MAPPING);
    assert_eq!(unanswered.end_and_go_on(true), 0);
    assert_eq!((unanswered.number, unanswered.epoch), (producer.number, 0));
    assert_eq!(unanswered.add_and_commit("g", 8), 0);
    assert_eq!(unanswered.end_and_go_on(true), 0);
    assert_eq!((unanswered.epoch, fetch(&mut unanswered.client, "g")), (1, Ok(8)));
    server.stop();
}
