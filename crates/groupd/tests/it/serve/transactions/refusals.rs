//! What is refused, in the words of each version; and what hostile clients get.

use groupd::settings::Settings;
use kafka_wire::produce::{PartitionProduceData, TopicProduceData};
use kafka_wire::txn_offset_commit::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use kafka_wire::{
    AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, EndTxnRequest, EndTxnResponse, FindCoordinatorRequest,
    FindCoordinatorResponse, InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse,
    TxnOffsetCommitRequest, TxnOffsetCommitResponse,
};

use super::{
    Client, INIT, INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, INVALID_REQUEST,
    INVALID_TRANSACTION_TIMEOUT, INVALID_TXN_STATE, POLICY_VIOLATION, PRODUCER_FENCED, Producer,
    TRANSACTION_ABORTABLE, UNKNOWN_TOPIC_OR_PARTITION, fetch, read, settings, start,
};

const TRANSACTIONAL_ID_AUTHORIZATION_FAILED: i16 = 53;
const OPERATION_NOT_ATTEMPTED: i16 = 55;

#[test]
fn the_coordinator_of_transactions_is_here() {
    let server = start(&settings());
    let mut client = Client::connect(server.address());
    let request = FindCoordinatorRequest { key_type: 1, coordinator_keys: vec!["a"], ..Default::default() };
    let body = client.ask(6, &request);
    let found: FindCoordinatorResponse<'_> = read(6, &body);
    let port = i32::from(server.address().port());
    assert_eq!((found.coordinators[0].error_code, found.coordinators[0].port), (0, port));
    server.stop();
}

