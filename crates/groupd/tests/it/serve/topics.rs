//! Topics that exist and hold nothing: made, shown, fetched from and deleted by clients.

use groupd::settings::Settings;
use kafka_wire::create_partitions::CreatePartitionsTopic;
use kafka_wire::create_topics::CreatableTopic;
use kafka_wire::delete_topics::DeleteTopicState;
use kafka_wire::fetch::{FetchPartition, FetchTopic};
use kafka_wire::list_offsets::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_wire::produce::{PartitionProduceData, TopicProduceData};
use kafka_wire::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreateTopicsRequest, CreateTopicsResponse,
    DeleteTopicsRequest, DeleteTopicsResponse, FetchRequest, FetchResponse, ListOffsetsRequest,
    ListOffsetsResponse, MetadataRequest, MetadataRequestTopic, MetadataResponse, ProduceRequest,
    ProduceResponse, Uuid,
};

use super::groups::{committed, stable, until};
use super::{Client, Sent, read, settings, start};

const METADATA: i16 = 13;
const FETCH: i16 = 18;

/// Error, id and partition count of a topic.
fn describe(client: &mut Client, name: &str, create: bool) -> (i16, Uuid, usize) {
    let topic = MetadataRequestTopic { name: Some(name), ..Default::default() };
    let request = MetadataRequest {
        topics: Some(vec![topic]),
        allow_auto_topic_creation: create,
        ..Default::default()
    };
    let body = client.ask(METADATA, &request);
    let response: MetadataResponse<'_> = read(METADATA, &body);
    assert_eq!((response.brokers.len(), response.brokers[0].host), (1, "127.0.0.1"));
    let topic = &response.topics[0];
    assert!(topic.partitions.iter().all(|partition| partition.leader_id == response.brokers[0].node_id));
    (topic.error_code, topic.topic_id, topic.partitions.len())
}

fn send_fetch(client: &mut Client, topic_id: Uuid, max_wait_ms: i32) -> Sent {
    let partition = FetchPartition { partition: 1, fetch_offset: 17, ..Default::default() };
    let topic = FetchTopic { topic_id, partitions: vec![partition], ..Default::default() };
    let request = FetchRequest { max_wait_ms, min_bytes: 1, topics: vec![topic], ..Default::default() };
    client.send(FETCH, &request)
}

fn fetched(client: &mut Client, sent: Sent) -> i16 {
    let body = client.receive(sent);
    let response: FetchResponse<'_> = read(FETCH, &body);
    assert_eq!((response.error_code, response.session_id), (0, 0));
    let partition = &response.responses[0].partitions[0];
    assert_eq!(partition.records, Some(&[][..]), "empty, not null");
    if partition.error_code == 0 {
        assert_eq!(partition.high_watermark, 17, "the end is where the reader stands");
    }
    partition.error_code
}

#[test]
fn a_topic_is_made_by_asking_for_it_where_both_sides_want_that() {
    let server = start(&Settings { num_partitions: 3, ..settings() });
    let mut client = Client::connect(server.address());
    assert_eq!(describe(&mut client, "clicks", false), (3, Uuid::ZERO, 0));
    let (error, id, partitions) = describe(&mut client, "clicks", true);
    assert_eq!((error, partitions), (0, 3));
    assert_ne!(id, Uuid::ZERO);
    assert_eq!(describe(&mut client, "clicks", false), (0, id, 3));
    assert_eq!(describe(&mut client, "no such name!", true).0, 17);
    server.stop();

    let server = start(&Settings { auto_create_topics_enable: false, ..settings() });
    assert_eq!(describe(&mut Client::connect(server.address()), "clicks", true).0, 3);
    server.stop();
}

#[test]
fn admin_clients_create_grow_and_delete_topics() {
    let server = start(&settings());
    let mut client = Client::connect(server.address());
    let topics = ["a", "b", "b", "orders"];
    let topics = topics.map(|name| CreatableTopic {
        name,
        num_partitions: 4,
        replication_factor: -1,
        ..Default::default()
    });
    let body = client.ask(7, &CreateTopicsRequest { topics: topics.to_vec(), ..Default::default() });
    let created: CreateTopicsResponse<'_> = read(7, &body);
    let codes: Vec<_> = created.topics.iter().map(|topic| topic.error_code).collect();
    assert_eq!(codes, [0, 42, 42, 36], "each by itself; a name given twice is refused");
    assert_eq!(describe(&mut client, "a", false), (0, created.topics[0].topic_id, 4));

    let grow = |name, count| CreatePartitionsTopic { name, count, assignments: None };
    let counts = vec![grow("a", 9), grow("orders", 6), grow("missing", 2)];
    let body = client.ask(3, &CreatePartitionsRequest { topics: counts, ..Default::default() });
    let grown: CreatePartitionsResponse<'_> = read(3, &body);
    assert_eq!(grown.results.iter().map(|result| result.error_code).collect::<Vec<_>>(), [0, 37, 3]);
    let (_, id, partitions) = describe(&mut client, "a", false);
    assert_eq!(partitions, 9);

    let doomed = [(Some("missing"), Uuid::ZERO), (None, id), (None, Uuid([9; 16]))];
    let doomed = doomed.map(|(name, topic_id)| DeleteTopicState { name, topic_id });
    let body = client.ask(6, &DeleteTopicsRequest { topics: doomed.to_vec(), ..Default::default() });
    let deleted: DeleteTopicsResponse<'_> = read(6, &body);
    let outcomes: Vec<_> = deleted.responses.iter().map(|topic| (topic.name, topic.error_code)).collect();
    assert_eq!(outcomes, [(Some("missing"), 3), (Some("a"), 0), (None, 100)]);
    assert_eq!(describe(&mut client, "a", false).0, 3);
    server.stop();
}

