//! Groups of members that join, sync, heartbeat and commit, and go on in their generation when the server is back.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;

use kafka_wire::join_group::JoinGroupRequestProtocol;
use kafka_wire::{
    DescribeGroupsRequest, DescribeGroupsResponse, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest,
    JoinGroupResponse, OffsetCommitRequest, OffsetCommitResponse, SyncGroupRequest,
    SyncGroupRequestAssignment, SyncGroupResponse,
};
use parking_lot::Mutex;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::committer::{COMMIT, commit, fetch};
use super::connection::{Connection, Life, wrong};
use super::ledger::{Change, Ledger, Settled};
use crate::serve::read;

const JOIN: i16 = 9;
const SYNC: i16 = 5;
const HEARTBEAT: i16 = 4;
const DESCRIBE: i16 = 5;
/// Nobody is missed within a test.
const TIMEOUT_MS: i32 = 600_000;
/// Members of a group.
const MEMBERS: usize = 3;

const COORDINATOR_LOAD_IN_PROGRESS: i16 = 14;
const ILLEGAL_GENERATION: i16 = 22;
const UNKNOWN_MEMBER_ID: i16 = 25;
const REBALANCE_IN_PROGRESS: i16 = 27;
const MEMBER_ID_REQUIRED: i16 = 79;

/// Member id to assignment.
type Assignments = BTreeMap<String, String>;

/// A group and its members.
pub(super) struct MemberGroup {
    name: String,
    rounds: Mutex<Rounds>,
    pub(super) members: Vec<Member>,
}

/// The rounds whose leader sent an assignment, in order, since the last one that a restart found.
#[derive(Debug, Default)]
struct Rounds {
    sent: Vec<Round>,
    /// The last one of which somebody was told.
    told: Option<usize>,
    /// Assignments ever sent: each is another one.
    count: u64,
    /// A generation of all members was found by a restart: where nobody is restless, it stays.
    settled: Option<i32>,
}

#[derive(Debug)]
struct Round {
    generation: i32,
    assignments: Assignments,
}

impl Rounds {
    /// A leader is about to send assignments: each says whose it is, and differs from all before.
    fn assign(&mut self, generation: i32, members: &[String]) -> Assignments {
        self.count += 1;
        let count = self.count;
        let assignment = |member: &String| (member.clone(), format!("{generation} {count} {member}"));
        let assignments: Assignments = members.iter().map(assignment).collect();
        self.sent.push(Round { generation, assignments: assignments.clone() });
        assignments
    }

    /// A member was told its assignment: it must be one of those sent.
    fn tell(&mut self, generation: i32, member: &str, assignment: &str) -> Result<(), String> {
        let is_it = |round: &Round| {
            round.generation == generation
                && round.assignments.get(member).is_some_and(|sent| sent == assignment)
        };
        let Some(at) = self.sent.iter().position(is_it) else {
            return Err(format!("{member} was assigned {assignment:?} in {generation}: {self:?}"));
        };
        self.told = self.told.max(Some(at));
        Ok(())
    }

    /// A restart found these assignments: the last ones somebody was told of, or later ones.
    fn settle(&mut self, found: &Assignments) -> Result<i32, String> {
        let Some(at) = self.sent.iter().rposition(|round| round.assignments == *found) else {
            return Err(format!("{found:?} was never assigned: {self:?}"));
        };
        if self.told.is_some_and(|told| told > at) {
            return Err(format!("{found:?} is older than what was told: {self:?}"));
        }
        self.sent.drain(..at);
        self.sent.truncate(1);
        self.told = Some(0);
        Ok(self.sent[0].generation)
    }
}

impl MemberGroup {
    /// A group whose members stay, or in which now and then somebody wants something else.
    pub(super) fn new(name: String, restless: bool, rng: &mut ChaCha8Rng) -> Self {
        let member = |index| Member {
            index,
            group: name.clone(),
            restless,
            id: String::new(),
            generation: -1,
            told: -1,
            is_synced: false,
            wants: 0,
            rng: super::branch(rng),
            ledger: Ledger::default(),
            number: 0,
        };
        let members = (0..MEMBERS).map(member).collect();
        Self { name, rounds: Mutex::default(), members }
    }

