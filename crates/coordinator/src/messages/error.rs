//! Why a request was refused, and how a write can fail. Codes are the wire's business.

/// A protocol answer that is not success. Named as Kafka names them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[allow(missing_docs, reason = "Kafka's own names, documented by the protocol")]
pub enum GroupError {
    UnknownServerError,
    UnknownTopicOrPartition,
    RequestTimedOut,
    OffsetMetadataTooLarge,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
    IllegalGeneration,
    InconsistentGroupProtocol,
    InvalidGroupId,
    UnknownMemberId,
    InvalidSessionTimeout,
    RebalanceInProgress,
    InvalidCommitOffsetSize,
    InvalidProducerEpoch,
    InvalidTxnState,
    InvalidProducerIdMapping,
    ConcurrentTransactions,
    NonEmptyGroup,
    GroupIdNotFound,
    MemberIdRequired,
    GroupMaxSizeReached,
    FencedInstanceId,
    GroupSubscribedToTopic,
    UnstableOffsetCommit,
    InvalidRequest,
    /// A store's own error that no rule translates; carries it.
    Store(StoreError),
}

/// How a write failed. Named as the errors of Kafka's log append; the coordinator maps them to what the
/// client is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[allow(missing_docs, reason = "Kafka's own names, documented by the protocol")]
pub enum StoreError {
    UnknownServerError,
    UnknownTopicOrPartition,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    KafkaStorageError,
    RequestTimedOut,
    MessageTooLarge,
    RecordListTooLarge,
    InvalidFetchSize,
    CorruptMessage,
    InvalidRequiredAcks,
    NetworkException,
    CoordinatorNotAvailable,
    NotCoordinator,
    InvalidProducerEpoch,
    ProducerFenced,
    InvalidTxnState,
    ClusterAuthorizationFailed,
    InvalidRecord,
}
