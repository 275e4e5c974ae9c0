//! Which shard a group or a transactional id lives on: that of the offsets partition its name hashes to, which are dealt
//! out to the shards in turn.

use std::sync::Arc;

use coordinator::Partitioner;
use coordinator::ids::{GroupId, OffsetsPartition};
use coordinator::messages::{Response, StoreError, TxnOffsetCommit};
use coordinator::transactions::{TransactionalId, WriteTxnMarkers};
use tokio::sync::oneshot;

use super::inbox::{Answer, Inbox, Message};
use super::markers::{Mark, MarkReply};
use super::transactions::OffsetsQuestion;
use crate::connection::Share;

/// All shards.
#[derive(Clone, Debug)]
pub(crate) struct Shards {
    inboxes: Vec<Inbox>,
    partitioner: Partitioner,
}

impl Shards {
    /// `inboxes` in the order of [`shard_of`].
    ///
    /// # Panics
    ///
    /// Without any.
    pub(crate) fn new(inboxes: Vec<Inbox>, partitioner: Partitioner) -> Self {
        assert!(!inboxes.is_empty(), "a server has shards");
        Self { inboxes, partitioner }
    }

    /// Where `group` lives.
    pub(crate) fn of(&self, group: &GroupId) -> &Inbox {
        &self.inboxes[self.index_of(group)]
    }

    /// The number of the shard where `group` lives.
    pub(crate) fn index_of(&self, group: &GroupId) -> usize {
        shard_of(self.partitioner.partition(group), self.inboxes.len())
    }

    /// Where the coordinator of `id`'s transactions lives.
    pub(crate) fn of_transactions(&self, id: &TransactionalId) -> &Inbox {
        self.of_partition(self.partition_of(id.as_str()))
    }

    /// Where the groups and transactional ids of `partition` live.
    pub(crate) fn of_partition(&self, partition: OffsetsPartition) -> &Inbox {
        &self.inboxes[shard_of(partition, self.inboxes.len())]
    }

    /// Where whatever has this name is kept.
    pub(super) fn partition_of(&self, name: &str) -> OffsetsPartition {
        self.partitioner.partition_of(name)
    }

    /// How names are spread.
    pub(crate) fn partitioner(&self) -> &Partitioner {
        &self.partitioner
    }

    /// Writes a marker of somebody else's into one partition.
    ///
    /// # Errors
    ///
    /// [`StoreError`], if it could not be.
    pub(crate) async fn mark(
        &self,
        marker: WriteTxnMarkers,
        partition: OffsetsPartition,
    ) -> Result<(), StoreError> {
        let (reply, outcome) = oneshot::channel();
        let WriteTxnMarkers { producer, outcome: ended } = marker;
        let reply = MarkReply::Client(reply);
        let mark = Mark { producer, partition, outcome: ended, reply };
        self.of_partition(partition).send(Message::Mark(mark));
        outcome.await.unwrap_or(Err(StoreError::NotCoordinator))
    }

    /// Commits offsets within a transaction: the coordinator of the transaction is asked, then that of the group.
    pub(crate) async fn commit_in_transaction(
        &self,
        number: u64,
        question: OffsetsQuestion,
        commit: TxnOffsetCommit,
        share: Option<Arc<Share>>,
    ) -> Answer<Response> {
        let shards = self.inboxes.len();
        let first = shard_of(self.partition_of(question.transactional_id().as_str()), shards);
        let second = shard_of(self.partitioner.partition(&commit.commit.group), shards);
        // In an order that is the same for all, so that no two of them wait for each other's room.
        let (low, high) = (first.min(second), first.max(second));
        Inbox::take_room_in_both(&self.inboxes[low], &self.inboxes[high]).await;
        self.inboxes[second].expect_commit(number, &self.inboxes[first], (question, commit), share)
    }

    /// Every shard.
    pub(crate) fn all(&self) -> &[Inbox] {
        &self.inboxes
    }

    /// Any shard: the same one for the same number.
    pub(crate) fn any(&self, number: u64) -> &Inbox {
        let shards = self.inboxes.len() as u64;
        &self.inboxes[usize::try_from(number % shards).expect("invariant: less than a length")]
    }

    /// Tells every shard.
    pub(crate) fn tell_all(&self, message: impl Fn() -> Message) {
        for inbox in &self.inboxes {
            inbox.send(message());
        }
    }
}

/// The shard, of `shards`, that owns `partition`.
pub(crate) fn shard_of(partition: OffsetsPartition, shards: usize) -> usize {
    usize::try_from(partition.0).expect("invariant: groups map to no negative partition") % shards
}
