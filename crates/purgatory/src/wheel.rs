//! Deadlines: who is due, and when the next one is. Never knows a key, a clock or a thread.

mod chunk;
mod filed;
mod node;
mod prefetch;
mod ring;
mod schedule;
mod segments;

use alloc::vec::Vec;
use core::num::NonZeroU32;

use schedule::Schedule;

use crate::Timestamp;

/// Names one timer of one wheel. Once the timer is gone the id is stale for good: it never names another.
///
/// ```
/// # use purgatory::{Timestamp, TimingWheel};
/// # let t = Timestamp::from_ticks;
/// let mut wheel = TimingWheel::new(t(0));
/// let tea = wheel.insert(t(5), "tea");
/// assert_eq!(wheel.remove(tea), Some("tea"));
/// // The next one takes its place in memory, but not its name.
/// let egg = wheel.insert(t(5), "egg");
/// assert_eq!((wheel.remove(tea), wheel.get(egg)), (None, Some(&"egg")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimerId {
    index: u32,
    /// That of a live node, hence odd and never 0: an `Option` of an id takes no more room than the id.
    generation: NonZeroU32,
}

/// A timer that came due, by move.
///
/// ```
/// # use purgatory::{Timestamp, TimingWheel};
/// # let t = Timestamp::from_ticks;
/// let mut wheel = TimingWheel::new(t(0));
/// let id = wheel.insert(t(5), "tea");
/// let late = wheel.expire_next(t(9)).map(|due| t(9).ticks_since(due.deadline));
/// assert_eq!(late, Some(4));
/// # let _ = id;
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Expired<T> {
    /// The id it had, now stale.
    pub id: TimerId,
    /// The deadline it was last given.
    pub deadline: Timestamp,
    /// What was waiting.
    pub value: T,
}

/// Timers with one owner. Deadlines are inclusive: `deadline <= now` is due, and never before.
///
/// Inserting, removing and re-arming are O(1), at any distance and any uptime; nothing happens on ticks on which
/// nothing is filed. A pending timer takes 16 bytes and 4 to 8 for its entry, beside its value.
///
/// Due timers come in order of deadline. Those of equal deadline come in an order that depends on nothing but the
/// calls made, so it repeats, but is not specified. A deadline that has passed already counts as the latest tick
/// handed out so far. [`Timestamp::MAX`] never comes due. Time going backwards is ignored.
///
/// ```
/// use purgatory::{Timestamp, TimingWheel};
/// let t = Timestamp::from_ticks;
/// let mut wheel = TimingWheel::new(t(0));
/// let tea = wheel.insert(t(180), "tea");
/// wheel.insert(t(600), "egg");
/// assert!(wheel.rearm(tea, t(240)));
/// assert!(wheel.expire_next(t(239)).is_none());
/// assert_eq!(wheel.expire_next(t(240)).map(|due| due.value), Some("tea"));
/// assert!(!wheel.rearm(tea, t(900)));
/// ```
#[derive(Debug)]
pub struct TimingWheel<T> {
    schedule: Schedule<T>,
}

impl<T> TimingWheel<T> {
    /// An empty wheel whose time is `start`. Allocates nothing until the first timer comes.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let wheel: TimingWheel<u32> = TimingWheel::new(t(1_000));
    /// assert_eq!((wheel.len(), wheel.bytes()), (0, 0));
    /// ```
    pub const fn new(start: Timestamp) -> Self {
        Self { schedule: Schedule::new(start.ticks()) }
    }

    /// Makes room for `additional` more timers.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel: TimingWheel<u32> = TimingWheel::new(t(0));
    /// wheel.reserve(1_000_000);
    /// assert!(wheel.bytes() > 1_000_000 && wheel.is_empty());
    /// ```
    pub fn reserve(&mut self, additional: usize) {
        self.schedule.reserve(additional);
    }

    /// Adds a timer. A `deadline` in the past is due at the next [`TimingWheel::expire_next`].
    ///
    /// # Panics
    ///
    /// If there are 2^27 timers already.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel = TimingWheel::new(t(0));
    /// wheel.insert(t(7_200_000), "two hours");
    /// wheel.insert(t(5), "soon");
    /// assert_eq!(wheel.expire_next(t(5)).map(|due| due.value), Some("soon"));
    /// assert_eq!(wheel.next_deadline(), Some(t(7_200_000)));
    /// ```
    #[inline]
    pub fn insert(&mut self, deadline: Timestamp, value: T) -> TimerId {
        self.schedule.arm(deadline.ticks(), value)
    }

