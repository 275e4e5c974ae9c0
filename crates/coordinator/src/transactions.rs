//! Transactions, as far as they commit offsets: which are open, how they end, and that they do end.
//!
//! A producer adds the groups whose offsets it is going to commit, commits them through the group coordinator (which
//! asks here whether it may), and ends the transaction. The decision is written first; then each partition gets a
//! marker, and only then is the transaction complete. One left open is aborted at its timeout, so that nobody who
//! reads committed offsets waits for ever.
//!
//! As the group coordinator this is a pure state machine: `now` and an input go in, outputs come out. Whatever waits
//! (for a write, a marker, a timeout) waits in one purgatory.
//!
//! ```
//! use coordinator::ids::{GroupId, ProducerId};
//! use coordinator::messages::Token;
//! use coordinator::transactions::*;
//! use coordinator::{Partitioner, Timestamp};
//!
//! let now = Timestamp::ZERO;
//! let mut transactions = TransactionCoordinator::new(TransactionConfig::default(), 1, now);
//! transactions.handle(now, TransactionInput::FinishLoad);
//! let init = InitProducerId {
//!     transactional_id: TransactionalId::new("billing-1"),
//!     transaction_timeout_ms: 60_000,
//!     current: None,
//!     fresh: ProducerId(1000),
//! };
//! transactions.handle(now, TransactionInput::Request(Token::new(1), TransactionRequest::InitProducerId(init)));
//! let Some(TransactionOutput::Store(id, _record)) = transactions.poll_output() else { panic!("a write") };
//! transactions.handle(now, TransactionInput::Stored(id, Ok(())));
//! let producer = ProducerEpoch { producer: ProducerId(1000), epoch: 0 };
//! let answer = TransactionResponse::InitProducerId(Ok(producer));
//! assert_eq!(transactions.poll_output(), Some(TransactionOutput::Respond(Token::new(1), answer)));
//! ```

mod config;
mod markers;
mod messages;
mod state;
mod steps;

use std::collections::{BTreeSet, VecDeque};

use hashbrown::HashMap;
use purgatory::{OperationId, Purgatory, Timestamp};

pub use config::TransactionConfig;
pub use messages::{
    AddOffsetsToTxn, AddPartitionsToTxn, EndTxn, InitProducerId, NextEpoch, ProducerEpoch, TransactionError,
    TransactionEvent, TransactionInput, TransactionOutput, TransactionPhase, TransactionRecord,
    TransactionRequest, TransactionResponse, TransactionState, TransactionalId, WriteTxnMarkers,
};

use crate::hasher::Hasher;
use crate::ids::{OffsetsPartition, ProducerId};
use crate::messages::{StoreId, Token};
use crate::secret::Secret;

/// A transaction coordinator. See the [module](self).
#[derive(Debug)]
pub struct TransactionCoordinator {
    config: TransactionConfig,
    serving: Serving,
    now: Timestamp,
    transactions: HashMap<TransactionalId, Transaction, Hasher>,
    /// Whose producer is who: as far as is stored.
    by_producer: HashMap<ProducerId, TransactionalId, Hasher>,
    purgatory: Purgatory<StoreId, Delayed, Hasher>,
    outputs: VecDeque<TransactionOutput>,
    next_store: u64,
    /// Transactions that are open, or whose markers are being written.
    open: usize,
}

/// Whether requests are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Serving {
    Loading,
    Yes,
    /// Somebody else does.
    Unloaded,
}

/// What is known of one transactional id.
#[derive(Debug)]
struct Transaction {
    /// As it is stored.
    state: TransactionState,
    /// The write that is under way: until it ends nothing else may begin.
    writing: Option<OperationId>,
    /// The end of an open transaction's time, or of an unused id's.
    timer: Option<OperationId>,
    /// Partitions whose marker is asked for and not reported.
    unmarked: BTreeSet<OffsetsPartition>,
    /// Whoever ended the transaction, until it is complete: then it reads its own writes, and may begin the next one.
    ending: Option<Ending>,
}

#[derive(Debug)]
struct Ending {
    waiting: Waiting,
    deadline: OperationId,
}

