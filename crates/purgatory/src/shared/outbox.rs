//! Exits on their way through the channel: they wait in an outbox per shard, and the channel says which has any.
//!
//! A message is sent when an outbox that was empty gets its first exit; until a receiver comes for them, further exits
//! join it without one. So a receiver that falls behind gets ever larger batches, and nobody allocates: the receiver
//! swaps its empty queue for the full one.

use std::collections::VecDeque;
use std::sync::Arc;

use crossbeam_channel::Receiver;

use super::exit::{Exit, Occupied};
use super::shard::ShardIndex;
use crate::sync::{AtomicUsize, Mutex, Ordering};

/// A queue that has grown beyond this is not kept for the next batch.
const KEPT: usize = 4_096;

#[derive(Debug)]
pub(crate) struct Outboxes<O> {
    boxes: Box<[Outbox<O>]>,
    listeners: AtomicUsize,
    occupied: Arc<Occupied>,
}

#[derive(Debug)]
#[repr(align(128))]
struct Outbox<O>(Mutex<Outgoing<O>>);

#[derive(Debug)]
struct Outgoing<O> {
    exits: VecDeque<Exit<O>>,
    /// Nobody will come for them.
    closed: bool,
}

impl<O> Outboxes<O> {
    pub(crate) fn new(count: usize, occupied: Arc<Occupied>) -> Self {
        let outbox = || Outbox(Mutex::new(Outgoing { exits: VecDeque::new(), closed: false }));
        let boxes = std::iter::repeat_with(outbox).take(count).collect();
        Self { boxes, listeners: AtomicUsize::new(0), occupied }
    }

    /// Adds to the shard's outbox. Whether it was empty and is not any more, so that a message has to be sent.
    pub(crate) fn put(&self, shard: ShardIndex, batch: impl Iterator<Item = Exit<O>>) -> bool {
        let mut outgoing = self.boxes[shard.get()].0.lock();
        if outgoing.closed {
            drop(outgoing);
            // Nobody listens any more: the operations are dropped here, and their places are free.
            let dropped: Vec<_> = batch.collect();
            self.occupied.leave(dropped.len());
            drop(dropped);
            return false;
        }
        let was_empty = outgoing.exits.is_empty();
        outgoing.exits.extend(batch);
        was_empty && !outgoing.exits.is_empty()
    }

    /// Takes what is in the outbox in exchange for an empty queue.
    fn take(&self, shard: ShardIndex, empty: &mut VecDeque<Exit<O>>) {
        if empty.capacity() > KEPT {
            *empty = VecDeque::new();
        }
        std::mem::swap(&mut self.boxes[shard.get()].0.lock().exits, empty);
    }

    fn close(&self) {
        for outbox in &self.boxes {
            let exits = {
                let mut outgoing = outbox.0.lock();
                outgoing.closed = true;
                std::mem::take(&mut outgoing.exits)
            };
            self.occupied.leave(exits.len());
        }
    }
}

/// The receiving end of a [`SharedPurgatory::with_channel`](super::SharedPurgatory::with_channel).
///
/// Exits of operations that have the same single key come in the order in which they left; others in no order. What waits in the channel still counts against `max_pending`, so the channel has that bound. Clones
/// share the channel: each exit reaches one of them. When the last is dropped, what leaves is dropped too.
#[derive(Debug)]
pub struct Exits<O> {
    ready: Receiver<ShardIndex>,
    batch: VecDeque<Exit<O>>,
    outboxes: Arc<Outboxes<O>>,
}

impl<O> Exits<O> {
    pub(crate) fn new(ready: Receiver<ShardIndex>, outboxes: Arc<Outboxes<O>>) -> Self {
        outboxes.listeners.fetch_add(1, Ordering::Relaxed);
        Self { ready, batch: VecDeque::new(), outboxes }
    }

    /// The next exit, without waiting for one.
    pub fn try_next(&mut self) -> Option<Exit<O>> {
        while self.batch.is_empty() {
            let shard = self.ready.try_recv().ok()?;
            self.outboxes.take(shard, &mut self.batch);
        }
        self.taken()
    }

    /// The next exit. `None` once the purgatory is gone and all its exits were taken.
    pub fn wait_next(&mut self) -> Option<Exit<O>> {
        while self.batch.is_empty() {
            let shard = self.ready.recv().ok()?;
            self.outboxes.take(shard, &mut self.batch);
        }
        self.taken()
    }

    fn taken(&mut self) -> Option<Exit<O>> {
        let exit = self.batch.pop_front()?;
        self.outboxes.occupied.leave(1);
        Some(exit)
    }
}

impl<O> Clone for Exits<O> {
    fn clone(&self) -> Self {
        Self::new(self.ready.clone(), Arc::clone(&self.outboxes))
    }
}

impl<O> Drop for Exits<O> {
    fn drop(&mut self) {
        self.outboxes.occupied.leave(self.batch.len());
        // Acquire and release: the last to go sees whatever the others did.
        if self.outboxes.listeners.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.outboxes.close();
        }
    }
}

impl<O> Iterator for Exits<O> {
    type Item = Exit<O>;

    fn next(&mut self) -> Option<Exit<O>> {
        self.wait_next()
    }
}
