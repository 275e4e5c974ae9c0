//! All that crosses the border of a transaction coordinator.

use std::fmt;
use std::sync::Arc;

use crate::ids::{GroupId, OffsetsPartition, ProducerId};
use crate::messages::{GroupError, StoreError, StoreId, Token, TransactionOutcome};

/// `transactional.id`: what a producer keeps over restarts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TransactionalId(Arc<str>);

impl TransactionalId {
    /// The longest that is accepted, bytes: what Kafka's own record of it has room for.
    pub const MAX: usize = i16::MAX as usize;

    /// Wraps `text`.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TransactionalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A producer and how often its transactional id was initialised: an older epoch is fenced.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProducerEpoch {
    /// The id.
    pub producer: ProducerId,
    /// From 0 on.
    pub epoch: i16,
}

impl ProducerEpoch {
    /// What a refusal carries.
    pub const NONE: Self = Self { producer: ProducerId(-1), epoch: -1 };

    /// Whether the id has no further epoch to give to a client: the one that is left fences this one when its
    /// transaction ends.
    pub fn is_last(self) -> bool {
        self.epoch >= i16::MAX - 1
    }
}

/// What a transaction coordinator is told.
#[derive(Debug)]
pub enum TransactionInput {
    /// A client asks; the answer comes as [`TransactionOutput::Respond`] with the same token.
    Request(Token, TransactionRequest),
    /// A write ended. Each is to be reported once; late reports count, repeated and unknown ones do nothing.
    Stored(StoreId, Result<(), StoreError>),
    /// The marker for this partition was written there and applied, or could not be: then it is asked for again.
    /// Each is to be reported once.
    MarkerWritten(TransactionalId, OffsetsPartition, Result<(), StoreError>),
    /// The next record of the log this coordinator is loaded from.
    Load(TransactionRecord),
    /// The log is read: requests are served, and what had been decided before is carried out.
    FinishLoad,
    /// Somebody else is the coordinator from now on: whoever waits is told so. Nothing is served any more.
    Unload,
}

/// A request of a transactional producer.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each variant is its request's type")]
pub enum TransactionRequest {
    InitProducerId(InitProducerId),
    AddPartitionsToTxn(AddPartitionsToTxn),
    AddOffsetsToTxn(AddOffsetsToTxn),
    /// Whether a commit of offsets belongs to an open transaction; answered within the turn.
    VerifyOffsets(AddOffsetsToTxn),
    /// The same of a producer whose commits add their group by themselves (`transaction.version` 2, KIP-890). Answered
    /// as [`TransactionResponse::VerifyOffsets`], once it is so.
    AddAndVerifyOffsets(AddOffsetsToTxn),
    EndTxn(EndTxn),
    WriteTxnMarkers(WriteTxnMarkers),
}

/// Become the producer of a transactional id, and fence the one before.
#[derive(Clone, Debug)]
pub struct InitProducerId {
    /// Not empty, and at most [`TransactionalId::MAX`] bytes.
    pub transactional_id: TransactionalId,
    /// How long a transaction may stay open, ms, before it is aborted.
    pub transaction_timeout_ms: i32,
    /// What the producer was so far, if it goes on after an error (KIP-360).
    pub current: Option<ProducerEpoch>,
    /// An id nobody has had, from the host: taken if a new one is needed.
    pub fresh: ProducerId,
}

/// The transaction is going to write records to topics. There are none here to write to: it begins, no more.
#[derive(Clone, Debug)]
pub struct AddPartitionsToTxn {
    /// Whose transaction.
    pub transactional_id: TransactionalId,
    /// Who asks.
    pub producer: ProducerEpoch,
}

/// The transaction is going to commit offsets of a group.
#[derive(Clone, Debug)]
pub struct AddOffsetsToTxn {
    /// Whose transaction.
    pub transactional_id: TransactionalId,
    /// Who asks.
    pub producer: ProducerEpoch,
    /// The group.
    pub group: GroupId,
}

/// End the transaction.
#[derive(Clone, Debug)]
pub struct EndTxn {
    /// Whose transaction.
    pub transactional_id: TransactionalId,
    /// Who asks.
    pub producer: ProducerEpoch,
    /// How.
    pub outcome: TransactionOutcome,
    /// Under which epoch it goes on.
    pub next_epoch: NextEpoch,
}

/// What becomes of a producer's epoch with the end of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextEpoch {
    /// It lasts for many transactions.
    Same,
    /// Each transaction has one of its own (`transaction.version` 2, KIP-890), so that nothing late of one can become
    /// part of the next.
    Raised {
        /// An id nobody has had, from the host, to go on with where the producer
        /// [has no epoch left](ProducerEpoch::is_last). Without one it is told to come again.
        fresh: Option<ProducerId>,
    },
}

/// Somebody else, such as an operator, ends the transaction of a producer. Committing is not theirs to decide.
#[derive(Clone, Copy, Debug)]
pub struct WriteTxnMarkers {
    /// Whose, in its present epoch.
    pub producer: ProducerEpoch,
    /// How.
    pub outcome: TransactionOutcome,
}

