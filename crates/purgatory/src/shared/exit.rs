//! How an operation that has left reaches its owner: by move, in batches, over a channel or to an executor.

use std::fmt;
use std::sync::Arc;

use super::SharedId;
use super::executor::Executor;
pub use super::outbox::Exits;
use super::outbox::Outboxes;
use super::shard::ShardIndex;
use crate::sync::{AtomicUsize, Ordering};
use crate::{Cause, Timestamp};

/// An operation that has left a [`SharedPurgatory`](super::SharedPurgatory), and why.
#[derive(Debug)]
pub struct Exit<O> {
    /// The id it had, now stale.
    pub id: SharedId,
    /// The operation itself.
    pub operation: O,
    /// Why it left.
    pub cause: Cause,
    /// The deadline by which it left; none if it left otherwise, or was being examined when the deadline came.
    pub expired_at: Option<Timestamp>,
}

/// How many places are taken, by what waits or was not taken from the channel yet.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Occupied(AtomicUsize);

impl Occupied {
    /// Takes a place, unless `bound` are taken.
    pub(crate) fn enter(&self, bound: usize) -> bool {
        let more = |occupied| (occupied < bound).then_some(occupied + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Gives places back. They count and order nothing else: what moves between threads moves under locks.
    pub(crate) fn leave(&self, count: usize) {
        self.0.fetch_sub(count, Ordering::Relaxed);
    }
}

/// Where exits go.
pub(crate) enum Sink<O> {
    Channel(crossbeam_channel::Sender<ShardIndex>, Arc<Outboxes<O>>),
    Executor(Executor<O>),
}

impl<O> Sink<O> {
    /// Hands a batch over that left at `shard`; never called with a lock held.
    pub(crate) fn deliver(
        &self,
        shard: ShardIndex,
        batch: impl Iterator<Item = Exit<O>>,
        occupied: &Occupied,
    ) {
        match self {
            Self::Channel(sender, outboxes) => {
                if outboxes.put(shard, batch) {
                    // If nobody listens any more, the outbox is emptied by who stopped listening.
                    let _ = sender.send(shard);
                }
            }
            Self::Executor(executor) => executor.deliver(batch, occupied),
        }
    }
}

impl<O> fmt::Debug for Sink<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Channel(..) => "Channel",
            Self::Executor(_) => "Executor",
        })
    }
}
