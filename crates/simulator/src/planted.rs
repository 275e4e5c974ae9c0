//! Faults planted between the simulation and the code it runs, each to be caught by one checker.
//!
//! They change what goes in or comes out; the code itself has no hooks. `tests/it/planted.rs` shows who catches which.

use std::sync::atomic::{AtomicU64, Ordering};

use coordinator::ids::Blob;
use coordinator::messages::{GroupError, Output, Response};

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
    /// What happens depends on what the process has done before.
    Chance,
}

impl Plant {
    /// All that are something.
    pub const ALL: [Self; 14] = [
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
        Self::Chance,
    ];

    /// How far from the truth the coordinator's clock is when deadlines are handled, ms.
    pub fn skew_ms(self) -> i64 {
        match self {
            Self::LateDeadlines => -5_000,
            _ => 0,
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
