//! Waiting as a `Future`: a condition, some keys, a deadline. Runs on any executor; dropping it cancels.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::SharedId;
use crate::Cause;
use crate::sync::Mutex;

/// The half that is parked.
pub(crate) struct Waiter {
    condition: Box<dyn FnMut() -> bool + Send>,
    ticket: Arc<Ticket>,
}

/// Where the two halves meet.
#[derive(Default)]
struct Ticket(Mutex<TicketState>);

#[derive(Default)]
struct TicketState {
    cause: Option<Cause>,
    waker: Option<Waker>,
}

impl Waiter {
    pub(crate) fn is_ready(&mut self) -> bool {
        (self.condition)()
    }

    /// Tells the future why it was let go; no lock is held while its task is woken. If the executor's waker or what the
    /// condition owns panics, those that leave at the same time are not touched.
    pub(crate) fn finish(self, cause: Cause) {
        let waker = {
            let mut state = self.ticket.0.lock();
            state.cause = Some(cause);
            state.waker.take()
        };
        let _ = catch_unwind(AssertUnwindSafe(|| {
            if let Some(waker) = waker {
                waker.wake();
            }
        }));
        let _ = catch_unwind(AssertUnwindSafe(|| drop(self)));
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waiter")
    }
}

/// Who can be told that nobody waits any more.
pub(crate) trait Forget: Send + Sync {
    /// Cancels the wait; nothing happens if it is over.
    fn forget(&self, id: SharedId);
}

/// Resolves to the reason why the wait ended. Made by [`SharedPurgatory::wait`](super::SharedPurgatory::wait).
#[must_use = "a future does nothing unless polled; dropping it cancels the wait"]
pub struct Wait {
    purgatory: Arc<dyn Forget>,
    ticket: Arc<Ticket>,
    id: Option<SharedId>,
}

impl Wait {
    pub(crate) fn new(purgatory: Arc<dyn Forget>) -> Self {
        Self { purgatory, ticket: Arc::default(), id: None }
    }

    pub(crate) fn waiter(&self, condition: impl FnMut() -> bool + Send + 'static) -> Waiter {
        Waiter { condition: Box::new(condition), ticket: Arc::clone(&self.ticket) }
    }

    pub(crate) fn parked_as(&mut self, id: SharedId) {
        self.id = Some(id);
    }
}

impl Future for Wait {
    type Output = Cause;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Cause> {
        // Cloned before and dropped after the lock: a waker's code is the executor's.
        let waker = context.waker().clone();
        let mut state = self.ticket.0.lock();
        if let Some(cause) = state.cause {
            return Poll::Ready(cause);
        }
        let old = state.waker.replace(waker);
        drop(state);
        drop(old);
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.purgatory.forget(id);
        }
    }
}

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait").field("id", &self.id).finish_non_exhaustive()
    }
}
