//! What becomes due when the clock is moved, and in which order.

use std::time::Duration;

use groupd::settings::Settings;
use kafka_wire::join_group::JoinGroupRequestProtocol;
use kafka_wire::{JoinGroupRequest, SyncGroupRequest, SyncGroupRequestAssignment};

use super::{Client, advance, now_ms, run, standing, start, start_standing, until_connected};
use crate::serve::groups::{JOIN, Joined, Member, committed, stable, until};
use crate::serve::transactions::Left;

const REBALANCE_IN_PROGRESS: i16 = 27;
const UNKNOWN_MEMBER_ID: i16 = 25;

/// Two members of a stable group, the first of which leads. The first's session lasts 45 s.
fn two(server: &groupd::server::Server) -> (Member, Member) {
    let mut first = Member::with_session(server, 45_000);
    let sent = first.send_join();
    assert_eq!(first.joined(sent).error, 0);
    let mut second = Member::with_session(server, 45_000);
    let sent = second.send_join();
    until(server, |group| group.members.len() == 2);
    let rejoin = first.send_join();
    let Joined { members, .. } = first.joined(rejoin);
    assert_eq!(members.len(), 2);
    assert_eq!(second.joined(sent).error, 0);
    let assignments: Vec<_> = members.iter().map(|id| (id.clone(), b"some".to_vec())).collect();
    let (one, other) = (first.send_sync(&assignments), second.send_sync(&[]));
    assert_eq!((first.synced(one).0, second.synced(other).0), (0, 0));
    (first, second)
}

#[test]
fn a_killed_members_session_ends_and_a_connected_ones_does_not() {
    let server = start_standing();
    let (first, mut second) = two(&server);
    drop(first);
    until_connected(&server, &[&second.id]);

    let told = advance(&server, "by=44999ms");
    assert_eq!((&told["members_evicted"], &told["operations_expired"]), (&0.into(), &0.into()), "{told}");
    let told = advance(&server, "by=1ms");
    assert_eq!((&told["members_evicted"], &told["rebalances_started"]), (&1.into(), &1.into()), "{told}");
    assert_eq!(told["members_heard"], 1, "{told}");
    assert!(told["operations_expired"].as_u64().unwrap() >= 1, "{told}");
    assert_eq!(second.heartbeat(), REBALANCE_IN_PROGRESS);
    let rejoin = second.send_join();
    assert_eq!(second.joined(rejoin), Joined { error: 0, leader: true, members: vec![second.id.clone()] });
}

#[test]
fn who_is_named_silent_is_evicted_though_its_connection_is_open() {
    let server = start_standing();
    let (mut first, mut second) = two(&server);
    let told = advance(&server, &format!("by=45s&silent={}", first.id));
    assert_eq!(told["members_evicted"], 1, "{told}");
    assert_eq!((first.heartbeat(), second.heartbeat()), (UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS));

    let server = start_standing();
    let (mut first, mut second) = two(&server);
    assert_eq!(advance(&server, "by=45s&silent_all")["members_evicted"], 2);
    assert_eq!((first.heartbeat(), second.heartbeat()), (UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER_ID));
}

#[test]
fn a_member_that_is_heard_from_lives_as_long_as_it_is() {
    let server = start_standing();
    let mut member = stable(&server);
    assert_eq!(advance(&server, "by=1d")["members_evicted"], 0);
    assert_eq!(member.heartbeat(), 0);
    assert_eq!(member.commit(7), 0);
    // And not a moment longer.
    member.client = Client::connect(server.address());
    until_connected(&server, &[]);
    assert_eq!(advance(&server, "by=30s")["members_evicted"], 1);
}

#[test]
fn what_follows_from_a_deadline_follows_at_its_time() {
    // The first is evicted at 45 s. The round that begins then waits for the second, which does not rejoin, for the
    // 60 s of its rebalance timeout: until 105 s, in whatever jumps the clock gets there.
    for (jumps, evicted) in [(&["104999ms"][..], 1), (&["105s"], 2), (&["44s", "1s", "59999ms", "1ms"], 2)] {
        let server = start_standing();
        let (first, second) = two(&server);
        drop(first);
        until_connected(&server, &[&second.id]);
        let told: Vec<_> = jumps.iter().map(|jump| advance(&server, &format!("by={jump}"))).collect();
        let sum: u64 = told.iter().map(|told| told["members_evicted"].as_u64().unwrap()).sum();
        assert_eq!(sum, evicted, "{jumps:?}: {told:?}");
    }
}

#[test]
fn a_parked_join_is_answered_at_its_time_and_not_before() {
    let server = start(&Settings { group_initial_rebalance_delay: Duration::from_secs(3), ..standing() });
    let mut member = Member::new(&server);
    let sent = member.send_join();
    until(&server, |group| group.members.len() == 1);
    assert_eq!(advance(&server, "by=2999ms")["rebalances_completed"], 0);
    assert!(!member.client.has_answer());
    let told = advance(&server, "by=1ms");
    assert_eq!(told["operations_expired"], 1, "{told}");
    assert_eq!(member.joined(sent).error, 0);
}

