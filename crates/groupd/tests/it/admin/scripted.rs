//! Servers that only pretend: what the admin makes of old versions, refusals, and coordinators that move.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use kafka_wire::consumer_group_describe as newer;
use kafka_wire::describe_groups::{DescribedGroup, DescribedGroupMember};
use kafka_wire::find_coordinator::Coordinator;
use kafka_wire::leave_group::MemberResponse;
use kafka_wire::list_groups::ListedGroup;
use kafka_wire::metadata::MetadataResponseBroker;
use kafka_wire::offset_fetch::{
    OffsetFetchResponsePartition, OffsetFetchResponsePartitions, OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
};
use kafka_wire::{
    ApiKey, ApiVersion, ApiVersionsResponse, ConsumerGroupDescribeResponse, DescribeGroupsResponse,
    FindCoordinatorResponse, LeaveGroupRequest, LeaveGroupResponse, ListGroupsResponse, Message,
    MetadataResponse, OffsetFetchResponse, RequestHeader, ResponseHeader,
};

use super::groupd;

/// A server that offers these versions and answers each request by the script: the body, or nothing and the end.
struct Scripted {
    address: String,
    /// What was asked, in order, without `ApiVersions`.
    asked: Receiver<(ApiKey, i16)>,
}

type Offer = &'static [(ApiKey, i16, i16)];

fn scripted(
    offer: Offer,
    mut script: impl FnMut(&str, ApiKey, i16, &[u8]) -> Option<Vec<u8>> + Send + 'static,
) -> Scripted {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("is bound").to_string();
    let (tell, asked) = channel();
    let own = address.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            while let Some(frame) = read_frame(&mut stream) {
                let (header, body) = RequestHeader::decode(&frame).expect("a header");
                let api = ApiKey::from_code(header.api_key).expect("a known API");
                let version = header.api_version;
                let answer = if api == ApiKey::ApiVersions {
                    Some(encode(version, &versions(offer)))
                } else {
                    // The test may have ended.
                    let _ = tell.send((api, version));
                    script(&own, api, version, body)
                };
                let Some(body) = answer else { break };
                let mut out = vec![0; 4];
                ResponseHeader { correlation_id: header.correlation_id }
                    .encode(api.response_header_version(version), &mut out);
                out.extend(body);
                let length = i32::try_from(out.len() - 4).expect("is small");
                out[..4].copy_from_slice(&length.to_be_bytes());
                if stream.write_all(&out).is_err() {
                    break;
                }
            }
        }
    });
    Scripted { address, asked }
}

fn read_frame(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut frame = vec![0; usize::try_from(i32::from_be_bytes(length)).ok()?];
    stream.read_exact(&mut frame).ok()?;
    Some(frame)
}

fn versions(offer: Offer) -> ApiVersionsResponse<'static> {
    let range = |&(api, min_version, max_version): &(ApiKey, i16, i16)| ApiVersion {
        api_key: api.code(),
        min_version,
        max_version,
    };
    ApiVersionsResponse { api_keys: offer.iter().map(range).collect(), ..Default::default() }
}

fn encode<'a>(version: i16, message: &impl Message<'a>) -> Vec<u8> {
    let mut body = Vec::new();
    message.encode(version, &mut body).expect("can be written");
    body
}

fn coordinator(own: &str, version: i16, error_code: i16) -> Vec<u8> {
    let (host, port) = own.rsplit_once(':').expect("host and port");
    let port = port.parse().expect("a number");
    let answer = if version < 4 {
        FindCoordinatorResponse { error_code, host, port, ..Default::default() }
    } else {
        let coordinators = vec![Coordinator { key: "g", host, port, error_code, ..Default::default() }];
        FindCoordinatorResponse { coordinators, ..Default::default() }
    };
    encode(version, &answer)
}

const SUBSCRIPTION: &[u8] = &[0, 0, 0, 0, 0, 1, 0, 1, b't', 0xff, 0xff, 0xff, 0xff];
const ASSIGNMENT: &[u8] = &[0, 0, 0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1];