    /// Runs each member on a thread of its own, until the server is gone.
    pub(super) fn lives(
        &mut self,
    ) -> impl Iterator<Item = impl FnOnce(SocketAddr, &Sender<()>) -> Life<()> + Send + '_> {
        let rounds = &self.rounds;
        self.members
            .iter_mut()
            .map(move |member| move |address, answers: &Sender<()>| member.run(address, answers, rounds))
    }

    /// Holds the server to what it said of the group. Returns whether its members were between two rounds.
    pub(super) fn settle(&mut self, connection: &mut Connection) -> Life<(Settled, bool)> {
        let rounds = self.rounds.get_mut();
        let in_flight = rounds.sent.len() > rounds.told.map_or(0, |told| told + 1);
        let between = in_flight || self.members.iter().any(|member| !member.is_synced);
        let found = describe(connection, &self.name)?;
        match found {
            None if rounds.told.is_some() => return wrong(format!("{} is gone: {rounds:?}", self.name)),
            None => rounds.sent.clear(),
            Some(found) => {
                let generation =
                    rounds.settle(&found).or_else(|what| wrong(format!("{}: {what}", self.name)))?;
                if rounds.settled.is_some_and(|settled| settled != generation) {
                    return wrong(format!("{} rebalanced: {rounds:?}", self.name));
                }
                let restless = self.members.iter().any(|member| member.restless);
                rounds.settled = (!restless && found.len() == MEMBERS).then_some(generation);
                for (member, assignment) in &found {
                    resumes(connection, &self.name, generation, member, assignment)?;
                }
            }
        }
        let mut settled = Settled::default();
        for member in &mut self.members {
            settled += member.settle(connection)?;
        }
        Ok((settled, between))
    }
}

/// The members of a group and their assignments, once it is loaded; none if there is no generation.
fn describe(connection: &mut Connection, group: &str) -> Life<Option<Assignments>> {
    loop {
        let body =
            connection.ask(DESCRIBE, &DescribeGroupsRequest { groups: vec![group], ..Default::default() })?;
        let response: DescribeGroupsResponse<'_> = read(DESCRIBE, &body);
        let described = &response.groups[0];
        match (described.error_code, described.group_state) {
            (COORDINATOR_LOAD_IN_PROGRESS, _) => {}
            (0, "Dead" | "Empty") => return Ok(None),
            (0, "Stable") => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let members = described.members.iter();
                return Ok(Some(
                    members.map(|m| (m.member_id.to_owned(), text(m.member_assignment))).collect(),
                ));
            }
            other => return wrong(format!("{group} came back as {other:?}")),
        }
    }
}

/// A member of the generation that was found goes on in it, without a rebalance.
fn resumes(
    connection: &mut Connection,
    group: &str,
    generation: i32,
    member: &str,
    assignment: &str,
) -> Life<()> {
    let code = heartbeat(connection, group, generation, member)?;
    let synced = sync(connection, group, generation, member, &Assignments::new())?;
    if code == 0 && synced == (0, assignment.to_owned()) {
        return Ok(());
    }
    wrong(format!("{group}: {member} of {generation} was told {code}, and then {synced:?}"))
}

/// One member, on a connection of its own.
pub(super) struct Member {
    index: usize,
    group: String,
    restless: bool,
    id: String,
    generation: i32,
    /// The last one of which it was told its assignment: none may come before. (One that nobody was told of may not be
    /// kept, and its number be used again.)
    told: i32,
    /// It was told its assignment, and not to join again.
    is_synced: bool,
    /// Its subscription: another one makes the group rebalance.
    wants: u8,
    rng: ChaCha8Rng,
    ledger: Ledger,
    number: i64,
}

impl Member {
    fn run(&mut self, address: SocketAddr, answers: &Sender<()>, rounds: &Mutex<Rounds>) -> Life<()> {
        let mut connection = Connection::open(address)?;
        loop {
            if self.is_synced {
                self.stay(&mut connection, answers)?;
                self.is_synced = false;
            }
            self.rebalance(&mut connection, rounds)?;
            let _ = answers.send(());
        }
    }

    /// Heartbeats and commits, until told to rebalance, or until it wants to.
    fn stay(&mut self, connection: &mut Connection, answers: &Sender<()>) -> Life<()> {
        loop {
            if self.restless && self.rng.random_range(0..6) == 0 {
                self.wants = self.wants.wrapping_add(1);
                return Ok(());
            }
            match heartbeat(connection, &self.group, self.generation, &self.id)? {
                0 => {}
                REBALANCE_IN_PROGRESS | ILLEGAL_GENERATION | UNKNOWN_MEMBER_ID => return Ok(()),
                code => return wrong(format!("{}: a heartbeat was answered {code}", self.group)),
            }
            if !self.commit(connection)? {
                return Ok(());
            }
            let _ = answers.send(());
        }
    }

