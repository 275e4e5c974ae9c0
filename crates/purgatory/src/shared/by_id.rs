//! What the owner of an operation does with its id: cancels it, completes it, gives it more time.

use std::hash::{BuildHasher, Hash};

use super::held::Held;
use super::leave::Evicting;
use super::{DelayedOperation, SharedId, SharedPurgatory};
#[cfg(doc)]
use crate::Cause;
use crate::Timestamp;

/// What became of [`SharedPurgatory::cancel`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a cancelled operation is handed back here"]
pub enum Cancellation<O> {
    /// Here it is.
    Taken(O),
    /// A thread is examining it at this moment. Unless it turns out to be ready it leaves with [`Cause::Cancelled`],
    /// by the ordinary way out.
    Leaving,
    /// It had left already.
    Gone,
}

impl<K, O, S> SharedPurgatory<K, O, S>
where
    K: Hash + Eq + Send + 'static,
    O: DelayedOperation,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    /// Takes an operation out: its owner does not want to wait any longer.
    ///
    /// ```
    /// # use purgatory::{Cancellation, Cause, DelayedOperation, Driver, Options, SharedPurgatory, SimulatedClock};
    /// # use purgatory::{Submission, Timestamp};
    /// # struct Fetch(&'static str);
    /// # impl DelayedOperation for Fetch { fn is_ready(&mut self) -> bool { false } }
    /// # let clock = SimulatedClock::new(Timestamp::ZERO);
    /// # let driver = Driver::manual(clock.clone());
    /// # let (purgatory, mut exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    /// let submitted = purgatory.try_complete_else_watch(Fetch("orders"), ["log"], Timestamp::MAX);
    /// let Ok(Submission::Watched(id)) = submitted else { unreachable!("it is not ready, and there is room") };
    /// // The client hung up.
    /// let Cancellation::Taken(fetch) = purgatory.cancel(id) else { unreachable!("nobody else has it") };
    /// assert_eq!((fetch.0, purgatory.watched_by("log")), ("orders", 0));
    /// assert!(matches!(purgatory.cancel(id), Cancellation::Gone));
    /// ```
    pub fn cancel(&self, id: SharedId) -> Cancellation<O> {
        match self.inner.cancel(id) {
            Evicting::Taken(Held::Operation(operation)) => Cancellation::Taken(operation),
            Evicting::Leaving => Cancellation::Leaving,
            Evicting::Taken(Held::Waiter(_)) | Evicting::Gone => Cancellation::Gone,
        }
    }

    /// Lets an operation go with [`Cause::Satisfied`] because the caller knows that it is done: it is not examined, and its
    /// other keys cost nothing but the unlinking. `false` if it had left already.
    ///
    /// ```
    /// # use purgatory::{Cancellation, Cause, DelayedOperation, Driver, Options, SharedPurgatory, SimulatedClock};
    /// # use purgatory::{Submission, Timestamp};
    /// # struct Fetch(&'static str);
    /// # impl DelayedOperation for Fetch { fn is_ready(&mut self) -> bool { false } }
    /// # let clock = SimulatedClock::new(Timestamp::ZERO);
    /// # let driver = Driver::manual(clock.clone());
    /// # let (purgatory, mut exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    /// let submitted = purgatory.try_complete_else_watch(Fetch("orders"), ["log", "session"], Timestamp::MAX);
    /// let Ok(Submission::Watched(id)) = submitted else { unreachable!("it is not ready, and there is room") };
    /// assert!(purgatory.force_complete(id));
    /// assert_eq!(exits.try_next().map(|exit| (exit.operation.0, exit.cause)), Some(("orders", Cause::Satisfied)));
    /// assert!(!purgatory.force_complete(id));
    /// ```
    pub fn force_complete(&self, id: SharedId) -> bool {
        self.inner.force_complete(id)
    }

    /// As [`force_complete`](Self::force_complete), for many at once and in no order. Returns how many had not left
    /// already.
    ///
    /// ```
    /// # use purgatory::{Cancellation, Cause, DelayedOperation, Driver, Options, SharedPurgatory, SimulatedClock};
    /// # use purgatory::{Submission, Timestamp};
    /// # struct Fetch(&'static str);
    /// # impl DelayedOperation for Fetch { fn is_ready(&mut self) -> bool { false } }
    /// # let clock = SimulatedClock::new(Timestamp::ZERO);
    /// # let driver = Driver::manual(clock.clone());
    /// # let (purgatory, mut exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    /// let mut ids = Vec::new();
    /// for name in ["orders", "payments"] {
    ///     if let Ok(Submission::Watched(id)) = purgatory.try_complete_else_watch(Fetch(name), ["log"], Timestamp::MAX) {
    ///         ids.push(id);
    ///     }
    /// }
    /// assert_eq!(purgatory.force_complete_all(ids), 2);
    /// ```
    pub fn force_complete_all(&self, ids: impl IntoIterator<Item = SharedId>) -> usize {
        self.inner.force_complete_all(ids.into_iter())
    }

    /// Gives an operation another deadline, earlier or later. `false` if it has left already.
    ///
    /// ```
    /// # use purgatory::{Cancellation, Cause, DelayedOperation, Driver, Options, SharedPurgatory, SimulatedClock};
    /// # use purgatory::{Submission, Timestamp};
    /// # struct Fetch(&'static str);
    /// # impl DelayedOperation for Fetch { fn is_ready(&mut self) -> bool { false } }
    /// # let clock = SimulatedClock::new(Timestamp::ZERO);
    /// # let driver = Driver::manual(clock.clone());
    /// # let (purgatory, mut exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    /// let deadline = Timestamp::from_ticks(30_000);
    /// let submitted = purgatory.try_complete_else_watch(Fetch("session"), ["member"], deadline);
    /// let Ok(Submission::Watched(id)) = submitted else { unreachable!("it is not ready, and there is room") };
    /// // A heartbeat came: thirty seconds from now on.
    /// clock.set(Timestamp::from_ticks(20_000));
    /// assert!(purgatory.extend(id, Timestamp::from_ticks(50_000)));
    /// clock.set(Timestamp::from_ticks(49_999));
    /// driver.turn();
    /// assert_eq!(purgatory.pending(), 1);
    /// ```
    pub fn extend(&self, id: SharedId, deadline: Timestamp) -> bool {
        self.inner.extend(id, deadline)
    }
}
