//! Writes markers where a transaction's offsets wait: on the shard that owns their partition, for the transaction
//! coordinator of this shard or another.
//!
//! A marker goes into the log behind every offset that was pended before it came, and counts, for readers of this
//! shard and for the transaction coordinator, once it is durable. One for a partition that still loads waits until
//! that is loaded: what it is to end is not known before. Held and written: one for each partition of each transaction
//! that ends.

use coordinator::ids::OffsetsPartition;
use coordinator::messages::{Input, Record, StoreError, StoreId, TransactionOutcome};
use coordinator::transactions::{ProducerEpoch, TransactionalId};
use hashbrown::HashMap;
use tokio::sync::oneshot;

use super::inbox::{Inbox, Message};
use super::owned::OwnedPartitions;
use crate::store::{Batch, StoreHandle};

/// A marker that a transaction coordinator wants written.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) producer: ProducerEpoch,
    pub(crate) partition: OffsetsPartition,
    pub(crate) outcome: TransactionOutcome,
    pub(crate) reply: MarkReply,
}

/// Who asks for a marker.
#[derive(Debug)]
pub(crate) enum MarkReply {
    /// The transaction coordinator of a shard.
    Shard(TransactionalId, Inbox),
    /// A client, by WriteTxnMarkers. It waits for one at a time.
    Client(oneshot::Sender<Result<(), StoreError>>),
}

impl Mark {
    fn answer(self, outcome: Result<(), StoreError>) {
        match self.reply {
            MarkReply::Shard(id, inbox) => inbox.send(Message::Marked(id, self.partition, outcome)),
            // Refused by a client that is gone.
            MarkReply::Client(client) => drop(client.send(outcome)),
        }
    }
}

/// The markers of one shard.
pub(super) struct Markers {
    store: StoreHandle,
    writing: HashMap<StoreId, Mark>,
    held: Vec<Mark>,
    next: u64,
}

impl Markers {
    /// None asked for. Outcomes of writes to `store` come back as [`Message::MarkerStored`].
    pub(super) fn new(store: StoreHandle) -> Self {
        Self { store, writing: HashMap::new(), held: Vec::new(), next: 0 }
    }

    /// Writes it now or once its partition is loaded. All that the group coordinator wanted written before must be
    /// on its way to the store.
    pub(super) fn write(&mut self, mark: Mark, owned: &OwnedPartitions) {
        if owned.is_loading(mark.partition) {
            return self.held.push(mark);
        }
        // Of a partition that does not exist here nothing can wait.
        let Some(epoch) = owned.epoch(mark.partition) else { return mark.answer(Ok(())) };
        let record = Record::TxnMarker(mark.producer.producer, mark.outcome);
        match Batch::new(mark.partition, epoch, &[record]) {
            Ok(batch) => {
                let id = StoreId(self.next);
                self.next += 1;
                self.writing.insert(id, mark);
                self.store.append(id, batch);
            }
            Err(error) => mark.answer(Err(error)),
        }
    }

    /// The partition is loaded: what was held for it is written.
    pub(super) fn loaded(&mut self, partition: OffsetsPartition, owned: &OwnedPartitions) {
        let held: Vec<Mark> = self.held.extract_if(.., |mark| mark.partition == partition).collect();
        for mark in held {
            self.write(mark, owned);
        }
    }

    /// A write ended: what the group coordinator is to be told, if anything.
    pub(super) fn stored(&mut self, id: StoreId, outcome: Result<(), StoreError>) -> Option<Ended> {
        let mark = self.writing.remove(&id)?;
        if outcome.is_ok() {
            return Some(Ended(mark));
        }
        mark.answer(outcome);
        None
    }

    /// How many are being written.
    pub(super) fn writing(&self) -> usize {
        self.writing.len()
    }
}

/// A marker that is durable: the group coordinator hears of it first, then whoever asked for it, who may let readers
/// in.
#[must_use]
pub(super) struct Ended(Mark);

impl Ended {
    /// For the group coordinator.
    pub(super) fn input(&self) -> Input {
        Input::EndTransaction {
            producer: self.0.producer.producer,
            partitions: vec![self.0.partition],
            outcome: self.0.outcome,
        }
    }

    /// For the transaction coordinator.
    pub(super) fn answer(self) {
        self.0.answer(Ok(()));
    }
}
