//! Digests: equal where the future is, different where it is not.

use coordinator::ids::{Blob, GroupId, MemberId, OffsetsPartition, OwnerEpoch};
use coordinator::messages::{Input, JoinGroup, Request, Token};
use coordinator::{Config, Coordinator, Timestamp};

/// A coordinator that a new member's join reached at `at`, ms, and that looked at the clock at `until`.
fn joined(at: u64, until: u64) -> String {
    let t = Timestamp::from_ticks;
    let mut coordinator = Coordinator::new(Config::default(), 7, t(0));
    for partition in 0..50 {
        coordinator.handle(t(0), Input::BeginLoad(OffsetsPartition(partition), OwnerEpoch(1)));
        coordinator.handle(t(0), Input::FinishLoad(OffsetsPartition(partition)));
    }
    let join = JoinGroup {
        group: GroupId::from("g"),
        member: MemberId::default(),
        instance: None,
        client_id: "c".into(),
        client_host: "/127.0.0.1".into(),
        protocol_type: "consumer".into(),
        protocols: vec![("range".into(), Blob::from(&b"all"[..]))],
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 20_000,
        require_known_member_id: false,
        supports_skipping_assignment: true,
        reason: None,
    };
    coordinator.handle(t(at), Input::Request(Token::new(1), Request::JoinGroup(join)));
    coordinator.expire(t(until));
    coordinator.digest(&GroupId::from("g"))
}

#[test]
fn only_what_the_future_depends_on_is_told() {
    let digest = joined(0, 500);
    assert!(digest.contains("first joins, then 17000 2500"), "{digest}");
    assert_eq!(digest, joined(40_000, 40_500));
    assert_ne!(digest, joined(0, 501));
    assert_ne!(digest, joined(0, 3_000));
}
