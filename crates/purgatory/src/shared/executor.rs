//! Exits run on the threads that complete operations, one batch at a time.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::exit::{Exit, Occupied};
use crate::sync::Mutex;

/// Runs the user's function.
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

    pub(crate) fn deliver(&self, batch: impl Iterator<Item = Exit<O>>, occupied: &Occupied) {
        {
            let mut queue = self.queue.lock();
            if queue.running {
                queue.waiting.extend(batch);
                return;
            }
            // Nothing waits: who ran last has seen to that.
            queue.running = true;
        }
        for exit in batch {
            self.run(exit, occupied);
        }
        while let Some(exit) = self.next() {
            self.run(exit, occupied);
        }
    }

    fn run(&self, exit: Exit<O>, occupied: &Occupied) {
        // What the user's function did not survive is its own affair; the others are still delivered.
        let _ = catch_unwind(AssertUnwindSafe(|| (self.run)(exit)));
        occupied.leave(1);
    }

    fn next(&self) -> Option<Exit<O>> {
        let mut queue = self.queue.lock();
        let next = queue.waiting.pop_front();
        queue.running = next.is_some();
        next
    }
}