#[test]
fn what_real_time_brings_is_not_time_here() {
    let server = start_standing();
    let at = now_ms(&server);
    let mut member = stable(&server);
    assert_eq!(member.commit(1), 0);
    assert_eq!(now_ms(&server), at, "a server that works for a while is no older");
    let told = advance(&server, "by=0s");
    assert_eq!((&told["advanced_ms"], &told["operations_expired"]), (&0.into(), &0.into()));
    assert_eq!(now_ms(&server), at);
}

#[test]
fn two_jumps_at_once_are_two_jumps() {
    let server = start_standing();
    let mut member = stable(&server);
    let at = now_ms(&server);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| advance(&server, "by=10s"));
        }
    });
    assert_eq!(now_ms(&server), at + 80_000);
    assert_eq!(member.heartbeat(), 0);
}

#[test]
fn offsets_expire_a_week_after_their_group_is_left() {
    let server = start_standing();
    let mut member = stable(&server);
    assert_eq!(member.commit(42), 0);
    let sent = member.send_leave();
    assert_eq!(member.left(sent), 0);
    assert_eq!(advance(&server, "by=604799999ms")["offsets_expired"], 0);
    assert_eq!(committed(&mut member.client), [42, -1]);
    let told = advance(&server, "by=1ms");
    assert_eq!((&told["offsets_expired"], &told["groups_removed"]), (&1.into(), &1.into()), "{told}");
    assert_eq!(committed(&mut member.client), [-1, -1]);
}

#[test]
fn a_transaction_left_open_is_aborted_at_its_timeout_over_all_shards() {
    // On shards of their own, or not: the names decide.
    for group in ["a", "b", "c"] {
        let server = start_standing();
        let mut left = Left::open(&server, "job", group);
        assert_eq!(advance(&server, "by=59s")["transactions_timed_out"], 0);
        assert!(left.is_open());
        assert_eq!(advance(&server, "by=1s")["transactions_timed_out"], 1);
        assert!(!left.is_open(), "all its markers are written when the command returns");
    }
}

#[test]
fn a_static_member_comes_back_and_the_first_is_fenced() {
    let server = start_standing();
    let join = |client: &mut Client| {
        let protocols = vec![JoinGroupRequestProtocol { name: "range", metadata: b"" }];
        let request = JoinGroupRequest {
            group_id: "g",
            session_timeout_ms: 45_000,
            rebalance_timeout_ms: 60_000,
            group_instance_id: Some("pod-1"),
            protocol_type: "consumer",
            protocols,
            ..Default::default()
        };
        let body = client.ask(JOIN, &request);
        let joined: kafka_wire::JoinGroupResponse<'_> = super::super::read(JOIN, &body);
        assert_eq!(joined.error_code, 0);
        (joined.member_id.to_owned(), joined.generation_id)
    };
    let mut client = Client::connect(server.address());
    let (first, generation_id) = join(&mut client);
    let sync = |client: &mut Client, member: &str| {
        let request = SyncGroupRequest {
            group_id: "g",
            generation_id,
            member_id: member,
            group_instance_id: Some("pod-1"),
            assignments: vec![SyncGroupRequestAssignment { member_id: member, assignment: b"all" }],
            ..Default::default()
        };
        let body = client.ask(5, &request);
        super::super::read::<kafka_wire::SyncGroupResponse<'_>>(5, &body).error_code
    };
    assert_eq!(sync(&mut client, &first), 0);
    let mut other = Client::connect(server.address());
    let (second, _) = join(&mut other);
    assert_ne!(first, second);
    assert_eq!(sync(&mut client, &first), 82, "FENCED_INSTANCE_ID");
    // A fenced one that goes on heartbeating keeps nobody alive.
    drop(other);
    until_connected(&server, &[&first]);
    assert_eq!(advance(&server, "by=45s")["members_evicted"], 1);
}

#[test]
fn the_command_tells_in_a_sentence_what_happened() {
    let server = start_standing();
    let (first, second) = two(&server);
    drop(first);
    until_connected(&server, &[&second.id]);
    let told = run(&server, "clock advance 45s").expect(0).out;
    for part in ["1 member evicted", "1 rebalance begun", "1 connected member heard from all along"] {
        assert!(told.contains(part), "{told}");
    }
    let told = run(&server, "clock advance 1ms").expect(0).out;
    assert!(told.contains("nothing was due"), "{told}");
    let at = now_ms(&server);
    run(&server, "clock run --for 20ms").expect(0);
    assert_eq!(now_ms(&server), at + 20);
}
