//! The rules of single messages that are easy to get wrong, byte by byte and written by hand.

use std::fmt::Debug;

use kafka_wire::{
    ApiVersion, ApiVersionsResponse, ConsumerGroupHeartbeatResponse, ConsumerProtocolAssignment,
    ConsumerProtocolSubscription, Fault, FetchPartition, FetchRequest, FetchTopic, InitProducerIdRequest,
    JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, ListOffsetsPartition, ListOffsetsRequest,
    ListOffsetsTopic, MemberIdentity, Message, MetadataRequest, MetadataRequestTopic, MetadataResponse,
    MetadataResponseTopic, OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
    PartitionProduceData, ProduceRequest, TopicPartition, TopicProduceData, Uuid, WireError,
    WritableTxnMarker, WriteTxnMarkersRequest, consumer_group_heartbeat,
};

use crate::golden::{hex, unhex};

const ID: Uuid = Uuid([0xaa; 16]);
const ID_HEX: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// The message is written as these bytes, and read from them.
fn check<'a, M: Message<'a> + Debug + PartialEq>(message: &M, version: i16, bytes: &'a [u8]) {
    let mut out = Vec::new();
    message.encode(version, &mut out).unwrap();
    assert_eq!(hex(&out), hex(bytes), "{message:?}");
    assert_eq!(M::decode(version, bytes).as_ref(), Ok(message));
}

/// The message cannot be written in this version, and leaves no trace.
fn unwritable<'a, M: Message<'a>>(message: &M, version: i16, fault: Fault) {
    let mut out = b"before".to_vec();
    let error = WireError::Unwritable { message: M::NAME, version, fault };
    assert_eq!(message.encode(version, &mut out), Err(error));
    assert_eq!(out, b"before");
}

#[test]
fn offset_fetch_is_about_one_group_then_about_many() {
    let topics = Some(vec![OffsetFetchRequestTopic { name: "t", partition_indexes: vec![3] }]);
    let one = OffsetFetchRequest { group_id: "g", topics, ..Default::default() };
    check(&one, 5, &unhex("0001 67  00000001 0001 74 00000001 00000003"));
    check(&one, 7, &unhex("02 67  02 02 74 02 00000003 00  00  00"));
    check(
        &OffsetFetchRequest { topics: None, require_stable: true, ..one.clone() },
        7,
        &unhex("02 67  00  01  00"),
    );
    unwritable(&one, 8, Fault::NotInVersion("group_id"));
    // All topics of a group can be asked for from version 2 on.
    unwritable(&OffsetFetchRequest { topics: None, ..one.clone() }, 1, Fault::Null("topics"));

    let named = OffsetFetchRequestTopics { name: "t", topic_id: Uuid::ZERO, partition_indexes: vec![3] };
    let group = OffsetFetchRequestGroup { group_id: "g", topics: Some(vec![named]), ..Default::default() };
    let many = OffsetFetchRequest { groups: vec![group.clone()], require_stable: true, ..Default::default() };
    check(&many, 8, &unhex("02 02 67  02 02 74 02 00000003 00  00  01 00"));
    check(&many, 9, &unhex("02 02 67 00 ffffffff  02 02 74 02 00000003 00  00  01 00"));
    unwritable(&many, 7, Fault::NotInVersion("groups"));

    let by_id = OffsetFetchRequestTopics { name: "", topic_id: ID, partition_indexes: vec![3] };
    let group = OffsetFetchRequestGroup { member_id: Some("m"), member_epoch: 5, ..group };
    let groups = vec![OffsetFetchRequestGroup { topics: Some(vec![by_id]), ..group }];
    let many = OffsetFetchRequest { groups, require_stable: true, ..Default::default() };
    let bytes = format!("02 02 67 02 6d 00000005  02 {ID_HEX} 02 00000003 00  00  01 00");
    check(&many, 10, &unhex(&bytes));
}

