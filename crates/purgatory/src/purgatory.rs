//! Operations that wait for a trigger or a deadline, with one owner. Each leaves exactly once, by move.

mod due;
mod exit;
mod inspect;
mod limits;
mod sweep;
mod threshold;

use core::hash::{BuildHasher, Hash};
use core::num::NonZeroU64;

use due::Due;
pub use exit::{Cause, Refused, Stats, Submission};
use hashbrown::Equivalent;
pub use sweep::Sweep;

use crate::keys::NONE;
use crate::thresholds::ThresholdIndex;
use crate::watchers::WatchIndex;
use crate::{DefaultHashBuilder, TimerId, Timestamp, TimingWheel};

/// Names one operation of one purgatory. Once it has left the id is stale for good: it never names another.
///
/// ```
/// # use purgatory::{Purgatory, Timestamp};
/// # let t = Timestamp::from_ticks;
/// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
/// let first = purgatory.watch("first", [], t(1));
/// assert_eq!(purgatory.expire_next(t(1)), Some("first"));
/// // Takes the same place in memory; the old id does not name it.
/// let second = purgatory.watch("second", [], t(2));
/// assert_ne!(first, second);
/// assert_eq!((purgatory.get(first), purgatory.get(second)), (None, Some(&"second")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(TimerId);

impl OperationId {
    /// Where the operation waits: a small number that no other operation of the purgatory has meanwhile, and others have
    /// later. For tables beside a purgatory.
    #[inline]
    pub fn index(self) -> u32 {
        self.0.index()
    }
}

/// Operations `O` that wait under any number of keys `K` and one deadline each.
///
/// Operations come in by [`watch`](Self::watch) and leave, by move, through [`complete_next`](Self::complete_next),
/// [`expire_next`](Self::expire_next) or [`cancel`](Self::cancel). One that has left is gone from all its keys.
/// There are no callbacks: the caller loops, and may watch, extend and cancel between two exits.
///
/// **Order.** Under one key operations are examined in the order in which they were watched. They expire in order of
/// deadline, those of equal deadline in the order in which they were watched; extending does not change an
/// operation's place in that order. A deadline that had passed when it was given counts as the latest tick that
/// [`expire_next`](Self::expire_next) has reached. So the same calls give the same exits in the same order.
///
/// **Time.** A deadline is inclusive, `deadline <= now` is expired, and never early. [`Timestamp::MAX`] never
/// expires. Time going backwards is ignored.
///
/// ```
/// use purgatory::{Purgatory, Timestamp};
///
/// // Two requests wait for offset 10 and 20 of one log; either gives up at 500.
/// let deadline = Timestamp::from_ticks(500);
/// let mut purgatory: Purgatory<&str, u64> = Purgatory::new(Timestamp::ZERO);
/// purgatory.watch(20, ["log"], deadline);
/// purgatory.watch(10, ["log"], deadline);
///
/// let end_offset = 15;
/// assert_eq!(purgatory.complete_next("log", |&offset| offset <= end_offset), Some(10));
/// assert_eq!(purgatory.complete_next("log", |&offset| offset <= end_offset), None);
/// assert_eq!(purgatory.expire_next(deadline), Some(20));
/// ```
#[derive(Debug)]
pub struct Purgatory<K, O, S = DefaultHashBuilder> {
    wheel: TimingWheel<Pending<O>>,
    watches: WatchIndex<K, S>,
    thresholds: ThresholdIndex<K>,
    /// Those of the tick that is being handed out.
    due: Due,
    /// How many were watched so far.
    watched: u64,
    max_pending: usize,
    is_shut_down: bool,
    stats: Stats,
}

#[derive(Debug)]
struct Pending<O> {
    operation: O,
    /// Its place among all operations ever watched. Never 0, which saves the wheel a flag.
    order: NonZeroU64,
    /// Its watches, as a chain.
    watches: u32,
    /// Its marks, as a chain.
    thresholds: u32,
}

impl<K: Hash + Eq, O> Purgatory<K, O> {
    /// An empty purgatory whose time is `start`.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<u64, String> = Purgatory::new(t(1_000));
    /// assert_eq!(purgatory.pending(), 0);
    /// // What had passed before the start is due at the start.
    /// purgatory.watch("late".to_owned(), [7], t(400));
    /// assert_eq!(purgatory.next_deadline(), Some(t(1_000)));
    /// ```
    pub fn new(start: Timestamp) -> Self {
        Self::with_hasher(start, DefaultHashBuilder::default())
    }
}

