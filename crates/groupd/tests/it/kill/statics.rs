//! Static members: each comes back in a new process, under a new id, and goes on in its generation with its assignment.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use kafka_wire::join_group::JoinGroupRequestProtocol;
use kafka_wire::{
    DescribeGroupsRequest, DescribeGroupsResponse, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest,
    JoinGroupResponse, SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse,
};
use parking_lot::Mutex;

use super::account::Account;
use super::connection::{Connection, Life, wrong};
use super::ledger::Settled;
use crate::serve::read;

const JOIN: i16 = 9;
const SYNC: i16 = 5;
const HEARTBEAT: i16 = 4;
const DESCRIBE: i16 = 5;
/// Nobody is missed within a test.
const TIMEOUT_MS: i32 = 600_000;
const GROUP: &str = "static";

const COORDINATOR_LOAD_IN_PROGRESS: i16 = 14;
const ILLEGAL_GENERATION: i16 = 22;
const REBALANCE_IN_PROGRESS: i16 = 27;
const FENCED_INSTANCE_ID: i16 = 82;

/// The generation with all in it, once a restart found it: it stays, whoever comes back.
#[derive(Clone, Debug)]
pub(super) struct Agreed(Arc<Mutex<Agreement>>);

#[derive(Debug)]
struct Agreement {
    members: usize,
    is_formed: bool,
    generation: Option<i32>,
}

impl Agreed {
    /// Of so many members.
    pub(super) fn new(members: usize) -> Self {
        Self(Arc::new(Mutex::new(Agreement { members, is_formed: false, generation: None })))
    }

    fn formed(&self) {
        self.0.lock().is_formed = true;
    }

    fn told(&self, generation: i32) -> Result<(), String> {
        let mut agreed = self.0.lock();
        if !agreed.is_formed {
            return Ok(());
        }
        let expected = *agreed.generation.get_or_insert(generation);
        if expected == generation {
            return Ok(());
        }
        Err(format!("generation {generation} came after {expected}, though nobody rebalanced"))
    }
}

pub(super) struct StaticMember {
    instance: String,
    agreed: Agreed,
    /// The id that this process was told, and the one before it.
    id: Option<String>,
    replaced: Option<String>,
    /// A join was sent and is not answered: its id may be there or not.
    joins: bool,
    /// Joins and heartbeats that were answered since the server came back.
    since: u64,
}

impl StaticMember {
    pub(super) fn new(number: usize, agreed: &Agreed) -> Self {
        Self {
            instance: format!("instance-{number}"),
            agreed: agreed.clone(),
            id: None,
            replaced: None,
            joins: false,
            since: 0,
        }
    }

    /// Joins as a process that knows nothing of an earlier one does, until it has its assignment.
    fn come_back(&mut self, connection: &mut Connection) -> Life<i32> {
        loop {
            let metadata = [0];
            let request = JoinGroupRequest {
                group_id: GROUP,
                group_instance_id: Some(&self.instance),
                session_timeout_ms: TIMEOUT_MS,
                rebalance_timeout_ms: TIMEOUT_MS,
                protocol_type: "consumer",
                protocols: vec![JoinGroupRequestProtocol { name: "range", metadata: &metadata }],
                ..Default::default()
            };
            self.joins = true;
            let body = connection.ask(JOIN, &request)?;
            self.joins = false;
            let joined: JoinGroupResponse<'_> = read(JOIN, &body);
            match joined.error_code {
                0 => {}
                COORDINATOR_LOAD_IN_PROGRESS | REBALANCE_IN_PROGRESS => continue,
                code => return wrong(format!("{}: a join was answered {code}", self.instance)),
            }
            self.since += 1;
            self.replaced = self.id.replace(joined.member_id.to_owned());
            let told = self.agreed.told(joined.generation_id);
            told.or_else(|what| wrong(format!("{}: {what}", self.instance)))?;
            if self.sync(connection, &joined)? {
                return Ok(joined.generation_id);
            }
        }
    }

    /// Whether it has its assignment, and need not join again.
    fn sync(&self, connection: &mut Connection, joined: &JoinGroupResponse<'_>) -> Life<bool> {
        let work: Vec<_> = joined
            .members
            .iter()
            .map(|member| (member.member_id, assignment(member.group_instance_id.unwrap_or_default())))
            .collect();
        let brought = if joined.skip_assignment { &[] } else { work.as_slice() };
        let assignments = brought
            .iter()
            .map(|(member_id, work)| SyncGroupRequestAssignment { member_id, assignment: work.as_bytes() })
            .collect();
        let request = SyncGroupRequest {
            group_id: GROUP,
            generation_id: joined.generation_id,
            member_id: joined.member_id,
            group_instance_id: Some(&self.instance),
            protocol_type: Some("consumer"),
            protocol_name: Some("range"),
            assignments,
        };
        let body = connection.ask(SYNC, &request)?;
        let synced: SyncGroupResponse<'_> = read(SYNC, &body);
        match synced.error_code {
            0 if synced.assignment == assignment(&self.instance).as_bytes() => Ok(true),
            REBALANCE_IN_PROGRESS | ILLEGAL_GENERATION => Ok(false),
            code => wrong(format!("{}: synced {code} with {:?}", self.instance, synced.assignment)),
        }
    }