#[test]
fn offset_commit_goes_by_name_then_by_id() {
    let partition = OffsetCommitRequestPartition {
        partition_index: 2,
        committed_offset: 9,
        committed_leader_epoch: 1,
        committed_metadata: Some("x"),
    };
    let named =
        OffsetCommitRequestTopic { name: "t", topic_id: Uuid::ZERO, partitions: vec![partition.clone()] };
    let commit = OffsetCommitRequest {
        group_id: "g",
        generation_id_or_member_epoch: 4,
        member_id: "m",
        topics: vec![named],
        ..Default::default()
    };
    let front = "02 67 00000004 02 6d 00 02";
    let partition = "02 00000002 0000000000000009 00000001 02 78 00";
    check(&commit, 9, &unhex(&format!("{front} 02 74 {partition} 00 00")));
    let topics = vec![OffsetCommitRequestTopic { name: "", topic_id: ID, ..commit.topics[0].clone() }];
    check(
        &OffsetCommitRequest { topics, ..commit },
        10,
        &unhex(&format!("{front} {ID_HEX} {partition} 00 00")),
    );
}

#[test]
fn join_group_may_name_no_protocol_from_version_7_on() {
    let refusal =
        JoinGroupResponse { error_code: 79, protocol_name: None, member_id: "m", ..Default::default() };
    unwritable(&refusal, 6, Fault::Null("protocol_name"));
    check(&refusal, 7, &unhex("00000000 004f ffffffff 00 00 01 02 6d 01 00"));
    let named = JoinGroupResponse { protocol_name: Some(""), ..refusal };
    check(&named, 6, &unhex("00000000 004f ffffffff 01 01 02 6d 01 00"));
    check(&named, 0, &unhex("004f ffffffff 0000 0000 0001 6d 00000000"));
    let error = JoinGroupResponse::decode(6, &unhex("00000000 004f ffffffff 00 01 02 6d 01 00")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "JoinGroupResponse v6, byte 11: `protocol_name` must not be null in this version"
    );
}

#[test]
fn what_a_version_lacks_is_refused_or_ignored_as_kafka_says() {
    let join = JoinGroupRequest { group_instance_id: Some("i"), ..Default::default() };
    unwritable(&join, 4, Fault::NotInVersion("group_instance_id"));
    let mut out = Vec::new();
    join.encode(5, &mut out).unwrap();
    // The reason is for people to read.
    let mut without = Vec::new();
    JoinGroupRequest { reason: Some("bored"), ..join }.encode(5, &mut without).unwrap();
    assert_eq!(out, without);
    unwritable(&MetadataRequest { topics: None, ..Default::default() }, 0, Fault::Null("topics"));
    unwritable(&MetadataRequest { allow_auto_topic_creation: false, ..Default::default() }, 3, {
        Fault::NotInVersion("allow_auto_topic_creation")
    });
    let skip = JoinGroupResponse { skip_assignment: true, ..Default::default() };
    unwritable(&skip, 8, Fault::NotInVersion("skip_assignment"));
}

#[test]
fn leave_group_names_one_member_then_many() {
    let one = LeaveGroupRequest { group_id: "g", member_id: "m", ..Default::default() };
    check(&one, 2, &unhex("0001 67 0001 6d"));
    unwritable(&one, 3, Fault::NotInVersion("member_id"));
    let member = MemberIdentity { member_id: "m", group_instance_id: Some("i"), reason: None };
    let many = LeaveGroupRequest { group_id: "g", members: vec![member], ..Default::default() };
    unwritable(&many, 2, Fault::NotInVersion("members"));
    check(&many, 3, &unhex("0001 67 00000001 0001 6d 0001 69"));
    check(&many, 5, &unhex("02 67 02 02 6d 02 69 00 00 00"));
}

#[test]
fn metadata_can_be_asked_for_by_id_and_answered_without_a_name() {
    let topic = MetadataRequestTopic { topic_id: ID, name: None };
    let request = MetadataRequest { topics: Some(vec![topic.clone()]), ..Default::default() };
    unwritable(&request, 9, Fault::Null("name"));
    check(&request, 12, &unhex(&format!("02 {ID_HEX} 00 00 01 00 00")));
    check(&MetadataRequest { topics: None, ..request }, 12, &unhex("00 01 00 00"));
    // An empty list was the way to ask for all topics when there was no null.
    check(&MetadataRequest::default(), 0, &unhex("00000000"));

    let unknown = MetadataResponseTopic { error_code: 100, name: None, topic_id: ID, ..Default::default() };
    let response = MetadataResponse { topics: vec![unknown], ..Default::default() };
    unwritable(&response, 11, Fault::Null("name"));
    let topic = format!("0064 00 {ID_HEX} 00 01 80000000 00");
    check(&response, 12, &unhex(&format!("00000000 01 00 ffffffff 02 {topic} 00")));
    check(&response, 13, &unhex(&format!("00000000 01 00 ffffffff 02 {topic} 0000 00")));
}