impl<K: Hash + Eq, O, S: BuildHasher> Purgatory<K, O, S> {
    /// An empty purgatory whose time is `start`, and whose keys are hashed by `hasher`.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// use std::hash::RandomState;
    ///
    /// // Keys that strangers choose: seeded at random, so that they cannot be made to collide.
    /// let mut purgatory: Purgatory<String, &str, RandomState> = Purgatory::with_hasher(t(0), RandomState::new());
    /// purgatory.watch("fetch", ["orders".to_owned()], t(30));
    /// assert_eq!(purgatory.complete_next("orders", |_| true), Some("fetch"));
    /// ```
    pub fn with_hasher(start: Timestamp, hasher: S) -> Self {
        Self {
            wheel: TimingWheel::new(start),
            watches: WatchIndex::with_hasher(hasher),
            thresholds: ThresholdIndex::new(),
            due: Due::default(),
            watched: 0,
            max_pending: usize::MAX,
            is_shut_down: false,
            stats: Stats::default(),
        }
    }

    /// Parks an operation under `keys` until `deadline`. A key given twice counts once; without any key the operation
    /// is a mere timer.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// let mut purgatory: Purgatory<u32, &str> = Purgatory::new(Timestamp::ZERO);
    /// let id = purgatory.watch("join", [7, 8, 7], Timestamp::from_ticks(300));
    /// assert_eq!((purgatory.pending(), purgatory.watched()), (1, 2));
    /// assert_eq!(purgatory.cancel(id), Some("join"));
    /// assert_eq!((purgatory.pending(), purgatory.watched()), (0, 0));
    /// ```
    ///
    /// # Panics
    ///
    /// Where [`Purgatory::try_watch`] refuses: only with a limit, or after a shutdown.
    pub fn watch(
        &mut self,
        operation: O,
        keys: impl IntoIterator<Item = K>,
        deadline: Timestamp,
    ) -> OperationId {
        match self.try_watch(operation, keys, deadline) {
            Ok(id) => id,
            Err(refused) => panic!("{refused}"),
        }
    }

    /// As [`Purgatory::watch`], for a purgatory that has a limit or may have been shut down.
    ///
    /// # Errors
    ///
    /// [`Refused`], with the operation, if as many wait as may or the purgatory was shut down.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Refused, Timestamp};
    /// let mut purgatory: Purgatory<u32, &str> = Purgatory::new(Timestamp::ZERO);
    /// purgatory.set_max_pending(1);
    /// assert!(purgatory.try_watch("first", [7], Timestamp::MAX).is_ok());
    /// assert_eq!(purgatory.try_watch("second", [7], Timestamp::MAX), Err(Refused::Full("second")));
    /// ```
    pub fn try_watch(
        &mut self,
        operation: O,
        keys: impl IntoIterator<Item = K>,
        deadline: Timestamp,
    ) -> Result<OperationId, Refused<O>> {
        let (id, _) = self.park(operation, deadline)?;
        let mut chain = NONE;
        for key in keys {
            chain = self.watches.link(key, id.index(), chain);
            // Written at once: should the next key's hash panic, the operation still knows what it watches.
            if let Some(pending) = self.wheel.get_mut(id) {
                pending.watches = chain;
            }
        }
        Ok(OperationId(id))
    }

    /// Hands the operation back if it is ready, else parks it as [`Purgatory::try_watch`] does.
    ///
    /// One check is enough: with one owner nothing can happen between the check and the registration. What is ready is
    /// never refused.
    ///
    /// # Errors
    ///
    /// [`Refused`], with the operation, if as many wait as may or the purgatory was shut down.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Submission, Timestamp};
    /// let mut purgatory: Purgatory<&str, u64> = Purgatory::new(Timestamp::ZERO);
    /// let end_offset = 15;
    /// let is_ready = |&offset: &u64| offset <= end_offset;
    /// let submission = purgatory.try_complete_else_watch(10, ["log"], Timestamp::MAX, is_ready);
    /// assert_eq!(submission, Ok(Submission::Completed(10)));
    /// ```
    pub fn try_complete_else_watch(
        &mut self,
        operation: O,
        keys: impl IntoIterator<Item = K>,
        deadline: Timestamp,
        is_ready: impl FnOnce(&O) -> bool,
    ) -> Result<Submission<O>, Refused<O>> {
        if is_ready(&operation) {
            self.stats.submitted += 1;
            self.stats.satisfied += 1;
            return Ok(Submission::Completed(operation));
        }
        self.try_watch(operation, keys, deadline).map(Submission::Watched)
    }

    /// Takes out the first operation under `key` that is ready, in watch order.
    ///
    /// Each call starts at the front. To take *all* that are ready, where many are not, use [`Purgatory::sweep`].
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// purgatory.watch("slow", ["log"], t(500));
    /// purgatory.watch("fast", ["log"], t(500));
    /// assert_eq!(purgatory.complete_next("log", |&name| name == "fast"), Some("fast"));
    /// assert_eq!(purgatory.complete_next("log", |&name| name == "fast"), None);
    /// ```
    #[must_use = "the operation is handed back here and nowhere else"]
    pub fn complete_next<Q: Hash + Equivalent<K> + ?Sized>(
        &mut self,
        key: &Q,
        mut is_ready: impl FnMut(&O) -> bool,
    ) -> Option<O> {
        let mut next = self.watches.first(key);
        while let Some(watch) = next {
            let (id, pending) = self.pending_at(watch);
            if is_ready(&pending.operation) {
                return self.leave(id, Cause::Satisfied);
            }
            next = self.watches.next(watch);
        }
        None
    }

