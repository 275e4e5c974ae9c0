//! What plain and transactional commits share: which offsets are accepted, their records, their results.

use std::sync::Arc;

use crate::ids::{GroupId, TopicPartition};
use crate::messages::{CommitOffset, GroupError, OffsetRecord, StoreError};
use crate::turn::Turn;

/// A commit's results, in the order of the request.
type Results = Vec<(TopicPartition, Option<GroupError>)>;

/// The offsets of one request, those that will be stored apart from those that are refused.
#[derive(Debug)]
pub(crate) struct Accepted {
    /// With their commit timestamps decided.
    pub(crate) offsets: Vec<CommitOffset>,
    /// Whose metadata is too large, by their places in the request.
    refused: Vec<(usize, TopicPartition)>,
}

impl Accepted {
    pub(crate) fn of(turn: &Turn, mut offsets: Vec<CommitOffset>) -> Self {
        let (limit, unix_ms) = (turn.config.offset_metadata_max_size, turn.unix_ms());
        for offset in &mut offsets {
            if offset.commit_timestamp_ms == -1 {
                offset.commit_timestamp_ms = unix_ms;
            }
        }
        let mut refused = Vec::new();
        if offsets.iter().any(|offset| is_too_large(&offset.metadata, limit)) {
            let mut at = 0;
            offsets.retain(|offset| {
                let keep = !is_too_large(&offset.metadata, limit);
                if !keep {
                    refused.push((at, offset.partition.clone()));
                }
                at += 1;
                keep
            });
        }
        Self { offsets, refused }
    }

    /// The results if those that were accepted end with `error`.
    pub(crate) fn into_results(self, error: Option<GroupError>) -> Results {
        let mut stored = self.offsets.into_iter().map(|offset| (offset.partition, error));
        if self.refused.is_empty() {
            return stored.collect();
        }
        let mut results = Vec::with_capacity(stored.len() + self.refused.len());
        for (at, partition) in self.refused {
            results.extend(stored.by_ref().take(at - results.len()));
            results.push((partition, Some(GroupError::OffsetMetadataTooLarge)));
        }
        results.extend(stored);
        results
    }

    /// As [`Accepted::into_results`], with an error and without giving the offsets away.
    pub(crate) fn results(&self, error: GroupError) -> Results {
        let offsets = self.offsets.clone();
        Self { offsets, refused: self.refused.clone() }.into_results(Some(error))
    }
}

/// The results of a request that is refused as a whole.
pub(crate) fn refuse_all(offsets: Vec<CommitOffset>, error: GroupError) -> Results {
    offsets.into_iter().map(|offset| (offset.partition, Some(error))).collect()
}

/// What is written for one offset.
pub(crate) fn record(
    group: &GroupId,
    offset: &CommitOffset,
    expire_timestamp_ms: Option<i64>,
) -> OffsetRecord {
    OffsetRecord {
        group: group.clone(),
        partition: offset.partition.clone(),
        offset: offset.offset,
        leader_epoch: offset.leader_epoch,
        metadata: Arc::clone(&offset.metadata),
        commit_timestamp_ms: offset.commit_timestamp_ms,
        expire_timestamp_ms,
    }
}

/// In characters as Kafka counts them: UTF-16 units, of which a text has no more than bytes.
fn is_too_large(metadata: &str, limit: usize) -> bool {
    metadata.len() > limit && metadata.encode_utf16().count() > limit
}

/// What a client is told of a failed write of offsets, or of a transaction that could not be verified.
pub(crate) fn error(error: StoreError) -> GroupError {
    match error {
        StoreError::UnknownTopicOrPartition
        | StoreError::NotEnoughReplicas
        | StoreError::NotEnoughReplicasAfterAppend => GroupError::CoordinatorNotAvailable,
        StoreError::NotLeaderOrFollower | StoreError::KafkaStorageError => GroupError::NotCoordinator,
        StoreError::RequestTimedOut => GroupError::RequestTimedOut,
        StoreError::MessageTooLarge | StoreError::RecordListTooLarge | StoreError::InvalidFetchSize => {
            GroupError::InvalidCommitOffsetSize
        }
        // Clients retry that one without looking for another coordinator.
        StoreError::NetworkException => GroupError::CoordinatorLoadInProgress,
        StoreError::UnknownServerError
        | StoreError::CorruptMessage
        | StoreError::InvalidRequiredAcks
        | StoreError::CoordinatorNotAvailable
        | StoreError::NotCoordinator
        | StoreError::InvalidProducerEpoch
        | StoreError::ProducerFenced
        | StoreError::InvalidTxnState
        | StoreError::ClusterAuthorizationFailed
        | StoreError::InvalidRecord => GroupError::Store(error),
    }
}
