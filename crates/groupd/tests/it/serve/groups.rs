//! Members of a group, each on its own connection.

use groupd::server::Server;
use groupd::settings::Settings;
use kafka_wire::describe_groups::DescribedGroup;
use kafka_wire::join_group::JoinGroupRequestProtocol;
use kafka_wire::offset_commit::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_wire::offset_fetch::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_wire::{
    DescribeGroupsRequest, DescribeGroupsResponse, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest,
    JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse, ListGroupsRequest, ListGroupsResponse,
    MemberIdentity, OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse,
    SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse,
};

use super::{Client, Sent, read, settings, start};

pub(super) const JOIN: i16 = 9;
const SYNC: i16 = 5;
const HEARTBEAT: i16 = 4;
const LEAVE: i16 = 5;

const UNKNOWN_MEMBER_ID: i16 = 25;
const NOT_COORDINATOR: i16 = 16;
const REBALANCE_IN_PROGRESS: i16 = 27;
const MEMBER_ID_REQUIRED: i16 = 79;

/// One who wants to be a member of `orders-app`.
pub(super) struct Member {
    pub(super) client: Client,
    pub(super) id: String,
    pub(super) generation: i32,
    session_timeout_ms: i32,
}

/// What a JoinGroup was answered with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Joined {
    pub(super) error: i16,
    pub(super) leader: bool,
    pub(super) members: Vec<String>,
}

impl Member {
    /// Connects and gets a member id (KIP-394).
    pub(super) fn new(server: &Server) -> Self {
        Self::with_session(server, 30_000)
    }

    /// The same, to be missed after this long.
    pub(super) fn with_session(server: &Server, session_timeout_ms: i32) -> Self {
        let client = Client::connect(server.address());
        let mut this = Self { client, id: String::new(), generation: -1, session_timeout_ms };
        let sent = this.send_join();
        assert_eq!(this.joined(sent).error, MEMBER_ID_REQUIRED);
        assert!(this.id.starts_with("it-"), "{}", this.id);
        this
    }

    pub(super) fn send_join(&mut self) -> Sent {
        let request = JoinGroupRequest {
            group_id: "orders-app",
            member_id: &self.id,
            session_timeout_ms: self.session_timeout_ms,
            rebalance_timeout_ms: 60_000,
            protocol_type: "consumer",
            protocols: vec![JoinGroupRequestProtocol { name: "range", metadata: b"what I want" }],
            ..Default::default()
        };
        self.client.send(JOIN, &request)
    }

    pub(super) fn joined(&mut self, sent: Sent) -> Joined {
        let body = self.client.receive(sent);
        let response: JoinGroupResponse<'_> = read(JOIN, &body);
        self.generation = response.generation_id;
        response.member_id.clone_into(&mut self.id);
        Joined {
            error: response.error_code,
            leader: response.leader == response.member_id,
            members: response.members.iter().map(|member| member.member_id.to_owned()).collect(),
        }
    }

    pub(super) fn send_sync(&mut self, assignments: &[(String, Vec<u8>)]) -> Sent {
        let assignment = |(member, bytes): &'_ (String, Vec<u8>)| (member.clone(), bytes.clone());
        let given: Vec<_> = assignments.iter().map(assignment).collect();
        let assignments = given
            .iter()
            .map(|(member_id, assignment)| SyncGroupRequestAssignment { member_id, assignment })
            .collect();
        let request = SyncGroupRequest {
            group_id: "orders-app",
            generation_id: self.generation,
            member_id: &self.id,
            protocol_type: Some("consumer"),
            protocol_name: Some("range"),
            assignments,
            ..Default::default()
        };
        self.client.send(SYNC, &request)
    }

    pub(super) fn synced(&mut self, sent: Sent) -> (i16, Vec<u8>) {
        let body = self.client.receive(sent);
        let response: SyncGroupResponse<'_> = read(SYNC, &body);
        (response.error_code, response.assignment.to_vec())
    }

    pub(super) fn heartbeat(&mut self) -> i16 {
        let request = HeartbeatRequest {
            group_id: "orders-app",
            generation_id: self.generation,
            member_id: &self.id,
            ..Default::default()
        };
        let body = self.client.ask(HEARTBEAT, &request);
        read::<HeartbeatResponse>(HEARTBEAT, &body).error_code
    }

