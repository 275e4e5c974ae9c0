//! Kafka's error codes: what each refusal is called in a response.

use coordinator::messages::{GroupError, StoreError};
use coordinator::transactions::TransactionError;

use crate::topics::TopicError;

/// `NONE`.
pub(crate) const NONE: i16 = 0;
/// `UNKNOWN_TOPIC_OR_PARTITION`.
pub(crate) const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
/// `COORDINATOR_LOAD_IN_PROGRESS`.
pub(crate) const COORDINATOR_LOAD_IN_PROGRESS: i16 = 14;
/// `UNSUPPORTED_VERSION`.
pub(crate) const UNSUPPORTED_VERSION: i16 = 35;
/// `INVALID_REQUEST`.
pub(crate) const INVALID_REQUEST: i16 = 42;
/// `POLICY_VIOLATION`.
pub(crate) const POLICY_VIOLATION: i16 = 44;
/// `INVALID_PRODUCER_EPOCH`.
pub(crate) const INVALID_PRODUCER_EPOCH: i16 = 47;
/// `TRANSACTIONAL_ID_AUTHORIZATION_FAILED`.
pub(crate) const TRANSACTIONAL_ID_AUTHORIZATION_FAILED: i16 = 53;
/// `OPERATION_NOT_ATTEMPTED`.
pub(crate) const OPERATION_NOT_ATTEMPTED: i16 = 55;
/// `TRANSACTION_ABORTABLE`.
pub(crate) const TRANSACTION_ABORTABLE: i16 = 120;
/// `UNKNOWN_TOPIC_ID`.
pub(crate) const UNKNOWN_TOPIC_ID: i16 = 100;

/// The code of a refused change to the catalog of topics.
pub(crate) fn topic_error(error: &TopicError) -> i16 {
    match error {
        TopicError::InvalidTopic(_) | TopicError::Collision(..) => 17,
        TopicError::TopicAlreadyExists(_) => 36,
        TopicError::UnknownTopicOrPartition(_) => UNKNOWN_TOPIC_OR_PARTITION,
        TopicError::InvalidPartitions(_) | TopicError::NotMore { .. } => 37,
        TopicError::TooManyPartitions => POLICY_VIOLATION,
        TopicError::Store(error) => store_error(*error),
    }
}

/// The code of an outcome.
pub(crate) fn code(error: Option<GroupError>) -> i16 {
    error.map_or(NONE, group_error)
}

/// The code of a refusal.
pub(crate) fn group_error(error: GroupError) -> i16 {
    match error {
        GroupError::UnknownServerError => -1,
        GroupError::UnknownTopicOrPartition => 3,
        GroupError::RequestTimedOut => 7,
        GroupError::OffsetMetadataTooLarge => 12,
        GroupError::CoordinatorLoadInProgress => 14,
        GroupError::CoordinatorNotAvailable => 15,
        GroupError::NotCoordinator => 16,
        GroupError::IllegalGeneration => 22,
        GroupError::InconsistentGroupProtocol => 23,
        GroupError::InvalidGroupId => 24,
        GroupError::UnknownMemberId => 25,
        GroupError::InvalidSessionTimeout => 26,
        GroupError::RebalanceInProgress => 27,
        GroupError::InvalidCommitOffsetSize => 28,
        GroupError::InvalidRequest => 42,
        GroupError::InvalidProducerEpoch => 47,
        GroupError::InvalidTxnState => 48,
        GroupError::InvalidProducerIdMapping => 49,
        GroupError::ConcurrentTransactions => 51,
        GroupError::NonEmptyGroup => 68,
        GroupError::GroupIdNotFound => 69,
        GroupError::MemberIdRequired => 79,
        GroupError::GroupMaxSizeReached => 81,
        GroupError::FencedInstanceId => 82,
        GroupError::GroupSubscribedToTopic => 86,
        GroupError::UnstableOffsetCommit => 88,
        GroupError::Store(error) => store_error(error),
    }
}

/// The code of a refusal by a transaction coordinator.
pub(crate) fn transaction_error(error: TransactionError) -> i16 {
    match error {
        TransactionError::UnknownServerError => -1,
        TransactionError::CoordinatorLoadInProgress => COORDINATOR_LOAD_IN_PROGRESS,
        TransactionError::CoordinatorNotAvailable => 15,
        TransactionError::NotCoordinator => 16,
        TransactionError::InvalidRequest => INVALID_REQUEST,
        TransactionError::PolicyViolation => POLICY_VIOLATION,
        TransactionError::InvalidTxnState => 48,
        TransactionError::InvalidProducerIdMapping => 49,
        TransactionError::InvalidTransactionTimeout => 50,
        TransactionError::ConcurrentTransactions => 51,
        TransactionError::ProducerFenced => 90,
    }
}

/// The code of a failed write.
pub(crate) fn store_error(error: StoreError) -> i16 {
    match error {
        StoreError::UnknownServerError => -1,
        StoreError::CorruptMessage => 2,
        StoreError::UnknownTopicOrPartition => 3,
        StoreError::InvalidFetchSize => 4,
        StoreError::NotLeaderOrFollower => 6,
        StoreError::RequestTimedOut => 7,
        StoreError::MessageTooLarge => 10,
        StoreError::NetworkException => 13,
        StoreError::CoordinatorNotAvailable => 15,
        StoreError::NotCoordinator => 16,
        StoreError::RecordListTooLarge => 18,
        StoreError::NotEnoughReplicas => 19,
        StoreError::NotEnoughReplicasAfterAppend => 20,
        StoreError::InvalidRequiredAcks => 21,
        StoreError::ClusterAuthorizationFailed => 31,
        StoreError::InvalidProducerEpoch => 47,
        StoreError::InvalidTxnState => 48,
        StoreError::KafkaStorageError => 56,
        StoreError::InvalidRecord => 87,
        StoreError::ProducerFenced => 90,
    }
}
