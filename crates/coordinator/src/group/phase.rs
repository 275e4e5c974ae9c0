//! Where a group stands, and the one table that says how it moves on.
//!
//! ```text
//!                  ┌────────────────────── RebalanceNeeded ───────────────┐
//!                  ▼                                                      │
//!  Empty ──▶ PreparingRebalance ── MembersJoined ──▶ CompletingRebalance ─┤
//!    ▲   (RebalanceNeeded) │                              │ AssignmentStored
//!    └──── NobodyJoined ───┘                              ▼               │
//!                                                       Stable ───────────┘
//!                           any ── Removed ──▶ Dead
//! ```

use std::fmt;

/// The phase of a group's life. Kafka calls it the group's state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// Without members. It has offsets, or is about to be cleaned up.
    Empty,
    /// Members join; their requests are parked until all expected ones have, or time is up.
    PreparingRebalance,
    /// All know the generation and the leader; the leader's assignment is awaited, then stored.
    CompletingRebalance,
    /// The assignment counts.
    Stable,
    /// Being removed, by deletion or because its partition is lost. Never left, and never seen from
    /// outside, since a turn that enters it also drops the group.
    Dead,
}

/// What moves a group from one phase to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PhaseEvent {
    /// Somebody joined, left, fell silent, changed what it can do, or came back under another id.
    RebalanceNeeded,
    /// The wait for joins is over and there are members.
    MembersJoined,
    /// The wait for joins is over and there are none.
    NobodyJoined,
    /// The leader's assignment is kept.
    AssignmentStored,
    /// The leader's assignment could not be kept.
    StoreFailed,
    /// The group is deleted, or its partition is lost.
    Removed,
}

impl Phase {
    /// All phases, in the order of a group's life.
    pub const ALL: [Self; 5] =
        [Self::Empty, Self::PreparingRebalance, Self::CompletingRebalance, Self::Stable, Self::Dead];

    /// The phase `event` leads to from here; `None` if it cannot happen here.
    ///
    /// ```
    /// use coordinator::{Phase, PhaseEvent};
    /// assert_eq!(Phase::Empty.after(PhaseEvent::RebalanceNeeded), Some(Phase::PreparingRebalance));
    /// assert_eq!(Phase::Stable.after(PhaseEvent::AssignmentStored), None);
    /// ```
    pub fn after(self, event: PhaseEvent) -> Option<Self> {
        use Phase::{CompletingRebalance, Dead, Empty, PreparingRebalance, Stable};
        use PhaseEvent::{
            AssignmentStored, MembersJoined, NobodyJoined, RebalanceNeeded, Removed, StoreFailed,
        };
        match (self, event) {
            (Empty | CompletingRebalance | Stable, RebalanceNeeded) | (CompletingRebalance, StoreFailed) => {
                Some(PreparingRebalance)
            }
            (PreparingRebalance, MembersJoined) => Some(CompletingRebalance),
            (PreparingRebalance, NobodyJoined) => Some(Empty),
            (CompletingRebalance, AssignmentStored) => Some(Stable),
            (Empty | PreparingRebalance | CompletingRebalance | Stable | Dead, Removed) => Some(Dead),
            (PreparingRebalance | Dead, RebalanceNeeded)
            | (Empty | CompletingRebalance | Stable | Dead, MembersJoined | NobodyJoined)
            | (Empty | PreparingRebalance | Stable | Dead, AssignmentStored | StoreFailed) => None,
        }
    }

    /// Kafka's name of it, as describe and list show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Dead => "Dead",
        }
    }
}

impl PhaseEvent {
    /// All events.
    pub const ALL: [Self; 6] = [
        Self::RebalanceNeeded,
        Self::MembersJoined,
        Self::NobodyJoined,
        Self::AssignmentStored,
        Self::StoreFailed,
        Self::Removed,
    ];
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
