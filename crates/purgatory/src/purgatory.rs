//! Operations that wait for a trigger or a deadline, with one owner. Each leaves exactly once, by move.

mod due;

use std::hash::{BuildHasher, Hash};

use due::Due;
use hashbrown::Equivalent;

use crate::watchers::{NONE, WatchIndex};
use crate::{DefaultHashBuilder, TimerId, Timestamp, TimingWheel};

/// Names one operation of one purgatory. Once it has left the id is stale for good: it never names another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(TimerId);

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

/// What became of an operation given to [`Purgatory::try_complete_else_watch`].
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
    /// Those of the tick that is being handed out.
    due: Due,
    /// How many were watched so far.
    watched: u64,
    stats: Stats,
}

#[derive(Debug)]
struct Pending<O> {
    operation: O,
    /// Its place among all operations ever watched.
    order: u64,
    /// Its watches, as a chain.
    watches: u32,
}

/// One pass over the operations that watched a key when the pass began. See [`Purgatory::sweep`].
#[derive(Clone, Debug)]
pub struct Sweep<K> {
    key: K,
    /// The last operation that was examined and stayed: its watch, itself, its order.
    passed: Option<(u32, TimerId, u64)>,
    /// Operations from this order on came after the sweep began.
    end: u64,
}

impl<K: Hash + Eq, O> Purgatory<K, O> {
    /// An empty purgatory whose time is `start`.
    pub fn new(start: Timestamp) -> Self {
        Self::with_hasher(start, DefaultHashBuilder::default())
    }
}

