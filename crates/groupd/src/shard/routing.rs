//! Which shard a group lives on: that of its offsets partition, which are dealt out to the shards in turn.

use coordinator::Partitioner;
use coordinator::ids::{GroupId, OffsetsPartition};

use super::inbox::{Inbox, Message};

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
