//! A transactional id as a line.

use anyhow::{bail, ensure};
use coordinator::ids::{OffsetsPartition, ProducerId};
use coordinator::messages::TransactionOutcome;
use coordinator::transactions::{
    ProducerEpoch, TransactionPhase, TransactionRecord, TransactionState, TransactionalId,
};
use serde::{Deserialize, Serialize};

/// What a transactional id stands at.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::store::offline) struct Transaction {
    partition: i32,
    transactional_id: String,
    producer: i64,
    epoch: i16,
    last_epoch: i16,
    /// Who ended the latest transaction, and has had an epoch for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended_by: Option<EndedBy>,
    /// Who it is to be when the transaction is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_producer: Option<i64>,
    timeout_ms: i32,
    state: State,
    /// Where offsets wait for the end; in order.
    offsets_partitions: Vec<i32>,
    started_ms: i64,
    updated_ms: i64,
}

/// A producer as it was.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndedBy {
    producer: i64,
    epoch: i16,
}

/// Kafka's names of the states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum State {
    Empty,
    Ongoing,
    PrepareCommit,
    PrepareAbort,
    CompleteCommit,
    CompleteAbort,
}

impl Transaction {
    pub(super) fn new(partition: OffsetsPartition, record: TransactionRecord) -> anyhow::Result<Self> {
        let TransactionRecord::State(state) = record else { bail!("a folded store gives no tombstones") };
        Ok(Self {
            partition: partition.0,
            transactional_id: state.transactional_id.to_string(),
            producer: state.producer.producer.0,
            epoch: state.producer.epoch,
            last_epoch: state.last_epoch,
            ended_by: state.ended_by.map(|by| EndedBy { producer: by.producer.0, epoch: by.epoch }),
            next_producer: state.next_producer.map(|next| next.0),
            timeout_ms: state.timeout_ms,
            state: state.phase.into(),
            offsets_partitions: state.partitions.iter().map(|partition| partition.0).collect(),
            started_ms: state.started_ms,
            updated_ms: state.updated_ms,
        })
    }

    /// Where it is kept.
    pub(super) fn partition(&self) -> OffsetsPartition {
        OffsetsPartition(self.partition)
    }
}

impl TryFrom<Transaction> for TransactionRecord {
    type Error = anyhow::Error;

    fn try_from(line: Transaction) -> anyhow::Result<Self> {
        let at = &line.offsets_partitions;
        ensure!(line.partition >= 0, "there is no partition {} of transactional ids", line.partition);
        ensure!(at.iter().all(|at| *at >= 0), "no group is in a partition below 0");
        ensure!(at.is_sorted_by(|one, next| one < next), "partitions are in order, each once");
        let ended_by = line.ended_by.map(|EndedBy { producer, epoch }| {
            let producer = ProducerId(producer);
            ProducerEpoch { producer, epoch }
        });
        Ok(Self::State(TransactionState {
            transactional_id: TransactionalId::new(line.transactional_id),
            producer: ProducerEpoch { producer: ProducerId(line.producer), epoch: line.epoch },
            last_epoch: line.last_epoch,
            ended_by,
            next_producer: line.next_producer.map(ProducerId),
            timeout_ms: line.timeout_ms,
            phase: line.state.into(),
            partitions: line.offsets_partitions.into_iter().map(OffsetsPartition).collect(),
            started_ms: line.started_ms,
            updated_ms: line.updated_ms,
        }))
    }
}

impl From<TransactionPhase> for State {
    fn from(phase: TransactionPhase) -> Self {
        match phase {
            TransactionPhase::Empty => Self::Empty,
            TransactionPhase::Ongoing => Self::Ongoing,
            TransactionPhase::Prepare(TransactionOutcome::Commit) => Self::PrepareCommit,
            TransactionPhase::Prepare(TransactionOutcome::Abort) => Self::PrepareAbort,
            TransactionPhase::Complete(TransactionOutcome::Commit) => Self::CompleteCommit,
            TransactionPhase::Complete(TransactionOutcome::Abort) => Self::CompleteAbort,
        }
    }
}

impl From<State> for TransactionPhase {
    fn from(state: State) -> Self {
        match state {
            State::Empty => Self::Empty,
            State::Ongoing => Self::Ongoing,
            State::PrepareCommit => Self::Prepare(TransactionOutcome::Commit),
            State::PrepareAbort => Self::Prepare(TransactionOutcome::Abort),
            State::CompleteCommit => Self::Complete(TransactionOutcome::Commit),
            State::CompleteAbort => Self::Complete(TransactionOutcome::Abort),
        }
    }
}
