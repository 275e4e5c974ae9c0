//! The transactional ids of a shard: their coordinator, who waits for it, and the way from it to other shards.
//!
//! A commit of offsets within a transaction comes here first. What the coordinator said of it goes with it into the
//! inbox of its group's shard, and a marker that the coordinator wants later goes into the same inbox, behind it:
//! so no offset is pended after the end of its transaction.

use coordinator::ids::OffsetsPartition;
use coordinator::messages::{GroupError, StoreError, StoreId, Token, TxnOffsetCommit};
use coordinator::transactions::{
    AddOffsetsToTxn, TransactionCoordinator, TransactionError, TransactionEvent, TransactionInput,
    TransactionOutput, TransactionRecord, TransactionRequest, TransactionResponse, TransactionalId,
};
use hashbrown::HashMap;
use purgatory::Timestamp;
use tokio::sync::oneshot;

use super::inbox::{Inbox, Message, Reply};
use super::markers::{Mark, MarkReply};
use super::owned::OwnedPartitions;
use super::routing::Shards;
use crate::events_log::record_transaction;
use crate::store::{Batch, StoreHandle};

/// A commit of offsets, and the question whether its transaction allows it.
#[derive(Debug)]
pub(crate) struct Unverified {
    pub(crate) question: OffsetsQuestion,
    pub(crate) commit: TxnOffsetCommit,
    pub(crate) reply: Reply,
}

/// What the coordinator of a transaction is asked about a commit.
#[derive(Debug)]
pub(crate) enum OffsetsQuestion {
    /// Whether the group was added.
    Verify(AddOffsetsToTxn),
    /// The same, and if it was not it is to be.
    Add(AddOffsetsToTxn),
}

impl OffsetsQuestion {
    pub(crate) fn transactional_id(&self) -> &TransactionalId {
        let (Self::Verify(of) | Self::Add(of)) = self;
        &of.transactional_id
    }
}

/// The transactions whose coordinator is this shard.
pub(super) struct Transactions {
    coordinator: TransactionCoordinator,
    shards: Shards,
    /// Where the outcomes of markers are to be sent.
    own: Inbox,
    store: StoreHandle,
    /// The way back to each client that waits, by the number of its token.
    open: HashMap<u64, oneshot::Sender<TransactionResponse>>,
    /// Commits that wait for the answer about them: within a turn, or until what it adds is stored. Each holds its place
    /// in the inbox of its group's shard.
    verifying: HashMap<u64, (TxnOffsetCommit, Reply)>,
    writing: usize,
    timed_out: u64,
}

impl Transactions {
    /// None known. Outcomes of writes to `store` come back as [`Message::TransactionStored`].
    pub(super) fn new(
        coordinator: TransactionCoordinator,
        shards: Shards,
        own: Inbox,
        store: StoreHandle,
    ) -> Self {
        let (open, verifying) = (HashMap::new(), HashMap::new());
        Self { coordinator, shards, own, store, open, verifying, writing: 0, timed_out: 0 }
    }

    /// What is kept.
    pub(super) fn load(&mut self, now: Timestamp, records: Vec<TransactionRecord>) {
        for record in records {
            self.coordinator.handle(now, TransactionInput::Load(record));
        }
    }

    /// All that is kept has been loaded: clients are served, and what had been decided is carried out.
    pub(super) fn finish_load(&mut self, now: Timestamp) {
        self.coordinator.handle(now, TransactionInput::FinishLoad);
    }

    /// A client asks.
    pub(super) fn ask(
        &mut self,
        now: Timestamp,
        token: Token,
        request: TransactionRequest,
        reply: oneshot::Sender<TransactionResponse>,
    ) {
        self.open.insert(token.number(), reply);
        self.coordinator.handle(now, TransactionInput::Request(token, request));
    }

