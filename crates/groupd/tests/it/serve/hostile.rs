//! Bytes that no client sends: they cost their connection, and nothing else.

use groupd::server::Server;
use groupd::settings::{Settings, TopicSetting};
use kafka_wire::join_group::JoinGroupRequestProtocol;
use kafka_wire::offset_fetch::OffsetFetchRequestGroup;
use kafka_wire::{
    ApiVersionsRequest, ApiVersionsResponse, DescribeGroupsRequest, DescribeGroupsResponse,
    FindCoordinatorRequest, JoinGroupRequest, MetadataRequest, MetadataRequestTopic, MetadataResponse,
    OffsetFetchRequest, OffsetFetchResponse,
};

use super::{Client, read, settings, start};

/// A request's header: key, version, correlation id, client id "it".
fn header(key: i16, version: i16) -> Vec<u8> {
    [&key.to_be_bytes()[..], &version.to_be_bytes(), &7_i32.to_be_bytes(), &2_i16.to_be_bytes(), b"it"]
        .concat()
}

fn frame(length: i32, bytes: &[u8]) -> Vec<u8> {
    [&length.to_be_bytes()[..], bytes].concat()
}

fn whole(bytes: &[u8]) -> Vec<u8> {
    frame(i32::try_from(bytes.len()).unwrap(), bytes)
}

fn topic(name: &str, partitions: i32) -> TopicSetting {
    TopicSetting { name: name.into(), partitions }
}

fn serves(server: &Server) {
    let mut client = Client::connect(server.address());
    let body = client.ask(3, &ApiVersionsRequest::default());
    assert_eq!(read::<ApiVersionsResponse<'_>>(3, &body).error_code, 0);
}

#[test]
fn impossible_frames_cost_their_connection_only() {
    let server = start(&settings());
    let mut bystander = Client::connect(server.address());
    let huge_count =
        [&header(14, 0)[..], b"\0\x01g", &1_i32.to_be_bytes(), b"\0\x01m", &i32::MAX.to_be_bytes()];
    let join_count = [
        &header(11, 0)[..],
        b"\0\x01g",
        &10_000_i32.to_be_bytes(),
        b"\0\0",
        b"\0\x08consumer",
        &i32::MAX.to_be_bytes(),
    ];
    let hostile = [
        ("the longest length", frame(i32::MAX, b"")),
        ("a negative length", frame(-1, b"")),
        ("the most negative length", frame(i32::MIN, b"")),
        ("one byte above the limit", frame(100 * 1024 * 1024 + 1, b"")),
        ("an empty frame", whole(b"")),
        ("half a header", whole(&[0, 11, 0])),
        ("no such key", whole(&header(9_999, 0))),
        ("a negative key", whole(&header(-1, 0))),
        ("a key of brokers among themselves", whole(&header(4, 0))),
        ("a version too new", whole(&header(11, 10))),
        ("a version too old", whole(&header(8, 1))),
        ("a negative version", whole(&header(12, -1))),
        ("a body cut short", whole(&[&header(12, 0)[..], b"\0\x05or"].concat())),
        ("a count of 2^31 - 1 assignments", whole(&huge_count.concat())),
        ("a count of 2^31 - 1 protocols", whole(&join_count.concat())),
        ("no UTF-8", whole(&[&header(12, 0)[..], b"\0\x02\xff\xfe\0\0\0\x01\0\x01m"].concat())),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec()),
    ];
    for (what, bytes) in hostile {
        let mut client = Client::connect(server.address());
        client.send_bytes(&bytes);
        assert_eq!(client.receive_frame(), None, "{what} ends the connection");
        serves(&server);
    }
    // Connections that were open all along have not noticed.
    drop(bystander.ask(0, &ApiVersionsRequest::default()));
    server.stop();
}

/// A little that is named very often makes no more of an answer, or none.
#[test]
fn naming_the_same_thing_over_and_over_is_no_amplifier() {
    let server = start(&Settings { topics: vec![topic("wide", 5_000)], ..settings() });
    let mut client = Client::connect(server.address());
    let wide = || MetadataRequestTopic { name: Some("wide"), ..Default::default() };
    let request =
        MetadataRequest { topics: Some((0..50_000).map(|_| wide()).collect()), ..Default::default() };
    let body = client.ask(12, &request);
    assert_eq!(read::<MetadataResponse<'_>>(12, &body).topics.len(), 1);

    let request = DescribeGroupsRequest { groups: vec!["g"; 50_000], ..Default::default() };
    let body = client.ask(6, &request);
    assert_eq!(read::<DescribeGroupsResponse<'_>>(6, &body).groups.len(), 1);

    let group = || OffsetFetchRequestGroup { group_id: "g", topics: None, ..Default::default() };
    let body = client.ask(9, &OffsetFetchRequest { groups: vec![group(), group()], ..Default::default() });
    let fetched: OffsetFetchResponse<'_> = read(9, &body);
    assert_eq!(fetched.groups.iter().map(|group| group.error_code).collect::<Vec<_>>(), [0, 42]);

    let _unanswered =
        client.send(6, &DescribeGroupsRequest { groups: vec!["g"; 100_001], ..Default::default() });
    assert_eq!(client.receive_frame(), None);
    let mut client = Client::connect(server.address());
    let protocol = || JoinGroupRequestProtocol { name: "p", metadata: b"" };
    let protocols = (0..1_001).map(|_| protocol()).collect();
    let _unanswered = client.send(9, &JoinGroupRequest { protocols, ..Default::default() });
    assert_eq!(client.receive_frame(), None);
    let mut client = Client::connect(server.address());
    let _unanswered =
        client.send(6, &FindCoordinatorRequest { coordinator_keys: vec![""; 100_001], ..Default::default() });
    assert_eq!(client.receive_frame(), None);
    server.stop();
}

#[test]
fn frames_may_come_in_pieces_or_never() {
    let server = start(&settings());
    // A frame that never comes whole holds nothing but its connection.
    let mut slow = Client::connect(server.address());
    slow.send_bytes(&frame(1_000_000, b"\0\x0b"));
    let mut byte_by_byte = Client::connect(server.address());
    for byte in whole(&[&header(18, 0)[..]].concat()) {
        byte_by_byte.send_bytes(&[byte]);
    }
    assert!(byte_by_byte.receive_frame().is_some(), "a frame may come in pieces");
    serves(&server);
    server.stop();
}

#[test]
fn a_client_from_the_future_is_told_which_versions_there_are() {
    let server = start(&settings());
    for version in [5, 99, i16::MAX, -1] {
        let mut client = Client::connect(server.address());
        // Whatever the body of that version is.
        client.send_frame(&[&header(18, version)[..], b"\x00\x42unreadable"].concat());
        let frame = client.receive_frame().unwrap();
        assert_eq!(frame[..4], 7_i32.to_be_bytes());
        let response: ApiVersionsResponse<'_> = read(0, &frame[4..]);
        assert_eq!(response.error_code, 35);
        let ranges: Vec<_> =
            response.api_keys.iter().map(|api| (api.api_key, api.min_version, api.max_version)).collect();
        assert_eq!(ranges, [(18, 0, 4)]);
        // It asks again, on the same connection, in a version we have.
        let body = client.ask(0, &ApiVersionsRequest::default());
        assert!(read::<ApiVersionsResponse<'_>>(0, &body).api_keys.len() > 20);
    }
    server.stop();
}