/// What a transaction coordinator says. Drain with `poll_output` after every turn, and keep the order: a commit of
/// offsets that was verified goes to its group before a marker that is said later.
#[derive(Debug, PartialEq, Eq)]
pub enum TransactionOutput {
    /// The answer to one request.
    Respond(Token, TransactionResponse),
    /// Make this record durable after all earlier ones; then say so with [`TransactionInput::Stored`].
    Store(StoreId, TransactionRecord),
    /// Write a marker to this partition (`Record::TxnMarker`) and tell the group coordinator that the transaction ended
    /// there (`Input::EndTransaction`); then say so with [`TransactionInput::MarkerWritten`].
    WriteMarker {
        /// Whose transaction.
        transactional_id: TransactionalId,
        /// The producer, and the epoch the marker is written under.
        producer: ProducerEpoch,
        /// Where to.
        partition: OffsetsPartition,
        /// How it ended.
        outcome: TransactionOutcome,
    },
    /// Something a person may want to know.
    Event(TransactionEvent),
}

/// What happened to a transactional id, beyond answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionEvent {
    /// A transaction began.
    Started(TransactionalId),
    /// It is going to be aborted, since it was left open for longer than its timeout. Its producer is fenced until it
    /// initialises its id anew.
    TimedOut(TransactionalId, ProducerEpoch),
    /// It is going to be aborted, since its id was initialised meanwhile. The producer that had opened it is fenced.
    Fenced(TransactionalId, ProducerEpoch),
    /// It has ended, and all its markers are written.
    Ended {
        /// Whose.
        transactional_id: TransactionalId,
        /// How.
        outcome: TransactionOutcome,
        /// From its beginning, by the wall clock, ms.
        took_ms: u64,
    },
    /// The id was not used for [`transactional_id_expiration_ms`](super::TransactionConfig) and is forgotten.
    Expired(TransactionalId),
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is its request's")]
pub enum TransactionResponse {
    InitProducerId(Result<ProducerEpoch, TransactionError>),
    AddPartitionsToTxn(Result<(), TransactionError>),
    AddOffsetsToTxn(Result<(), TransactionError>),
    VerifyOffsets(Result<(), TransactionError>),
    /// Who the producer is from now on.
    EndTxn(Result<ProducerEpoch, TransactionError>),
    /// `None`: no transactional id here has that producer.
    WriteTxnMarkers(Option<Result<(), TransactionError>>),
}

/// Why a request was refused. Named as Kafka names them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "Kafka's own names, documented by the protocol")]
pub enum TransactionError {
    InvalidRequest,
    InvalidTransactionTimeout,
    InvalidProducerIdMapping,
    ProducerFenced,
    InvalidTxnState,
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
    /// More transactional ids than the settings allow.
    PolicyViolation,
    UnknownServerError,
}

/// What a client is told whose TxnOffsetCommit is refused by its transaction: in words that the clients of that request
/// know, so that they come again where they can.
impl From<TransactionError> for GroupError {
    fn from(error: TransactionError) -> Self {
        match error {
            TransactionError::InvalidProducerIdMapping => Self::InvalidProducerIdMapping,
            TransactionError::ProducerFenced => Self::InvalidProducerEpoch,
            TransactionError::InvalidTxnState => Self::InvalidTxnState,
            TransactionError::ConcurrentTransactions | TransactionError::CoordinatorLoadInProgress => {
                Self::CoordinatorLoadInProgress
            }
            TransactionError::CoordinatorNotAvailable => Self::CoordinatorNotAvailable,
            TransactionError::NotCoordinator => Self::NotCoordinator,
            TransactionError::InvalidRequest => Self::InvalidRequest,
            TransactionError::InvalidTransactionTimeout
            | TransactionError::PolicyViolation
            | TransactionError::UnknownServerError => Self::UnknownServerError,
        }
    }
}

/// One change to what is kept of a transactional id. The last one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionRecord {
    /// What it stands at.
    State(TransactionState),
    /// It was not used for long and is forgotten.
    Tombstone(TransactionalId),
}

impl TransactionRecord {
    /// Whose it is.
    pub fn transactional_id(&self) -> &TransactionalId {
        match self {
            Self::State(state) => &state.transactional_id,
            Self::Tombstone(id) => id,
        }
    }
}

/// What a transactional id stands at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionState {
    /// The id.
    pub transactional_id: TransactionalId,
    /// Who it belongs to.
    pub producer: ProducerEpoch,
    /// The epoch before, if the same producer raised it: a repetition of that request is not fenced. -1: none.
    pub last_epoch: i16,
    /// How long its transactions may stay open, ms.
    pub timeout_ms: i32,
    /// Who ended the latest transaction, if the producer has gone on under another epoch with it
    /// ([`NextEpoch::Raised`]): a repetition of that request is not fenced.
    pub ended_by: Option<ProducerEpoch>,
    /// The id to go on with when the transaction is complete, if this one has no epoch left.
    pub next_producer: Option<ProducerId>,
    /// Where its latest transaction stands.
    pub phase: TransactionPhase,
    /// Where offsets are, or were going to be, committed; sorted.
    pub partitions: Vec<OffsetsPartition>,
    /// When the transaction began, ms since the Unix epoch; -1 if none has.
    pub started_ms: i64,
    /// When this was written, ms since the Unix epoch.
    pub updated_ms: i64,
}

/// Where a transaction stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionPhase {
    /// None yet.
    Empty,
    /// It is open.
    Ongoing,
    /// Its end is decided; markers are being written.
    Prepare(TransactionOutcome),
    /// It has ended.
    Complete(TransactionOutcome),
}

impl TransactionPhase {
    /// Whether readers of committed offsets may have to wait for it.
    pub(super) fn is_open(self) -> bool {
        match self {
            Self::Ongoing | Self::Prepare(_) => true,
            Self::Empty | Self::Complete(_) => false,
        }
    }
}