    /// A client commits offsets.
    pub(super) fn verify(&mut self, now: Timestamp, token: Token, unverified: Unverified) {
        let Unverified { question, commit, reply } = unverified;
        self.verifying.insert(token.number(), (commit, reply));
        let question = match question {
            OffsetsQuestion::Verify(of) => TransactionRequest::VerifyOffsets(of),
            OffsetsQuestion::Add(of) => TransactionRequest::AddAndVerifyOffsets(of),
        };
        self.coordinator.handle(now, TransactionInput::Request(token, question));
    }

    /// The client behind this token number is gone. What it asked for goes on.
    pub(super) fn abandon(&mut self, number: u64) {
        self.open.remove(&number);
    }

    /// A write ended.
    pub(super) fn stored(&mut self, now: Timestamp, id: StoreId, outcome: Result<(), StoreError>) {
        self.writing -= 1;
        self.coordinator.handle(now, TransactionInput::Stored(id, outcome));
    }

    /// A marker was written, or could not be.
    pub(super) fn marked(
        &mut self,
        now: Timestamp,
        id: TransactionalId,
        partition: OffsetsPartition,
        outcome: Result<(), StoreError>,
    ) {
        self.coordinator.handle(now, TransactionInput::MarkerWritten(id, partition, outcome));
    }

    /// Handles what is due.
    pub(super) fn expire(&mut self, until: Timestamp) {
        self.coordinator.expire(until);
    }

    /// Answers all who wait: they are to look for another coordinator.
    pub(super) fn unload(&mut self, now: Timestamp) {
        self.coordinator.handle(now, TransactionInput::Unload);
    }

    /// Does what the coordinator says.
    pub(super) fn carry_out(&mut self, now: Timestamp, owned: &OwnedPartitions) {
        while let Some(output) = self.coordinator.poll_output() {
            match output {
                TransactionOutput::Respond(token, TransactionResponse::VerifyOffsets(answer)) => {
                    self.hand_on(token, answer);
                }
                TransactionOutput::Respond(token, response) => {
                    if let Some(reply) = self.open.remove(&token.number()) {
                        // Refused by a client that goes away: its Abandon is on the way.
                        let _ = reply.send(response);
                    }
                }
                TransactionOutput::Store(id, record) => self.write(now, id, &record, owned),
                TransactionOutput::WriteMarker { transactional_id, producer, partition, outcome } => {
                    let reply = MarkReply::Shard(transactional_id, self.own.clone());
                    let mark = Mark { producer, partition, outcome, reply };
                    self.shards.of_partition(partition).send(Message::Mark(mark));
                }
                TransactionOutput::Event(event) => {
                    self.timed_out += u64::from(matches!(event, TransactionEvent::TimedOut(..)));
                    record_transaction(&event);
                }
            }
        }
    }

    /// The commit goes to its group's coordinator, which has the last word: it may know a better reason to refuse.
    fn hand_on(&mut self, token: Token, answer: Result<(), TransactionError>) {
        let Some((mut commit, reply)) = self.verifying.remove(&token.number()) else { return };
        commit.verification = answer.map_err(GroupError::from);
        self.shards.of(&commit.commit.group).send(Message::Verified(token, commit, reply));
    }

    fn write(&mut self, now: Timestamp, id: StoreId, record: &TransactionRecord, owned: &OwnedPartitions) {
        let partition = self.shards.partition_of(record.transactional_id().as_str());
        let batch = match owned.epoch(partition) {
            Some(epoch) => Batch::of_transaction(partition, epoch, record),
            None => Err(StoreError::NotCoordinator),
        };
        match batch {
            Ok(batch) => {
                self.writing += 1;
                self.store.append(id, batch);
            }
            Err(error) => self.coordinator.handle(now, TransactionInput::Stored(id, Err(error))),
        }
    }

    /// When [`Transactions::expire`] has something to do.
    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        self.coordinator.next_deadline()
    }

    /// How many writes are under way.
    pub(super) fn writing(&self) -> usize {
        self.writing
    }

    /// How many were aborted at their timeout.
    pub(super) fn timed_out(&self) -> u64 {
        self.timed_out
    }

    /// For whoever counts.
    pub(super) fn coordinator(&self) -> &TransactionCoordinator {
        &self.coordinator
    }
}
