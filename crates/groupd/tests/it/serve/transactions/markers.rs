//! Markers that somebody else brings, such as an operator: a transaction ends as a whole, or not at all.

use coordinator::Partitioner;
use coordinator::ids::GroupId;
use kafka_wire::write_txn_markers::{WritableTxnMarker, WritableTxnMarkerTopic};
use kafka_wire::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};

use super::{
    Client, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, PRODUCER_FENCED, Producer, UNKNOWN_TOPIC_OR_PARTITION,
    UNSTABLE_OFFSET_COMMIT, fetch, read, settings, start,
};

/// The code for each of these partitions of a topic.
fn mark(
    client: &mut Client,
    (producer_id, producer_epoch): (i64, i16),
    committed: bool,
    name: &str,
    partitions: &[i32],
) -> Vec<i16> {
    let marker = WritableTxnMarker {
        producer_id,
        producer_epoch,
        transaction_result: committed,
        topics: vec![WritableTxnMarkerTopic { name, partition_indexes: partitions.to_vec() }],
        ..Default::default()
    };
    let body = client.ask(1, &WriteTxnMarkersRequest { markers: vec![marker] });
    let response: WriteTxnMarkersResponse<'_> = read(1, &body);
    response.markers[0].topics[0].partitions.iter().map(|partition| partition.error_code).collect()
}

#[test]
fn an_operator_aborts_all_of_a_transaction_and_commits_none() {
    let server = start(&settings());
    let mut producer = Producer::new(&server, "a");
    let mut operator = Client::connect(server.address());
    for group in ["g", "h"] {
        assert_eq!(producer.add(group), 0);
        assert_eq!(producer.commit(group, 7), 0);
    }
    let who = (producer.number, producer.epoch);
    let partition = Partitioner::Kafka { partitions: 50 }.partition(&GroupId::from("g")).0;
    let offsets = "__consumer_offsets";
    assert_eq!(mark(&mut operator, who, true, offsets, &[partition]), [INVALID_TXN_STATE]);
    let stale = (who.0, who.1 - 1);
    assert_eq!(mark(&mut operator, stale, false, offsets, &[partition]), [INVALID_PRODUCER_EPOCH]);
    let ahead = (who.0, who.1 + 1);
    assert_eq!(mark(&mut operator, ahead, false, offsets, &[partition]), [INVALID_PRODUCER_EPOCH]);
    // No record waits anywhere, and what does not exist is said to.
    assert_eq!(mark(&mut operator, who, false, "orders", &[0, 6]), [0, UNKNOWN_TOPIC_OR_PARTITION]);
    assert_eq!(mark(&mut operator, who, false, "none", &[0]), [UNKNOWN_TOPIC_OR_PARTITION]);
    assert_eq!(fetch(&mut operator, "g"), Err(UNSTABLE_OFFSET_COMMIT), "nothing has ended");

    assert_eq!(mark(&mut operator, who, false, offsets, &[partition]), [0]);
    for group in ["g", "h"] {
        assert_eq!(fetch(&mut operator, group), Ok(-1));
    }
    assert_eq!(producer.end(true), PRODUCER_FENCED);
    assert_eq!(producer.init_until_free(60_000), 0);
    assert_eq!(producer.add("g"), 0);
    assert_eq!(producer.commit("g", 9), 0);
    assert_eq!(producer.end(true), 0);
    assert_eq!(fetch(&mut operator, "g"), Ok(9));
    server.stop();
}

#[test]
fn a_producer_that_nobody_knows_can_only_be_aborted() {
    let server = start(&settings());
    let mut operator = Client::connect(server.address());
    let nobody = (77, 0);
    let beyond = [-1, 50, i32::MAX, i32::MIN];
    assert_eq!(mark(&mut operator, nobody, false, "__consumer_offsets", &[0, 49]), [0, 0]);
    assert_eq!(mark(&mut operator, nobody, true, "__consumer_offsets", &[0]), [INVALID_TXN_STATE]);
    assert_eq!(
        mark(&mut operator, nobody, false, "__consumer_offsets", &beyond),
        [UNKNOWN_TOPIC_OR_PARTITION; 4]
    );
    server.stop();
}