#[test]
fn ids_and_timeouts_that_cannot_be_are_refused() {
    let server = start(&settings());
    let mut producer = Producer::connect(&server, "a");
    let request = |transactional_id, transaction_timeout_ms| InitProducerIdRequest {
        transactional_id,
        transaction_timeout_ms,
        ..Default::default()
    };
    for (refused, error) in [
        (request(Some(""), 1_000), INVALID_REQUEST),
        (request(Some("a"), 0), INVALID_TRANSACTION_TIMEOUT),
        (request(Some("a"), -1), INVALID_TRANSACTION_TIMEOUT),
        (request(Some("a"), 900_001), INVALID_TRANSACTION_TIMEOUT),
        (request(Some("a"), i32::MAX), INVALID_TRANSACTION_TIMEOUT),
        (InitProducerIdRequest { producer_id: 7, ..request(Some("a"), 1_000) }, INVALID_REQUEST),
        (InitProducerIdRequest { producer_epoch: 7, ..request(Some("a"), 1_000) }, INVALID_REQUEST),
    ] {
        assert_eq!(producer.init_as(&refused), error, "{refused:?}");
    }
    let two_phase = InitProducerIdRequest { enable_2_pc: true, ..request(Some("a"), 1_000) };
    let body = producer.client.ask(6, &two_phase);
    let refused: InitProducerIdResponse = read(6, &body);
    assert_eq!(refused.error_code, TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    server.stop();
}

#[test]
fn who_is_not_the_producer_does_nothing() {
    let server = start(&settings());
    let mut producer = Producer::new(&server, "a");
    assert_eq!(producer.end(true), INVALID_TXN_STATE, "none is open");
    assert_eq!(producer.commit("g", 1), TRANSACTION_ABORTABLE, "nothing was added");
    assert_eq!(producer.add("g"), 0);
    assert_eq!(producer.commit("h", 1), TRANSACTION_ABORTABLE, "another group's partition");
    assert_eq!(producer.commit("g", 5), 0);
    let stranger = |producer_id, epoch| Producer { number: producer_id, epoch, ..producer.again(&server) };
    let (known, epoch) = (producer.number, producer.epoch);
    for (producer, epoch, in_transaction, in_commit) in [
        (known + 1, epoch, INVALID_PRODUCER_ID_MAPPING, INVALID_PRODUCER_ID_MAPPING),
        (-1, -1, INVALID_PRODUCER_ID_MAPPING, INVALID_PRODUCER_ID_MAPPING),
        (i64::MAX, i16::MAX, INVALID_PRODUCER_ID_MAPPING, INVALID_PRODUCER_ID_MAPPING),
        (known, epoch + 1, PRODUCER_FENCED, INVALID_PRODUCER_EPOCH),
        (known, -1, PRODUCER_FENCED, INVALID_PRODUCER_EPOCH),
        (known, i16::MIN, PRODUCER_FENCED, INVALID_PRODUCER_EPOCH),
    ] {
        let mut stranger = stranger(producer, epoch);
        assert_eq!(stranger.add("g"), in_transaction);
        assert_eq!(stranger.add_partitions(&[1]), [in_transaction]);
        assert_eq!(stranger.end(false), in_transaction);
        assert_eq!(stranger.commit("g", 99), in_commit);
    }
    let mut nobody = Producer { id: "never initialised", ..producer.again(&server) };
    assert_eq!(nobody.add("g"), INVALID_PRODUCER_ID_MAPPING);
    assert_eq!(nobody.commit("g", 99), INVALID_PRODUCER_ID_MAPPING);
    assert_eq!(producer.end(true), 0);
    assert_eq!(fetch(&mut producer.client, "g"), Ok(5));
    server.stop();
}

/// PRODUCER_FENCED and TRANSACTION_ABORTABLE are only said to those who know them.
#[test]
fn each_version_is_told_in_its_own_words() {
    let server = start(&settings());
    let old = Producer::new(&server, "a");
    let new = Producer::new(&server, "a");
    let (transactional_id, producer_id) = ("a", old.number);
    let mut client = Client::connect(server.address());
    for version in 0..=5 {
        let fenced = if version < 2 { INVALID_PRODUCER_EPOCH } else { PRODUCER_FENCED };
        let producer_epoch = old.epoch;
        let add = AddOffsetsToTxnRequest { transactional_id, producer_id, producer_epoch, group_id: "g" };
        // It ends with version 4: producers of today add their groups by committing.
        let body = client.ask(version.min(4), &add);
        assert_eq!(read::<AddOffsetsToTxnResponse>(version.min(4), &body).error_code, fenced, "{version}");
        let end = EndTxnRequest { transactional_id, producer_id, producer_epoch, committed: true };
        let body = client.ask(version, &end);
        assert_eq!(read::<EndTxnResponse>(version, &body).error_code, fenced, "{version}");
        let sent = TxnOffsetCommitRequest {
            transactional_id,
            producer_id,
            producer_epoch: new.epoch,
            group_id: "g",
            topics: vec![TxnOffsetCommitRequestTopic {
                name: "orders",
                partitions: vec![TxnOffsetCommitRequestPartition::default()],
            }],
            ..Default::default()
        };
        let body = client.ask(version, &sent);
        let closed = match version {
            0..4 => INVALID_TXN_STATE,
            4 => TRANSACTION_ABORTABLE,
            _ => 0,
        };
        let response: TxnOffsetCommitResponse<'_> = read(version, &body);
        assert_eq!(response.topics[0].partitions[0].error_code, closed, "{version}");
    }
    for version in 3..=6 {
        let request = InitProducerIdRequest {
            transactional_id: Some("a"),
            transaction_timeout_ms: 1_000,
            producer_id,
            producer_epoch: old.epoch,
            ..Default::default()
        };
        let body = client.ask(version, &request);
        let fenced = if version < 4 { INVALID_PRODUCER_EPOCH } else { PRODUCER_FENCED };
        assert_eq!(read::<InitProducerIdResponse>(version, &body).error_code, fenced, "{version}");
    }
    server.stop();
}

#[test]
fn topics_that_do_not_exist_are_told_apart() {
    let server = start(&settings());
    let mut producer = Producer::new(&server, "a");
    assert_eq!(
        producer.add_partitions(&[0, 6, -1]),
        [OPERATION_NOT_ATTEMPTED, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_OR_PARTITION]
    );
    assert_eq!(producer.end(true), INVALID_TXN_STATE, "nothing began");
    let request = TxnOffsetCommitRequest {
        transactional_id: "a",
        group_id: "g",
        producer_id: producer.number,
        producer_epoch: producer.epoch,
        topics: vec![TxnOffsetCommitRequestTopic {
            name: "nothing",
            partitions: vec![TxnOffsetCommitRequestPartition::default()],
        }],
        ..Default::default()
    };
    let body = producer.client.ask(4, &request);
    let response: TxnOffsetCommitResponse<'_> = read(4, &body);
    assert_eq!(response.topics[0].partitions[0].error_code, UNKNOWN_TOPIC_OR_PARTITION);
    server.stop();
}

/// A producer that also writes records is refused them, and can abort and go on.
#[test]
fn records_are_refused_and_the_transaction_can_be_aborted() {
    let server = start(&settings());
    let mut producer = Producer::new(&server, "a");
    for _ in 0..2 {
        assert_eq!(producer.add_partitions(&[0, 5]), [0, 0]);
        let data = PartitionProduceData { index: 0, records: Some(b"some") };
        let request = ProduceRequest {
            transactional_id: Some("a"),
            acks: -1,
            timeout_ms: 1_000,
            topic_data: vec![TopicProduceData {
                name: "orders",
                partition_data: vec![data],
                ..Default::default()
            }],
        };
        let body = producer.client.ask(9, &request);
        let response: ProduceResponse<'_> = read(9, &body);
        assert_eq!(response.responses[0].partition_responses[0].error_code, POLICY_VIOLATION);
        assert_eq!(producer.add("g"), 0);
        assert_eq!(producer.commit("g", 3), 0);
        assert_eq!(producer.end(false), 0);
    }
    assert_eq!(fetch(&mut producer.client, "g"), Ok(-1));
    server.stop();
}

#[test]
fn ids_are_bounded_and_the_bound_is_said() {
    let server = start(&Settings { max_transactional_ids: 2, shards: 1, ..settings() });
    let mut first = Producer::new(&server, "a");
    let _second = Producer::new(&server, "b");
    assert_eq!(Producer::connect(&server, "c").init(1_000), POLICY_VIOLATION);
    // Who is known goes on.
    assert_eq!(first.init(1_000), 0);
    assert_eq!(first.add("g"), 0);
    server.stop();
}

#[test]
fn an_id_that_is_not_used_is_forgotten() {
    let expiration = std::time::Duration::from_millis(100);
    let server = start(&Settings {
        max_transactional_ids: 1,
        shards: 1,
        transactional_id_expiration: expiration,
        ..settings()
    });
    let first = Producer::new(&server, "a");
    let mut second = Producer::connect(&server, "b");
    // There is room once the first is forgotten.
    while second.init(1_000) != 0 {}
    let mut late = first.again(&server);
    assert_eq!(late.add("g"), INVALID_PRODUCER_ID_MAPPING);
    server.stop();
}

/// Ids for idempotence alone: each new, and none that a transaction has.
#[test]
fn idempotent_producers_get_ids_of_their_own() {
    let server = start(&settings());
    let mut ids = vec![Producer::new(&server, "a").number];
    let mut client = Client::connect(server.address());
    for _ in 0..1_500 {
        let body = client.ask(INIT, &InitProducerIdRequest { transactional_id: None, ..Default::default() });
        let response: InitProducerIdResponse = read(INIT, &body);
        assert_eq!((response.error_code, response.producer_epoch), (0, 0));
        ids.push(response.producer_id);
    }
    ids.push(Producer::new(&server, "b").number);
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    server.stop();
}
