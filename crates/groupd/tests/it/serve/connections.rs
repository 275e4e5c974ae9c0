//! What one connection may take, and when it is ended.

use std::time::Duration;

use groupd::settings::{Settings, TopicSetting};
use kafka_wire::fetch::{FetchPartition, FetchTopic};
use kafka_wire::{
    ApiVersionsRequest, DeleteTopicsRequest, DescribeGroupsRequest, DescribeGroupsResponse, FetchRequest,
    MetadataRequest,
};

use super::{Client, Sent, read, settings, start};

/// A fetch by name that nothing but its time, or the end of the topic, ends.
fn send_fetch(client: &mut Client, max_wait_ms: i32) -> Sent {
    let partitions = vec![FetchPartition { partition: 0, ..Default::default() }];
    let topics = vec![FetchTopic { topic: "orders", partitions, ..Default::default() }];
    client.send(12, &FetchRequest { max_wait_ms, min_bytes: 1, topics, ..Default::default() })
}

#[test]
fn what_is_beyond_the_read_ahead_is_served_when_there_is_room() {
    let server = start(&settings());
    let mut client = Client::connect(server.address());
    let parked: Vec<_> = (0..40).map(|_| send_fetch(&mut client, i32::MAX)).collect();
    let last = client.send(0, &ApiVersionsRequest::default());
    // Ends all that are parked, and is told at once to those that come after.
    let mut admin = Client::connect(server.address());
    drop(admin.ask(5, &DeleteTopicsRequest { topic_names: vec!["orders"], ..Default::default() }));
    for sent in parked {
        drop(client.receive(sent));
    }
    drop(client.receive(last));
    server.stop();
}

#[test]
fn a_client_beyond_the_last_place_waits_for_one() {
    let server = start(&Settings { max_connections: 1, ..settings() });
    let mut first = Client::connect(server.address());
    drop(first.ask(0, &ApiVersionsRequest::default()));
    let mut second = Client::connect(server.address());
    let sent = second.send(0, &ApiVersionsRequest::default());
    drop(first.ask(0, &ApiVersionsRequest::default()));
    drop(first);
    drop(second.receive(sent));
    server.stop();
}

#[test]
fn who_says_nothing_is_sent_away_unless_it_waits_for_us() {
    let idle = Some(Duration::from_millis(50));
    let server = start(&Settings { connections_max_idle: idle, ..settings() });
    let mut waiting = Client::connect(server.address());
    let sent = send_fetch(&mut waiting, 400);
    let mut silent = Client::connect(server.address());
    assert_eq!(silent.receive_frame(), None);
    drop(waiting.receive(sent));
    assert_eq!(waiting.receive_frame(), None, "now it says nothing either");
    server.stop();
}

#[test]
fn a_trickle_of_bytes_is_no_request() {
    let idle = Some(Duration::from_millis(50));
    let server = start(&Settings { connections_max_idle: idle, ..settings() });
    let mut client = Client::connect(server.address());
    client.send_bytes(&100_000_000_i32.to_be_bytes());
    // Far fewer than were announced, and far more than fit into the time.
    assert!((0..50_000_000).any(|_| !client.trickle()), "still open");
    server.stop();
}

#[test]
fn large_requests_wait_for_room_and_small_ones_do_not() {
    let all = 256 * 1024;
    let server = start(&Settings {
        socket_request_max_bytes: all,
        queued_max_request_bytes: all,
        topics: vec![TopicSetting { name: "orders".into(), partitions: 1 }],
        ..settings()
    });
    // It has nearly all the room there is, and does not come whole.
    let mut half = Client::connect(server.address());
    half.send_bytes(&250_000_i32.to_be_bytes());
    half.send_bytes(&vec![0; 60_000]);
    let names: Vec<String> = (0..1_000).map(|number| format!("a group with number {number}")).collect();
    let large =
        || DescribeGroupsRequest { groups: names.iter().map(String::as_str).collect(), ..Default::default() };
    let mut clients: Vec<_> = (0..8).map(|_| Client::connect(server.address())).collect();
    let waiting: Vec<_> = clients.iter_mut().map(|client| client.send(6, &large())).collect();
    for _ in 0..100 {
        drop(Client::connect(server.address()).ask(0, &ApiVersionsRequest::default()));
    }
    drop(half);
    for (client, sent) in clients.iter_mut().zip(waiting) {
        drop(client.receive(sent));
    }
    // All that was held is free: room for the largest request.
    for _ in 0..20 {
        for client in &mut clients {
            let body = client.ask(6, &large());
            assert_eq!(read::<DescribeGroupsResponse<'_>>(6, &body).groups.len(), names.len());
        }
    }
    server.stop();
}

#[test]
fn half_a_request_is_not_kept_behind_a_parked_one() {
    let idle = Some(Duration::from_millis(50));
    let server = start(&Settings { connections_max_idle: idle, ..settings() });
    let mut client = Client::connect(server.address());
    let _parked = send_fetch(&mut client, i32::MAX);
    client.send_bytes(&100_000_000_i32.to_be_bytes());
    assert_eq!(client.receive_frame(), None);
    server.stop();
}

#[test]
fn who_reads_nothing_is_sent_away() {
    let wide = TopicSetting { name: "wide".into(), partitions: 10_000 };
    let idle = Some(Duration::from_millis(50));
    let server =
        start(&Settings { connections_max_idle: idle, max_connections: 1, topics: vec![wide], ..settings() });
    let mut client = Client::connect(server.address());
    // More than the buffers between us hold.
    for _ in 0..200 {
        let _unread = client.send(1, &MetadataRequest { topics: None, ..Default::default() });
    }
    // It had the only place.
    drop(Client::connect(server.address()).ask(0, &ApiVersionsRequest::default()));
    server.stop();
}
