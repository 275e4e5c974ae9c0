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
    AddOffsetsToTxn, AddPartitionsToTxn, EndTxn, InitProducerId, ProducerEpoch, TransactionError,
    TransactionPhase, TransactionState,
};
use crate::ids::OffsetsPartition;
use crate::messages::TransactionOutcome;

/// The highest epoch a client is given. One more fences it when its transaction is aborted.
const LAST_EPOCH: i16 = i16::MAX - 1;

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
                if is_retry && self.producer.epoch <= LAST_EPOCH =>
            {
                Ok(Next::Already)
            }
            TransactionPhase::Empty | TransactionPhase::Ongoing | TransactionPhase::Complete(_) => {
                Ok(Next::Write(self.raised(request)))
            }
        }
    }

    fn raised(&self, request: &InitProducerId) -> Self {
        let (producer, last_epoch) = if self.producer.epoch >= LAST_EPOCH {
            (ProducerEpoch { producer: request.fresh, epoch: 0 }, -1)
        } else {
            let producer = ProducerEpoch { epoch: self.producer.epoch + 1, ..self.producer };
            (producer, if request.current.is_some() { self.producer.epoch } else { -1 })
        };
        Self {
            producer,
            last_epoch,
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
        Self { phase: TransactionPhase::Ongoing, partitions, started_ms: unix_ms, ..self.clone() }
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
        self.check(request.producer)?;
        match self.phase {
            TransactionPhase::Ongoing => {
                Ok(Next::Write(Self { phase: TransactionPhase::Prepare(request.outcome), ..self.clone() }))
            }
            TransactionPhase::Prepare(outcome) if outcome == request.outcome => {
                Err(TransactionError::ConcurrentTransactions)
            }
            TransactionPhase::Complete(outcome) if outcome == request.outcome => Ok(Next::Already),
            TransactionPhase::Prepare(_) | TransactionPhase::Complete(_) | TransactionPhase::Empty => {
                Err(TransactionError::InvalidTxnState)
            }
        }
    }

    /// All markers are written.
    pub(super) fn completed(&self, outcome: TransactionOutcome) -> Self {
        Self {
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
