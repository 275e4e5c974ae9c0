//! Operations that wait until keys have reached a value: "acknowledged up to offset n".

use core::hash::{BuildHasher, Hash};

use hashbrown::Equivalent;

use super::{OperationId, Purgatory, Refused};
use crate::keys::NONE;
use crate::thresholds::Reached;
use crate::{Cause, Timestamp};

impl<K: Hash + Eq, O, S: BuildHasher> Purgatory<K, O, S> {
    /// Parks an operation until *every* key has reached its minimum, as [`Purgatory::reach_next`] is told, or until
    /// `deadline`. A key may be given twice; without any key the operation is a mere timer.
    ///
    /// Values that a key reached earlier do not count: check before parking.
    ///
    /// # Errors
    ///
    /// [`Refused`], with the operation, if as many wait as may or the purgatory was shut down.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(Timestamp::ZERO);
    /// let write = purgatory.watch_thresholds("write", [("replica-1", 40), ("replica-2", 40)], Timestamp::MAX);
    /// assert!(write.is_ok());
    /// assert_eq!(purgatory.reach_next("replica-1", 45), None);
    /// assert_eq!(purgatory.reach_next("replica-2", 39), None);
    /// assert_eq!(purgatory.reach_next("replica-2", 40), Some("write"));
    /// ```
    pub fn watch_thresholds(
        &mut self,
        operation: O,
        thresholds: impl IntoIterator<Item = (K, u64)>,
        deadline: Timestamp,
    ) -> Result<OperationId, Refused<O>> {
        let (id, order) = self.park(operation, deadline)?;
        let mut chain = NONE;
        for (key, minimum) in thresholds {
            let hash = self.watches.hash(&key);
            chain = self.thresholds.add(hash, key, minimum, (id.index(), order), chain);
            if let Some(pending) = self.wheel.get_mut(id) {
                pending.thresholds = chain;
            }
        }
        Ok(OperationId(id))
    }

    /// Tells that `key` has reached `value`, and takes out the next operation that has all it waited for: lowest minimum
    /// first, then in watch order. `None` once there are no more.
    ///
    /// Costs nothing for operations whose minimum is above `value`, however many they are.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// for (name, offset) in [("at 20", 20), ("at 10", 10), ("at 90", 90)] {
    ///     assert!(purgatory.watch_thresholds(name, [("log", offset)], t(500)).is_ok());
    /// }
    /// let mut left = Vec::new();
    /// while let Some(name) = purgatory.reach_next("log", 25) {
    ///     left.push(name);
    /// }
    /// assert_eq!(left, ["at 10", "at 20"]);
    /// ```
    #[must_use = "the operation is handed back here and nowhere else"]
    pub fn reach_next<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q, value: u64) -> Option<O> {
        let hash = self.watches.hash(key);
        while let Some(Reached { operation, mark, next }) = self.thresholds.reach(hash, key, value) {
            let (id, pending) = self.pending_with(operation);
            let first = if pending.thresholds == mark { next } else { pending.thresholds };
            if let Some(pending) = self.wheel.get_mut(id) {
                pending.thresholds = first;
            }
            if first == NONE {
                return self.leave(id, Cause::Satisfied);
            }
        }
        None
    }

    /// The lowest minimum that anything waits for `key` to reach.
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// # let t = Timestamp::from_ticks;
    /// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(t(0));
    /// for (name, offset) in [("b", 20), ("a", 10)] {
    ///     assert!(purgatory.watch_thresholds(name, [("log", offset)], t(500)).is_ok());
    /// }
    /// assert_eq!(purgatory.lowest_threshold("log"), Some(10));
    /// assert_eq!(purgatory.reach_next("log", 15), Some("a"));
    /// assert_eq!(purgatory.lowest_threshold("log"), Some(20));
    /// ```
    pub fn lowest_threshold<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<u64> {
        self.thresholds.lowest(self.watches.hash(key), key)
    }
}
