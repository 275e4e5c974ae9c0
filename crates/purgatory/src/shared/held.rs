//! What a slot holds: the caller's operation, or the waiting half of a future.

use smallvec::SmallVec;

use super::shard::Link;
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

/// What has left its slot and the keys of its home, but not its other keys yet.
#[derive(Debug)]
pub(crate) struct Gone<O> {
    pub(crate) id: SharedId,
    pub(crate) held: Held<O>,
    pub(crate) rest: Option<Link>,
    pub(crate) cause: Cause,
    pub(crate) expired_at: Option<Timestamp>,
}

pub(crate) type Leaving<O> = SmallVec<[Gone<O>; 1]>;