#[test]
fn default_tagged_fields_are_never_written() {
    let keys = vec![ApiVersion { api_key: 18, min_version: 0, max_version: 4 }];
    let plain = ApiVersionsResponse { api_keys: keys, ..Default::default() };
    check(&plain, 0, &unhex("0000 00000001 0012 0000 0004"));
    check(&plain, 3, &unhex("0000 02 0012 0000 0004 00 00000000 00"));
    let tagged = ApiVersionsResponse { finalized_features_epoch: 0, zk_migration_ready: true, ..plain };
    let tags = "02 01 08 0000000000000000 03 01 01";
    check(&tagged, 4, &unhex(&format!("0000 02 0012 0000 0004 00 00000000 {tags}")));
    // They are read all the same where a peer writes them.
    let tags = "02 01 08 ffffffffffffffff 03 01 00";
    let bytes = unhex(&format!("0000 01 00000000 {tags}"));
    assert_eq!(ApiVersionsResponse::decode(3, &bytes), Ok(ApiVersionsResponse::default()));
    assert_eq!(unhex("0000 01 00000000 00").len() + 13, bytes.len());
}

#[test]
fn fetch_goes_by_id_and_says_what_it_knows_in_tags() {
    let partition =
        FetchPartition { partition: 1, fetch_offset: 5, partition_max_bytes: 16, ..Default::default() };
    let topic = FetchTopic { topic_id: ID, partitions: vec![partition], ..Default::default() };
    let mut fetch =
        FetchRequest { max_wait_ms: 500, min_bytes: 1, topics: vec![topic], ..Default::default() };
    let front = "000001f4 00000001 7fffffff 00 00000000 ffffffff";
    let partition = "02 00000001 ffffffff 0000000000000005 ffffffff ffffffffffffffff 00000010";
    let bytes = |tags: &str| unhex(&format!("{front} 02 {ID_HEX} {partition} {tags} 00 01 01 00"));
    check(&fetch, 18, &bytes("00"));
    check(&fetch, 17, &bytes("00"));
    fetch.topics[0].partitions[0].high_watermark = 7;
    check(&fetch, 18, &bytes("01 01 08 0000000000000007"));
    fetch.topics[0].partitions[0].replica_directory_id = ID;
    check(&fetch, 18, &bytes(&format!("02 00 10 {ID_HEX} 01 08 0000000000000007")));
    fetch.replica_id = 3;
    unwritable(&fetch, 18, Fault::NotInVersion("replica_id"));
}

#[test]
fn produce_goes_by_name_then_by_id() {
    let partition = PartitionProduceData { index: 1, records: Some(&[0xab]) };
    let topic = TopicProduceData { name: "t", topic_id: Uuid::ZERO, partition_data: vec![partition] };
    let mut produce =
        ProduceRequest { acks: -1, timeout_ms: 100, topic_data: vec![topic], ..Default::default() };
    check(&produce, 3, &unhex("ffff ffff 00000064 00000001 0001 74 00000001 00000001 00000001 ab"));
    check(&produce, 12, &unhex("00 ffff 00000064 02 02 74 02 00000001 02 ab 00 00 00"));
    (produce.topic_data[0].name, produce.topic_data[0].topic_id) = ("", ID);
    check(&produce, 13, &unhex(&format!("00 ffff 00000064 02 {ID_HEX} 02 00000001 02 ab 00 00 00")));
}

