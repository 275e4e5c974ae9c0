//! Faults planted between the simulation and the code it runs, each to be caught by one checker.
//!
//! They change what goes in or comes out; the code itself has no hooks. `tests/it/planted.rs` shows who catches which.

use std::sync::atomic::{AtomicU64, Ordering};

use coordinator::ids::Blob;
use coordinator::messages::{
    GroupError, HeartbeatResponse, OffsetDeleteResponse, Output, Request, Response, TransactionOutcome,
};

/// What is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plant {
    /// Nothing.
    #[default]
    None,
    /// Every hundredth answer is lost.
    DropAnswer,
    /// Every hundredth answer is given twice.
    AnswerTwice,
    /// Every fourth follower is told that it leads.
    TwoLeaders,
    /// Every tenth join is answered with an older generation.
    OldGeneration,
    /// Every fourth assignment is not what the leader brought.
    OtherAssignment,
    /// Writes are reported as kept and are not.
    AcknowledgedUnwritten,
    /// Syncs of the disk do nothing.
    LyingDisk,
    /// The newest offset of a partition is not loaded.
    StaleLoad,
    /// The store takes writes of former owners.
    NoFencing,
    /// Heartbeats are answered and not heard.
    UnheardHeartbeats,
    /// Deadlines come five seconds late.
    LateDeadlines,
    /// No SyncGroup ever succeeds: members are told to join again.
    NeverSynced,
    /// A member that nobody asked for stays.
    Ghost,
    /// The offsets of an aborted transaction count.
    AbortCommits,
    /// The marker of a transaction is said to be written, and is not.
    LostMarker,
    /// Offsets count before their transaction ends.
    EarlyEnd,
    /// Offsets are taken of transactions that are over.
    Zombie,
    /// Deleted offsets and groups stay.
    DeletedStays,
    /// Offsets expire in a quarter of their time.
    EarlyExpiry,
    /// The coordinator panics.
    Panic,
    /// What happens depends on what the process has done before.
    Chance,
}

impl Plant {
    /// All that are something.
    pub const ALL: [Self; 21] = [
        Self::DropAnswer,
        Self::AnswerTwice,
        Self::TwoLeaders,
        Self::OldGeneration,
        Self::OtherAssignment,
        Self::AcknowledgedUnwritten,
        Self::LyingDisk,
        Self::StaleLoad,
        Self::NoFencing,
        Self::UnheardHeartbeats,
        Self::LateDeadlines,
        Self::NeverSynced,
        Self::Ghost,
        Self::AbortCommits,
        Self::LostMarker,
        Self::EarlyEnd,
        Self::Zombie,
        Self::DeletedStays,
        Self::EarlyExpiry,
        Self::Panic,
        Self::Chance,
    ];

    /// How far from the truth the coordinator's clock is when deadlines are handled, ms.
    pub fn skew_ms(self) -> i64 {
        match self {
            Self::LateDeadlines => -5_000,
            _ => 0,
        }
    }

    /// How many times too fast offsets expire.
    pub fn haste(self) -> i64 {
        if self == Self::EarlyExpiry { 4 } else { 1 }
    }

    /// What a coordinator is told of a transaction's end.
    pub fn outcome(self, outcome: TransactionOutcome) -> TransactionOutcome {
        if self == Self::AbortCommits { TransactionOutcome::Commit } else { outcome }
    }

    /// Answers a request of which the coordinator does not hear.
    ///
    /// # Panics
    /// [`Plant::Panic`].
    pub fn answer(self, request: &Request) -> Option<Response> {
        match (self, request) {
            (Self::UnheardHeartbeats, Request::Heartbeat(_)) => {
                Some(Response::Heartbeat(HeartbeatResponse { error: None }))
            }
            (Self::DeletedStays, Request::OffsetDelete(delete)) => {
                let results = delete.partitions.iter().map(|partition| (partition.clone(), None)).collect();
                Some(Response::OffsetDelete(OffsetDeleteResponse { error: None, results }))
            }
            (Self::Panic, Request::JoinGroup(join)) if !join.member.is_empty() => {
                panic!("planted: {} joins {}", join.member, join.group)
            }
            _ => None,
        }
    }

    /// Changes what a coordinator says; `count` is of its outputs so far. None: it is lost.
    pub fn change(self, count: u64, output: Output) -> Option<Output> {
        let Output::Respond(token, mut response) = output else { return Some(output) };
        match (self, &mut response) {
            (Self::DropAnswer, _) if count.is_multiple_of(100) => return None,
            (Self::TwoLeaders, Response::JoinGroup(joined))
                if joined.error.is_none() && joined.leader != joined.member && count.is_multiple_of(4) =>
            {
                joined.leader = joined.member.clone();
            }
            (Self::OldGeneration, Response::JoinGroup(joined))
                if joined.error.is_none() && joined.generation.0 > 2 && count.is_multiple_of(10) =>
            {
                joined.generation.0 -= 1;
            }
            (Self::OtherAssignment, Response::SyncGroup(synced))
                if synced.error.is_none() && count.is_multiple_of(4) =>
            {
                synced.assignment = Blob::from(&[7_u8; 12][..]);
            }
            (Self::NeverSynced, Response::SyncGroup(synced)) => {
                synced.error = Some(GroupError::RebalanceInProgress);
            }
            _ => {}
        }
        Some(Output::Respond(token, response))
    }

    /// Microseconds that a message takes longer.
    pub fn delay(self) -> u64 {
        static BEFORE: AtomicU64 = AtomicU64::new(0);
        if self == Self::Chance { BEFORE.fetch_add(1, Ordering::Relaxed) % 7 } else { 0 }
    }
}