#[test]
fn deleting_a_topic_ends_fetches_and_forgets_offsets() {
    let server = start(&settings());
    let mut member = stable(&server);
    assert_eq!(member.commit(42), 0);
    assert_eq!(committed(&mut member.client), [42, -1]);
    let (_, id, _) = describe(&mut member.client, "orders", false);

    // Parked until the topic goes, well before its own time.
    let mut reader = Client::connect(server.address());
    let parked = send_fetch(&mut reader, id, i32::MAX);
    let topic = DeleteTopicState { name: Some("orders"), topic_id: Uuid::ZERO };
    drop(member.client.ask(6, &DeleteTopicsRequest { topics: vec![topic], ..Default::default() }));
    assert_eq!(fetched(&mut reader, parked), 100);
    until(&server, |group| group.group_state == "Stable");
    assert_eq!(committed(&mut member.client), [-1, -1]);
    assert_eq!(member.commit(43), 3, "no commits for a topic that is not there");
    server.stop();
}

#[test]
fn a_fetch_waits_as_long_as_its_client_wants_and_answers_keep_their_order() {
    let server = start(&settings());
    let mut client = Client::connect(server.address());
    let (_, id, _) = describe(&mut client, "orders", false);
    let begun = std::time::Instant::now();
    let sent = send_fetch(&mut client, id, 120);
    // Behind it, though known at once.
    let behind = client.send(METADATA, &MetadataRequest::default());
    assert_eq!(fetched(&mut client, sent), 0);
    assert!(begun.elapsed() >= std::time::Duration::from_millis(119), "{:?}", begun.elapsed());
    drop(client.receive(behind));

    // An error is told at once, and so is "now".
    let sent = send_fetch(&mut client, Uuid([7; 16]), i32::MAX);
    assert_eq!(fetched(&mut client, sent), 100);
    let sent = send_fetch(&mut client, id, 0);
    assert_eq!(fetched(&mut client, sent), 0);
    server.stop();
}

#[test]
fn parked_fetches_are_answered_when_the_server_stops_and_dropped_when_the_client_goes() {
    let server = start(&Settings { max_connections: 2, ..settings() });
    for _ in 0..4 {
        // More than are read ahead, none of which would end by itself.
        let mut client = Client::connect(server.address());
        let (_, id, _) = describe(&mut client, "orders", false);
        for _ in 0..40 {
            let _unanswered = send_fetch(&mut client, id, i32::MAX);
        }
    }
    let mut client = Client::connect(server.address());
    let (_, id, _) = describe(&mut client, "orders", false);
    let sent = send_fetch(&mut client, id, i32::MAX);
    // Read by the server before it is told to stop: a later answer shows it.
    describe(&mut Client::connect(server.address()), "orders", false);
    server.stop();
    let _ = client.receive_frame().map(|_| drop(sent));
}

#[test]
fn logs_are_empty_and_take_no_records() {
    let server = start(&settings());
    let mut client = Client::connect(server.address());
    let at = |partition_index, timestamp| ListOffsetsPartition {
        partition_index,
        timestamp,
        ..Default::default()
    };
    let partitions = vec![at(0, -1), at(1, -2), at(2, 1_700_000_000_000), at(6, -1)];
    let topic = ListOffsetsTopic { name: "orders", partitions };
    let body =
        client.ask(11, &ListOffsetsRequest { replica_id: -1, topics: vec![topic], ..Default::default() });
    let offsets: ListOffsetsResponse<'_> = read(11, &body);
    let told: Vec<_> = offsets.topics[0]
        .partitions
        .iter()
        .map(|told| (told.error_code, told.offset, told.timestamp))
        .collect();
    assert_eq!(told, [(0, 0, -1), (0, 0, -1), (0, -1, -1), (3, -1, -1)]);

    let produce = |acks| ProduceRequest {
        acks,
        topic_data: vec![TopicProduceData {
            name: "orders",
            partition_data: vec![PartitionProduceData { index: 0, records: Some(b"records") }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let body = client.ask(12, &produce(-1));
    let refused: ProduceResponse<'_> = read(12, &body);
    let partition = &refused.responses[0].partition_responses[0];
    assert_eq!((partition.error_code, partition.base_offset), (44, -1));
    assert!(partition.error_message.is_some_and(|message| message.contains("keeps no records")));
    // Who wants no answer learns it from the end of the connection.
    let _no_answer = client.send(12, &produce(0));
    assert_eq!(client.receive_frame(), None);
    server.stop();
}
