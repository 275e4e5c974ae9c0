//! What clients are told.

use std::sync::Arc;

use super::GroupError;
use crate::ids::{Blob, Generation, GroupId, InstanceId, MemberId, TopicPartition};

/// A response, whatever its kind.
#[derive(Debug)]
#[allow(missing_docs, reason = "each variant is its response's type")]
pub enum Response {
    JoinGroup(JoinGroupResponse),
    SyncGroup(SyncGroupResponse),
    Heartbeat(HeartbeatResponse),
    LeaveGroup(LeaveGroupResponse),
    OffsetCommit(OffsetCommitResponse),
    TxnOffsetCommit(OffsetCommitResponse),
    OffsetFetch(OffsetFetchResponse),
    OffsetDelete(OffsetDeleteResponse),
    DescribeGroup(DescribeGroupResponse),
    ListGroups(ListGroupsResponse),
    DeleteGroups(DeleteGroupsResponse),
}

/// Answers [`JoinGroup`](super::JoinGroup). Refusals carry ids too: MEMBER_ID_REQUIRED the new one.
#[derive(Clone, Debug)]
pub struct JoinGroupResponse {
    /// `None`: joined.
    pub error: Option<GroupError>,
    /// The round that was joined; -1 in a refusal.
    pub generation: Generation,
    /// The group's protocol type.
    pub protocol_type: Option<Arc<str>>,
    /// The protocol voted for.
    pub protocol: Option<Arc<str>>,
    /// Who assigns; empty in a refusal.
    pub leader: MemberId,
    /// Who the client is.
    pub member: MemberId,
    /// The leader need not assign again (KIP-814).
    pub skip_assignment: bool,
    /// All members, for the leader; empty for followers.
    pub members: Vec<JoinedMember>,
}

/// A member, as the leader sees it.
#[derive(Clone, Debug)]
pub struct JoinedMember {
    /// Its id.
    pub member: MemberId,
    /// Static membership.
    pub instance: Option<InstanceId>,
    /// Its metadata for the chosen protocol.
    pub metadata: Blob,
}

/// Answers [`SyncGroup`](super::SyncGroup).
#[derive(Clone, Debug)]
pub struct SyncGroupResponse {
    /// `None`: the assignment counts.
    pub error: Option<GroupError>,
    /// The group's protocol type.
    pub protocol_type: Option<Arc<str>>,
    /// The group's protocol.
    pub protocol: Option<Arc<str>>,
    /// What the leader gave this member.
    pub assignment: Blob,
}

/// Answers [`Heartbeat`](super::Heartbeat).
#[derive(Clone, Debug)]
pub struct HeartbeatResponse {
    /// `None`: carry on.
    pub error: Option<GroupError>,
}

/// Answers [`LeaveGroup`](super::LeaveGroup).
#[derive(Clone, Debug)]
pub struct LeaveGroupResponse {
    /// Of the whole request.
    pub error: Option<GroupError>,
    /// In the order of the request.
    pub members: Vec<LeftMember>,
}

/// What became of one who leaves.
#[derive(Clone, Debug)]
pub struct LeftMember {
    /// As in the request.
    pub member: MemberId,
    /// As in the request.
    pub instance: Option<InstanceId>,
    /// `None`: gone.
    pub error: Option<GroupError>,
}

/// Answers [`OffsetCommit`](super::OffsetCommit) and [`TxnOffsetCommit`](super::TxnOffsetCommit), in the
/// order of the request.
#[derive(Clone, Debug)]
pub struct OffsetCommitResponse {
    /// Per partition; `None`: stored.
    pub results: Vec<(TopicPartition, Option<GroupError>)>,
}

/// Answers [`OffsetFetch`](super::OffsetFetch).
#[derive(Clone, Debug)]
pub struct OffsetFetchResponse {
    /// Of the whole request; then `offsets` is empty.
    pub error: Option<GroupError>,
    /// In the order of the request; sorted by topic and partition when all were asked for.
    pub offsets: Vec<FetchedOffset>,
}

/// One offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedOffset {
    /// Of which partition.
    pub partition: TopicPartition,
    /// -1: none stored.
    pub offset: i64,
    /// -1: none.
    pub leader_epoch: i32,
    /// The client's own text.
    pub metadata: Arc<str>,
    /// Of this partition.
    pub error: Option<GroupError>,
}

/// Answers [`OffsetDelete`](super::OffsetDelete).
#[derive(Clone, Debug)]
pub struct OffsetDeleteResponse {
    /// Of the whole request; then `results` is empty.
    pub error: Option<GroupError>,
    /// Per partition; `None`: deleted (or was not there).
    pub results: Vec<(TopicPartition, Option<GroupError>)>,
}

/// Answers [`DescribeGroup`](super::DescribeGroup).
#[derive(Clone, Debug)]
pub struct DescribeGroupResponse {
    /// `None`: shown. A group that is not there is shown as `Dead`.
    pub error: Option<GroupError>,
    /// The group.
    pub group: GroupId,
    /// Kafka's name of the state: `Empty`, `PreparingRebalance`, `CompletingRebalance`, `Stable`, `Dead`.
    pub state: &'static str,
    /// Empty if there is none.
    pub protocol_type: Arc<str>,
    /// Empty unless stable.
    pub protocol: Arc<str>,
    /// In the order they joined.
    pub members: Vec<DescribedMember>,
}

/// One member.
#[derive(Clone, Debug)]
pub struct DescribedMember {
    /// Its id.
    pub member: MemberId,
    /// Static membership.
    pub instance: Option<InstanceId>,
    /// From its last join.
    pub client_id: Arc<str>,
    /// From its last join.
    pub client_host: Arc<str>,
    /// For the chosen protocol; empty unless stable.
    pub metadata: Blob,
    /// Empty unless stable.
    pub assignment: Blob,
}

/// Answers [`ListGroups`](super::ListGroups).
#[derive(Clone, Debug)]
pub struct ListGroupsResponse {
    /// COORDINATOR_LOAD_IN_PROGRESS: the list is not whole yet.
    pub error: Option<GroupError>,
    /// In no order that means anything; the same inputs give the same one.
    pub groups: Vec<ListedGroup>,
}

/// One group.
#[derive(Clone, Debug)]
pub struct ListedGroup {
    /// Its name.
    pub group: GroupId,
    /// Empty if there is none.
    pub protocol_type: Arc<str>,
    /// Kafka's name of the state.
    pub state: &'static str,
    /// `classic`.
    pub group_type: &'static str,
}

/// Answers [`DeleteGroups`](super::DeleteGroups).
#[derive(Clone, Debug)]
pub struct DeleteGroupsResponse {
    /// Per group, in the order of the request; `None`: deleted.
    pub results: Vec<(GroupId, Option<GroupError>)>,
}
