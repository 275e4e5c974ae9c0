//! Ends: how many may wait, what becomes of a key that is gone, and of a purgatory that is shut down.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};

use hashbrown::Equivalent;

use super::{Cause, Purgatory};

impl<K: Hash + Eq, O, S: BuildHasher> Purgatory<K, O, S> {
    /// From now on at most `max_pending` operations wait; those that wait already stay. There is no limit before.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// purgatory.set_max_pending(1);
    /// assert!(purgatory.try_watch("first", [], t(30)).is_ok());
    /// assert!(purgatory.try_watch("second", [], t(30)).is_err());
    /// // One leaves, one may come.
    /// assert_eq!(purgatory.expire_next(t(30)), Some("first"));
    /// assert!(purgatory.try_watch("third", [], t(60)).is_ok());
    /// ```
    pub fn set_max_pending(&mut self, max_pending: usize) {
        self.max_pending = max_pending;
    }

    /// Takes out everything under `key` for `cause`, ready or not: the key's owner is gone. In watch order, those with a
    /// threshold last and by their minimum.
    ///
    /// ```
    /// # use purgatory::{Cause, Purgatory, Timestamp};
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(Timestamp::ZERO);
    /// purgatory.watch("fetch", ["orders-0", "orders-1"], Timestamp::MAX);
    /// purgatory.watch("produce", ["orders-1"], Timestamp::MAX);
    /// assert_eq!(purgatory.complete_all("orders-1", Cause::Cancelled), ["fetch", "produce"]);
    /// assert_eq!(purgatory.watched_by("orders-0"), 0);
    /// ```
    #[must_use = "the operations are handed back here and nowhere else"]
    pub fn complete_all<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q, cause: Cause) -> Vec<O> {
        let mut left = Vec::new();
        while let Some(watch) = self.watches.first(key) {
            let (id, _) = self.pending_at(watch);
            left.extend(self.leave(id, cause));
        }
        let hash = self.watches.hash(key);
        while let Some(operation) = self.thresholds.first(hash, key) {
            left.extend(self.leave(self.pending_with(operation).0, cause));
        }
        left
    }

    /// Takes out everything, in watch order, with [`Cause::Shutdown`], and refuses whatever comes later.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// purgatory.watch("fetch", ["log"], t(30));
    /// assert_eq!(purgatory.shutdown(), ["fetch"]);
    /// assert!(purgatory.try_watch("late", ["log"], t(30)).is_err());
    /// ```
    #[must_use = "the operations are handed back here and nowhere else"]
    pub fn shutdown(&mut self) -> Vec<O> {
        self.is_shut_down = true;
        let mut ids: Vec<_> = self.wheel.ids().collect();
        ids.sort_by_key(|&id| self.wheel.get(id).map(|pending| pending.order));
        ids.into_iter().filter_map(|id| self.leave(id, Cause::Shutdown)).collect()
    }
}