    fn heartbeat(&self, connection: &mut Connection, member: &str, generation: i32) -> Life<i16> {
        let request = HeartbeatRequest {
            group_id: GROUP,
            generation_id: generation,
            member_id: member,
            group_instance_id: Some(&self.instance),
        };
        let body = connection.ask(HEARTBEAT, &request)?;
        Ok(read::<HeartbeatResponse>(HEARTBEAT, &body).error_code)
    }
}

fn assignment(instance: &str) -> String {
    format!("the work of {instance}")
}

impl Account for StaticMember {
    fn kind(&self) -> &'static str {
        "answers to static members"
    }

    fn run(&mut self, address: SocketAddr, answers: &Sender<()>, most: u64) -> Life<()> {
        for _ in 0..most {
            // Each time a process of its own.
            let mut connection = Connection::open(address)?;
            let generation = self.come_back(&mut connection)?;
            let _ = answers.send(());
            let Some(id) = self.id.clone() else { return wrong("joined without an id") };
            for _ in 0..3 {
                match self.heartbeat(&mut connection, &id, generation)? {
                    0 => self.since += 1,
                    // The other one comes for the first time.
                    REBALANCE_IN_PROGRESS | ILLEGAL_GENERATION => break,
                    code => return wrong(format!("{}: a heartbeat was answered {code}", self.instance)),
                }
                let _ = answers.send(());
            }
        }
        Ok(())
    }

    /// It is there under the id it was told last (or one that it was not told of), with its assignment; and whoever it
    /// replaced is fenced.
    fn settle(&mut self, connection: &mut Connection) -> Life<Settled> {
        let settled = Settled { acknowledged: std::mem::take(&mut self.since), ..Settled::default() };
        let found = describe(connection)?;
        let formed = found.len() == self.agreed.0.lock().members
            && found.iter().all(|found| found.assignment == assignment(&found.instance));
        let mine = found.iter().find(|found| found.instance == self.instance);
        let Some(mine) = mine.filter(|_| formed) else {
            let agreed = self.agreed.0.lock();
            // Until all were there once, they may be between two rounds.
            return if agreed.is_formed {
                wrong(format!("{}: found {found:?}", self.instance))
            } else {
                Ok(settled)
            };
        };
        self.agreed.formed();
        let is_it = self.id.as_ref().is_none_or(|id| *id == mine.id) || self.joins;
        if !is_it {
            return wrong(format!("{}: {} came back, not {:?}", self.instance, mine.id, self.id));
        }
        let generation = self.agreed.0.lock().generation;
        if let (Some(generation), Some(old)) =
            (generation, self.replaced.as_ref().filter(|old| **old != mine.id))
        {
            let code = self.heartbeat(connection, old, generation)?;
            if code != FENCED_INSTANCE_ID {
                return wrong(format!(
                    "{}: {old}, which {} replaced, was told {code}",
                    self.instance, mine.id
                ));
            }
            let code = self.heartbeat(connection, &mine.id, generation)?;
            if code != 0 {
                return wrong(format!("{}: {} of {generation} was told {code}", self.instance, mine.id));
            }
        }
        self.id = Some(mine.id.clone());
        self.joins = false;
        Ok(settled)
    }
}

#[derive(Debug)]
struct FoundMember {
    instance: String,
    id: String,
    assignment: String,
}

/// The members of the group, once it is loaded.
fn describe(connection: &mut Connection) -> Life<Vec<FoundMember>> {
    loop {
        let request = DescribeGroupsRequest { groups: vec![GROUP], ..Default::default() };
        let body = connection.ask(DESCRIBE, &request)?;
        let response: DescribeGroupsResponse<'_> = read(DESCRIBE, &body);
        let described = &response.groups[0];
        match described.error_code {
            0 => {}
            COORDINATOR_LOAD_IN_PROGRESS => continue,
            code => return wrong(format!("{GROUP}: a description was answered {code}")),
        }
        let members = described.members.iter().map(|member| FoundMember {
            instance: member.group_instance_id.unwrap_or_default().to_owned(),
            id: member.member_id.to_owned(),
            assignment: String::from_utf8_lossy(member.member_assignment).into_owned(),
        });
        return Ok(members.collect());
    }
}
