//! What clients ask. Fields carry the protocol's meaning of "not sent" as `Option` or -1, nothing else.

use std::sync::Arc;

use super::GroupError;
use crate::ids::{Blob, Generation, GroupId, InstanceId, MemberId, ProducerId, TopicPartition};

/// A request, whatever its kind.
#[derive(Debug)]
#[allow(missing_docs, reason = "each variant is its request's type")]
pub enum Request {
    JoinGroup(JoinGroup),
    SyncGroup(SyncGroup),
    Heartbeat(Heartbeat),
    LeaveGroup(LeaveGroup),
    OffsetCommit(OffsetCommit),
    TxnOffsetCommit(TxnOffsetCommit),
    OffsetFetch(OffsetFetch),
    OffsetDelete(OffsetDelete),
    DescribeGroup(DescribeGroup),
    ListGroups(ListGroups),
    DeleteGroups(DeleteGroups),
}

/// Become, or stay, a member of the group.
#[derive(Clone, Debug)]
pub struct JoinGroup {
    /// The group.
    pub group: GroupId,
    /// Empty: the client has none yet.
    pub member: MemberId,
    /// Static membership (KIP-345).
    pub instance: Option<InstanceId>,
    /// From the request header; becomes the start of a new member id.
    pub client_id: Arc<str>,
    /// Where the client connects from, as describe shows it.
    pub client_host: Arc<str>,
    /// `consumer`, `connect`, ...: opaque but for retention rules.
    pub protocol_type: Arc<str>,
    /// Name and metadata of each protocol the member can do, best first.
    pub protocols: Vec<(Arc<str>, Blob)>,
    /// Silence for this long (ms) ends the membership.
    pub session_timeout_ms: i32,
    /// How long (ms) the member may take to rejoin. Version 0 does not carry it: the decoder puts the
    /// session timeout there.
    pub rebalance_timeout_ms: i32,
    /// Version 4 and later: an empty member id is answered with MEMBER_ID_REQUIRED (KIP-394).
    pub require_known_member_id: bool,
    /// Version 9 and later: the client understands `skip_assignment` (KIP-814).
    pub supports_skipping_assignment: bool,
    /// Why the client joins, in its own words (KIP-800).
    pub reason: Option<Arc<str>>,
}

/// Ask for one's assignment; the leader brings everyone's.
#[derive(Clone, Debug)]
pub struct SyncGroup {
    /// The group.
    pub group: GroupId,
    /// The generation the member joined.
    pub generation: Generation,
    /// The member.
    pub member: MemberId,
    /// Static membership.
    pub instance: Option<InstanceId>,
    /// Checked if sent (version 5 and later).
    pub protocol_type: Option<Arc<str>>,
    /// Checked if sent (version 5 and later).
    pub protocol: Option<Arc<str>>,
    /// Member and assignment; empty from followers.
    pub assignments: Vec<(MemberId, Blob)>,
}

/// I am alive.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// The group.
    pub group: GroupId,
    /// The generation the member believes in.
    pub generation: Generation,
    /// The member.
    pub member: MemberId,
    /// Static membership.
    pub instance: Option<InstanceId>,
}

/// Members leave (one by themselves, or several by an admin's hand).
#[derive(Clone, Debug)]
pub struct LeaveGroup {
    /// The group.
    pub group: GroupId,
    /// Answered in this order.
    pub members: Vec<LeavingMember>,
}

/// One who leaves.
#[derive(Clone, Debug)]
pub struct LeavingMember {
    /// Empty: the instance alone says who.
    pub member: MemberId,
    /// Static membership.
    pub instance: Option<InstanceId>,
    /// In its own words (KIP-800).
    pub reason: Option<Arc<str>>,
}

/// Store offsets.
#[derive(Clone, Debug)]
pub struct OffsetCommit {
    /// The group.
    pub group: GroupId,
    /// [`Generation::NONE`] from a client outside the group.
    pub generation: Generation,
    /// Empty from a client outside the group.
    pub member: MemberId,
    /// Static membership.
    pub instance: Option<InstanceId>,
    /// How long to keep them, ms (versions 2 to 4); -1: the coordinator's setting.
    pub retention_time_ms: i64,
    /// What to store.
    pub offsets: Vec<CommitOffset>,
}

/// One offset to store.
#[derive(Clone, Debug)]
pub struct CommitOffset {
    /// Of which partition.
    pub partition: TopicPartition,
    /// The offset.
    pub offset: i64,
    /// -1: none.
    pub leader_epoch: i32,
    /// The client's own text.
    pub metadata: Arc<str>,
    /// When, ms since the Unix epoch; -1: now.
    pub commit_timestamp_ms: i64,
}

/// Store offsets as part of a transaction.
#[derive(Clone, Debug)]
pub struct TxnOffsetCommit {
    /// The group, its member and what to store. `retention_time_ms` is not looked at.
    pub commit: OffsetCommit,
    /// Whose transaction.
    pub producer: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// What the transaction coordinator said when asked whether this transaction is going on.
    pub verification: Result<(), GroupError>,
}

/// Read offsets.
#[derive(Clone, Debug)]
pub struct OffsetFetch {
    /// The group.
    pub group: GroupId,
    /// `None`: all that are stored.
    pub partitions: Option<Vec<TopicPartition>>,
    /// Answer UNSTABLE_OFFSET_COMMIT for partitions with a transaction pending (KIP-447).
    pub require_stable: bool,
}

/// Delete offsets nobody subscribes to.
#[derive(Clone, Debug)]
pub struct OffsetDelete {
    /// The group.
    pub group: GroupId,
    /// Which.
    pub partitions: Vec<TopicPartition>,
}

/// Show one group.
#[derive(Clone, Debug)]
pub struct DescribeGroup {
    /// The group.
    pub group: GroupId,
}

/// Name the groups of this coordinator.
#[derive(Clone, Debug, Default)]
pub struct ListGroups {
    /// Only groups in one of these states (Kafka's names); empty: all.
    pub states: Vec<Arc<str>>,
    /// Only groups of one of these types (`classic`); empty: all.
    pub types: Vec<Arc<str>>,
}

/// Delete groups without members.
#[derive(Clone, Debug)]
pub struct DeleteGroups {
    /// Which.
    pub groups: Vec<GroupId>,
}
