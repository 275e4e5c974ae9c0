//! One pass over a key's operations, while the caller does what it likes in between.

use core::hash::{BuildHasher, Hash};

use super::Purgatory;
use crate::{Cause, TimerId};

/// One pass over the operations that watched a key when the pass began. See [`Purgatory::sweep`].
///
/// ```
/// # use purgatory::{Purgatory, Timestamp};
/// let mut purgatory: Purgatory<&str, &str> = Purgatory::new(Timestamp::ZERO);
/// purgatory.watch("before", ["log"], Timestamp::MAX);
/// let mut sweep = purgatory.sweep("log");
/// purgatory.watch("after", ["log"], Timestamp::MAX);
/// assert_eq!(purgatory.sweep_next(&mut sweep, |_| true), Some("before"));
/// assert_eq!(purgatory.sweep_next(&mut sweep, |_| true), None);
/// ```
#[derive(Clone, Debug)]
pub struct Sweep<K> {
    key: K,
    /// The last operation that was examined and stayed: its watch, itself, its order.
    passed: Option<(u32, TimerId, u64)>,
    /// Operations beyond this order came after the sweep began.
    end: u64,
}

impl<K: Hash + Eq, O, S: BuildHasher> Purgatory<K, O, S> {
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
    ///
    /// ```
    /// # use purgatory::{Purgatory, Timestamp};
    /// let mut purgatory: Purgatory<&str, u32> = Purgatory::new(Timestamp::ZERO);
    /// for size in [10, 300, 20] {
    ///     purgatory.watch(size, ["space"], Timestamp::MAX);
    /// }
    /// // Room for 40: whoever fits takes its part, in watch order.
    /// let (mut room, mut sweep, mut served) = (40, purgatory.sweep("space"), Vec::new());
    /// while let Some(size) = purgatory.sweep_next(&mut sweep, |&size| size <= room) {
    ///     room -= size;
    ///     served.push(size);
    /// }
    /// assert_eq!((served, room), (vec![10, 20], 10));
    /// ```
    #[must_use = "the operation is handed back here and nowhere else"]
    pub fn sweep_next(&mut self, sweep: &mut Sweep<K>, mut is_ready: impl FnMut(&O) -> bool) -> Option<O> {
        let mut next = self.resume(sweep);
        while let Some(watch) = next {
            let (id, pending) = self.pending_at(watch);
            if pending.order.get() > sweep.end {
                return None;
            }
            if is_ready(&pending.operation) {
                return self.leave(id, Cause::Satisfied);
            }
            sweep.passed = Some((watch, id, pending.order.get()));
            next = self.watches.next(watch);
        }
        None
    }

    /// Where the pass goes on: behind what it passed last or, if that is gone, behind all that are older.
    fn resume(&self, sweep: &Sweep<K>) -> Option<u32> {
        let Some((watch, id, order)) = sweep.passed else { return self.watches.first(&sweep.key) };
        if self.wheel.get(id).is_some() && self.watches.is_watch_of(watch, id.index(), &sweep.key) {
            return self.watches.next(watch);
        }
        let mut next = self.watches.first(&sweep.key);
        while let Some(watch) = next.filter(|&watch| self.pending_at(watch).1.order.get() <= order) {
            next = self.watches.next(watch);
        }
        next
    }
}
