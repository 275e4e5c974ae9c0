//! Looking at what waits, without touching it: one operation, one key, or all.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};

use hashbrown::Equivalent;

use super::{OperationId, Purgatory, Stats};
use crate::Timestamp;

impl<K: Hash + Eq, O, S: BuildHasher> Purgatory<K, O, S> {
    /// Who waits at this [`OperationId::index`]; `None` if nobody does.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// let session = purgatory.watch("session", [], t(30));
    /// assert_eq!(purgatory.id_at(session.index()), Some(session));
    /// purgatory.cancel(session);
    /// assert_eq!(purgatory.id_at(session.index()), None);
    /// ```
    #[inline]
    pub fn id_at(&self, index: u32) -> Option<OperationId> {
        self.wheel.id_at(index).map(OperationId)
    }

    /// The operation, if it still waits.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// let id = purgatory.watch("fetch", ["log"], t(30));
    /// assert_eq!(purgatory.get(id), Some(&"fetch"));
    /// assert!(purgatory.cancel(id).is_some());
    /// assert_eq!(purgatory.get(id), None);
    /// ```
    pub fn get(&self, id: OperationId) -> Option<&O> {
        self.wheel.get(id.0).map(|pending| &pending.operation)
    }

    /// The operation, if it still waits.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// let id = purgatory.watch("generation 1", [], t(30));
    /// if let Some(operation) = purgatory.get_mut(id) {
    ///     *operation = "generation 2";
    /// }
    /// assert_eq!(purgatory.get(id), Some(&"generation 2"));
    /// ```
    pub fn get_mut(&mut self, id: OperationId) -> Option<&mut O> {
        self.wheel.get_mut(id.0).map(|pending| &mut pending.operation)
    }

    /// The deadline last given to the operation, if it still waits.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// let session = purgatory.watch("session", [], t(30));
    /// purgatory.extend(session, t(60));
    /// assert_eq!(purgatory.deadline(session), Some(t(60)));
    /// ```
    pub fn deadline(&self, id: OperationId) -> Option<Timestamp> {
        self.wheel.deadline(id.0)
    }

    /// All that waits, in watch order, with its deadline. O(n log n), for inspection.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// purgatory.watch("a", ["k"], t(9));
    /// purgatory.watch("b", [], t(5));
    /// assert_eq!(purgatory.operations(), [(t(9), &"a"), (t(5), &"b")]);
    /// ```
    pub fn operations(&self) -> Vec<(Timestamp, &O)> {
        let waiting = self.wheel.ids().filter_map(|id| Some((self.wheel.get(id)?, self.wheel.deadline(id)?)));
        let mut waiting: Vec<_> = waiting.collect();
        waiting.sort_unstable_by_key(|(pending, _)| pending.order);
        waiting.into_iter().map(|(pending, deadline)| (deadline, &pending.operation)).collect()
    }

    /// Whether any operation watches `key`.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// let id = purgatory.watch("fetch", ["log"], t(30));
    /// assert!(purgatory.contains_key("log"));
    /// assert!(purgatory.cancel(id).is_some());
    /// assert!(!purgatory.contains_key("log"));
    /// ```
    pub fn contains_key<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> bool {
        self.watches.first(key).is_some() || self.thresholds.count(self.watches.hash(key), key) > 0
    }

    /// How many operations wait.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// purgatory.watch("fetch", ["orders", "prices"], t(30));
    /// assert_eq!(purgatory.pending(), 1);
    /// ```
    pub fn pending(&self) -> usize {
        self.wheel.len()
    }

    /// How many pairs of a waiting operation and a key it watches there are.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// purgatory.watch("fetch", ["orders", "prices"], t(30));
    /// purgatory.watch("fetch", ["orders"], t(30));
    /// assert_eq!(purgatory.watched(), 3);
    /// ```
    pub fn watched(&self) -> usize {
        self.watches.watches() + self.thresholds.marks()
    }

    /// How many operations watch `key`.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// purgatory.watch("fetch", ["orders", "prices"], t(30));
    /// purgatory.watch("fetch", ["orders"], t(30));
    /// assert_eq!((purgatory.watched_by("orders"), purgatory.watched_by("prices")), (2, 1));
    /// assert_eq!((purgatory.pending(), purgatory.watched(), purgatory.keys()), (2, 3, 2));
    /// ```
    pub fn watched_by<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> usize {
        self.watches.count(key) + self.thresholds.count(self.watches.hash(key), key)
    }

    /// How many keys are watched; one that is watched plainly and for a threshold counts as two.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// purgatory.watch("fetch", ["orders", "prices"], t(30));
    /// purgatory.watch("fetch", ["orders"], t(30));
    /// assert_eq!(purgatory.keys(), 2);
    /// ```
    pub fn keys(&self) -> usize {
        self.watches.keys() + self.thresholds.keys()
    }

    /// What happened so far.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// purgatory.watch("a", ["key"], t(30));
    /// purgatory.watch("b", ["key"], t(30));
    /// assert!(purgatory.complete_next("key", |_| true).is_some());
    /// assert!(purgatory.expire_next(t(30)).is_some());
    /// let stats = purgatory.stats();
    /// assert_eq!((stats.submitted, stats.satisfied, stats.expired), (2, 1, 1));
    /// ```
    pub fn stats(&self) -> Stats {
        self.stats
    }
}
