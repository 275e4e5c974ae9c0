//! What a coordinator explains: rebalances, fencings, evictions, expiries. For logs, histories and counters.

pub mod history;

use std::sync::Arc;

use purgatory::Timestamp;

use crate::ids::{Generation, GroupId, InstanceId, MemberId, TopicPartition};

/// One thing that happened to a group, and why.
#[derive(Clone, Debug)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// To which group.
    pub group: GroupId,
    /// In which generation.
    pub generation: Generation,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// A round of rebalancing began.
    RebalanceStarted {
        /// Whose doing it was; empty if nobody's.
        member: MemberId,
        /// Why, in words.
        cause: Arc<str>,
    },
    /// All who joined are in; the leader is asked for assignments. `generation` is the new one.
    RebalanceJoined {
        /// How many members.
        members: usize,
        /// Who leads.
        leader: MemberId,
        /// How long the round waited for joins, ms.
        waited_ms: u64,
        /// Whom it waited for: the member whose join, or going, ended the wait. Empty if time did: then `dropped` says
        /// who did not come.
        waited_for: MemberId,
        /// Who was waited for in vain and dropped.
        dropped: Vec<MemberId>,
    },
    /// The assignment is stored; the group is stable.
    RebalanceCompleted {
        /// How many members.
        members: usize,
        /// From the start of the round to here, ms.
        took_ms: u64,
    },
    /// The assignment could not be stored; the group re-forms.
    StoreFailed,
    /// A member fell silent.
    SessionExpired {
        /// Who.
        member: MemberId,
        /// Its session timeout, ms.
        session_timeout_ms: i32,
    },
    /// A member did not send SyncGroup in time.
    SyncExpired {
        /// Who.
        member: MemberId,
    },
    /// A member left, or was made to.
    MemberLeft {
        /// Who.
        member: MemberId,
        /// Why, in its words.
        reason: Option<Arc<str>>,
    },
    /// A static member came back under a new id; the old id is fenced.
    StaticMemberReplaced {
        /// The instance.
        instance: InstanceId,
        /// The fenced id.
        old: MemberId,
        /// The id that counts now.
        new: MemberId,
    },
    /// An offset expired.
    OffsetExpired {
        /// Of which partition.
        partition: TopicPartition,
    },
    /// An offset was deleted by request, or with its topic.
    OffsetDeleted {
        /// Of which partition.
        partition: TopicPartition,
    },
    /// The group is gone.
    GroupRemoved {
        /// Why, in words.
        cause: Arc<str>,
    },
}

/// Which kind of event, without what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventName {
    /// [`EventKind::RebalanceStarted`].
    RebalanceStarted,
    /// [`EventKind::RebalanceJoined`].
    RebalanceJoined,
    /// [`EventKind::RebalanceCompleted`].
    RebalanceCompleted,
    /// [`EventKind::StoreFailed`].
    StoreFailed,
    /// [`EventKind::SessionExpired`].
    SessionExpired,
    /// [`EventKind::SyncExpired`].
    SyncExpired,
    /// [`EventKind::MemberLeft`].
    MemberLeft,
    /// [`EventKind::StaticMemberReplaced`].
    StaticMemberReplaced,
    /// [`EventKind::OffsetExpired`].
    OffsetExpired,
    /// [`EventKind::OffsetDeleted`].
    OffsetDeleted,
    /// [`EventKind::GroupRemoved`].
    GroupRemoved,
}

impl EventName {
    /// All kinds, each at the index that it is as a number.
    pub const ALL: [Self; 11] = [
        Self::RebalanceStarted,
        Self::RebalanceJoined,
        Self::RebalanceCompleted,
        Self::StoreFailed,
        Self::SessionExpired,
        Self::SyncExpired,
        Self::MemberLeft,
        Self::StaticMemberReplaced,
        Self::OffsetExpired,
        Self::OffsetDeleted,
        Self::GroupRemoved,
    ];

    /// A word for programs and labels: `rebalance_started`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RebalanceStarted => "rebalance_started",
            Self::RebalanceJoined => "rebalance_joined",
            Self::RebalanceCompleted => "rebalance_completed",
            Self::StoreFailed => "store_failed",
            Self::SessionExpired => "session_expired",
            Self::SyncExpired => "sync_expired",
            Self::MemberLeft => "member_left",
            Self::StaticMemberReplaced => "static_member_replaced",
            Self::OffsetExpired => "offset_expired",
            Self::OffsetDeleted => "offset_deleted",
            Self::GroupRemoved => "group_removed",
        }
    }
}

impl EventKind {
    /// Which kind it is.
    pub fn name(&self) -> EventName {
        match self {
            Self::RebalanceStarted { .. } => EventName::RebalanceStarted,
            Self::RebalanceJoined { .. } => EventName::RebalanceJoined,
            Self::RebalanceCompleted { .. } => EventName::RebalanceCompleted,
            Self::StoreFailed => EventName::StoreFailed,
            Self::SessionExpired { .. } => EventName::SessionExpired,
            Self::SyncExpired { .. } => EventName::SyncExpired,
            Self::MemberLeft { .. } => EventName::MemberLeft,
            Self::StaticMemberReplaced { .. } => EventName::StaticMemberReplaced,
            Self::OffsetExpired { .. } => EventName::OffsetExpired,
            Self::OffsetDeleted { .. } => EventName::OffsetDeleted,
            Self::GroupRemoved { .. } => EventName::GroupRemoved,
        }
    }
}
