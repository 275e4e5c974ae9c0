//! The purgatory for many threads: sharded locks, one driver, operations examined and delivered outside of all locks.
//!
//! ```text
//! submit ──▶ examine ──▶ register in the home shard and in each key's shard ──▶ examine again ──▶ parked
//! trigger ─▶ key's shard: who watches? ─▶ home shard: claim ─▶ examine ─▶ home shard: leave, or park again
//! driver ──▶ home shard: due ──▶ leave
//! leave ───▶ unlink from the keys' shards ──▶ channel, executor or waker
//! ```
//!
//! No two locks are ever held at once, and none while code of the user runs: there is no lock order to get wrong, and
//! nothing a completion does (submit, trigger, cancel, panic, drop) can meet a lock of ours that it already holds.

mod by_id;
mod counts;
mod driver;
mod examine;
mod executor;
mod exit;
mod held;
mod inner;
mod inspect;
mod leave;
mod marks;
mod options;
mod outbox;
mod shard;
mod trigger;
mod wait;
mod watches;

use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Weak};

use hashbrown::Equivalent;

pub use by_id::Cancellation;
pub use driver::Driver;
pub use exit::{Exit, Exits};
pub use options::{Options, SharedStats};
pub use wait::Wait;

use crate::{Cause, DefaultHashBuilder, Refused, Submission, TimerId, Timestamp};
use counts::Counts;
use executor::Executor;
use exit::{Occupied, Sink};
use held::Held;
use inner::{Inner, Parked, Refusal, Seats};
use outbox::Outboxes;
use shard::{Shard, ShardIndex};

/// What waits in a [`SharedPurgatory`], and how it is known that it need not wait any longer.
pub trait DelayedOperation: Plantable + Send + 'static {
    /// Whether the operation can complete now.
    ///
    /// Called with no lock of the purgatory held, by one thread at a time, and never again once it said `true`. It may
    /// submit, trigger and cancel. If it panics, the operation leaves with [`Cause::Panicked`]; no other is touched.
    fn is_ready(&mut self) -> bool;
}

/// Anything, except where faults are planted: there operations can be copied, so that one can go twice. The language
/// forbids it otherwise.
#[cfg(not(faults))]
pub trait Plantable {}
#[cfg(not(faults))]
impl<T> Plantable for T {}
#[cfg(faults)]
use Clone as Plantable;

/// Names one operation of one [`SharedPurgatory`]. Once it has left the id is stale for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SharedId {
    home: ShardIndex,
    timer: TimerId,
}

/// Operations `O` that wait under keys `K` and a deadline, for any number of threads. Clones share the purgatory.
///
/// An operation is examined before it is parked, after it was registered under its keys (so that no trigger falls
/// between), and whenever one of its keys is [completed](Self::complete). It leaves exactly once, by move: to the
/// channel or the executor that the purgatory was made with, or to the caller of [`cancel`](Self::cancel) or
/// [`try_complete_else_watch`](Self::try_complete_else_watch).
///
/// A trigger that meets an operation in another thread's hands leaves a note and goes on: nobody waits for a check.
///
/// When the last handle goes, what still waits is dropped; call [`shutdown`](Self::shutdown) first to get it back.
///
/// ```
/// use purgatory::{Cause, DelayedOperation, Driver, Options, SharedPurgatory, SimulatedClock, Submission, Timestamp};
/// use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
/// use std::sync::Arc;
///
/// struct Fetch { log_end: Arc<AtomicU64>, offset: u64 }
/// impl DelayedOperation for Fetch {
///     fn is_ready(&mut self) -> bool { self.log_end.load(SeqCst) > self.offset }
/// }
///
/// let clock = SimulatedClock::new(Timestamp::ZERO);
/// let driver = Driver::manual(clock.clone());
/// let (purgatory, mut exits) = SharedPurgatory::with_channel(&driver, &Options::default());
/// let log_end = Arc::new(AtomicU64::new(5));
/// for offset in [5, 9] {
///     let fetch = Fetch { log_end: log_end.clone(), offset };
///     let parked = purgatory.try_complete_else_watch(fetch, ["log"], Timestamp::from_ticks(500));
///     assert!(matches!(parked, Ok(Submission::Watched(_))));
/// }
/// log_end.store(6, SeqCst);
/// assert_eq!(purgatory.complete("log"), 1);
/// assert_eq!(exits.try_next().map(|exit| (exit.operation.offset, exit.cause)), Some((5, Cause::Satisfied)));
///
/// clock.advance(500);
/// driver.turn();
/// assert_eq!(exits.try_next().map(|exit| (exit.operation.offset, exit.cause)), Some((9, Cause::Expired)));
/// ```
pub struct SharedPurgatory<K, O, S = DefaultHashBuilder> {
    inner: Arc<Inner<K, O, S>>,
}

