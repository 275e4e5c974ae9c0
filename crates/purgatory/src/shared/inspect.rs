//! What can be asked of a shared purgatory: how many wait, for what, until when, and what became of the others.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use hashbrown::Equivalent;

use super::shard::Shard;
use super::{DelayedOperation, SharedPurgatory, SharedStats};
use crate::Timestamp;

impl<K, O, S> SharedPurgatory<K, O, S>
where
    K: Hash + Eq + Send + 'static,
    O: DelayedOperation,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    /// The lowest minimum that anything waits for `key` to reach.
    pub fn lowest_threshold<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<u64> {
        let (hash, shard) = self.inner.locate(key);
        self.inner.shard(shard).lock().marks.lowest(hash, key)
    }

    /// How many operations wait. Sums over the shards: exact unless others come or go meanwhile.
    pub fn pending(&self) -> usize {
        self.inner.pending()
    }

    /// How many operations watch `key`, or wait for it to reach a value.
    ///
    /// ```
    /// # use purgatory::{Cancellation, Cause, DelayedOperation, Driver, Options, SharedPurgatory, SimulatedClock};
    /// # use purgatory::{Submission, Timestamp};
    /// # struct Fetch(&'static str);
    /// # impl DelayedOperation for Fetch { fn is_ready(&mut self) -> bool { false } }
    /// # let clock = SimulatedClock::new(Timestamp::ZERO);
    /// # let driver = Driver::manual(clock.clone());
    /// # let (purgatory, mut exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    /// assert!(purgatory.try_complete_else_watch(Fetch("orders"), ["log", "session"], Timestamp::MAX).is_ok());
    /// assert_eq!((purgatory.watched_by("log"), purgatory.watched_by("other")), (1, 0));
    /// assert_eq!((purgatory.pending(), purgatory.watched()), (1, 2));
    /// ```
    pub fn watched_by<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> usize {
        let (hash, shard) = self.inner.locate(key);
        let state = self.inner.shard(shard).lock();
        state.watches.count(hash, key) + state.marks.count(hash, key)
    }

    /// How many pairs of an operation and a key that can trigger it there are. Sums over the shards.
    pub fn watched(&self) -> usize {
        let watched = |shard: &Shard<O, K>| {
            let state = shard.lock();
            state.watches.watches() + state.marks.marks()
        };
        self.inner.shards.iter().map(watched).sum()
    }

    /// A lower bound of the next deadline, read without a lock. `None` if nothing will ever expire. It may be the deadline
    /// of an operation that has left since, until the driver has looked.
    ///
    /// ```
    /// # use purgatory::{Cancellation, Cause, DelayedOperation, Driver, Options, SharedPurgatory, SimulatedClock};
    /// # use purgatory::{Submission, Timestamp};
    /// # struct Fetch(&'static str);
    /// # impl DelayedOperation for Fetch { fn is_ready(&mut self) -> bool { false } }
    /// # let clock = SimulatedClock::new(Timestamp::ZERO);
    /// # let driver = Driver::manual(clock.clone());
    /// # let (purgatory, mut exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    /// assert_eq!(purgatory.next_deadline(), None);
    /// let deadline = Timestamp::from_ticks(500);
    /// assert!(purgatory.try_complete_else_watch(Fetch("orders"), ["log"], deadline).is_ok());
    /// assert_eq!(purgatory.next_deadline(), Some(deadline));
    /// ```
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let armed = self.inner.shards.iter().map(Shard::armed).min();
        armed.filter(|&next| next < Timestamp::MAX)
    }

    /// What happened so far.
    ///
    /// ```
    /// # use purgatory::{Cancellation, Cause, DelayedOperation, Driver, Options, SharedPurgatory, SimulatedClock};
    /// # use purgatory::{Submission, Timestamp};
    /// # struct Fetch(&'static str);
    /// # impl DelayedOperation for Fetch { fn is_ready(&mut self) -> bool { false } }
    /// # let clock = SimulatedClock::new(Timestamp::ZERO);
    /// # let driver = Driver::manual(clock.clone());
    /// # let (purgatory, mut exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    /// assert!(purgatory.try_complete_else_watch(Fetch("orders"), ["log"], Timestamp::from_ticks(500)).is_ok());
    /// clock.set(Timestamp::from_ticks(503));
    /// driver.turn();
    /// let stats = purgatory.stats();
    /// assert_eq!((stats.submitted, stats.expired, stats.worst_lateness), (1, 1, 3));
    /// ```
    pub fn stats(&self) -> SharedStats {
        self.inner.counts.snapshot(&self.inner.shards.iter().map(|shard| &shard.counts))
    }
}

impl<K, O, S> fmt::Debug for SharedPurgatory<K, O, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pending = self.inner.pending();
        f.debug_struct("SharedPurgatory").field("pending", &pending).finish_non_exhaustive()
    }
}
