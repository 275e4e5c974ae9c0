//! How operations come in and leave, as data.

use core::fmt;

use super::OperationId;

/// Why an operation left.
///
/// ```
/// # use purgatory::{Cause, Purgatory, Timestamp};
/// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(Timestamp::ZERO);
/// purgatory.watch("fetch", ["orders-0"], Timestamp::MAX);
/// // The partition moved elsewhere: nobody will ever satisfy what waits for it.
/// assert_eq!(purgatory.complete_all("orders-0", Cause::Cancelled), ["fetch"]);
/// assert_eq!(purgatory.stats().cancelled, 1);
/// ```
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
///
/// ```
/// # use purgatory::{Purgatory, Submission, Timestamp};
/// let mut purgatory: Purgatory<&str, u64> = Purgatory::new(Timestamp::ZERO);
/// let answer = match purgatory.try_complete_else_watch(20, ["log"], Timestamp::MAX, |&offset| offset <= 15) {
///     Ok(Submission::Completed(offset)) => format!("{offset} is there"),
///     Ok(Submission::Watched(_id)) => "later".to_owned(),
///     Err(refused) => refused.to_string(),
/// };
/// assert_eq!(answer, "later");
/// ```
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a completed operation is handed back here and nowhere else"]
pub enum Submission<O, Id = OperationId> {
    /// It was ready: here it is, it was never watched.
    Completed(O),
    /// It waits.
    Watched(Id),
}

/// Counts since the purgatory was made.
///
/// ```
/// # use purgatory::{Purgatory, Timestamp};
/// # let t = Timestamp::from_ticks;
/// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
/// purgatory.watch("a", ["key"], t(30));
/// purgatory.watch("b", ["key"], t(40));
/// assert_eq!(purgatory.expire_next(t(30)), Some("a"));
/// assert_eq!(purgatory.shutdown(), ["b"]);
/// let stats = purgatory.stats();
/// assert_eq!((stats.submitted, stats.expired, stats.shut_down), (2, 1, 1));
/// ```
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
///
/// ```
/// # use purgatory::{Purgatory, Refused, Timestamp};
/// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(Timestamp::ZERO);
/// purgatory.set_max_pending(0);
/// let refused = purgatory.try_watch("fetch", ["log"], Timestamp::MAX);
/// assert_eq!(refused, Err(Refused::Full("fetch")));
/// assert_eq!(Refused::Full("fetch").to_string(), "as many operations wait as may");
/// ```
#[derive(Debug, PartialEq, Eq)]
pub enum Refused<O> {
    /// `max_pending` operations wait already.
    Full(O),
    /// The purgatory was shut down.
    ShutDown(O),
}

impl<O> Refused<O> {
    /// The operation.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Refused, Timestamp};
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(Timestamp::ZERO);
    /// assert!(purgatory.shutdown().is_empty());
    /// // Nothing is lost: answer the request that could not be parked.
    /// let refused = purgatory.try_watch("fetch", ["log"], Timestamp::MAX);
    /// assert_eq!(refused.map_err(Refused::into_operation), Err("fetch"));
    /// ```
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