fn stable_group(version: i16, instance: Option<&str>) -> Vec<u8> {
    let member = DescribedGroupMember {
        member_id: "m-1",
        group_instance_id: instance,
        client_id: "c",
        client_host: "/10.0.0.1",
        member_metadata: SUBSCRIPTION,
        member_assignment: ASSIGNMENT,
    };
    let group = DescribedGroup {
        group_id: "g",
        group_state: "Stable",
        protocol_type: "consumer",
        protocol_data: "range",
        members: vec![member],
        ..Default::default()
    };
    encode(version, &DescribeGroupsResponse { groups: vec![group], ..Default::default() })
}

fn one_offset(version: i16) -> Vec<u8> {
    let answer = if version < 8 {
        let of = OffsetFetchResponsePartition {
            partition_index: 1,
            committed_offset: 42,
            metadata: Some("note"),
            ..Default::default()
        };
        let topics = vec![OffsetFetchResponseTopic { name: "t", partitions: vec![of] }];
        OffsetFetchResponse { topics, ..Default::default() }
    } else {
        let of = OffsetFetchResponsePartitions {
            partition_index: 1,
            committed_offset: 42,
            metadata: Some("note"),
            ..Default::default()
        };
        let topics =
            vec![OffsetFetchResponseTopics { name: "t", partitions: vec![of], ..Default::default() }];
        let group =
            kafka_wire::offset_fetch::OffsetFetchResponseGroup { group_id: "g", topics, error_code: 0 };
        OffsetFetchResponse { groups: vec![group], ..Default::default() }
    };
    encode(version, &answer)
}

const OLD: Offer =
    &[(ApiKey::FindCoordinator, 0, 0), (ApiKey::DescribeGroups, 0, 0), (ApiKey::OffsetFetch, 0, 2)];
const NEW: Offer = &[
    (ApiKey::FindCoordinator, 0, 99),
    (ApiKey::DescribeGroups, 0, 99),
    (ApiKey::OffsetFetch, 0, 99),
    (ApiKey::OffsetCommit, 2, 99),
    (ApiKey::LeaveGroup, 0, 99),
];

#[test]
fn a_group_is_described_by_old_servers_and_by_newer_ones_than_we_know() {
    for offer in [OLD, NEW] {
        let server = scripted(offer, |own, api, version, _| match api {
            ApiKey::FindCoordinator => Some(coordinator(own, version, 0)),
            ApiKey::DescribeGroups => Some(stable_group(version, None)),
            ApiKey::OffsetFetch => Some(one_offset(version)),
            other => panic!("{other:?}"),
        });
        let run = groupd(&server.address, "groups describe g").expect(0);
        let expected = format!(
            "group g: Stable, 1 member, consumer range, at {}\n\n\
             MEMBER  INSTANCE  CLIENT  HOST      SUBSCRIBED  OWNS\n\
             m-1     -         c       10.0.0.1  t           t:0,1\n\n\
             TOPIC  PARTITION  COMMITTED  METADATA  OWNED-BY\n\
             t      1          42         note      m-1\n",
            server.address
        );
        assert_eq!(run.out, expected);
        let json = groupd(&server.address, "groups describe g --json").expect(0).json();
        assert_eq!(json["members"][0]["assigned"]["t"], serde_json::json!([0, 1]));
        assert_eq!(json["offsets"][0]["offset"], 42);
    }
}

#[test]
fn a_coordinator_that_moves_or_loads_is_asked_again() {
    let mut codes = vec![0, 16, 14, 15].into_iter().rev();
    let server = scripted(NEW, move |own, api, version, _| match api {
        ApiKey::FindCoordinator => Some(coordinator(own, version, codes.next().unwrap_or(0))),
        ApiKey::DescribeGroups => Some(stable_group(version, None)),
        ApiKey::OffsetFetch => Some(one_offset(version)),
        other => panic!("{other:?}"),
    });
    groupd(&server.address, "offsets get g t:1").expect(0);
    let finds = server.asked.try_iter().filter(|(api, _)| *api == ApiKey::FindCoordinator);
    assert_eq!(finds.count(), 4);
}

