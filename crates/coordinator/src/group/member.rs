//! One member of a group: who it is, what it can do, what it was assigned, and what it waits for.

use std::sync::Arc;

use purgatory::OperationId;

use super::protocols::MemberProtocols;
use crate::ids::{Blob, InstanceId, MemberId};
use crate::messages::Token;

/// A member. Kept small: there are many. What a heartbeat looks at comes first, together.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Member {
    pub(crate) id: MemberId,
    /// Its one `DelayedHeartbeat`, which is re-armed and never leaves before the member does.
    pub(crate) heartbeat: OperationId,
    pub(crate) session_timeout_ms: i32,
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) client: Arc<Client>,
    pub(super) protocols: MemberProtocols,
    /// What the leader gave it; empty until stored.
    pub(crate) assignment: Blob,
    pub(super) parked: Parked,
    /// The start of its fingerprint: set by [`Sessions`](crate::sessions::Sessions).
    pub(crate) hash: u32,
    pub(crate) standing: Standing,
    /// It owes a SyncGroup. Void while the group counts none (`Group::syncs_due`).
    pub(super) sync_due: bool,
}

/// How well a member knows that it is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// Its first join waits, and it has not been told its id: if its client goes away, nobody can ever use it.
    Unaware,
    /// Its first join waits, with the id it was given by MEMBER_ID_REQUIRED.
    Introduced,
    /// A join of it was answered.
    Joined,
}

/// Who a member is, apart from its id. Shared by members that have it in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Client {
    pub(crate) id: Arc<str>,
    pub(crate) host: Arc<str>,
    /// Static membership.
    pub(crate) instance: Option<InstanceId>,
}

/// The request of a member that waits for an answer.
#[derive(Debug, Default)]
pub(crate) enum Parked {
    /// None waits.
    #[default]
    Nothing,
    /// A JoinGroup, until the round is joined or a static member's replacement is stored.
    Join(Token),
    /// A SyncGroup, until the assignment is stored.
    Sync(Token),
}

impl Member {
    /// No join of it was ever answered.
    pub(crate) fn is_new(&self) -> bool {
        match self.standing {
            Standing::Unaware | Standing::Introduced => true,
            Standing::Joined => false,
        }
    }

    /// The request that waits.
    pub(crate) fn parked(&self) -> &Parked {
        &self.parked
    }

    pub(crate) fn awaits_join(&self) -> bool {
        matches!(self.parked, Parked::Join(_))
    }

    /// Whether a request of it is parked, so that it cannot be expected to heartbeat.
    pub(crate) fn waits(&self) -> bool {
        !matches!(self.parked, Parked::Nothing)
    }

    pub(crate) fn instance(&self) -> Option<&InstanceId> {
        self.client.instance.as_ref()
    }
}