/// What the public crate lacks and is not above.
#[test]
fn the_newest_versions() {
    let partition = ListOffsetsPartition { partition_index: 1, current_leader_epoch: -1, timestamp: -2 };
    let topics = vec![ListOffsetsTopic { name: "t", partitions: vec![partition] }];
    let list = ListOffsetsRequest { replica_id: -1, topics, timeout_ms: 9, ..Default::default() };
    let topic = "02 02 74 02 00000001 ffffffff fffffffffffffffe 00 00";
    check(&list, 11, &unhex(&format!("ffffffff 00 {topic} 00000009 00")));

    let init = InitProducerIdRequest {
        transactional_id: Some("x"),
        transaction_timeout_ms: 9,
        enable_2_pc: true,
        ..Default::default()
    };
    check(&init, 6, &unhex("02 78 00000009 ffffffffffffffff ffff 01 00 00"));
    unwritable(&init, 5, Fault::NotInVersion("enable_2_pc"));

    let marker = WritableTxnMarker { producer_id: 1, transaction_version: 2, ..Default::default() };
    let write = WriteTxnMarkersRequest { markers: vec![marker] };
    check(&write, 2, &unhex("02 0000000000000001 0000 00 01 00000000 02 00 00"));
}

#[test]
fn a_structure_can_be_null() {
    let none = ConsumerGroupHeartbeatResponse { member_id: Some("m"), member_epoch: 1, ..Default::default() };
    check(&none, 1, &unhex("00000000 0000 00 02 6d 00000001 00000000 ff 00"));
    let assignment = consumer_group_heartbeat::Assignment {
        topic_partitions: vec![consumer_group_heartbeat::TopicPartitions {
            topic_id: ID,
            partitions: vec![0],
        }],
    };
    let some = ConsumerGroupHeartbeatResponse { assignment: Some(assignment), ..none };
    let assignment = format!("01 02 {ID_HEX} 02 00000000 00 00");
    check(&some, 1, &unhex(&format!("00000000 0000 00 02 6d 00000001 00000000 {assignment} 00")));
}

#[test]
fn consumers_of_the_future_are_understood() {
    let owned = vec![TopicPartition { topic: "t", partitions: vec![1] }];
    let subscription = ConsumerProtocolSubscription {
        topics: vec!["t"],
        owned_partitions: owned.clone(),
        generation_id: 7,
        rack_id: Some("r"),
        ..Default::default()
    };
    let bytes = "00000001 0001 74 ffffffff 00000001 0001 74 00000001 00000001 00000007 0001 72";
    let mut out = Vec::new();
    subscription.encode_versioned(3, &mut out).unwrap();
    assert_eq!(hex(&out), hex(&unhex(&format!("0003 {bytes}"))));
    assert_eq!(ConsumerProtocolSubscription::decode_versioned(&out), Ok((3, subscription.clone())));
    let newer = unhex(&format!("0009 {bytes} 00112233"));
    assert_eq!(ConsumerProtocolSubscription::decode_versioned(&newer), Ok((9, subscription)));

    let assignment = ConsumerProtocolAssignment { assigned_partitions: owned, user_data: Some(b"x") };
    out.clear();
    assignment.encode_versioned(0, &mut out).unwrap();
    assert_eq!(hex(&out), hex(&unhex("0000 00000001 0001 74 00000001 00000001 00000001 78")));
    assert_eq!(ConsumerProtocolAssignment::decode_versioned(&out), Ok((0, assignment.clone())));
    for wrong in ["", "00", "ffff 00000000 ffffffff", "0000 00000001"] {
        assert!(ConsumerProtocolAssignment::decode_versioned(&unhex(wrong)).is_err());
    }
    out.clear();
    assert!(assignment.encode_versioned(4, &mut out).is_err());
    assert_eq!(out, []);
}

#[test]
fn what_is_too_long_is_refused() {
    let long = "x".repeat(32768);
    let join = JoinGroupRequest { member_id: &long, ..Default::default() };
    unwritable(&join, 0, Fault::TooLong("member_id"));
    unwritable(&join, 9, Fault::TooLong("member_id"));
    let fits = JoinGroupRequest { member_id: &long[1..], ..Default::default() };
    for version in [0, 9] {
        let mut out = Vec::new();
        fits.encode(version, &mut out).unwrap();
        assert_eq!(JoinGroupRequest::decode(version, &out).as_ref(), Ok(&fits));
    }
}