    pub(super) fn send_leave(&mut self) -> Sent {
        let member =
            MemberIdentity { member_id: &self.id, reason: Some("the test is over"), ..Default::default() };
        let request =
            LeaveGroupRequest { group_id: "orders-app", members: vec![member], ..Default::default() };
        self.client.send(LEAVE, &request)
    }

    pub(super) fn left(&mut self, sent: Sent) -> i16 {
        let body = self.client.receive(sent);
        let response: LeaveGroupResponse<'_> = read(LEAVE, &body);
        assert_eq!(response.error_code, 0);
        response.members[0].error_code
    }

    pub(super) fn commit(&mut self, offset: i64) -> i16 {
        let sent = self.send_commit(offset);
        self.committed(sent)
    }

    pub(super) fn committed(&mut self, sent: Sent) -> i16 {
        let body = self.client.receive(sent);
        read::<OffsetCommitResponse<'_>>(9, &body).topics[0].partitions[0].error_code
    }

    /// The same member, where its client has opened another connection.
    pub(super) fn on_another_connection(&self, server: &Server) -> Self {
        Self { client: Client::connect(server.address()), id: self.id.clone(), ..*self }
    }

    pub(super) fn send_commit(&mut self, offset: i64) -> Sent {
        let partition = OffsetCommitRequestPartition {
            partition_index: 2,
            committed_offset: offset,
            committed_metadata: Some("note"),
            ..Default::default()
        };
        let request = OffsetCommitRequest {
            group_id: "orders-app",
            generation_id_or_member_epoch: self.generation,
            member_id: &self.id,
            topics: vec![OffsetCommitRequestTopic {
                name: "orders",
                partitions: vec![partition],
                ..Default::default()
            }],
            ..Default::default()
        };
        self.client.send(9, &request)
    }
}

/// The committed offsets of partitions 2 and 3.
pub(super) fn committed(client: &mut Client) -> [i64; 2] {
    let topic =
        OffsetFetchRequestTopics { name: "orders", partition_indexes: vec![2, 3], ..Default::default() };
    let group =
        OffsetFetchRequestGroup { group_id: "orders-app", topics: Some(vec![topic]), ..Default::default() };
    let body = client.ask(9, &OffsetFetchRequest { groups: vec![group], ..Default::default() });
    let response: OffsetFetchResponse<'_> = read(9, &body);
    let partitions = &response.groups[0].topics[0].partitions;
    assert_eq!(partitions.iter().map(|partition| partition.error_code).collect::<Vec<_>>(), [0, 0]);
    [partitions[0].committed_offset, partitions[1].committed_offset]
}

