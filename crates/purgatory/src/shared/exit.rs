//! How an operation that has left reaches its owner: by move, in batches, over a channel or to an executor.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};

use super::SharedId;
use crate::sync::{AtomicUsize, Mutex, Ordering};
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

/// Where exits go.
pub(crate) enum Sink<O> {
    Channel(Sender<Vec<Exit<O>>>),
    Executor(Executor<O>),
}

impl<O> Sink<O> {
    /// Hands a batch over; never called with a lock held. `occupied` counts what has not been taken yet.
    pub(crate) fn deliver(&self, batch: Vec<Exit<O>>, occupied: &AtomicUsize) {
        match self {
            Self::Channel(sender) => {
                let count = batch.len();
                // Nobody listens any more: the operations are dropped here, and their places are free.
                if sender.send(batch).is_err() {
                    occupied.fetch_sub(count, Ordering::AcqRel);
                }
            }
            Self::Executor(executor) => executor.deliver(batch, occupied),
        }
    }
}

impl<O> fmt::Debug for Sink<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Channel(_) => "Channel",
            Self::Executor(_) => "Executor",
        })
    }
}

/// Runs the user's function on the threads that complete operations, one batch at a time.
///
/// A function that completes further operations finds its own exits queued behind the batch it is at: a chain of
/// completions is a loop, not a recursion.
pub(crate) struct Executor<O> {
    run: Box<dyn Fn(Exit<O>) + Send + Sync>,
    queue: Mutex<Queue<O>>,
}

struct Queue<O> {
    waiting: VecDeque<Exit<O>>,
    running: bool,
}

impl<O> Executor<O> {
    pub(crate) fn new(run: impl Fn(Exit<O>) + Send + Sync + 'static) -> Self {
        Self { run: Box::new(run), queue: Mutex::new(Queue { waiting: VecDeque::new(), running: false }) }
    }

    fn deliver(&self, batch: Vec<Exit<O>>, occupied: &AtomicUsize) {
        {
            let mut queue = self.queue.lock();
            queue.waiting.extend(batch);
            if std::mem::replace(&mut queue.running, true) {
                return;
            }
        }
        while let Some(exit) = self.next() {
            let run = std::panic::AssertUnwindSafe(|| (self.run)(exit));
            // What the user's function did not survive is its own affair; the others are still delivered.
            let _ = std::panic::catch_unwind(run);
            occupied.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn next(&self) -> Option<Exit<O>> {
        let mut queue = self.queue.lock();
        let next = queue.waiting.pop_front();
        queue.running = next.is_some();
        next
    }
}

/// The receiving end of a [`SharedPurgatory::with_channel`](super::SharedPurgatory::with_channel).
///
/// What waits in the channel still counts against `max_pending`, so the channel has that bound. Clones share the
/// channel: each exit reaches one of them.
#[derive(Debug)]
pub struct Exits<O> {
    channel: Receiver<Vec<Exit<O>>>,
    batch: std::vec::IntoIter<Exit<O>>,
    occupied: Arc<AtomicUsize>,
}

impl<O> Exits<O> {
    pub(crate) fn new(channel: Receiver<Vec<Exit<O>>>, occupied: Arc<AtomicUsize>) -> Self {
        Self { channel, batch: Vec::new().into_iter(), occupied }
    }

    /// The next exit, without waiting for one.
    pub fn try_next(&mut self) -> Option<Exit<O>> {
        if self.batch.len() == 0 {
            self.batch = self.channel.try_recv().ok()?.into_iter();
        }
        self.taken()
    }

    /// The next exit. `None` once the purgatory is gone and all its exits were taken.
    pub fn wait_next(&mut self) -> Option<Exit<O>> {
        if self.batch.len() == 0 {
            self.batch = self.channel.recv().ok()?.into_iter();
        }
        self.taken()
    }

    fn taken(&mut self) -> Option<Exit<O>> {
        let exit = self.batch.next();
        if exit.is_some() {
            self.occupied.fetch_sub(1, Ordering::AcqRel);
        }
        exit
    }
}

impl<O> Clone for Exits<O> {
    fn clone(&self) -> Self {
        Self::new(self.channel.clone(), Arc::clone(&self.occupied))
    }
}

impl<O> Iterator for Exits<O> {
    type Item = Exit<O>;

    fn next(&mut self) -> Option<Exit<O>> {
        self.wait_next()
    }
}
