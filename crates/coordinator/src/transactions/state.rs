//! What may follow what: the decisions of a transaction coordinator, as functions of what a transactional id stands at.
//!
//! ```text
//!               Add…ToTxn                 EndTxn, timeout, InitProducerId         all markers
//!  Empty ────────────────────▶ Ongoing ──────────────────────────────▶ Prepare ──────────────▶ Complete
//!    ▲                            ▲                                                                │ │
//!    │ InitProducerId             └─────────────────────────── Add…ToTxn ──────────────────────────┘ │
//!    └─────────────────────────────────────────── InitProducerId ────────────────────────────────────┘
//! ```

use super::messages::{
    AddOffsetsToTxn, AddPartitionsToTxn, EndTxn, InitProducerId, NextEpoch, ProducerEpoch, TransactionError,
    TransactionPhase, TransactionState,
};
use crate::ids::OffsetsPartition;
use crate::messages::TransactionOutcome;

/// What a request or a deadline brings about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing is to be written: it is so already.
    Already,
    /// This is to be written.
    Write(TransactionState),
}

impl TransactionState {
    /// Of an id that is seen for the first time. Its first write raises the epoch to 0.
    pub(super) fn new(request: &InitProducerId) -> Self {
        Self {
            transactional_id: request.transactional_id.clone(),
            producer: ProducerEpoch { producer: request.fresh, epoch: -1 },
            last_epoch: -1,
            ended_by: None,
            next_producer: None,
            timeout_ms: request.transaction_timeout_ms,
            phase: TransactionPhase::Empty,
            partitions: Vec::new(),
            started_ms: -1,
            updated_ms: -1,
        }
    }

    /// Whether anything was ever written of it.
    pub(super) fn is_new(&self) -> bool {
        self.producer.epoch < 0
    }

    /// The producer starts anew. If its predecessor's transaction is open, that is aborted first: the result then is
    /// the abort, under an epoch that fences the predecessor.
    pub(super) fn init(&self, request: &InitProducerId) -> Result<Next, TransactionError> {
        let is_retry = match request.current {
            // It went on after an end whose answer it has not seen.
            Some(current) if self.ended_by == Some(current) => true,
            Some(current) if !self.is_new() => {
                if current.producer != self.producer.producer {
                    return Err(TransactionError::ProducerFenced);
                }
                if current.epoch != self.producer.epoch && current.epoch != self.last_epoch {
                    return Err(TransactionError::ProducerFenced);
                }
                current.epoch != self.producer.epoch
            }
            Some(_) | None => false,
        };
        match self.phase {
            TransactionPhase::Prepare(_) => Err(TransactionError::ConcurrentTransactions),
            TransactionPhase::Ongoing if !is_retry => {
                Ok(Next::Write(self.aborted_by_fencing(request.current.is_some())))
            }
            TransactionPhase::Empty | TransactionPhase::Ongoing | TransactionPhase::Complete(_)
                if is_retry && self.producer.epoch < i16::MAX =>
            {
                Ok(Next::Already)
            }
            TransactionPhase::Empty | TransactionPhase::Ongoing | TransactionPhase::Complete(_) => {
                Ok(Next::Write(self.raised(request)))
            }
        }
    }

    fn raised(&self, request: &InitProducerId) -> Self {
        let (producer, last_epoch) = if self.producer.is_last() {
            (ProducerEpoch { producer: request.fresh, epoch: 0 }, -1)
        } else {
            let producer = ProducerEpoch { epoch: self.producer.epoch + 1, ..self.producer };
            (producer, if request.current.is_some() { self.producer.epoch } else { -1 })
        };
        Self {
            producer,
            last_epoch,
            ended_by: None,
            timeout_ms: request.transaction_timeout_ms,
            phase: TransactionPhase::Empty,
            partitions: Vec::new(),
            started_ms: -1,
            ..self.clone()
        }
    }

    /// The open transaction is aborted, and whoever had opened it is fenced: for good if somebody else takes over; or
    /// until it initialises its id anew (KIP-588), if it was merely late.
    pub(super) fn aborted_by_fencing(&self, may_go_on: bool) -> Self {
        Self {
            producer: ProducerEpoch { epoch: self.producer.epoch.saturating_add(1), ..self.producer },
            last_epoch: if may_go_on { self.producer.epoch } else { -1 },
            phase: TransactionPhase::Prepare(TransactionOutcome::Abort),
            ..self.clone()
        }
    }

    /// Records are going to be written: the transaction begins, if none is open.
    pub(super) fn begin(&self, request: &AddPartitionsToTxn, unix_ms: i64) -> Result<Next, TransactionError> {
        self.check(request.producer)?;
        match self.phase {
            TransactionPhase::Prepare(_) => Err(TransactionError::ConcurrentTransactions),
            TransactionPhase::Ongoing => Ok(Next::Already),
            TransactionPhase::Empty | TransactionPhase::Complete(_) => {
                Ok(Next::Write(self.begun(Vec::new(), unix_ms)))
            }
        }
    }

    fn begun(&self, partitions: Vec<OffsetsPartition>, unix_ms: i64) -> Self {
        let phase = TransactionPhase::Ongoing;
        Self { phase, partitions, started_ms: unix_ms, ended_by: None, ..self.clone() }
    }

