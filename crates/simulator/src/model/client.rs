//! A client of the model: the consumer's rules, without time. When it sends is the explorer's choice.

use coordinator::ids::{Blob, Generation, GroupId, MemberId};
use coordinator::messages::{
    GroupError, Heartbeat, JoinGroup, JoinGroupResponse, LeaveGroup, LeavingMember, Request, Response,
    SyncGroup, SyncGroupResponse,
};

/// Ms.
pub(super) const SESSION_MS: u32 = 6_000;
/// Ms.
pub(super) const REBALANCE_MS: u32 = 10_000;

/// Where a client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has to join, with or without an id.
    Out,
    /// It has joined a generation and has to sync; the members, if it leads.
    Joined(Vec<MemberId>),
    /// It has its assignment.
    Stable,
}

/// One client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) number: usize,
    /// How often it has died: requests of an earlier life get no answer.
    pub(super) life: u64,
    /// Whom it asks.
    pub(super) owner: usize,
    pub(super) member: MemberId,
    pub(super) generation: Generation,
    pub(super) stage: Stage,
    /// The token of the request that waits.
    pub(super) waits: Option<u64>,
}

/// What a client makes of an answer.
#[derive(Debug)]
pub(super) enum Learnt {
    /// Nothing that anybody checks.
    Nothing,
    /// It joined this generation, led by this member.
    Joined(Generation, MemberId),
    /// It has its assignment of this generation.
    Synced(Generation, Blob),
    /// Whom it asked owns the group no more.
    Moved,
    /// What must not be answered.
    Wrong(String),
}

impl Client {
    pub(super) fn new(number: usize) -> Self {
        Self {
            number,
            life: 0,
            owner: 0,
            member: MemberId::default(),
            generation: Generation::NONE,
            stage: Stage::Out,
            waits: None,
        }
    }

    /// Starts anew without memory.
    pub(super) fn die(&mut self, owner: usize) {
        *self = Self { life: self.life + 1, owner, ..Self::new(self.number) };
    }

    /// The number of its next token: it has one request at a time.
    pub(super) fn token(&self) -> u64 {
        self.life << 8 | self.number as u64
    }

    /// What it sends next.
    pub(super) fn request(&self, group: &GroupId) -> Request {
        let group = group.clone();
        match &self.stage {
            Stage::Out => Request::JoinGroup(JoinGroup {
                group,
                member: self.member.clone(),
                instance: None,
                client_id: format!("c{}", self.number).into(),
                client_host: "/127.0.0.1".into(),
                protocol_type: "consumer".into(),
                protocols: vec![("range".into(), Blob::from(&b"all"[..]))],
                session_timeout_ms: i32::try_from(SESSION_MS).unwrap_or(i32::MAX),
                rebalance_timeout_ms: i32::try_from(REBALANCE_MS).unwrap_or(i32::MAX),
                require_known_member_id: true,
                supports_skipping_assignment: true,
                reason: None,
            }),
            Stage::Joined(members) => Request::SyncGroup(SyncGroup {
                group,
                generation: self.generation,
                member: self.member.clone(),
                instance: None,
                protocol_type: None,
                protocol: None,
                assignments: members.iter().map(|member| (member.clone(), self.share(member))).collect(),
            }),
            Stage::Stable => Request::Heartbeat(Heartbeat {
                group,
                generation: self.generation,
                member: self.member.clone(),
                instance: None,
            }),
        }
    }

    pub(super) fn leave(&self, group: &GroupId) -> Request {
        let leaving = LeavingMember { member: self.member.clone(), instance: None, reason: None };
        Request::LeaveGroup(LeaveGroup { group: group.clone(), members: vec![leaving] })
    }

    /// What it gives `member` when it leads: whose doing it was is to be seen.
    fn share(&self, member: &MemberId) -> Blob {
        format!("{} to {member}", self.member).into_bytes().into()
    }

    /// Takes an answer.
    pub(super) fn learn(&mut self, response: Response) -> Learnt {
        self.waits = None;
        match response {
            Response::JoinGroup(response) => self.joined(response),
            Response::SyncGroup(response) => self.synced(response),
            Response::Heartbeat(response) => response.error.map_or(Learnt::Nothing, |why| self.refused(why)),
            Response::LeaveGroup(response) => {
                self.member = MemberId::default();
                self.stage = Stage::Out;
                response.error.map_or(Learnt::Nothing, |why| self.refused(why))
            }
            other => Learnt::Wrong(format!("an answer to nothing it asked: {other:?}")),
        }
    }

    fn joined(&mut self, response: JoinGroupResponse) -> Learnt {
        match response.error {
            None => {
                let leads = response.leader == response.member;
                let members = response.members.into_iter().map(|member| member.member);
                self.member = response.member;
                self.generation = response.generation;
                self.stage = Stage::Joined(if leads { members.collect() } else { Vec::new() });
                Learnt::Joined(response.generation, response.leader)
            }
            Some(GroupError::MemberIdRequired) => {
                self.member = response.member;
                Learnt::Nothing
            }
            Some(why) => self.refused(why),
        }
    }

    fn synced(&mut self, response: SyncGroupResponse) -> Learnt {
        match response.error {
            None => {
                self.stage = Stage::Stable;
                Learnt::Synced(self.generation, response.assignment)
            }
            Some(why) => self.refused(why),
        }
    }

    /// As consumers do: whoever is unknown forgets its id; everybody else joins again with it.
    fn refused(&mut self, why: GroupError) -> Learnt {
        self.stage = Stage::Out;
        match why {
            GroupError::UnknownMemberId => {
                self.member = MemberId::default();
                Learnt::Nothing
            }
            GroupError::IllegalGeneration | GroupError::RebalanceInProgress => Learnt::Nothing,
            GroupError::NotCoordinator
            | GroupError::CoordinatorNotAvailable
            | GroupError::CoordinatorLoadInProgress => Learnt::Moved,
            other => Learnt::Wrong(format!("client {} was refused with {other:?}", self.number)),
        }
    }
}
