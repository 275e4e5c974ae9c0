//! Simulated time, and what is to happen when: one heap, in the order of time and then of entry.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use coordinator::Timestamp;

/// Microseconds in a millisecond.
pub const MS: u64 = 1_000;
/// Microseconds in a second.
pub const SECOND: u64 = 1_000 * MS;
/// Microseconds in a minute.
pub const MINUTE: u64 = 60 * SECOND;
/// Microseconds in an hour.
pub const HOUR: u64 = 60 * MINUTE;

/// A point of simulated time: microseconds since the simulation began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    /// Never.
    pub const NEVER: Self = Self(u64::MAX);

    /// So many microseconds later.
    #[must_use]
    pub fn after(self, span: u64) -> Self {
        Self(self.0.saturating_add(span))
    }

    /// Microseconds since `earlier`; 0 if that is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// As a coordinator's clock shows it: whole milliseconds.
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_ticks(self.0 / MS)
    }

    /// When a coordinator's clock first shows `timestamp`.
    pub fn of(timestamp: Timestamp) -> Self {
        Self(timestamp.ticks().saturating_mul(MS))
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:06}", self.0 / SECOND, self.0 % SECOND)
    }
}

/// A window of time: 2^12 microseconds.
const WINDOW_BITS: u32 = 12;
/// Windows ahead whose events are kept apart: about a minute.
const WINDOWS: usize = 1 << 14;

/// All that is to happen.
///
/// Only the events of the window of time that it is are in a heap, which is small; those of later windows lie in one
/// list for each until time comes there, those of a minute later in another heap.
#[derive(Debug)]
pub struct Agenda<E> {
    near: BinaryHeap<Reverse<Entry<E>>>,
    lists: Vec<Vec<Entry<E>>>,
    /// How many events are in the lists.
    listed: usize,
    far: BinaryHeap<Reverse<Entry<E>>>,
    window: u64,
    next: u64,
    now: Moment,
}

#[derive(Debug)]
struct Entry<E> {
    at: Moment,
    number: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self {
            near: BinaryHeap::new(),
            lists: std::iter::repeat_with(Vec::new).take(WINDOWS).collect(),
            listed: 0,
            far: BinaryHeap::new(),
            window: 0,
            next: 0,
            now: Moment::default(),
        }
    }
}

impl<E> Agenda<E> {
    /// The time it is.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// How many events have been entered.
    pub fn entered(&self) -> u64 {
        self.next
    }

    /// Enters an event. What is in the past happens now.
    pub fn enter(&mut self, at: Moment, event: E) {
        let entry = Entry { at: at.max(self.now), number: self.next, event };
        self.next += 1;
        self.place(entry);
    }

    fn place(&mut self, entry: Entry<E>) {
        let ahead = (entry.at.0 >> WINDOW_BITS).saturating_sub(self.window);
        if ahead == 0 {
            self.near.push(Reverse(entry));
        } else if ahead < WINDOWS as u64 {
            self.lists[list_of(self.window + ahead)].push(entry);
            self.listed += 1;
        } else {
            self.far.push(Reverse(entry));
        }
    }

    /// The next event up to `until`; time moves on to it, or to `until` if there is none.
    pub fn next(&mut self, until: Moment) -> Option<E> {
        while self.near.is_empty() && self.window < until.0 >> WINDOW_BITS {
            self.advance(until.0 >> WINDOW_BITS);
        }
        if self.near.peek().is_some_and(|Reverse(entry)| entry.at <= until) {
            let Reverse(entry) = self.near.pop()?;
            self.now = entry.at;
            return Some(entry.event);
        }
        self.now = self.now.max(until);
        None
    }

    /// Goes on to the next window, or at once to that of the next event if all are far; not beyond `last`.
    fn advance(&mut self, last: u64) {
        let far = self.far.peek().map_or(u64::MAX, |Reverse(entry)| entry.at.0 >> WINDOW_BITS);
        self.window = if self.listed == 0 { far.min(last).max(self.window + 1) } else { self.window + 1 };
        while self.far.peek().is_some_and(|Reverse(e)| (e.at.0 >> WINDOW_BITS) < self.window + WINDOWS as u64)
        {
            if let Some(Reverse(entry)) = self.far.pop() {
                self.place(entry);
            }
        }
        let begun = &mut self.lists[list_of(self.window)];
        self.listed -= begun.len();
        self.near.extend(begun.drain(..).map(Reverse));
    }
}

fn list_of(window: u64) -> usize {
    usize::try_from(window % WINDOWS as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_time_and_then_of_entry() {
        let mut agenda = Agenda::default();
        for (at, event) in [(5, 'c'), (1, 'a'), (5, 'd'), (3, 'b')] {
            agenda.enter(Moment(at), event);
        }
        let order: String = std::iter::from_fn(|| agenda.next(Moment(9))).collect();
        assert_eq!((order.as_str(), agenda.now()), ("abcd", Moment(9)));
    }

    #[test]
    fn near_and_far_events_come_in_order() {
        let mut random = crate::random::Random::new(1, "agenda", 0);
        let mut agenda = Agenda::default();
        let (mut model, mut entered) = (std::collections::BTreeSet::new(), 0_u64);
        for _ in 0..20_000 {
            let ahead = *random.pick(&[0, 1, MS, SECOND, MINUTE, HOUR]);
            let at = agenda.now().after(random.below(ahead + 1));
            agenda.enter(at, entered);
            model.insert((at, entered));
            entered += 1;
            for _ in 0..random.below(3) {
                let until = agenda.now().after(random.below(2 * ahead + 1));
                let expected = model.first().copied().filter(|(at, _)| *at <= until);
                assert_eq!(agenda.next(until), expected.map(|(_, event)| event));
                if let Some(first) = expected {
                    assert_eq!(agenda.now(), first.0);
                    model.remove(&first);
                }
            }
        }
        assert!(model.len() > 100, "some are left");
    }
}