fn offsets_of(version: i16, partitions: Vec<OffsetFetchResponsePartitions<'_>>) -> Vec<u8> {
    let topics = vec![OffsetFetchResponseTopics { name: "t", partitions, ..Default::default() }];
    let group = kafka_wire::offset_fetch::OffsetFetchResponseGroup { group_id: "g", topics, error_code: 0 };
    encode(version, &OffsetFetchResponse { groups: vec![group], ..Default::default() })
}

#[test]
fn offsets_below_zero_are_shown_and_only_minus_one_is_none() {
    let server = scripted(NEW, |own, api, version, _| match api {
        ApiKey::FindCoordinator => Some(coordinator(own, version, 0)),
        ApiKey::OffsetFetch => {
            let offsets = [0, -1, -2, i64::MIN, i64::MAX];
            let partition = |(at, committed_offset)| OffsetFetchResponsePartitions {
                partition_index: at,
                committed_offset,
                ..Default::default()
            };
            Some(offsets_of(version, (0..).zip(offsets).map(partition).collect()))
        }
        other => panic!("{other:?}"),
    });
    let shown = groupd(&server.address, "offsets get g --json").expect(0).json();
    let offsets: Vec<_> = shown.as_array().expect("an array").iter().map(|of| &of["offset"]).collect();
    assert_eq!(offsets, [0, -2, i64::MIN, i64::MAX]);
    assert_eq!(groupd(&server.address, "offsets export g").expect(0).out.lines().count(), 4);
}

#[test]
fn many_groups_of_long_names_are_listed() {
    const OFFER: Offer = &[(ApiKey::Metadata, 0, 12), (ApiKey::ListGroups, 0, 5)];
    const GROUPS: usize = 14_000;
    let server = scripted(OFFER, |own, api, version, _| {
        let (host, port) = own.rsplit_once(':').expect("host and port");
        let port = port.parse().expect("a number");
        match api {
            ApiKey::Metadata => {
                let brokers = vec![MetadataResponseBroker { host, port, ..Default::default() }];
                Some(encode(version, &MetadataResponse { brokers, ..Default::default() }))
            }
            ApiKey::ListGroups => {
                let names: Vec<_> = (0..GROUPS).map(|at| format!("{at:05}{}", "g".repeat(1000))).collect();
                let group = |name| ListedGroup { group_id: name, ..Default::default() };
                let groups = names.iter().map(|name| group(name)).collect();
                Some(encode(version, &ListGroupsResponse { groups, ..Default::default() }))
            }
            other => panic!("{other:?}"),
        }
    });
    let table = groupd(&server.address, "groups list").expect(0).out;
    assert_eq!(table.lines().count(), GROUPS + 1);
    assert!(table.lines().all(|line| line.chars().count() < 200));
    let all = groupd(&server.address, "groups list --json").expect(0).json();
    let name = all[GROUPS - 1]["group"].as_str().expect("text");
    assert!(name.len() == 1005 && name.starts_with("13999g"), "{name}");
}

#[test]
fn offsets_of_a_living_group_are_not_set() {
    let server = scripted(NEW, |own, api, version, _| match api {
        ApiKey::FindCoordinator => Some(coordinator(own, version, 0)),
        ApiKey::DescribeGroups => Some(stable_group(version, Some("pod-1"))),
        other => panic!("asked for {other:?}"),
    });
    let run = groupd(&server.address, "offsets set g t:1=7").expect(1);
    assert!(run.err.contains("1 live member (pod-1)"), "{run:?}");
    assert!(run.err.contains("groupd groups evict g --all"), "{run:?}");
    assert_eq!(run.out, "");
}