impl<K, O> SharedPurgatory<K, O>
where
    K: Hash + Eq + Send + 'static,
    O: DelayedOperation,
{
    /// A purgatory whose exits come out of the returned end of a channel.
    ///
    /// # Panics
    ///
    /// If `options` ask for no shard, or for more than 4,096.
    pub fn with_channel(driver: &Driver, options: &Options) -> (Self, Exits<O>) {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let occupied = Arc::<Occupied>::default();
        let outboxes = Arc::new(Outboxes::new(options.locks(), Arc::clone(&occupied)));
        let exits = Exits::new(receiver, Arc::clone(&outboxes));
        let sink = Sink::Channel(sender, outboxes);
        (Self::with_sink(driver, options, DefaultHashBuilder::default(), sink, occupied), exits)
    }

    /// A purgatory whose exits are given to `run`, on whichever thread let them go and one at a time.
    ///
    /// `run` may submit, trigger and cancel; what that completes is queued behind. Hand work that blocks to a pool: as
    /// long as `run` does not return, no further exit of this purgatory is delivered.
    ///
    /// ```
    /// use purgatory::{DelayedOperation, Driver, Exit, Options, SharedPurgatory, SimulatedClock, Timestamp};
    /// use std::sync::{Arc, Mutex};
    ///
    /// struct Answer(u32);
    /// impl DelayedOperation for Answer {
    ///     fn is_ready(&mut self) -> bool { false }
    /// }
    ///
    /// let clock = SimulatedClock::new(Timestamp::ZERO);
    /// let driver = Driver::manual(clock.clone());
    /// let answered = Arc::new(Mutex::new(Vec::new()));
    /// let log = answered.clone();
    /// let purgatory = SharedPurgatory::with_executor(&driver, &Options::default(), move |exit: Exit<Answer>| {
    ///     log.lock().unwrap().push((exit.operation.0, exit.cause));
    /// });
    /// for client in 1..=2 {
    ///     let deadline = Timestamp::from_ticks(100);
    ///     assert!(purgatory.try_complete_else_watch(Answer(client), ["topic"], deadline).is_ok());
    /// }
    /// clock.advance(100);
    /// driver.turn();
    /// assert_eq!(answered.lock().unwrap().len(), 2);
    /// ```
    ///
    /// # Panics
    ///
    /// If `options` ask for no shard, or for more than 4,096.
    pub fn with_executor(
        driver: &Driver,
        options: &Options,
        run: impl Fn(Exit<O>) + Send + Sync + 'static,
    ) -> Self {
        let sink = Sink::Executor(Executor::new(run));
        Self::with_sink(driver, options, DefaultHashBuilder::default(), sink, Arc::default())
    }
}

