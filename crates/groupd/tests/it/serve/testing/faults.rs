//! Each fault over the wire: whom it strikes, what its client sees, and what is left behind.

use groupd::server::Server;
use groupd::settings::Settings;
use kafka_wire::{FindCoordinatorRequest, FindCoordinatorResponse};

use super::{Client, advance, call, run, standing, start, start_standing, until_connected};
use crate::serve::groups::{Member, committed, stable, until};
use crate::serve::read;

const REQUEST_TIMED_OUT: i16 = 7;
const NOT_COORDINATOR: i16 = 16;
const REBALANCE_IN_PROGRESS: i16 = 27;
const GROUP_AUTHORIZATION_FAILED: i16 = 30;

/// Runs `groupd fault TYPED`.
#[track_caller]
fn fault(server: &Server, typed: &str) -> String {
    run(server, &format!("fault {typed}")).expect(0).out
}

/// How often the only fault has struck; `None`: it is used up.
fn struck(server: &Server) -> Option<u64> {
    let (_, told) = call(server, "GET", "/faults");
    told["faults"][0]["struck"].as_u64()
}

/// The server has closed the connection, without a word.
#[track_caller]
fn assert_cut(member: &mut Member) {
    assert_eq!(member.client.receive_frame(), None);
}

/// The same member, on a new connection.
fn reconnect(member: &mut Member, server: &Server) {
    member.client = Client::connect(server.address());
}

#[test]
fn a_lost_answer_leaves_a_durable_commit() {
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings {
        store: groupd::settings::StoreKind::Embedded,
        data_dir: directory.path().to_owned(),
        ..standing()
    };
    let server = start(&settings);
    let mut member = stable(&server);
    let told = fault(&server, "lose-answer OffsetCommit --group orders-app");
    assert!(told.contains("fault 1: the answer to OffsetCommit of group orders-app is lost"), "{told}");
    let _unanswered = member.send_commit(42);
    assert_cut(&mut member);
    reconnect(&mut member, &server);
    assert_eq!(committed(&mut member.client), [42, -1]);
    // As a client does it: again, and nothing is lost or doubled.
    assert_eq!((member.commit(42), member.heartbeat()), (0, 0));
    assert_eq!(fault(&server, "list"), "no faults are set\n");
    fault(&server, "lose-answer offsetcommit");
    let _unanswered = member.send_commit(43);
    assert_cut(&mut member);
    server.stop();
    let server = start(&settings);
    reconnect(&mut member, &server);
    assert_eq!(committed(&mut member.client), [43, -1]);
    server.stop();
}

#[test]
fn what_was_asked_before_a_lost_answer_is_answered() {
    let server = start_standing();
    let mut member = stable(&server);
    fault(&server, "lose-answer OffsetCommit");
    let sync = member.send_sync(&[]);
    let _unanswered = member.send_commit(42);
    assert_eq!(member.synced(sync), (0, b"all".to_vec()));
    assert_cut(&mut member);
}

#[test]
fn a_lost_request_leaves_nothing() {
    let server = start_standing();
    let mut member = stable(&server);
    fault(&server, "lose-request OffsetCommit");
    let _unanswered = member.send_commit(42);
    assert_cut(&mut member);
    reconnect(&mut member, &server);
    assert_eq!(committed(&mut member.client), [-1, -1]);
}

#[test]
fn an_api_fails_as_often_as_was_said_and_for_whom() {
    let server = start_standing();
    let mut member = stable(&server);
    fault(&server, "fail Heartbeat NOT_COORDINATOR --count 2 --group orders-app");
    fault(&server, "fail OffsetCommit group_authorization_failed --client-id somebody-else");
    assert_eq!(
        [member.heartbeat(), member.heartbeat(), member.heartbeat()],
        [NOT_COORDINATOR, NOT_COORDINATOR, 0]
    );
    assert_eq!(member.commit(7), 0, "its client has another id");
    let member_id = member.id.clone();
    fault(
        &server,
        &format!("fail OffsetCommit GROUP_AUTHORIZATION_FAILED --client-id it --member {member_id}"),
    );
    assert_eq!(member.commit(8), GROUP_AUTHORIZATION_FAILED);
    assert_eq!(committed(&mut member.client), [7, -1], "what failed was not done");
    fault(&server, "fail FindCoordinator COORDINATOR_NOT_AVAILABLE --client-id it");
    for expected in [15, 0] {
        let request = FindCoordinatorRequest { coordinator_keys: vec!["orders-app"], ..Default::default() };
        let body = member.client.ask(4, &request);
        let found: FindCoordinatorResponse<'_> = read(4, &body);
        assert_eq!(found.coordinators[0].error_code, expected);
    }
    fault(&server, "fail Heartbeat UNKNOWN_MEMBER_ID --count all");
    for _ in 0..5 {
        assert_eq!(member.heartbeat(), 25);
    }
    let table = fault(&server, "list");
    assert!(
        table.contains("until cleared") && table.contains("Heartbeat is answered UNKNOWN_MEMBER_ID"),
        "{table}"
    );
    assert_eq!(fault(&server, "clear --all"), "2 faults cleared\n");
    assert_eq!(member.heartbeat(), 0);
}