/// What waits.
#[derive(Debug)]
enum Delayed {
    /// For a write, whose success makes this the state.
    Write(Box<Write>),
    /// A transaction is too old, or an id has not been used for long.
    TooOld(TransactionalId),
    /// Whoever ended a transaction has waited long enough for its markers.
    Ending(TransactionalId),
    /// A marker could not be written: it is asked for again.
    MarkAgain(TransactionalId, OffsetsPartition),
    /// A write that nobody asked for failed: it is tried again.
    TryAgain(TransactionalId),
}

#[derive(Debug)]
struct Write {
    id: StoreId,
    next: TransactionState,
    /// Who asked for it; `None`: nobody, or they have been answered.
    waiting: Option<Waiting>,
}

/// Whose request led to a write, and so what success means to them.
#[derive(Debug)]
enum Waiting {
    Init(Token),
    Begin(Token),
    Add(Token),
    /// As [`Waiting::Add`], of a commit that follows.
    Verify(Token),
    End(Token),
    /// A marker from outside aborted it.
    Marker(Token),
}

impl TransactionCoordinator {
    /// A coordinator that has not been loaded yet. The same `config`, `seed` and inputs give the same outputs.
    pub fn new(config: TransactionConfig, seed: u64, start: Timestamp) -> Self {
        let hasher = Hasher::new(Secret::new(seed));
        Self {
            config,
            serving: Serving::Loading,
            now: start,
            transactions: HashMap::with_hasher(hasher),
            by_producer: HashMap::with_hasher(hasher),
            purgatory: Purgatory::with_hasher(start, hasher),
            outputs: VecDeque::new(),
            next_store: 0,
            open: 0,
        }
    }

    /// Handles one input. What is due by then is [`expire`](Self::expire)d before it, or after it if the input had
    /// arrived in time.
    pub fn handle(&mut self, now: Timestamp, input: TransactionInput) {
        self.now = self.now.max(now);
        match input {
            TransactionInput::Request(token, request) => self.request(token, request),
            TransactionInput::Stored(id, outcome) => {
                if let Some(Delayed::Write(write)) = self.purgatory.complete_next(&id, |_| true) {
                    self.written(*write, outcome);
                }
            }
            TransactionInput::MarkerWritten(id, partition, outcome) => {
                self.marked(&id, partition, outcome.is_ok());
            }
            TransactionInput::Load(record) => self.load(record),
            TransactionInput::FinishLoad => self.finish_load(),
            TransactionInput::Unload => self.unload(),
        }
    }

    /// Handles all deadlines up to `now`, in order.
    pub fn expire(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        while let Some(delayed) = self.purgatory.expire_next(now) {
            match delayed {
                Delayed::Write(write) => self.write_takes_long(*write),
                Delayed::TooOld(id) => self.too_old(&id),
                Delayed::Ending(id) => self.answer_ending(&id),
                Delayed::MarkAgain(id, partition) => self.mark(&id, partition),
                Delayed::TryAgain(id) => self.go_on(&id),
            }
        }
    }

    /// What the coordinator has to say, in order. Drain it after every turn.
    pub fn poll_output(&mut self) -> Option<TransactionOutput> {
        self.outputs.pop_front()
    }

    /// When to call [`expire`](Self::expire) next: never later than the earliest deadline, sometimes earlier.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.purgatory.next_deadline()
    }

    /// What a transactional id stands at, as far as it is stored.
    pub fn state(&self, id: &TransactionalId) -> Option<&TransactionState> {
        self.transactions.get(id).map(|transaction| &transaction.state).filter(|state| !state.is_new())
    }

    /// How many transactions are open, or wait for their markers: they keep offsets from being read as stable.
    pub fn open(&self) -> usize {
        self.open
    }

    /// How many operations wait: timers, writes, answers.
    pub fn pending(&self) -> usize {
        self.purgatory.pending()
    }

    /// How many transactional ids are known.
    pub fn len(&self) -> usize {
        self.transactions.len()
    }

    /// Whether none are known.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }
}