    /// Takes out the next operation with `deadline <= now`; `None` once no more are due.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// purgatory.watch("later", [], t(20));
    /// purgatory.watch("sooner", [], t(10));
    /// assert_eq!(purgatory.expire_next(t(9)), None);
    /// assert_eq!(purgatory.expire_next(t(30)), Some("sooner"));
    /// assert_eq!(purgatory.expire_next(t(30)), Some("later"));
    /// ```
    #[must_use = "the operation is handed back here and nowhere else"]
    pub fn expire_next(&mut self, now: Timestamp) -> Option<O> {
        loop {
            // Others may have joined the tick that is being handed out; a later tick waits until that is done.
            let until = if self.due.is_empty() { now } else { self.wheel.now() };
            let (wheel, due) = (&mut self.wheel, &mut self.due);
            wheel.collect_due(until, due.arrivals());
            due.sort_in(|id| wheel.get(id).map_or(u64::MAX, |pending| pending.order.get()));
            let id = due.pop()?;
            // It may have been cancelled, extended, or told never to expire since it was collected.
            let is_due = |deadline| deadline <= wheel.now() && deadline < Timestamp::MAX;
            if wheel.deadline(id).is_some_and(is_due) {
                return self.leave(id, Cause::Expired);
            }
        }
    }

    /// Takes an operation out. `None` if it has left already.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// let id = purgatory.watch("fetch", ["log"], t(30));
    /// assert_eq!(purgatory.cancel(id), Some("fetch"));
    /// assert_eq!(purgatory.cancel(id), None);
    /// assert!(!purgatory.contains_key("log"));
    /// ```
    pub fn cancel(&mut self, id: OperationId) -> Option<O> {
        self.leave(id.0, Cause::Cancelled)
    }

    /// Gives an operation another deadline, earlier or later, as a heartbeat does. `false` if it has left already.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// let session = purgatory.watch("session", [], t(30));
    /// assert!(purgatory.extend(session, t(60)));
    /// assert_eq!(purgatory.expire_next(t(59)), None);
    /// assert_eq!(purgatory.expire_next(t(60)), Some("session"));
    /// assert!(!purgatory.extend(session, t(90)));
    /// ```
    pub fn extend(&mut self, id: OperationId, deadline: Timestamp) -> bool {
        self.wheel.rearm(id.0, deadline)
    }

    /// When to call [`Purgatory::expire_next`] again: never later than the earliest deadline, sometimes earlier.
    /// `None` if nothing will ever expire.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// assert_eq!(purgatory.next_deadline(), None);
    /// purgatory.watch("never", [], Timestamp::MAX);
    /// purgatory.watch("some day", [], t(86_400_000));
    /// assert_eq!(purgatory.next_deadline(), Some(t(86_400_000)));
    /// ```
    pub fn next_deadline(&self) -> Option<Timestamp> {
        if self.due.is_empty() { self.wheel.next_deadline() } else { Some(self.wheel.now()) }
    }

    /// Gives the operation its deadline and its place in the order, but no key yet.
    fn park(&mut self, operation: O, deadline: Timestamp) -> Result<(TimerId, u64), Refused<O>> {
        if self.is_shut_down {
            return Err(Refused::ShutDown(operation));
        }
        if self.wheel.len() >= self.max_pending {
            return Err(Refused::Full(operation));
        }
        self.watched += 1;
        let order = NonZeroU64::new(self.watched).expect("invariant: 2^64 operations take centuries");
        self.stats.submitted += 1;
        let pending = Pending { operation, order, watches: NONE, thresholds: NONE };
        Ok((self.wheel.insert(deadline, pending), order.get()))
    }

    fn pending_at(&self, watch: u32) -> (TimerId, &Pending<O>) {
        self.pending_with(self.watches.operation(watch))
    }

    fn pending_with(&self, operation: u32) -> (TimerId, &Pending<O>) {
        self.wheel.by_index(operation).expect("invariant: what has a watch or a mark is pending")
    }

    fn leave(&mut self, id: TimerId, cause: Cause) -> Option<O> {
        let pending = self.wheel.remove(id)?;
        Some(self.left(pending, cause))
    }

    fn left(&mut self, pending: Pending<O>, cause: Cause) -> O {
        self.watches.unlink(pending.watches);
        self.thresholds.remove_all(pending.thresholds);
        self.stats.count(cause);
        pending.operation
    }
}
