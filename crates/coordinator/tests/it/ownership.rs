//! Partitions come and go, in any order of news; what is loaded lives on.

use coordinator::ids::{Blob, Generation, GroupId, OffsetsPartition, OwnerEpoch};
use coordinator::messages::{
    GroupError, GroupRecord, Heartbeat, Input, MemberRecord, Output, Record, Request, Response, Token,
};
use coordinator::{Config, Coordinator, Partitioner, Phase, Timestamp};

const PARTITION: OffsetsPartition = OffsetsPartition(0);

fn coordinator() -> Coordinator {
    let groups = hashbrown::HashMap::default();
    let partitioner = Partitioner::Table { groups, otherwise: PARTITION };
    Coordinator::new(
        Config { partitioner, offsets_retention_check_interval_ms: None, ..Config::default() },
        1,
        Timestamp::ZERO,
    )
}

fn group_of(members: usize) -> Record {
    let members = (0..members).map(|n| MemberRecord {
        member: format!("m{n}").as_str().into(),
        instance: None,
        client_id: "client".into(),
        client_host: "/127.0.0.1".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 60_000,
        subscription: Blob::from(&[1][..]),
        assignment: Blob::from(&[2][..]),
    });
    Record::Group(GroupRecord {
        group: "g".into(),
        generation: Generation(4),
        protocol_type: "consumer".into(),
        protocol: Some("range".into()),
        leader: Some("m0".into()),
        state_timestamp_ms: 0,
        members: members.collect(),
    })
}

fn own(coordinator: &mut Coordinator, epoch: i32, records: Vec<Record>) {
    coordinator.handle(Timestamp::ZERO, Input::BeginLoad(PARTITION, OwnerEpoch(epoch)));
    coordinator.handle(Timestamp::ZERO, Input::Load(PARTITION, records));
    coordinator.handle(Timestamp::ZERO, Input::FinishLoad(PARTITION));
}

fn heartbeat(coordinator: &mut Coordinator, now: u64, member: &str) -> Option<GroupError> {
    let (now, generation) = (Timestamp::from_ticks(now), Generation(4));
    let request = Heartbeat { group: "g".into(), generation, member: member.into(), instance: None };
    coordinator.expire(now);
    while coordinator.poll_output().is_some() {}
    coordinator.handle(now, Input::Request(Token::new(0), Request::Heartbeat(request)));
    match coordinator.poll_output() {
        Some(Output::Respond(_, Response::Heartbeat(answer))) => answer.error,
        other => panic!("not an answer: {other:?}"),
    }
}

/// Gains and losses carried out in another order than they happened left partitions without an owner, or with two
/// (KAFKA-10614).
#[test]
fn older_news_changes_nothing() {
    let mut it = coordinator();
    own(&mut it, 5, vec![group_of(1)]);
    it.handle(Timestamp::ZERO, Input::Unload(PARTITION, OwnerEpoch(4)));
    it.handle(Timestamp::ZERO, Input::BeginLoad(PARTITION, OwnerEpoch(4)));
    it.handle(Timestamp::ZERO, Input::BeginLoad(PARTITION, OwnerEpoch(5)));
    assert_eq!(heartbeat(&mut it, 1, "m0"), None);

    it.handle(Timestamp::ZERO, Input::Unload(PARTITION, OwnerEpoch(6)));
    it.handle(Timestamp::ZERO, Input::BeginLoad(PARTITION, OwnerEpoch(5)));
    it.handle(Timestamp::ZERO, Input::FinishLoad(PARTITION));
    assert_eq!(heartbeat(&mut it, 1, "m0"), Some(GroupError::NotCoordinator));
}

/// Whoever wins a partition again without having heard of its loss must not serve what it knew before.
#[test]
fn a_higher_epoch_is_loaded_afresh() {
    let mut it = coordinator();
    own(&mut it, 5, vec![group_of(1)]);
    it.handle(Timestamp::ZERO, Input::BeginLoad(PARTITION, OwnerEpoch(7)));
    assert!(it.group(&"g".into()).is_none());
    assert_eq!(heartbeat(&mut it, 1, "m0"), None, "heartbeats are calmed while loading");
    it.handle(Timestamp::ZERO, Input::Load(PARTITION, vec![group_of(2)]));
    it.handle(Timestamp::ZERO, Input::FinishLoad(PARTITION));
    assert_eq!(it.group(&"g".into()).expect("loaded").members.len(), 2);
}

#[test]
fn a_load_that_is_overtaken_by_a_loss_ends() {
    let mut it = coordinator();
    it.handle(Timestamp::ZERO, Input::BeginLoad(PARTITION, OwnerEpoch(1)));
    it.handle(Timestamp::ZERO, Input::Load(PARTITION, vec![group_of(1)]));
    it.handle(Timestamp::ZERO, Input::Unload(PARTITION, OwnerEpoch(2)));
    it.handle(Timestamp::ZERO, Input::Load(PARTITION, vec![group_of(1)]));
    it.handle(Timestamp::ZERO, Input::FinishLoad(PARTITION));
    assert_eq!(heartbeat(&mut it, 1, "m0"), Some(GroupError::NotCoordinator));
    assert_eq!(it.stats().operations, 0);
}

/// After a restart members had the rebalance timeout, or no time at all, to be heard of (redpanda#14487).
#[test]
fn each_loaded_member_gets_a_whole_session() {
    let mut it = coordinator();
    own(&mut it, 1, vec![group_of(2)]);
    assert_eq!(heartbeat(&mut it, 9_999, "m0"), None);
    it.expire(Timestamp::from_ticks(10_000));
    let view = it.group(&"g".into()).expect("loaded");
    assert_eq!((view.phase, view.members), (Phase::PreparingRebalance, vec!["m0".into()]));
}

/// Everything that waited is gone with the group, and its places can be used again.
#[test]
fn a_lost_partition_leaves_nothing_behind() {
    let mut it = coordinator();
    for round in 0..20 {
        own(&mut it, round * 2, vec![group_of(100)]);
        assert_eq!((it.stats().groups, it.stats().members, it.stats().operations), (1, 100, 100));
        it.handle(Timestamp::ZERO, Input::Unload(PARTITION, OwnerEpoch(round * 2 + 1)));
        assert_eq!((it.stats().groups, it.stats().members, it.stats().operations), (0, 0, 0));
    }
}

#[test]
fn odd_records_do_no_harm() {
    let mut it = coordinator();
    let Record::Group(mut record) = group_of(3) else { unreachable!("a group's record") };
    record.members[1].member = "m0".into();
    record.members[2].session_timeout_ms = -5;
    record.leader = Some("nobody".into());
    record.protocol = None;
    own(&mut it, 1, vec![Record::Group(record), Record::GroupTombstone(GroupId::new("other"))]);
    // The member of negative patience is gone at once, of the two of one name there is one.
    assert_eq!(heartbeat(&mut it, 0, "m0"), Some(GroupError::RebalanceInProgress));
    let view = it.group(&"g".into()).expect("loaded");
    assert_eq!((view.leader, view.members), (Some("m0".into()), vec!["m0".into()]));
}