    /// Takes a timer out. `None` for a stale id.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel = TimingWheel::new(t(0));
    /// let id = wheel.insert(t(5), "tea");
    /// assert_eq!(wheel.remove(id), Some("tea"));
    /// assert_eq!(wheel.remove(id), None);
    /// ```
    #[inline]
    pub fn remove(&mut self, id: TimerId) -> Option<T> {
        self.schedule.disarm(id)
    }

    /// Gives a timer another deadline, earlier or later. `false` for a stale id.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel = TimingWheel::new(t(0));
    /// let id = wheel.insert(t(5), "tea");
    /// assert!(wheel.rearm(id, t(3)));
    /// assert_eq!(wheel.deadline(id), Some(t(3)));
    /// ```
    #[inline]
    pub fn rearm(&mut self, id: TimerId, deadline: Timestamp) -> bool {
        self.schedule.rearm(id, deadline.ticks())
    }

    /// The same as [`TimingWheel::rearm`] for one after the other, and faster where there are more timers than a cache
    /// holds: the memory of those ahead is on its way while one is dealt with. Returns how many ids were not stale.
    ///
    /// Takes an iterator that can be cloned, to look ahead; it is gone through twice.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel = TimingWheel::new(t(0));
    /// let sessions = [wheel.insert(t(30), 'a'), wheel.insert(t(30), 'b'), wheel.insert(t(30), 'c')];
    /// assert_eq!(wheel.remove(sessions[1]), Some('b'));
    /// let beats = sessions.iter().map(|&session| (session, t(60)));
    /// assert_eq!(wheel.rearm_batch(beats), 2);
    /// assert!(wheel.expire_next(t(59)).is_none());
    /// ```
    pub fn rearm_batch<I>(&mut self, timers: I) -> usize
    where
        I: IntoIterator<Item = (TimerId, Timestamp), IntoIter: Clone>,
    {
        self.schedule.rearm_batch(timers.into_iter().map(|(id, deadline)| (id, deadline.ticks())))
    }

    /// What waits under `id`. `None` for a stale id.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel = TimingWheel::new(t(0));
    /// let id = wheel.insert(t(5), "tea");
    /// assert_eq!(wheel.get(id), Some(&"tea"));
    /// assert!(wheel.expire_next(t(5)).is_some());
    /// assert_eq!(wheel.get(id), None);
    /// ```
    #[inline]
    pub fn get(&self, id: TimerId) -> Option<&T> {
        self.schedule.nodes().value(id)
    }

    /// What waits under `id`. `None` for a stale id.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel = TimingWheel::new(t(0));
    /// let id = wheel.insert(t(5), 1);
    /// if let Some(count) = wheel.get_mut(id) {
    ///     *count += 1;
    /// }
    /// assert_eq!(wheel.get(id), Some(&2));
    /// ```
    #[inline]
    pub fn get_mut(&mut self, id: TimerId) -> Option<&mut T> {
        self.schedule.nodes_mut().value_mut(id)
    }

    /// The deadline last given to `id`. `None` for a stale id.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel = TimingWheel::new(t(0));
    /// let id = wheel.insert(t(5), "tea");
    /// assert!(wheel.rearm(id, t(90)));
    /// assert_eq!(wheel.deadline(id), Some(t(90)));
    /// ```
    #[inline]
    pub fn deadline(&self, id: TimerId) -> Option<Timestamp> {
        self.schedule.nodes().get(id).map(|node| Timestamp::from_ticks(node.deadline()))
    }

    /// Takes out the next timer with `deadline <= now`; `None` once no more are due.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel = TimingWheel::new(t(0));
    /// let id = wheel.insert(t(5), "tea");
    /// let expired = wheel.expire_next(t(7)).expect("due since 5");
    /// assert_eq!((expired.id, expired.deadline, expired.value), (id, t(5), "tea"));
    /// assert!(wheel.is_empty());
    /// ```
    #[inline]
    pub fn expire_next(&mut self, now: Timestamp) -> Option<Expired<T>> {
        let (id, deadline, value) = self.schedule.expire_next(now.ticks())?;
        Some(Expired { id, deadline: Timestamp::from_ticks(deadline), value })
    }

