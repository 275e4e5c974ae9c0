//! Members of classic groups, each with a connection of its own, as far as a load needs them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kafka_wire::join_group::JoinGroupRequestProtocol;
use kafka_wire::sync_group::SyncGroupRequestAssignment;
use kafka_wire::{
    HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, SyncGroupRequest,
    leave_group::MemberIdentity,
};
use tokio::task::JoinSet;

use super::client::{Connection, TOPIC};

const JOIN: i16 = 9;
const SYNC: i16 = 5;
const HEARTBEAT: i16 = 4;
const LEAVE: i16 = 5;

/// Longer than any measurement: nobody is expired, so nobody need heartbeat.
const TIMEOUT: i32 = 600_000;
/// Between tries of what a moving or loading coordinator refuses.
const PAUSE: Duration = Duration::from_millis(50);

/// One member and its connection.
#[derive(Debug)]
pub(crate) struct Member {
    connection: Connection,
    group: String,
    id: String,
    generation: i32,
    /// The ids of all members, if this one leads.
    leads: Option<Vec<String>>,
}

/// A subscription to [`TOPIC`], as version 0 of the consumer protocol has it.
fn subscription() -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, 0, 1, 0, u8::try_from(TOPIC.len()).unwrap()];
    bytes.extend(TOPIC.as_bytes());
    bytes.extend([0xff; 4]);
    bytes
}

impl Member {
    async fn new(address: SocketAddr, group: String) -> Self {
        let connection = Connection::open(address).await;
        Self { connection, group, id: String::new(), generation: -1, leads: None }
    }

    /// Sends `JoinGroup`; the answer comes when the round ends.
    pub(crate) async fn send_join(&mut self) {
        let metadata = subscription();
        let protocols = vec![JoinGroupRequestProtocol { name: "range", metadata: &metadata }];
        let request = JoinGroupRequest {
            group_id: &self.group,
            session_timeout_ms: TIMEOUT,
            rebalance_timeout_ms: TIMEOUT,
            member_id: &self.id,
            protocol_type: "consumer",
            protocols,
            ..Default::default()
        };
        self.connection.send(JOIN, &request).await;
    }

    /// Takes the answer; the error code.
    pub(crate) async fn joined(&mut self) -> i16 {
        let read = |answer: JoinGroupResponse<'_>| {
            let leads = answer.leader == answer.member_id && answer.error_code == 0;
            let members = || answer.members.iter().map(|member| member.member_id.to_owned()).collect();
            (answer.error_code, answer.member_id.to_owned(), answer.generation_id, leads.then(members))
        };
        let (code, id, generation, leads) =
            self.connection.receive::<JoinGroupRequest<'_>, _>(JOIN, read).await;
        self.id = id;
        (self.generation, self.leads) = (generation, leads);
        code
    }

    /// Sends `SyncGroup`, with everyone's assignment if it leads, and waits; the error code.
    pub(crate) async fn sync(&mut self) -> i16 {
        let assignment = |id: &'_ String| -> (String, Vec<u8>) { (id.clone(), assigned()) };
        let all: Vec<_> = self.leads.iter().flatten().map(assignment).collect();
        let assignments = all
            .iter()
            .map(|(member_id, assignment)| SyncGroupRequestAssignment { member_id, assignment })
            .collect();
        let request = SyncGroupRequest {
            group_id: &self.group,
            generation_id: self.generation,
            member_id: &self.id,
            protocol_type: Some("consumer"),
            protocol_name: Some("range"),
            assignments,
            ..Default::default()
        };
        self.connection.ask(SYNC, &request, |answer| answer.error_code).await
    }

    /// One heartbeat; the error code.
    pub(crate) async fn heartbeat(&mut self) -> i16 {
        let request = HeartbeatRequest {
            group_id: &self.group,
            generation_id: self.generation,
            member_id: &self.id,
            ..Default::default()
        };
        self.connection.ask(HEARTBEAT, &request, |answer| answer.error_code).await
    }

    /// Leaves; the error code.
    pub(crate) async fn leave(&mut self) -> i16 {
        let members = vec![MemberIdentity { member_id: &self.id, ..Default::default() }];
        let request = LeaveGroupRequest { group_id: &self.group, members, ..Default::default() };
        self.connection.ask(LEAVE, &request, |answer| answer.error_code).await
    }

    /// Whether it leads its group.
    pub(crate) fn leads(&self) -> bool {
        self.leads.is_some()
    }

    /// Joins, and joins again as others come, until its generation has all of its group.
    async fn settle(mut self, progress: Arc<Progress>) -> Self {
        'round: loop {
            self.send_join().await;
            match self.joined().await {
                0 => {}
                // Not there yet: Kafka's offsets topic is made on the first use.
                14..=16 => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                code => panic!("JoinGroup: error {code}"),
            }
            match self.sync().await {
                0 => progress.synced(self.generation),
                // Somebody came meanwhile.
                22 | 27 => continue,
                code => panic!("SyncGroup: error {code}"),
            }
            while !progress.is_complete(self.generation) {
                tokio::time::sleep(Duration::from_millis(5)).await;
                match self.heartbeat().await {
                    0 => {}
                    22 | 27 => continue 'round,
                    code => panic!("Heartbeat: error {code}"),
                }
            }
            return self;
        }
    }

    /// Asks for an id (KIP-394).
    async fn take_id(mut self) -> Self {
        loop {
            self.send_join().await;
            match self.joined().await {
                79 => return self,
                14..=16 => tokio::time::sleep(PAUSE).await,
                code => panic!("JoinGroup without an id: error {code}"),
            }
        }
    }
}

/// The assignment everyone gets: 40 bytes, as of a few partitions.
fn assigned() -> Vec<u8> {
    vec![7; 40]
}

/// How many members of a group have synced, by generation.
#[derive(Debug)]
struct Progress {
    size: usize,
    synced: Mutex<BTreeMap<i32, usize>>,
}

impl Progress {
    fn synced(&self, generation: i32) {
        *self.synced.lock().unwrap().entry(generation).or_default() += 1;
    }

    fn is_complete(&self, generation: i32) -> bool {
        self.synced.lock().unwrap().get(&generation) == Some(&self.size)
    }
}

/// One stable group of `size` members, all in one generation; the leader first.
pub(crate) async fn form(address: SocketAddr, group: &str, size: usize) -> Vec<Member> {
    let mut members = Vec::new();
    for _ in 0..size {
        members.push(Member::new(address, group.to_owned()).await);
    }
    // Who has an id is waited for by most coordinators: fewer rounds.
    let members = each(members, Member::take_id).await;
    let progress = Arc::new(Progress { size, synced: Mutex::default() });
    let mut members = each(members, |member| member.settle(Arc::clone(&progress))).await;
    members.sort_by_key(|member| !member.leads());
    members
}

/// Runs `step` for all at once.
pub(crate) async fn each<T, F>(members: Vec<T>, step: impl Fn(T) -> F) -> Vec<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let mut tasks = JoinSet::new();
    for member in members {
        tasks.spawn(step(member));
    }
    tasks.join_all().await
}
