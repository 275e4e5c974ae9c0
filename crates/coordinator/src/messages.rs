//! All that crosses the coordinator's border: inputs, outputs, and the tokens that pair them.
//!
//! How either travels (frames, channels, a simulation) is not known here.

mod error;
mod record;
mod request;
mod response;

pub use error::{GroupError, StoreError};
pub use record::{GroupRecord, MemberRecord, OffsetRecord, Record};
pub use request::{
    CommitOffset, DeleteGroups, DescribeGroup, Heartbeat, JoinGroup, LeaveGroup, LeavingMember, ListGroups,
    OffsetCommit, OffsetDelete, OffsetFetch, Request, SyncGroup, TxnOffsetCommit,
};
pub use response::{
    DeleteGroupsResponse, DescribeGroupResponse, DescribedMember, FetchedOffset, HeartbeatResponse,
    JoinGroupResponse, JoinedMember, LeaveGroupResponse, LeftMember, ListGroupsResponse, ListedGroup,
    OffsetCommitResponse, OffsetDeleteResponse, OffsetFetchResponse, Response, SyncGroupResponse,
};

use crate::ids::{GroupId, MemberId, OffsetsPartition, OwnerEpoch, ProducerId, TopicPartition};

/// The way back to one waiting client. Not `Clone`: it is answered at most once.
///
/// The number is the host's own; hosts make it unique among the requests they have open, since
/// [`Input::Abandon`] names it.
#[derive(Debug, PartialEq, Eq, Hash)]
#[must_use = "a request is answered exactly once"]
pub struct Token(u64);

impl Token {
    /// A token with the host's `number`.
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number given to [`Token::new`].
    pub fn number(&self) -> u64 {
        self.0
    }
}

/// One write of a coordinator, as the store's answer names it. Unique over a coordinator's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreId(pub u64);

/// What a coordinator is told.
#[derive(Debug)]
pub enum Input {
    /// A client asks; the answer comes as [`Output::Respond`] with the same token.
    Request(Token, Request),
    /// The client behind this token number is gone: what it has parked is dropped, unanswered.
    Abandon(u64),
    /// The client to whom this member id was handed out with MEMBER_ID_REQUIRED will not use it: its connection ended, or
    /// it asked for another. A round that waited for it goes on at once. An id that was used meanwhile is left alone.
    GiveUp(GroupId, MemberId),
    /// A write ended. Late, repeated and unknown ids do nothing.
    Stored(StoreId, Result<(), StoreError>),
    /// A transaction of `producer` ended and its marker was written to these partitions.
    EndTransaction {
        /// Whose transaction.
        producer: ProducerId,
        /// Where the marker was written.
        partitions: Vec<OffsetsPartition>,
        /// Whether it committed (else it aborted).
        outcome: TransactionOutcome,
    },
    /// These topic partitions no longer exist: the offsets committed for them so far go, in slices. What is committed from
    /// now on, because the topic is made anew, stays.
    TopicPartitionsDeleted(Vec<TopicPartition>),
    /// Remove expired offsets and empty groups without offsets, now. (Also done every
    /// `offsets_retention_check_interval` by itself.)
    CleanUp,
    /// The partition is owned from now on, under this epoch, and is being loaded. An older epoch than the
    /// known one is ignored.
    BeginLoad(OffsetsPartition, OwnerEpoch),
    /// Records of a partition being loaded, in the order they were written.
    Load(OffsetsPartition, Vec<Record>),
    /// The partition is loaded: it is served from now on.
    FinishLoad(OffsetsPartition),
    /// The partition is owned by somebody else, under this epoch.
    Unload(OffsetsPartition, OwnerEpoch),
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionOutcome {
    /// Its offsets count.
    Commit,
    /// Its offsets never were.
    Abort,
}

/// What a coordinator says. Drain with `poll_output` after every turn.
#[derive(Debug)]
pub enum Output {
    /// The answer to one request.
    Respond(Token, Response),
    /// This request will never be answered: the same member sent another of its kind, which waits in its place.
    /// Kafka drops it silently. The client behind it is gone or confused: the host closes its connection, or
    /// answers as it likes.
    Superseded(Token),
    /// Make these records durable, all or none, in this order after all earlier ones of the partition; then
    /// say so with [`Input::Stored`].
    Store(Store),
    /// Something a person may want to know: why a group rebalanced, who was fenced, what expired.
    Event(crate::events::Event),
}

/// A write the host is asked for.
#[derive(Debug)]
pub struct Store {
    /// What [`Input::Stored`] names. Also given for writes nobody waits for: their outcome is reported too.
    pub id: StoreId,
    /// Where it belongs.
    pub partition: OffsetsPartition,
    /// The epoch under which the partition is owned: the store refuses it from a fenced owner.
    pub epoch: OwnerEpoch,
    /// What to write: never empty.
    pub records: Vec<Record>,
}
