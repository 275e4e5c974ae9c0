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

mod driver;
mod examine;
mod exit;
mod held;
mod inner;
mod options;
mod shard;
mod wait;

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Weak};

use hashbrown::Equivalent;

pub use driver::Driver;
pub use exit::{Exit, Exits};
pub use options::{Options, SharedStats};
pub use wait::Wait;

use crate::sync::{AtomicUsize, Ordering};
use crate::{Cause, DefaultHashBuilder, Refused, Submission, TimerId, Timestamp};
use exit::{Executor, Sink};
use held::Held;
use inner::{Evicting, Parked, Refusal};
use options::Counts;
use shard::Shard;

/// What waits in a [`SharedPurgatory`], and how it is known that it need not wait any longer.
pub trait DelayedOperation: Plantable + Send + 'static {
    /// Whether the operation can complete now.
    ///
    /// Called with no lock of the purgatory held, by one thread at a time, and never again once it said `true`. It may
    /// submit, trigger and cancel. If it panics, the operation leaves with [`Cause::Panicked`]; no other is touched.
    fn is_ready(&mut self) -> bool;
}

/// Anything, except where schedules are explored: there operations can be copied, so that a planted fault can let one
/// go twice. The language forbids it otherwise.
#[cfg(not(shuttle))]
pub trait Plantable {}
#[cfg(not(shuttle))]
impl<T> Plantable for T {}
#[cfg(shuttle)]
use Clone as Plantable;

/// Names one operation of one [`SharedPurgatory`]. Once it has left the id is stale for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SharedId {
    shard: u32,
    timer: TimerId,
}

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

struct Inner<K, O, S> {
    /// A power of two of them.
    shards: Box<[Shard<Held<O>, K, S>]>,
    seats: Seats,
    hasher: S,
    sink: Sink<O>,
    counts: Counts,
    max_pending: usize,
    /// Operations that wait, or have left but were not taken from the channel yet.
    occupied: Arc<AtomicUsize>,
    next_home: AtomicUsize,
}

/// The shards' seats at the driver, given back when the purgatory goes.
struct Seats {
    driver: Driver,
    seats: Vec<usize>,
}

impl Drop for Seats {
    fn drop(&mut self) {
        for &seat in &self.seats {
            self.driver.leave_seat(seat);
        }
    }
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
        let purgatory =
            Self::with_sink(driver, options, DefaultHashBuilder::default(), Sink::Channel(sender));
        let exits = Exits::new(receiver, Arc::clone(&purgatory.inner.occupied));
        (purgatory, exits)
    }

    /// A purgatory whose exits are given to `run`, on whichever thread let them go and one at a time.
    ///
    /// `run` may submit, trigger and cancel; what that completes is queued behind. Hand work that blocks to a pool: as
    /// long as `run` does not return, no further exit of this purgatory is delivered.
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
        Self::with_sink(driver, options, DefaultHashBuilder::default(), sink)
    }
}

impl<K, O, S> SharedPurgatory<K, O, S>
where
    K: Hash + Eq + Send + 'static,
    O: DelayedOperation,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    fn with_sink(driver: &Driver, options: &Options, hasher: S, sink: Sink<O>) -> Self {
        let shards = options.shards;
        assert!((1..=4_096).contains(&shards), "1 to 4,096 shards, not {shards}");
        let start = driver.now();
        let inner = Arc::new_cyclic(|weak: &Weak<Inner<K, O, S>>| {
            let count = shards.next_power_of_two();
            let seat = |shard| driver.take_seat(Weak::<Inner<K, O, S>>::clone(weak), shard);
            Inner {
                shards: (0..count).map(|_| Shard::new(start, hasher.clone())).collect(),
                seats: Seats { driver: driver.clone(), seats: (0..count).map(seat).collect() },
                hasher,
                sink,
                counts: Counts::new(&options.name),
                max_pending: options.max_pending,
                occupied: Arc::default(),
                next_home: AtomicUsize::new(0),
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
        mut operation: O,
        keys: impl IntoIterator<Item = K>,
        deadline: Timestamp,
    ) -> Result<Submission<O, SharedId>, Refused<O>> {
        if operation.is_ready() {
            self.inner.counts.passed();
            return Ok(Submission::Completed(operation));
        }
        match self.inner.submit(Held::Operation(operation), keys, deadline) {
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
        match self.inner.submit(Held::Waiter(waiter), keys, deadline) {
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

    /// Lets go all that waits under `key`, for `cause`, whether ready or not: for a key whose owner is gone. Returns how
    /// many. One that another thread is examining leaves for `cause` as soon as it is found not ready.
    pub fn complete_all<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q, cause: Cause) -> usize {
        self.inner.complete_all(key, cause)
    }

    /// Takes an operation out.
    pub fn cancel(&self, id: SharedId) -> Cancellation<O> {
        let (evicted, gone) = self.inner.cancel(id);
        match (evicted, gone.map(|gone| gone.held)) {
            (Evicting::Taken, Some(Held::Operation(operation))) => Cancellation::Taken(operation),
            (Evicting::Leaving, _) => Cancellation::Leaving,
            (Evicting::Taken | Evicting::Gone, _) => Cancellation::Gone,
        }
    }

    /// Lets an operation go with [`Cause::Satisfied`] because the caller knows that it is done: it is not examined, and its
    /// other keys cost nothing but the unlinking. `false` if it had left already.
    pub fn force_complete(&self, id: SharedId) -> bool {
        self.inner.force_complete(id)
    }

    /// Gives an operation another deadline, earlier or later. `false` if it has left already.
    pub fn extend(&self, id: SharedId, deadline: Timestamp) -> bool {
        self.inner.extend(id, deadline)
    }

    /// Lets go everything with [`Cause::Shutdown`] and refuses whatever comes later. Returns how many left; those being
    /// examined meanwhile follow by themselves.
    pub fn shutdown(&self) -> usize {
        self.inner.shutdown()
    }

    /// How many operations wait. Exact, but others may come and go meanwhile.
    pub fn pending(&self) -> usize {
        self.inner.counts.pending.load(Ordering::Acquire)
    }

    /// How many operations watch `key`.
    pub fn watched_by<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> usize {
        self.inner.shard_of(key).1.lock().watches.count(key)
    }

    /// How many pairs of an operation and a key there are. Sums over the shards.
    pub fn watched(&self) -> usize {
        self.inner.shards.iter().map(|shard| shard.lock().watches.watches()).sum()
    }

    /// A lower bound of the next deadline, read without a lock. `None` if nothing will ever expire.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let armed = self.inner.shards.iter().map(Shard::armed).min();
        armed.filter(|&next| next < Timestamp::MAX)
    }

    /// What happened so far.
    pub fn stats(&self) -> SharedStats {
        self.inner.counts.snapshot()
    }
}

impl<K, O, S> Clone for SharedPurgatory<K, O, S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<K, O, S> fmt::Debug for SharedPurgatory<K, O, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pending = self.inner.counts.pending.load(Ordering::Acquire);
        f.debug_struct("SharedPurgatory").field("pending", &pending).finish_non_exhaustive()
    }
}
