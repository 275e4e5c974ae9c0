//! Every request is answered exactly once, with an answer of its kind, in time.

use coordinator::ids::{Generation, MemberId};
use coordinator::messages::{Request, Response};

use super::{Findings, Map, Rule};
use crate::agenda::{MS, Moment};
use crate::network::ConnectionId;

/// The kind of a request, and of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each kind is named as its request")]
pub enum Kind {
    JoinGroup,
    SyncGroup,
    Heartbeat,
    LeaveGroup,
    OffsetCommit,
    TxnOffsetCommit,
    OffsetFetch,
    OffsetDelete,
    DescribeGroup,
    ListGroups,
    DeleteGroups,
}

impl Kind {
    /// Of a request.
    pub fn of(request: &Request) -> Self {
        match request {
            Request::JoinGroup(_) => Self::JoinGroup,
            Request::SyncGroup(_) => Self::SyncGroup,
            Request::Heartbeat(_) => Self::Heartbeat,
            Request::LeaveGroup(_) => Self::LeaveGroup,
            Request::OffsetCommit(_) => Self::OffsetCommit,
            Request::TxnOffsetCommit(_) => Self::TxnOffsetCommit,
            Request::OffsetFetch(_) => Self::OffsetFetch,
            Request::OffsetDelete(_) => Self::OffsetDelete,
            Request::DescribeGroup(_) => Self::DescribeGroup,
            Request::ListGroups(_) => Self::ListGroups,
            Request::DeleteGroups(_) => Self::DeleteGroups,
        }
    }

    /// Of an answer.
    pub fn answered_by(response: &Response) -> Self {
        match response {
            Response::JoinGroup(_) => Self::JoinGroup,
            Response::SyncGroup(_) => Self::SyncGroup,
            Response::Heartbeat(_) => Self::Heartbeat,
            Response::LeaveGroup(_) => Self::LeaveGroup,
            Response::OffsetCommit(_) => Self::OffsetCommit,
            Response::TxnOffsetCommit(_) => Self::TxnOffsetCommit,
            Response::OffsetFetch(_) => Self::OffsetFetch,
            Response::OffsetDelete(_) => Self::OffsetDelete,
            Response::DescribeGroup(_) => Self::DescribeGroup,
            Response::ListGroups(_) => Self::ListGroups,
            Response::DeleteGroups(_) => Self::DeleteGroups,
        }
    }
}

/// A request that a coordinator has and has not answered.
#[derive(Clone, Debug)]
pub struct Open {
    /// Where the answer goes.
    pub connection: ConnectionId,
    /// Its place among the answers there.
    pub correlation: u32,
    /// What was asked.
    pub kind: Kind,
    /// Of which group, if it is one of those that are watched.
    pub group: Option<usize>,
    /// By whom.
    pub member: MemberId,
    /// In which generation.
    pub generation: Generation,
    /// The session timeout it asks for, ms; 0 of none.
    pub session_timeout_ms: i32,
    /// When it came.
    pub at: Moment,
    /// How long the broker had been suspended by then, in all.
    pub suspended: u64,
}

/// The requests that one coordinator has not answered.
#[derive(Debug, Default)]
pub struct Answers {
    open: Map<u64, Open>,
    /// Whose client is gone, and which the coordinator may answer all the same: they wait for the store, not for others.
    abandoned: Map<u64, Kind>,
    next: u64,
}

/// How long an answer may take, by the settings: microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The longest rebalance timeout that a member of the group has asked for.
    pub rebalance: u64,
    /// The wait for the first members.
    pub initial: u64,
    /// The wait for the store.
    pub store: u64,
}

impl Patience {
    fn of(self, kind: Kind) -> u64 {
        match kind {
            // A static member that came back may wait for the store, and then for a round.
            Kind::JoinGroup => self.initial + self.rebalance + self.store,
            Kind::SyncGroup => self.rebalance + self.store,
            Kind::OffsetCommit | Kind::TxnOffsetCommit => self.store,
            Kind::Heartbeat
            | Kind::LeaveGroup
            | Kind::OffsetFetch
            | Kind::OffsetDelete
            | Kind::DescribeGroup
            | Kind::ListGroups
            | Kind::DeleteGroups => 0,
        }
    }
}

impl Answers {
    /// A request came: the number of its token.
    pub fn begin(&mut self, open: Open) -> u64 {
        self.next += 1;
        self.open.insert(self.next, open);
        self.next
    }

    /// The coordinator answers. None: nobody waits, which breaks a rule.
    pub fn answered(
        &mut self,
        now: Moment,
        token: u64,
        response: &Response,
        findings: &mut Findings,
    ) -> Option<Open> {
        let Some(open) = self.open.remove(&token) else {
            if self.abandoned.remove(&token) == Some(Kind::answered_by(response)) {
                return None;
            }
            findings.broken(Rule::AnsweredOnce, now, || {
                format!("token {token} is answered though it does not wait: {response:?}")
            });
            return None;
        };
        let kind = Kind::answered_by(response);
        if kind != open.kind {
            let what = || format!("token {token} asked {:?} and is answered {response:?}", open.kind);
            findings.broken(Rule::AnsweredOnce, now, what);
        }
        Some(open)
    }

    /// The coordinator says that the request will never be answered.
    pub fn superseded(&mut self, now: Moment, token: u64, findings: &mut Findings) -> Option<Open> {
        let open = self.open.remove(&token);
        if open.is_none() {
            findings
                .broken(Rule::AnsweredOnce, now, || format!("token {token} is superseded and does not wait"));
        }
        open
    }

    /// The connection is gone: what waits on it is not to be answered any more. In the order in which it came.
    pub fn abandon(&mut self, connection: ConnectionId) -> Vec<(u64, Open)> {
        let gone = self.open.extract_if(|_, open| open.connection == connection);
        let mut gone: Vec<(u64, Open)> = gone.collect();
        gone.sort_unstable_by_key(|(token, _)| *token);
        let unparked = gone.iter().filter(|(_, open)| {
            matches!(open.kind, Kind::OffsetCommit | Kind::TxnOffsetCommit | Kind::ListGroups)
        });
        self.abandoned.extend(unparked.map(|(token, open)| (*token, open.kind)));
        gone
    }

    /// The request that came last is that of `member`, who did not know it.
    pub fn name_last(&mut self, member: &MemberId) {
        if let Some(open) = self.open.get_mut(&self.next) {
            open.member = member.clone();
        }
    }

    /// Those who have a request that waits.
    pub fn members_waiting(&self) -> impl Iterator<Item = (Option<usize>, &MemberId)> {
        self.open.values().map(|open| (open.group, &open.member))
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.open.len()
    }

    /// Whether something waits for longer than it may.
    pub fn check(
        &self,
        now: Moment,
        suspended: u64,
        patience: impl Fn(Option<usize>) -> Patience,
        findings: &mut Findings,
    ) {
        let late = |open: &Open| {
            let waited = now.since(open.at).saturating_sub(suspended - open.suspended);
            waited > patience(open.group).of(open.kind) + 20 * MS
        };
        let oldest = self.open.iter().filter(|(_, open)| late(open)).min_by_key(|(token, _)| **token);
        if let Some((token, open)) = oldest {
            findings.broken(Rule::Deadline, now, || {
                let (kind, at, member) = (open.kind, open.at, &open.member);
                format!("token {token}, {kind:?} of {member:?}, waits since {at}, longer than it may")
            });
        }
    }
}