impl<K, O, S> SharedPurgatory<K, O, S>
where
    K: Hash + Eq + Send + 'static,
    O: DelayedOperation,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    fn with_sink(
        driver: &Driver,
        options: &Options,
        hasher: S,
        sink: Sink<O>,
        occupied: Arc<Occupied>,
    ) -> Self {
        let count = options.locks();
        let start = driver.now();
        let inner = Arc::new_cyclic(|weak: &Weak<Inner<K, O, S>>| {
            let seat = |shard| driver.take_seat(Weak::<Inner<K, O, S>>::clone(weak), shard);
            Inner {
                shards: (0..count).map(|_| Shard::new(start)).collect(),
                seats: Seats { driver: driver.clone(), seats: (0..count).map(seat).collect() },
                hasher,
                sink,
                counts: Counts::new(&options.name),
                max_pending: options.max_pending,
                occupied,
            }
        });
        Self { inner }
    }

    /// Hands the operation back if it is ready, else parks it under `keys` until `deadline`.
    ///
    /// It is examined twice, however many keys it has: before, and after it was registered, so that a trigger that came
    /// between is not lost. A key given twice counts once. [`Submission::Watched`] does not mean that it still waits:
    /// another thread may have let it go by now.
    ///
    /// # Errors
    ///
    /// [`Refused`], with the operation, if too many wait or the purgatory was shut down.
    ///
    /// # Panics
    ///
    /// If the operation panics in its first examination; it is dropped then, and nothing was registered.
    pub fn try_complete_else_watch(
        &self,
        operation: O,
        keys: impl IntoIterator<Item = K>,
        deadline: Timestamp,
    ) -> Result<Submission<O, SharedId>, Refused<O>> {
        self.submit(operation, keys.into_iter().map(|key| (key, None)), deadline)
    }

    /// As [`try_complete_else_watch`](Self::try_complete_else_watch), but the operation is examined only when
    /// [`reach`](Self::reach) tells of a key that it has reached its minimum. Each key does so once.
    ///
    /// So the operation has to be ready once all minimums are reached; it may be ready before. Whether it is,
    /// [`DelayedOperation::is_ready`] decides: what a key reached before the operation was registered is told by nobody.
    ///
    /// # Errors
    ///
    /// [`Refused`], with the operation, if too many wait or the purgatory was shut down.
    ///
    /// # Panics
    ///
    /// If the operation panics in its first examination; it is dropped then, and nothing was registered.
    ///
    /// ```
    /// use purgatory::{DelayedOperation, Driver, Options, SharedPurgatory, SimulatedClock, Timestamp};
    /// use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    /// use std::sync::Arc;
    ///
    /// /// A write that two replicas have to acknowledge.
    /// struct Write { acknowledged: Arc<[AtomicU64; 2]>, offset: u64 }
    /// impl DelayedOperation for Write {
    ///     fn is_ready(&mut self) -> bool {
    ///         self.acknowledged.iter().all(|offset| offset.load(SeqCst) >= self.offset)
    ///     }
    /// }
    ///
    /// let driver = Driver::manual(SimulatedClock::new(Timestamp::ZERO));
    /// let (purgatory, _exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    /// let acknowledged: Arc<[AtomicU64; 2]> = Arc::default();
    /// for offset in [10, 20] {
    ///     let write = Write { acknowledged: acknowledged.clone(), offset };
    ///     let thresholds = [("replica-0", offset), ("replica-1", offset)];
    ///     assert!(purgatory.try_complete_else_watch_thresholds(write, thresholds, Timestamp::MAX).is_ok());
    /// }
    /// acknowledged[0].store(15, SeqCst);
    /// assert_eq!(purgatory.reach("replica-0", 15), 0);
    /// acknowledged[1].store(12, SeqCst);
    /// assert_eq!(purgatory.reach("replica-1", 12), 1);
    /// assert_eq!((purgatory.pending(), purgatory.lowest_threshold("replica-1")), (1, Some(20)));
    /// ```
    pub fn try_complete_else_watch_thresholds(
        &self,
        operation: O,
        thresholds: impl IntoIterator<Item = (K, u64)>,
        deadline: Timestamp,
    ) -> Result<Submission<O, SharedId>, Refused<O>> {
        self.submit(operation, thresholds.into_iter().map(|(key, minimum)| (key, Some(minimum))), deadline)
    }

    fn submit(
        &self,
        mut operation: O,
        keys: impl Iterator<Item = (K, Option<u64>)>,
        deadline: Timestamp,
    ) -> Result<Submission<O, SharedId>, Refused<O>> {
        if operation.is_ready() {
            self.inner.counts.passed();
            return Ok(Submission::Completed(operation));
        }
        let interests = self.inner.interests(keys);
        match self.inner.submit(Held::Operation(operation), interests, deadline) {
            Ok(Parked::Waits(id)) => Ok(Submission::Watched(id)),
            Ok(Parked::Ready(Held::Operation(operation))) => Ok(Submission::Completed(operation)),
            Err(Refusal::Full(Held::Operation(operation))) => Err(Refused::Full(operation)),
            Err(Refusal::ShutDown(Held::Operation(operation))) => Err(Refused::ShutDown(operation)),
            Ok(Parked::Ready(Held::Waiter(_)))
            | Err(Refusal::Full(Held::Waiter(_)) | Refusal::ShutDown(Held::Waiter(_))) => {
                unreachable!("an operation was submitted")
            }
        }
    }

    /// Waits until `condition` holds, having been told so under one of `keys`, or until `deadline`.
    ///
    /// The condition is examined as an operation is. The future may be polled by any executor, and moved between
    /// them; dropping it cancels the wait. Its exit is its result, and goes to no channel.
    ///
    /// ```
    /// # use std::sync::{Arc, atomic::{AtomicBool, Ordering::SeqCst}};
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// # use purgatory::{Cause, DelayedOperation, Driver, Options, SharedPurgatory, SimulatedClock, Timestamp};
    /// # struct Unused;
    /// # impl DelayedOperation for Unused { fn is_ready(&mut self) -> bool { false } }
    /// # let driver = Driver::manual(SimulatedClock::new(Timestamp::ZERO));
    /// # let (purgatory, _exits) = SharedPurgatory::<_, Unused>::with_channel(&driver, &Options::default());
    /// let is_open = Arc::new(AtomicBool::new(false));
    /// let seen = is_open.clone();
    /// let mut wait = pin!(purgatory.wait(["gate"], Timestamp::MAX, move || seen.load(SeqCst)).expect("not full"));
    /// # let mut context = Context::from_waker(Waker::noop()); // or: wait.await
    /// assert_eq!(wait.as_mut().poll(&mut context), Poll::Pending);
    /// is_open.store(true, SeqCst);
    /// purgatory.complete("gate");
    /// assert_eq!(wait.as_mut().poll(&mut context), Poll::Ready(Cause::Satisfied));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Refused`] if too many wait or the purgatory was shut down.
    ///
    /// # Panics
    ///
    /// If the condition panics in its first examination.
    pub fn wait(
        &self,
        keys: impl IntoIterator<Item = K>,
        deadline: Timestamp,
        mut condition: impl FnMut() -> bool + Send + 'static,
    ) -> Result<Wait, Refused<()>> {
        let mut wait = Wait::new(Arc::<Inner<K, O, S>>::clone(&self.inner));
        if condition() {
            self.inner.counts.passed();
            wait.waiter(condition).finish(Cause::Satisfied);
            return Ok(wait);
        }
        let waiter = wait.waiter(condition);
        let interests = self.inner.interests(keys.into_iter().map(|key| (key, None)));
        match self.inner.submit(Held::Waiter(waiter), interests, deadline) {
            Ok(Parked::Waits(id)) => wait.parked_as(id),
            Ok(Parked::Ready(held)) => held.finish(Cause::Satisfied),
            Err(Refusal::Full(_)) => return Err(Refused::Full(())),
            Err(Refusal::ShutDown(_)) => return Err(Refused::ShutDown(())),
        }
        Ok(wait)
    }

    /// Something happened that operations under `key` may wait for: examines them, lets go those that are ready, and
    /// returns how many. One that another thread is examining is examined again by that thread.
    ///
    /// Operations are examined in the order in which they were registered. One registered while this runs may be
    /// missed here: its own second examination comes after the event.
    pub fn complete<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> usize {
        self.inner.complete(key)
    }

    /// Tells that `key` has reached `value`: examines those whose minimum is no more, lowest minimum first, lets go those
    /// that are ready, and returns how many. Others under the key cost nothing, however many they are.
    pub fn reach<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q, value: u64) -> usize {
        self.inner.reach(key, value)
    }

    /// Lets go all that waits under `key`, for `cause`, whether ready or not: for a key whose owner is gone. Returns how
    /// many. One that another thread is examining leaves for `cause` as soon as it is found not ready.
    ///
    /// ```
    /// # use purgatory::{Cancellation, Cause, DelayedOperation, Driver, Options, SharedPurgatory, SimulatedClock};
    /// # use purgatory::{Submission, Timestamp};
    /// # struct Fetch(&'static str);
    /// # impl DelayedOperation for Fetch { fn is_ready(&mut self) -> bool { false } }
    /// # let clock = SimulatedClock::new(Timestamp::ZERO);
    /// # let driver = Driver::manual(clock.clone());
    /// # let (purgatory, mut exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    /// assert!(purgatory.try_complete_else_watch(Fetch("orders"), ["log"], Timestamp::MAX).is_ok());
    /// // The log moved to another broker: nobody here will ever satisfy what waits for it.
    /// assert_eq!(purgatory.complete_all("log", Cause::Cancelled), 1);
    /// assert_eq!(exits.try_next().map(|exit| exit.cause), Some(Cause::Cancelled));
    /// ```
    pub fn complete_all<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q, cause: Cause) -> usize {
        self.inner.complete_all(key, cause)
    }

    /// Lets go everything with [`Cause::Shutdown`] and refuses whatever comes later. Returns how many left; those being
    /// examined meanwhile follow by themselves.
    ///
    /// ```
    /// # use purgatory::{Cancellation, Cause, DelayedOperation, Driver, Options, SharedPurgatory, SimulatedClock};
    /// # use purgatory::{Submission, Timestamp};
    /// # struct Fetch(&'static str);
    /// # impl DelayedOperation for Fetch { fn is_ready(&mut self) -> bool { false } }
    /// # let clock = SimulatedClock::new(Timestamp::ZERO);
    /// # let driver = Driver::manual(clock.clone());
    /// # let (purgatory, mut exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    /// assert!(purgatory.try_complete_else_watch(Fetch("orders"), ["log"], Timestamp::MAX).is_ok());
    /// assert_eq!(purgatory.shutdown(), 1);
    /// assert_eq!(exits.try_next().map(|exit| (exit.operation.0, exit.cause)), Some(("orders", Cause::Shutdown)));
    /// let refused = purgatory.try_complete_else_watch(Fetch("late"), ["log"], Timestamp::MAX);
    /// assert_eq!(refused.err().map(|refused| refused.to_string()), Some("the purgatory was shut down".to_owned()));
    /// ```
    pub fn shutdown(&self) -> usize {
        self.inner.shutdown()
    }
}

impl<K, O, S> Clone for SharedPurgatory<K, O, S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}