#[test]
fn a_static_member_is_evicted_by_either_of_its_names() {
    for name in ["m-1", "pod-1"] {
        let server = scripted(NEW, |own, api, version, body| match api {
            ApiKey::FindCoordinator => Some(coordinator(own, version, 0)),
            ApiKey::DescribeGroups => Some(stable_group(version, Some("pod-1"))),
            ApiKey::LeaveGroup => {
                let request = LeaveGroupRequest::decode(version, body).expect("is well-formed");
                let member = &request.members[0];
                assert_eq!((member.member_id, member.group_instance_id), ("m-1", Some("pod-1")));
                assert_eq!(member.reason, Some("tired"));
                let left = MemberResponse { member_id: "m-1", ..Default::default() };
                Some(encode(version, &LeaveGroupResponse { members: vec![left], ..Default::default() }))
            }
            other => panic!("{other:?}"),
        });
        let run = groupd(&server.address, &format!("groups evict g {name} --reason tired")).expect(0);
        assert_eq!(run.out, format!("{name} is out of group g\n"));
        let run = groupd(&server.address, "groups evict g nobody").expect(1);
        assert!(run.err.contains("no member nobody"), "{run:?}");
    }
}

#[test]
fn what_a_server_does_not_offer_is_said() {
    let server = scripted(OLD, |own, api, version, _| match api {
        ApiKey::FindCoordinator => Some(coordinator(own, version, 0)),
        other => panic!("{other:?}"),
    });
    let run = groupd(&server.address, "groups delete g").expect(3);
    assert!(run.err.contains("does not offer DeleteGroups"), "{run:?}");
}

#[test]
fn an_answer_cut_short_is_not_read() {
    let server = scripted(NEW, |own, api, version, _| match api {
        ApiKey::FindCoordinator => Some(coordinator(own, version, 0)),
        ApiKey::DescribeGroups => {
            let mut body = stable_group(version, None);
            body.truncate(body.len() / 2);
            Some(body)
        }
        other => panic!("{other:?}"),
    });
    let run = groupd(&server.address, "groups describe g").expect(3);
    assert!(run.err.contains("is no answer (DescribeGroupsResponse"), "{run:?}");
}

#[test]
fn a_group_of_the_newer_protocol_is_found_by_the_newer_api() {
    const OFFER: Offer = &[
        (ApiKey::FindCoordinator, 0, 6),
        (ApiKey::DescribeGroups, 0, 6),
        (ApiKey::OffsetFetch, 1, 9),
        (ApiKey::ConsumerGroupDescribe, 0, 1),
    ];
    let server = scripted(OFFER, |own, api, version, _| match api {
        ApiKey::FindCoordinator => Some(coordinator(own, version, 0)),
        ApiKey::DescribeGroups => {
            let group = DescribedGroup { error_code: 69, group_id: "g", ..Default::default() };
            Some(encode(version, &DescribeGroupsResponse { groups: vec![group], ..Default::default() }))
        }
        ApiKey::ConsumerGroupDescribe => {
            let partitions =
                newer::TopicPartitions { topic_name: "t", partitions: vec![2], ..Default::default() };
            let member = newer::Member {
                member_id: "m-1",
                client_id: "c",
                client_host: "/10.0.0.1",
                subscribed_topic_names: vec!["t"],
                assignment: newer::Assignment { topic_partitions: vec![partitions] },
                ..Default::default()
            };
            let group = newer::DescribedGroup {
                group_id: "g",
                group_state: "Stable",
                assignor_name: "uniform",
                members: vec![member],
                ..Default::default()
            };
            Some(encode(
                version,
                &ConsumerGroupDescribeResponse { groups: vec![group], ..Default::default() },
            ))
        }
        ApiKey::OffsetFetch => Some(one_offset(version)),
        other => panic!("{other:?}"),
    });
    let shown = groupd(&server.address, "groups describe g").expect(0).out;
    assert!(shown.starts_with("group g: Stable, 1 member, consumer uniform, at "), "{shown}");
    assert!(shown.contains("m-1     -         c       10.0.0.1  t           t:2\n"), "{shown}");
    let run = groupd(&server.address, "offsets set g t:1=7").expect(1);
    assert!(run.err.contains("1 live member (m-1)"), "{run:?}");
}
