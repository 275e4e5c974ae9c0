//! Deadlines: who is due, and when the next one is. Never knows a key, a clock or a thread.

use std::collections::BTreeMap;

use slab::Slab;

use crate::Timestamp;

/// Names one timer of one wheel. Once the timer is gone the id is stale for good: it never names another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimerId {
    index: u32,
    generation: u32,
}

/// A timer that came due, by move.
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
/// assert_eq!(wheel.next_deadline(), Some(t(240)));
/// assert!(wheel.expire_next(t(239)).is_none());
/// assert_eq!(wheel.expire_next(t(240)).map(|due| due.value), Some("tea"));
/// assert!(!wheel.rearm(tea, t(900)));
/// ```
#[derive(Debug)]
pub struct TimingWheel<T> {
    timers: Slab<Timer<T>>,
    due: BTreeMap<(Timestamp, u64), u32>,
    now: Timestamp,
    inserted: u64,
}

#[derive(Debug)]
struct Timer<T> {
    generation: u32,
    deadline: Timestamp,
    place: (Timestamp, u64),
    value: T,
}

impl<T> TimingWheel<T> {
    /// An empty wheel whose time is `start`.
    pub fn new(start: Timestamp) -> Self {
        Self { timers: Slab::new(), due: BTreeMap::new(), now: start, inserted: 0 }
    }

    /// Adds a timer. A `deadline` in the past is due at the next [`TimingWheel::expire_next`].
    ///
    /// # Panics
    ///
    /// If there are 2^32 timers.
    pub fn insert(&mut self, deadline: Timestamp, value: T) -> TimerId {
        self.inserted += 1;
        let place = (deadline.max(self.now), self.inserted);
        let index =
            self.timers.insert(Timer { generation: Self::generation(place.1), deadline, place, value });
        let index = u32::try_from(index).expect("fewer than 2^32 timers");
        if deadline < Timestamp::MAX {
            self.due.insert(place, index);
        }
        TimerId { index, generation: Self::generation(place.1) }
    }

    /// Takes a timer out. `None` for a stale id.
    pub fn remove(&mut self, id: TimerId) -> Option<T> {
        let place = self.timer(id)?.place;
        self.due.remove(&place);
        self.timers.try_remove(id.index as usize).map(|timer| timer.value)
    }

    /// Gives a timer another deadline, earlier or later. `false` for a stale id.
    pub fn rearm(&mut self, id: TimerId, deadline: Timestamp) -> bool {
        let now = self.now;
        let Some(timer) = self.timers.get_mut(id.index as usize).filter(|t| t.generation == id.generation)
        else {
            return false;
        };
        self.due.remove(&timer.place);
        timer.deadline = deadline;
        timer.place.0 = deadline.max(now);
        if deadline < Timestamp::MAX {
            self.due.insert(timer.place, id.index);
        }
        true
    }

    /// What waits under `id`. `None` for a stale id.
    pub fn get(&self, id: TimerId) -> Option<&T> {
        self.timer(id).map(|timer| &timer.value)
    }

    /// What waits under `id`. `None` for a stale id.
    pub fn get_mut(&mut self, id: TimerId) -> Option<&mut T> {
        let timer = self.timers.get_mut(id.index as usize)?;
        (timer.generation == id.generation).then_some(&mut timer.value)
    }

    /// The deadline last given to `id`. `None` for a stale id.
    pub fn deadline(&self, id: TimerId) -> Option<Timestamp> {
        self.timer(id).map(|timer| timer.deadline)
    }

    /// Takes out the next timer with `deadline <= now`; `None` once no more are due.
    pub fn expire_next(&mut self, now: Timestamp) -> Option<Expired<T>> {
        let now = now.max(self.now);
        let Some(entry) = self.due.first_entry().filter(|entry| entry.key().0 <= now) else {
            self.now = now;
            return None;
        };
        self.now = entry.key().0;
        let index = entry.remove();
        let timer = self.timers.remove(index as usize);
        let id = TimerId { index, generation: timer.generation };
        Some(Expired { id, deadline: timer.deadline, value: timer.value })
    }

    /// When to call [`TimingWheel::expire_next`] again: never later than the earliest deadline, sometimes earlier.
    /// `None` if nothing will ever come due.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.due.first_key_value().map(|(place, _)| place.0)
    }

    /// How many timers wait.
    pub fn len(&self) -> usize {
        self.timers.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.timers.is_empty()
    }

    pub(crate) fn by_index(&self, index: u32) -> Option<(TimerId, &T)> {
        let timer = self.timers.get(index as usize)?;
        Some((TimerId { index, generation: timer.generation }, &timer.value))
    }

    fn timer(&self, id: TimerId) -> Option<&Timer<T>> {
        self.timers.get(id.index as usize).filter(|timer| timer.generation == id.generation)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the low half tells timers of one slot apart")]
    fn generation(inserted: u64) -> u32 {
        inserted as u32
    }
}

impl TimerId {
    pub(crate) fn index(self) -> u32 {
        self.index
    }
}
