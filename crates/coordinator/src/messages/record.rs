//! What is kept: the records a coordinator writes and is loaded from. Last one of a key wins.

use std::sync::Arc;

use super::TransactionOutcome;
use crate::ids::{Blob, Generation, GroupId, InstanceId, MemberId, ProducerId, TopicPartition};

/// One change to kept state. Byte layouts belong to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A group as it is between rounds: key is the group.
    Group(GroupRecord),
    /// The group is gone.
    GroupTombstone(GroupId),
    /// A committed offset: key is group and partition.
    Offset(OffsetRecord),
    /// A committed offset is gone.
    OffsetTombstone(GroupId, TopicPartition),
    /// An offset that counts once its producer's transaction commits.
    TxnOffset(ProducerId, OffsetRecord),
    /// A producer's transaction ended in this partition.
    TxnMarker(ProducerId, TransactionOutcome),
}

/// A group and its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRecord {
    /// The group.
    pub group: GroupId,
    /// Its generation.
    pub generation: Generation,
    /// Empty for a group that only ever stored offsets.
    pub protocol_type: Arc<str>,
    /// The protocol voted for; none without members.
    pub protocol: Option<Arc<str>>,
    /// Who leads; none without members.
    pub leader: Option<MemberId>,
    /// When the state began, ms since the Unix epoch; -1: not recorded.
    pub state_timestamp_ms: i64,
    /// In the order they joined.
    pub members: Vec<MemberRecord>,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRecord {
    /// Its id.
    pub member: MemberId,
    /// Static membership.
    pub instance: Option<InstanceId>,
    /// From its last join.
    pub client_id: Arc<str>,
    /// From its last join.
    pub client_host: Arc<str>,
    /// Ms.
    pub session_timeout_ms: i32,
    /// Ms; the session timeout where old records have none.
    pub rebalance_timeout_ms: i32,
    /// Its metadata for the chosen protocol.
    pub subscription: Blob,
    /// What the leader gave it.
    pub assignment: Blob,
}

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetRecord {
    /// The group.
    pub group: GroupId,
    /// The partition.
    pub partition: TopicPartition,
    /// The offset.
    pub offset: i64,
    /// -1: none.
    pub leader_epoch: i32,
    /// The client's own text.
    pub metadata: Arc<str>,
    /// Ms since the Unix epoch.
    pub commit_timestamp_ms: i64,
    /// Ms since the Unix epoch; none: the coordinator's retention rules.
    pub expire_timestamp_ms: Option<i64>,
}