    /// Offsets are going to be committed in this partition.
    pub(super) fn add(
        &self,
        request: &AddOffsetsToTxn,
        partition: OffsetsPartition,
        unix_ms: i64,
    ) -> Result<Next, TransactionError> {
        self.check(request.producer)?;
        match self.phase {
            TransactionPhase::Prepare(_) => Err(TransactionError::ConcurrentTransactions),
            TransactionPhase::Ongoing => match self.partitions.binary_search(&partition) {
                Ok(_) => Ok(Next::Already),
                Err(at) => {
                    let mut next = self.clone();
                    next.partitions.insert(at, partition);
                    Ok(Next::Write(next))
                }
            },
            TransactionPhase::Empty | TransactionPhase::Complete(_) => {
                Ok(Next::Write(self.begun(vec![partition], unix_ms)))
            }
        }
    }

    /// Whether a commit of offsets in this partition belongs to the open transaction.
    pub(super) fn verify(
        &self,
        request: &AddOffsetsToTxn,
        partition: OffsetsPartition,
    ) -> Result<(), TransactionError> {
        self.check(request.producer)?;
        match self.phase {
            TransactionPhase::Prepare(_) => Err(TransactionError::ConcurrentTransactions),
            TransactionPhase::Ongoing if self.partitions.binary_search(&partition).is_ok() => Ok(()),
            TransactionPhase::Ongoing | TransactionPhase::Empty | TransactionPhase::Complete(_) => {
                Err(TransactionError::InvalidTxnState)
            }
        }
    }

    /// The producer ends the transaction. A repetition of the same end is answered as the first was.
    pub(super) fn end(&self, request: &EndTxn) -> Result<Next, TransactionError> {
        if self.has_ended(request.producer) {
            return match self.phase {
                TransactionPhase::Prepare(outcome) if outcome == request.outcome => {
                    Err(TransactionError::ConcurrentTransactions)
                }
                TransactionPhase::Complete(outcome) if outcome == request.outcome => Ok(Next::Already),
                TransactionPhase::Empty
                | TransactionPhase::Ongoing
                | TransactionPhase::Prepare(_)
                | TransactionPhase::Complete(_) => Err(TransactionError::InvalidTxnState),
            };
        }
        self.check(request.producer)?;
        match (self.phase, request.next_epoch, request.outcome) {
            (TransactionPhase::Ongoing, next_epoch, outcome) => {
                let phase = TransactionPhase::Prepare(outcome);
                Ok(Next::Write(Self { phase, ..self.gone_on(next_epoch)? }))
            }
            // Whatever it tried was refused before its transaction began: it need not know that.
            (
                TransactionPhase::Empty | TransactionPhase::Complete(_),
                next_epoch @ NextEpoch::Raised { .. },
                TransactionOutcome::Abort,
            ) => Ok(Next::Write(self.gone_on(next_epoch)?.completed(TransactionOutcome::Abort))),
            (TransactionPhase::Empty | TransactionPhase::Complete(_), ..) => {
                Err(TransactionError::InvalidTxnState)
            }
            // Of the same epoch only one fenced by the decision could be here.
            (TransactionPhase::Prepare(_), ..) => Err(TransactionError::ConcurrentTransactions),
        }
    }

    /// Whether this producer, as it was then, has ended the latest transaction.
    pub(super) fn has_ended(&self, producer: ProducerEpoch) -> bool {
        match (self.ended_by, self.phase) {
            (Some(ended_by), _) => ended_by == producer,
            (None, TransactionPhase::Prepare(_) | TransactionPhase::Complete(_)) => {
                self.check(producer).is_ok()
            }
            (None, TransactionPhase::Empty | TransactionPhase::Ongoing) => false,
        }
    }

    /// With the epoch that follows a transaction. The last one is given to nobody: it fences the producer until that has
    /// its next id.
    fn gone_on(&self, next_epoch: NextEpoch) -> Result<Self, TransactionError> {
        let NextEpoch::Raised { fresh } = next_epoch else { return Ok(self.clone()) };
        if self.producer.is_last() && fresh.is_none() {
            return Err(TransactionError::CoordinatorNotAvailable);
        }
        Ok(Self {
            producer: ProducerEpoch { epoch: self.producer.epoch.saturating_add(1), ..self.producer },
            last_epoch: self.producer.epoch,
            ended_by: Some(self.producer),
            next_producer: if self.producer.is_last() { fresh } else { None },
            ..self.clone()
        })
    }

    /// All markers are written.
    pub(super) fn completed(&self, outcome: TransactionOutcome) -> Self {
        let (producer, last_epoch) = match self.next_producer {
            Some(producer) => (ProducerEpoch { producer, epoch: 0 }, -1),
            None => (self.producer, self.last_epoch),
        };
        Self {
            producer,
            last_epoch,
            next_producer: None,
            phase: TransactionPhase::Complete(outcome),
            partitions: Vec::new(),
            started_ms: -1,
            ..self.clone()
        }
    }

    /// Whether this is the producer, in its present epoch.
    pub(super) fn check(&self, producer: ProducerEpoch) -> Result<(), TransactionError> {
        if self.is_new() || producer.producer != self.producer.producer {
            Err(TransactionError::InvalidProducerIdMapping)
        } else if producer.epoch != self.producer.epoch {
            Err(TransactionError::ProducerFenced)
        } else {
            Ok(())
        }
    }
}