impl<K: Hash + Eq, O, S: BuildHasher> Purgatory<K, O, S> {
    /// An empty purgatory whose time is `start`, and whose keys are hashed by `hasher`.
    pub fn with_hasher(start: Timestamp, hasher: S) -> Self {
        Self {
            wheel: TimingWheel::new(start),
            watches: WatchIndex::with_hasher(hasher),
            due: Due::default(),
            watched: 0,
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
    pub fn watch(
        &mut self,
        operation: O,
        keys: impl IntoIterator<Item = K>,
        deadline: Timestamp,
    ) -> OperationId {
        let order = self.watched;
        self.watched += 1;
        self.stats.submitted += 1;
        let id = self.wheel.insert(deadline, Pending { operation, order, watches: NONE });
        let mut chain = NONE;
        for key in keys {
            chain = self.watches.link(key, id.index(), chain);
            // Written at once: should the next key's hash panic, the operation still knows what it watches.
            if let Some(pending) = self.wheel.get_mut(id) {
                pending.watches = chain;
            }
        }
        OperationId(id)
    }

    /// Hands the operation back if it is ready, else parks it as [`Purgatory::watch`] does.
    ///
    /// One check is enough: with one owner nothing can happen between the check and the registration.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Submission, Timestamp};
    /// let mut purgatory: Purgatory<&str, u64> = Purgatory::new(Timestamp::ZERO);
    /// let end_offset = 15;
    /// let submission =
    ///     purgatory.try_complete_else_watch(10, ["log"], Timestamp::MAX, |&offset| offset <= end_offset);
    /// assert_eq!(submission, Submission::Completed(10));
    /// ```
    pub fn try_complete_else_watch(
        &mut self,
        operation: O,
        keys: impl IntoIterator<Item = K>,
        deadline: Timestamp,
        is_ready: impl FnOnce(&O) -> bool,
    ) -> Submission<O> {
        if is_ready(&operation) {
            self.stats.submitted += 1;
            self.stats.satisfied += 1;
            return Submission::Completed(operation);
        }
        Submission::Watched(self.watch(operation, keys, deadline))
    }

    /// Takes out the first operation under `key` that is ready, in watch order.
    ///
    /// Each call starts at the front. To take *all* that are ready, where many are not, use [`Purgatory::sweep`].
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

    /// Begins one pass over the operations that watch `key` now, for [`Purgatory::sweep_next`].
    ///
    /// The pass examines each operation once, however many are ready, and those that come after it began not at all:
    /// it ends even if every completion watches the same key again.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// let mut purgatory: Purgatory<&str, u64> = Purgatory::new(Timestamp::ZERO);
    /// for offset in [30, 10, 40, 20] {
    ///     purgatory.watch(offset, ["log"], Timestamp::MAX);
    /// }
    /// let (mut sweep, mut done) = (purgatory.sweep("log"), Vec::new());
    /// while let Some(offset) = purgatory.sweep_next(&mut sweep, |&offset| offset <= 30) {
    ///     done.push(offset);
    ///     purgatory.watch(offset, ["log"], Timestamp::MAX);
    /// }
    /// assert_eq!(done, [30, 10, 20]);
    /// ```
    pub fn sweep(&self, key: K) -> Sweep<K> {
        Sweep { key, passed: None, end: self.watched }
    }

    /// Takes out the next operation of the pass that is ready. `None` once the pass is over.
    ///
    /// Between two calls operations may come, leave and be extended at will. A pass over `n` operations costs `O(n)`,
    /// unless what it examined last leaves by another door: then it looks for its place from the front.
    #[must_use = "the operation is handed back here and nowhere else"]
    pub fn sweep_next(&mut self, sweep: &mut Sweep<K>, mut is_ready: impl FnMut(&O) -> bool) -> Option<O> {
        let mut next = self.resume(sweep);
        while let Some(watch) = next {
            let (id, pending) = self.pending_at(watch);
            if pending.order >= sweep.end {
                return None;
            }
            if is_ready(&pending.operation) {
                return self.leave(id, Cause::Satisfied);
            }
            sweep.passed = Some((watch, id, pending.order));
            next = self.watches.next(watch);
        }
        None
    }

    /// Takes out the next operation with `deadline <= now`; `None` once no more are due.
    #[must_use = "the operation is handed back here and nowhere else"]
    pub fn expire_next(&mut self, now: Timestamp) -> Option<O> {
        loop {
            // Others may have joined the tick that is being handed out; a later tick waits until that is done.
            let until = if self.due.is_empty() { now } else { self.wheel.now() };
            let (wheel, due) = (&mut self.wheel, &mut self.due);
            let order =
                |wheel: &TimingWheel<Pending<O>>, id| wheel.get(id).map_or(u64::MAX, |pending| pending.order);
            wheel.collect_due(until, due.arrivals());
            due.sort_in(|id| order(wheel, id));
            let id = due.pop()?;
            // It may have been cancelled, extended, or told never to expire since it was collected.
            let is_due = |deadline| deadline <= wheel.now() && deadline < Timestamp::MAX;
            if wheel.deadline(id).is_some_and(is_due) {
                return self.leave(id, Cause::Expired);
            }
        }
    }

    /// Takes an operation out. `None` if it has left already.
    pub fn cancel(&mut self, id: OperationId) -> Option<O> {
        self.leave(id.0, Cause::Cancelled)
    }

    /// Gives an operation another deadline, earlier or later, as a heartbeat does. `false` if it has left already.
    pub fn extend(&mut self, id: OperationId, deadline: Timestamp) -> bool {
        self.wheel.rearm(id.0, deadline)
    }

    /// The operation, if it still waits.
    pub fn get(&self, id: OperationId) -> Option<&O> {
        self.wheel.get(id.0).map(|pending| &pending.operation)
    }

    /// The operation, if it still waits.
    pub fn get_mut(&mut self, id: OperationId) -> Option<&mut O> {
        self.wheel.get_mut(id.0).map(|pending| &mut pending.operation)
    }

    /// The deadline last given to the operation, if it still waits.
    pub fn deadline(&self, id: OperationId) -> Option<Timestamp> {
        self.wheel.deadline(id.0)
    }

    /// When to call [`Purgatory::expire_next`] again: never later than the earliest deadline, sometimes earlier.
    /// `None` if nothing will ever expire.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        if self.due.is_empty() { self.wheel.next_deadline() } else { Some(self.wheel.now()) }
    }

    /// Whether any operation watches `key`.
    pub fn contains_key<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> bool {
        self.watches.first(key).is_some()
    }

    /// How many operations wait.
    pub fn pending(&self) -> usize {
        self.wheel.len()
    }

    /// How many pairs of a waiting operation and a key it watches there are.
    pub fn watched(&self) -> usize {
        self.watches.watches()
    }

    /// How many operations watch `key`.
    pub fn watched_by<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> usize {
        self.watches.count(key)
    }

    /// How many keys are watched.
    pub fn keys(&self) -> usize {
        self.watches.keys()
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    fn pending_at(&self, watch: u32) -> (TimerId, &Pending<O>) {
        self.wheel.by_index(self.watches.operation(watch)).expect("invariant: what is watched is pending")
    }

    /// Where the pass goes on: behind what it passed last or, if that is gone, behind all that are older.
    fn resume(&self, sweep: &Sweep<K>) -> Option<u32> {
        let Some((watch, id, order)) = sweep.passed else { return self.watches.first(&sweep.key) };
        if self.wheel.get(id).is_some() && self.watches.is_watch_of(watch, id.index(), &sweep.key) {
            return self.watches.next(watch);
        }
        let mut next = self.watches.first(&sweep.key);
        while let Some(watch) = next.filter(|&watch| self.pending_at(watch).1.order <= order) {
            next = self.watches.next(watch);
        }
        next
    }

    fn leave(&mut self, id: TimerId, cause: Cause) -> Option<O> {
        let pending = self.wheel.remove(id)?;
        Some(self.left(pending, cause))
    }

    fn left(&mut self, pending: Pending<O>, cause: Cause) -> O {
        self.watches.unlink(pending.watches);
        match cause {
            Cause::Satisfied => self.stats.satisfied += 1,
            Cause::Expired => self.stats.expired += 1,
            Cause::Cancelled => self.stats.cancelled += 1,
            Cause::Shutdown => self.stats.shut_down += 1,
            Cause::Panicked => unreachable!("a panic of `is_ready` is the caller's here"),
        }
        pending.operation
    }
}
