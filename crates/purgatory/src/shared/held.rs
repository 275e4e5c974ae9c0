//! What a slot holds: the caller's operation, or the waiting half of a future.

use super::shard::Links;
use super::wait::Waiter;
use super::{DelayedOperation, SharedId};
use crate::{Cause, Timestamp};

#[derive(Debug)]
pub(crate) enum Held<O> {
    Operation(O),
    Waiter(Waiter),
}

impl<O> Held<O> {
    /// Tells whoever waits for a future. An operation has other ways out.
    pub(crate) fn finish(self, cause: Cause) {
        if let Self::Waiter(waiter) = self {
            waiter.finish(cause);
        }
    }
}

impl<O: DelayedOperation> Held<O> {
    pub(crate) fn is_ready(&mut self) -> bool {
        match self {
            Self::Operation(operation) => operation.is_ready(),
            Self::Waiter(waiter) => waiter.is_ready(),
        }
    }
}

/// What has left its slot, but is not delivered yet.
pub(crate) struct Gone<O> {
    pub(crate) id: SharedId,
    pub(crate) held: Held<O>,
    pub(crate) links: Links,
    pub(crate) cause: Cause,
    pub(crate) expired_at: Option<Timestamp>,
}