/// Asks until the group looks as wanted: how a test knows that the server has got an unanswered request.
pub(super) fn until(server: &Server, wanted: impl Fn(&DescribedGroup<'_>) -> bool) {
    let mut admin = Client::connect(server.address());
    loop {
        let request = DescribeGroupsRequest { groups: vec!["orders-app"], ..Default::default() };
        let body = admin.ask(5, &request);
        let response: DescribeGroupsResponse<'_> = read(5, &body);
        if wanted(&response.groups[0]) {
            return;
        }
    }
}

/// A group of one, stable.
pub(super) fn stable(server: &Server) -> Member {
    let mut member = Member::new(server);
    let sent = member.send_join();
    assert_eq!(member.joined(sent), Joined { error: 0, leader: true, members: vec![member.id.clone()] });
    let assignments = [(member.id.clone(), b"all".to_vec())];
    let sent = member.send_sync(&assignments);
    assert_eq!(member.synced(sent), (0, b"all".to_vec()));
    member
}

#[test]
fn three_members_live_and_leave() {
    let server = start(&settings());
    let mut first = stable(&server);

    // Two more: their joins wait for the first one's.
    let mut others = [Member::new(&server), Member::new(&server)];
    let sent: Vec<_> = others.iter_mut().map(Member::send_join).collect();
    until(&server, |group| group.members.len() == 3);
    assert_eq!(first.heartbeat(), REBALANCE_IN_PROGRESS);
    let rejoin = first.send_join();
    let joined = first.joined(rejoin);
    assert_eq!((joined.error, joined.leader, joined.members.len()), (0, true, 3));
    for (member, sent) in others.iter_mut().zip(sent) {
        assert_eq!(member.joined(sent), Joined { error: 0, leader: false, members: vec![] });
        assert_eq!(member.generation, 2);
    }

    // Followers wait for the leader's assignments.
    let sent: Vec<_> = others.iter_mut().map(|member| member.send_sync(&[])).collect();
    let assignments: Vec<_> = joined.members.iter().map(|id| (id.clone(), id.clone().into_bytes())).collect();
    let sync = first.send_sync(&assignments);
    assert_eq!(first.synced(sync), (0, first.id.clone().into_bytes()));
    for (member, sent) in others.iter_mut().zip(sent) {
        assert_eq!(member.synced(sent), (0, member.id.clone().into_bytes()));
        assert_eq!(member.heartbeat(), 0);
    }

    assert_eq!(first.commit(42), 0);
    assert_eq!(committed(&mut others[0].client), [42, -1]);

    let sent = first.send_leave();
    assert_eq!(first.left(sent), 0);
    assert_eq!(first.heartbeat(), UNKNOWN_MEMBER_ID);
    assert_eq!(others[0].heartbeat(), REBALANCE_IN_PROGRESS);
    for member in &mut others {
        let sent = member.send_leave();
        assert_eq!(member.left(sent), 0);
    }
    until(&server, |group| group.group_state == "Empty");
    let body = first.client.ask(5, &ListGroupsRequest::default());
    let list: ListGroupsResponse<'_> = read(5, &body);
    let listed = list.groups.iter().map(|group| (group.group_id, group.group_state)).collect::<Vec<_>>();
    assert_eq!(listed, [("orders-app", "Empty")]);
    server.stop();
}

#[test]
fn a_leave_behind_the_members_own_parked_join_completes_it() {
    let server = start(&settings());
    let mut first = stable(&server);
    let mut second = Member::new(&server);
    let join = second.send_join();
    let leave = second.send_leave();
    assert_eq!(second.joined(join).error, UNKNOWN_MEMBER_ID);
    // The refusal carried no id to leave with: the answer is to the leave of the id before.
    assert_eq!(second.left(leave), 0);
    // Only the first is awaited, and it is alone again.
    let sent = first.send_join();
    assert_eq!(first.joined(sent).members.len(), 1);
    server.stop();
}

#[test]
fn a_closed_connection_frees_its_place_though_its_join_was_parked() {
    // One for the first member, one for another, one to look.
    let server = start(&Settings { max_connections: 3, ..settings() });
    let _first = stable(&server);
    for members in 2..7 {
        let mut another = Member::new(&server);
        let _unanswered = another.send_join();
        until(&server, |group| group.members.len() == members);
    }
    server.stop();
}

#[test]
fn what_is_parked_is_answered_when_the_server_stops() {
    let server = start(&settings());
    let _first = stable(&server);
    let mut second = Member::new(&server);
    let join = second.send_join();
    until(&server, |group| group.group_state == "PreparingRebalance");
    server.stop();
    assert_eq!(second.joined(join).error, NOT_COORDINATOR);
    assert_eq!(second.client.receive_frame(), None);
}

/// Kafka's rounds wait for it until its session timeout, 30 s here; longer than this test has patience.
#[test]
fn no_round_waits_for_an_id_whose_connection_ended_or_that_was_asked_for_again() {
    let server = start(&settings());
    let mut first = stable(&server);
    drop(Member::new(&server));
    let rejoin = first.send_join();
    assert_eq!(first.joined(rejoin).members, [first.id.clone()]);

    // Its answer was lost to it, so it asks again on the same connection: then only one id is waited for.
    let mut second = Member::new(&server);
    second.id.clear();
    let sent = second.send_join();
    assert_eq!(second.joined(sent).error, MEMBER_ID_REQUIRED);
    let of_second = second.send_join();
    until(&server, |group| group.members.len() == 2);
    let of_first = first.send_join();
    assert_eq!(first.joined(of_first).members.len(), 2);
    assert_eq!(second.joined(of_second).error, 0);

    // What is in use stays in use, whoever was told of it before.
    let mut elsewhere = second.on_another_connection(&server);
    drop(second);
    assert_eq!(elsewhere.heartbeat(), 0);
    server.stop();
}

/// The connection that got the id ends after another one has used it.
#[test]
fn an_id_that_is_used_over_another_connection_survives_the_first() {
    let server = start(&settings());
    let told = Member::new(&server);
    let mut user = told.on_another_connection(&server);
    let join = user.send_join();
    assert_eq!(user.joined(join).error, 0);
    drop(told);
    let sent = user.send_sync(&[]);
    assert_eq!(user.synced(sent).0, 0);
    assert_eq!(user.heartbeat(), 0);
}