#[test]
fn a_delayed_request_is_handled_when_its_fault_is_cleared() {
    let server = start_standing();
    let mut member = stable(&server);
    fault(&server, "delay OffsetCommit 1h");
    let commit = member.send_commit(42);
    let behind = member.send_sync(&[]);
    while struck(&server) != Some(1) {}
    let mut reader = Client::connect(server.address());
    assert_eq!(committed(&mut reader), [-1, -1], "it is not handled yet");
    assert!(!member.client.has_answer());
    fault(&server, "clear 1");
    assert_eq!(member.committed(commit), 0);
    assert_eq!(member.synced(behind).0, 0);
    assert_eq!(committed(&mut reader), [42, -1]);
    // And one whose time is over.
    fault(&server, "delay OffsetCommit 1ms");
    assert_eq!(member.commit(43), 0);
    // One whose client does not wait.
    fault(&server, "delay OffsetCommit 1h");
    let _unanswered = member.send_commit(44);
    while struck(&server) != Some(1) {}
    reconnect(&mut member, &server);
    while struck(&server).is_some() {}
    assert_eq!(committed(&mut reader), [43, -1]);
}

#[test]
fn connections_are_closed_by_whose_they_are() {
    let server = start_standing();
    let whose: [fn(&Member) -> String; 3] = [
        |_| "--group orders-app".into(),
        |member| format!("--member {}", member.id),
        |_| "--client-id it --group orders-app".into(),
    ];
    let mut member = stable(&server);
    for whose in whose {
        assert_eq!(member.heartbeat(), 0);
        let whose = whose(&member);
        assert_eq!(fault(&server, &format!("disconnect {whose}")), "1 connection closed\n");
        assert_cut(&mut member);
        reconnect(&mut member, &server);
    }
    let none = run(&server, "fault disconnect --group nobody").expect(1);
    assert!(none.err.contains("no such connection"), "{none:?}");
    run(&server, "fault disconnect").expect(1);
}

#[test]
fn a_parked_join_whose_connection_is_cut_is_given_up() {
    let server = start_standing();
    let mut first = stable(&server);
    let mut second = Member::new(&server);
    let _parked = second.send_join();
    until(&server, |group| group.members.len() == 2);
    fault(&server, &format!("disconnect --member {}", second.id));
    assert_cut(&mut second);
    assert_eq!(first.heartbeat(), REBALANCE_IN_PROGRESS);
}

#[test]
fn a_write_that_fails_is_not_acknowledged() {
    let server = start_standing();
    let mut member = stable(&server);
    fault(&server, "store-fail --group another");
    assert_eq!(member.commit(41), 0);
    fault(&server, "store-fail --group orders-app");
    assert_eq!((member.commit(42), committed(&mut member.client)), (NOT_COORDINATOR, [41, -1]));
    fault(&server, "store-fail NOT_ENOUGH_REPLICAS --group orders-app");
    assert_eq!(member.commit(42), 15, "COORDINATOR_NOT_AVAILABLE, as Kafka has it");
    assert_eq!((member.commit(42), committed(&mut member.client)), (0, [42, -1]));
    // An assignment that is not stored: the group re-forms.
    fault(&server, "clear --all");
    let rejoin = member.send_join();
    assert_eq!(member.joined(rejoin).error, 0);
    fault(&server, "store-fail");
    let sync = member.send_sync(&[(member.id.clone(), b"all".to_vec())]);
    assert_ne!(member.synced(sync).0, 0);
    let rejoin = member.send_join();
    assert_eq!(member.joined(rejoin).error, 0);
}

#[test]
fn a_slow_store_lets_a_commit_time_out_by_command() {
    let server = start_standing();
    let mut member = stable(&server);
    fault(&server, "store-slow 1h");
    let commit = member.send_commit(42);
    while struck(&server) != Some(1) {}
    // offsets.commit.timeout.ms is 5 s. The jump does not wait for a write that a fault holds.
    advance(&server, "by=4999ms");
    assert!(!member.client.has_answer());
    advance(&server, "by=1ms");
    assert_eq!(member.committed(commit), REQUEST_TIMED_OUT);
    fault(&server, "clear --all");
    assert_eq!(member.commit(43), 0);
    assert_eq!(committed(&mut member.client), [43, -1]);
    // A server that is told to stop holds nothing.
    fault(&server, "store-slow 1h");
    let commit = member.send_commit(44);
    while struck(&server) != Some(1) {}
    server.stop();
    assert_eq!(member.committed(commit), 0);
}