    /// The same for who holds a lock meanwhile: gives `None` too when `budget` chunks of entries were gone through.
    /// [`TimingWheel::next_deadline`] is not later than `now` then, and the next call goes on from there.
    #[cfg(feature = "shared")]
    #[inline]
    pub(crate) fn expire_next_within(&mut self, now: Timestamp, budget: &mut usize) -> Option<Expired<T>> {
        let (id, deadline, value) = self.schedule.expire_next_within(now.ticks(), budget)?;
        Some(Expired { id, deadline: Timestamp::from_ticks(deadline), value })
    }

    /// When to call [`TimingWheel::expire_next`] again: never later than the earliest deadline, sometimes earlier,
    /// because of a timer that was removed or re-armed since. `None` if nothing will ever come due.
    ///
    /// After an [`TimingWheel::expire_next`] at the announced time that gave `None`, a later time is announced.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel = TimingWheel::new(t(0));
    /// wheel.insert(Timestamp::MAX, "never");
    /// assert_eq!(wheel.next_deadline(), None);
    /// wheel.insert(t(5_000), "later");
    /// assert_eq!(wheel.next_deadline(), Some(t(5_000)));
    /// ```
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.schedule.next_deadline().map(Timestamp::from_ticks)
    }

    /// How many timers wait.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel = TimingWheel::new(t(0));
    /// let id = wheel.insert(t(5), "tea");
    /// wheel.insert(Timestamp::MAX, "never");
    /// wheel.remove(id);
    /// assert_eq!(wheel.len(), 1);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.schedule.nodes().live()
    }

    /// Whether none waits.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel = TimingWheel::new(t(0));
    /// assert!(wheel.is_empty());
    /// wheel.insert(t(5), "tea");
    /// assert!(!wheel.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held for all timers, capacity included, what the values own excluded.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel = TimingWheel::new(t(0));
    /// for n in 0..100_000_u32 {
    ///     wheel.insert(t(u64::from(n)), n);
    /// }
    /// assert!(wheel.bytes() / wheel.len() < 100);
    /// ```
    pub fn bytes(&self) -> usize {
        self.schedule.bytes()
    }

    /// The latest tick handed out or passed.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_ticks(self.schedule.now())
    }

    /// Adds the timers of the first tick due at `now` to `due`, and leaves them in: removing them, or re-arming those
    /// that shall come due again, is the caller's part.
    pub(crate) fn collect_due(&mut self, now: Timestamp, due: &mut Vec<TimerId>) {
        self.schedule.collect_due(now.ticks(), due);
    }

    /// The ids of all timers, in no particular order.
    ///
    /// ```
    /// # use purgatory::{Timestamp, TimingWheel};
    /// # let t = Timestamp::from_ticks;
    /// let mut wheel = TimingWheel::new(t(0));
    /// let ids = [wheel.insert(t(5), 'a'), wheel.insert(t(6), 'b')];
    /// assert_eq!(wheel.ids().collect::<Vec<_>>(), ids);
    /// ```
    pub fn ids(&self) -> impl Iterator<Item = TimerId> + '_ {
        self.schedule.nodes().ids()
    }

    /// The id with this index, if one is live.
    #[inline]
    pub(crate) fn id_at(&self, index: u32) -> Option<TimerId> {
        self.schedule.nodes().id_at(index)
    }

    /// The timer whose id has this index, which is live.
    pub(crate) fn by_index(&self, index: u32) -> Option<(TimerId, &T)> {
        self.schedule.nodes().value_at(index)
    }
}

impl TimerId {
    /// Of the node at `index` while it is live, so that `generation` is odd.
    #[inline]
    fn new(index: u32, generation: u32) -> Self {
        debug_assert_eq!(generation % 2, 1, "only what is live has an id");
        Self { index, generation: NonZeroU32::MIN | generation }
    }

    #[inline]
    pub(crate) fn index(self) -> u32 {
        self.index
    }
}
