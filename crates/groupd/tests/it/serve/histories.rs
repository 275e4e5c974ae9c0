//! The history of groups as other clients and Prometheus see it.

use std::io::{Read, Write};
use std::net::TcpStream;

use groupd::settings::{HostPort, Settings};
use kafka_wire::describe_configs::DescribeConfigsResource;
use kafka_wire::join_group::JoinGroupRequestProtocol;
use kafka_wire::{DescribeConfigsRequest, DescribeConfigsResponse, JoinGroupRequest, JoinGroupResponse};

use super::{Client, read, settings, start};

const GROUP: i8 = 32;
const INVALID_REQUEST: i16 = 42;

/// A static member joins `group` alone, under a long id of its own choosing.
fn join(client: &mut Client, group: &str, instance: &str) {
    let request = JoinGroupRequest {
        group_id: group,
        session_timeout_ms: 60_000,
        rebalance_timeout_ms: 60_000,
        group_instance_id: Some(instance),
        protocol_type: "consumer",
        protocols: vec![JoinGroupRequestProtocol { name: "range", metadata: b"" }],
        ..Default::default()
    };
    let body = client.ask(9, &request);
    assert_eq!(read::<JoinGroupResponse<'_>>(9, &body).error_code, 0);
}

fn describe(client: &mut Client, groups: &[&str], keys: Option<&[&str]>) -> Vec<(i16, Vec<String>)> {
    let resources = groups.iter().map(|group| DescribeConfigsResource {
        resource_type: GROUP,
        resource_name: group,
        configuration_keys: keys.map(<[_]>::to_vec),
    });
    let request = DescribeConfigsRequest { resources: resources.collect(), ..Default::default() };
    let body = client.ask(4, &request);
    let answer: DescribeConfigsResponse<'_> = read(4, &body);
    let names =
        |of: &kafka_wire::DescribeConfigsResult<'_>| of.configs.iter().map(|c| c.name.into()).collect();
    answer.results.iter().map(|result| (result.error_code, names(result))).collect()
}

#[test]
fn any_admin_client_can_ask_for_a_groups_events() {
    let server = start(&settings());
    let mut client = Client::connect(server.address());
    join(&mut client, "g", "i");
    let all = describe(&mut client, &["g", "nosuch", "g"], None);
    let events = (0, vec!["event.1".to_owned(), "event.2".to_owned()]);
    assert_eq!(all, [events.clone(), (0, Vec::new()), events]);
    let one = describe(&mut client, &["g"], Some(&["event.2", "retention.ms"]));
    assert_eq!(one, [(0, vec!["event.2".to_owned()])]);
}

#[test]
fn a_short_question_gets_no_endless_answer() {
    let server = start(&settings());
    let mut client = Client::connect(server.address());
    join(&mut client, "g", "i");
    let told = describe(&mut client, &vec!["g"; 50_000], None);
    let refused = told.iter().filter(|(code, names)| *code == INVALID_REQUEST && names.is_empty()).count();
    let answered = told.iter().filter(|(code, names)| *code == 0 && names.len() == 2).count();
    assert_eq!(refused + answered, 50_000);
    assert!((100..10_000).contains(&answered), "{answered}");
}

#[test]
fn metrics_name_the_groups_with_the_latest_events_and_nothing_breaks_their_lines() {
    let http = Some(HostPort { host: "127.0.0.1".into(), port: 0 });
    let server = start(&Settings { http, ..settings() });
    let mut client = Client::connect(server.address());
    let hostile = "a\"b\\c\nd";
    join(&mut client, hostile, "i");
    join(&mut client, &"long".repeat(100), "i");
    for group in 0..300 {
        join(&mut client, &format!("g{group}"), "i");
    }
    join(&mut client, hostile, "i");
    let text = metrics(server.http_address().expect("is served"));
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("groupd_group_events_total{")).collect();
    let of = |group: &str| lines.iter().filter(|line| line.contains(&format!("group=\"{group}\""))).count();
    assert!(of("a\\\"b\\\\c\\nd") >= 2, "{lines:#?}");
    assert_eq!((of("g299"), of("g0"), of(&"long".repeat(100))), (2, 0, 0));
    // Two shards, a hundred groups each, at most five kinds of events.
    assert!(lines.len() <= 1_000, "{}", lines.len());
    let mut series: Vec<_> = lines.iter().map(|line| line.rsplit_once(' ').expect("a value").0).collect();
    series.sort_unstable();
    series.dedup();
    assert_eq!(series.len(), lines.len(), "no series twice");
    let last = text
        .lines()
        .find(|line| line.starts_with("groupd_group_last_event_timestamp_seconds{group=\"g299\""));
    let last = last.expect("is there");
    assert!(last.contains("generation=\"1\",event=\"rebalance_joined\",about=\"1 member, waited "), "{last}");
}

fn metrics(address: std::net::SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}
