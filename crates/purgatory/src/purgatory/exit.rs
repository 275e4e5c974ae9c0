//! How operations come in and leave, as data.

use core::fmt;

use super::OperationId;

/// Why an operation left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A trigger found it ready, or it was ready before it had to wait.
    Satisfied,
    /// Its deadline came first.
    Expired,
    /// Its owner took it out.
    Cancelled,
    /// The purgatory was shut down.
    Shutdown,
    /// Examining it panicked. Only where the purgatory runs the examination itself, as `SharedPurgatory` does.
    Panicked,
}

/// What became of an operation given to [`Purgatory::try_complete_else_watch`](super::Purgatory::try_complete_else_watch).
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a completed operation is handed back here and nowhere else"]
pub enum Submission<O, Id = OperationId> {
    /// It was ready: here it is, it was never watched.
    Completed(O),
    /// It waits.
    Watched(Id),
}

/// Counts since the purgatory was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Operations taken in, those that were ready at once included.
    pub submitted: u64,
    /// Operations that left with [`Cause::Satisfied`].
    pub satisfied: u64,
    /// Operations that left with [`Cause::Expired`].
    pub expired: u64,
    /// Operations that left with [`Cause::Cancelled`].
    pub cancelled: u64,
    /// Operations that left with [`Cause::Shutdown`].
    pub shut_down: u64,
    /// Operations that left with [`Cause::Panicked`].
    pub panicked: u64,
}

impl Stats {
    pub(super) fn count(&mut self, cause: Cause) {
        let count = match cause {
            Cause::Satisfied => &mut self.satisfied,
            Cause::Expired => &mut self.expired,
            Cause::Cancelled => &mut self.cancelled,
            Cause::Shutdown => &mut self.shut_down,
            Cause::Panicked => &mut self.panicked,
        };
        *count += 1;
    }
}

/// Why an operation was not taken in; it is handed back.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused<O> {
    /// `max_pending` operations wait already.
    Full(O),
    /// The purgatory was shut down.
    ShutDown(O),
}

impl<O> Refused<O> {
    /// The operation.
    pub fn into_operation(self) -> O {
        match self {
            Self::Full(operation) | Self::ShutDown(operation) => operation,
        }
    }
}

impl<O> fmt::Display for Refused<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "as many operations wait as may",
            Self::ShutDown(_) => "the purgatory was shut down",
        })
    }
}

impl<O: fmt::Debug> core::error::Error for Refused<O> {}