#[test]
fn a_coordinator_goes_elsewhere_and_comes_back() {
    let server = start_standing();
    let mut member = stable(&server);
    assert_eq!(member.commit(42), 0);
    let told = fault(&server, "move orders-app");
    assert!(told.contains("the coordinator of group orders-app is elsewhere"), "{told}");
    assert_eq!((member.heartbeat(), member.commit(43)), (NOT_COORDINATOR, NOT_COORDINATOR));
    let again = run(&server, "fault move orders-app").expect(1);
    assert!(again.err.contains("is elsewhere already"), "{again:?}");
    advance(&server, "by=1h");
    fault(&server, "clear 1");
    assert_eq!(member.heartbeat(), 0, "the same member, the same generation");
    assert_eq!((committed(&mut member.client), member.commit(43)), ([42, -1], 0));
    // What is parked hears of it.
    let mut second = Member::new(&server);
    let parked = second.send_join();
    until(&server, |group| group.members.len() == 2);
    assert_eq!(fault(&server, "move orders-app --and-back"), "the coordinator went and came back\n");
    assert_eq!(second.joined(parked).error, NOT_COORDINATOR);
    assert_eq!((member.heartbeat(), committed(&mut member.client)), (0, [43, -1]));
    // As often as one likes.
    for _ in 0..5 {
        fault(&server, "move orders-app --and-back");
    }
    assert_eq!(member.heartbeat(), 0);
    fault(&server, "move orders-app");
    server.stop();
}

#[test]
fn faults_are_bounded_listed_and_cleared() {
    let server = start_standing();
    for _ in 0..64 {
        let (status, told) =
            call(&server, "POST", "/faults?kind=lose-request&api=JoinGroup&group=x&count=all");
        assert_eq!(status, 200, "{told}");
    }
    let one_more = run(&server, "fault lose-request JoinGroup").expect(1);
    assert!(one_more.err.contains("64 faults are set"), "{one_more:?}");
    let metrics = super::ask(&server, "GET /metrics HTTP/1.1\r\n\r\n").1;
    assert!(metrics.contains("\ngroupd_faults 64\n"), "{metrics}");
    let cleared = run(&server, "fault clear 2 3").expect(0).out;
    assert_eq!(cleared, "2 faults cleared\n");
    let gone = run(&server, "fault clear 3").expect(1);
    assert!(gone.err.contains("there is no fault 3"), "{gone:?}");
    let left = run(&server, "fault list --json").expect(0).json();
    assert_eq!(left.as_array().unwrap().len(), 62);
    fault(&server, "clear --all");
    // None of it has struck anybody.
    let mut member = stable(&server);
    assert_eq!(member.heartbeat(), 0);
}

#[test]
fn faults_that_cannot_be_are_refused() {
    let server = start_standing();
    for (query, why) in [
        ("", "kind is missing"),
        ("kind=explode", "there is no fault of that kind"),
        ("kind=fail&api=Heartbeat", "error is missing"),
        ("kind=fail&api=Heartbeat&error=OOPS", "there is no error of that name"),
        ("kind=fail&api=Telepathy&error=NOT_COORDINATOR", "there is no API of that name"),
        ("kind=fail&api=Fetch&error=NOT_COORDINATOR", "cannot be failed"),
        ("kind=delay&api=Heartbeat&by=61m", "an hour at most"),
        ("kind=delay&api=Heartbeat&by=-1s", "time does not go back"),
        ("kind=lose-answer&api=Heartbeat&count=0", "count is a whole number"),
        ("kind=lose-answer&api=Heartbeat&count=1000001", "count is a whole number"),
        ("kind=lose-answer&api=Heartbeat&counts=1", "there is no parameter"),
        ("kind=lose-answer&api=Metadata&group=g", "names no one group"),
        ("kind=lose-answer&api=OffsetFetch&member=m", "names no member"),
        ("kind=store-fail&error=GROUP_AUTHORIZATION_FAILED", "a store fails with one of"),
        ("kind=store-slow&by=1s&member=m", "the store knows nothing"),
        ("kind=move", "name a group"),
        ("kind=disconnect", "say whose connection"),
    ] {
        let (status, told) = call(&server, "POST", &format!("/faults?{query}"));
        assert_eq!(status, 400, "{query}: {told}");
        assert!(told["error"].as_str().unwrap().contains(why), "{query}: {told}");
    }
    let long = "g".repeat(1_025);
    assert_eq!(call(&server, "POST", &format!("/faults?kind=store-fail&group={long}")).0, 400);
    assert_eq!(call(&server, "PUT", "/faults").0, 405);
    assert_eq!(call(&server, "DELETE", "/faults?id=x").0, 400);
    assert_eq!(call(&server, "GET", "/faults").1["faults"], serde_json::json!([]));
}

#[test]
fn a_member_that_is_gone_by_a_fault_is_evicted_by_the_clock() {
    let server = start_standing();
    let mut member = stable(&server);
    fault(&server, &format!("disconnect --member {}", member.id));
    assert_cut(&mut member);
    until_connected(&server, &[]);
    assert_eq!(advance(&server, "by=30s")["members_evicted"], 1);
}