    /// Joins and syncs once. It may have to again.
    fn rebalance(&mut self, connection: &mut Connection, rounds: &Mutex<Rounds>) -> Life<()> {
        let Some(members) = self.join(connection)? else { return Ok(()) };
        let assignments = match members.as_slice() {
            [] => Assignments::new(),
            members => rounds.lock().assign(self.generation, members),
        };
        let (code, assignment) = sync(connection, &self.group, self.generation, &self.id, &assignments)?;
        match code {
            0 => {
                let told = rounds.lock().tell(self.generation, &self.id, &assignment);
                told.or_else(|what| wrong(format!("{}: {what}", self.group)))?;
                self.is_synced = true;
                self.told = self.generation;
                Ok(())
            }
            REBALANCE_IN_PROGRESS | ILLEGAL_GENERATION | UNKNOWN_MEMBER_ID => Ok(()),
            code => wrong(format!("{}: a sync was answered {code}", self.group)),
        }
    }

    /// Joins. The members, if it leads; `None`: it must join again.
    fn join(&mut self, connection: &mut Connection) -> Life<Option<Vec<String>>> {
        let metadata = [self.wants];
        let request = JoinGroupRequest {
            group_id: &self.group,
            member_id: &self.id,
            session_timeout_ms: TIMEOUT_MS,
            rebalance_timeout_ms: TIMEOUT_MS,
            protocol_type: "consumer",
            protocols: vec![JoinGroupRequestProtocol { name: "range", metadata: &metadata }],
            ..Default::default()
        };
        let body = connection.ask(JOIN, &request)?;
        let response: JoinGroupResponse<'_> = read(JOIN, &body);
        match response.error_code {
            0 if response.generation_id < self.told => wrong(format!(
                "{}: generation {} came after {}",
                self.group, response.generation_id, self.told
            )),
            0 => {
                self.generation = response.generation_id;
                Ok(Some(response.members.iter().map(|member| member.member_id.to_owned()).collect()))
            }
            MEMBER_ID_REQUIRED => {
                response.member_id.clone_into(&mut self.id);
                Ok(None)
            }
            UNKNOWN_MEMBER_ID => {
                self.id.clear();
                Ok(None)
            }
            REBALANCE_IN_PROGRESS => Ok(None),
            code => wrong(format!("{}: a join was answered {code}", self.group)),
        }
    }

    /// Commits its own partition's next number. Whether it need not join again.
    fn commit(&mut self, connection: &mut Connection) -> Life<bool> {
        self.number += 1;
        let partitions = [self.partition()].into();
        self.ledger.begin(Change::Commit(self.number, partitions));
        let request = OffsetCommitRequest {
            generation_id_or_member_epoch: self.generation,
            member_id: &self.id,
            ..commit(&self.group, self.number, &[self.partition()].into())
        };
        let body = connection.ask(COMMIT, &request)?;
        let response: OffsetCommitResponse<'_> = read(COMMIT, &body);
        match response.topics[0].partitions[0].error_code {
            0 => {
                self.ledger.acknowledge();
                Ok(true)
            }
            REBALANCE_IN_PROGRESS | ILLEGAL_GENERATION | UNKNOWN_MEMBER_ID => {
                self.ledger.refuse();
                Ok(false)
            }
            code => wrong(format!("{}: a commit was answered {code}", self.group)),
        }
    }

    fn partition(&self) -> i32 {
        i32::try_from(self.index).unwrap()
    }

    fn settle(&mut self, connection: &mut Connection) -> Life<Settled> {
        let mut found = fetch(connection, &self.group, |_| String::new())?;
        let partition = self.partition();
        found.retain(|&found, _| found == partition);
        self.ledger
            .settle(&found)
            .or_else(|what| wrong(format!("{}, member {}: {what}", self.group, self.index)))
    }
}

fn heartbeat(connection: &mut Connection, group: &str, generation: i32, member: &str) -> Life<i16> {
    let request = HeartbeatRequest {
        group_id: group,
        generation_id: generation,
        member_id: member,
        ..Default::default()
    };
    let body = connection.ask(HEARTBEAT, &request)?;
    Ok(read::<HeartbeatResponse>(HEARTBEAT, &body).error_code)
}

/// The code and the assignment that a sync is answered with.
fn sync(
    connection: &mut Connection,
    group: &str,
    generation: i32,
    member: &str,
    assignments: &Assignments,
) -> Life<(i16, String)> {
    let assignments = assignments
        .iter()
        .map(|(member_id, assignment)| SyncGroupRequestAssignment {
            member_id,
            assignment: assignment.as_bytes(),
        })
        .collect();
    let request = SyncGroupRequest {
        group_id: group,
        generation_id: generation,
        member_id: member,
        protocol_type: Some("consumer"),
        protocol_name: Some("range"),
        assignments,
        ..Default::default()
    };
    let body = connection.ask(SYNC, &request)?;
    let response: SyncGroupResponse<'_> = read(SYNC, &body);
    Ok((response.error_code, String::from_utf8_lossy(response.assignment).into_owned()))
}
