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
/// The end of a list, and of the places that are free.
const NOWHERE: u32 = u32::MAX;

/// All that is to happen.
///
/// Events lie in places that are used again, and are not moved until they happen. Those of the window of time that it is
/// are in the order of a heap, which is small; those of later windows in one list for each, and a bit for each says
/// whether there is one, so that time goes at once to the next window in which something happens; those of a minute later
/// in another heap.
#[derive(Debug)]
pub struct Agenda<E> {
    near: BinaryHeap<Reverse<Due>>,
    /// The first of each list.
    lists: Vec<u32>,
    occupied: Vec<u64>,
    /// How many events are in the lists.
    listed: usize,
    far: BinaryHeap<Reverse<Due>>,
    places: Vec<Place<E>>,
    /// The first place that is free.
    free: u32,
    window: u64,
    next: u64,
    now: Moment,
}

/// What is due when, in the order of entry, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Moment,
    number: u64,
    place: u32,
}

#[derive(Debug)]
struct Place<E> {
    at: Moment,
    number: u64,
    /// The next of the same list, or the next that is free.
    next: u32,
    event: Option<E>,
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self {
            near: BinaryHeap::new(),
            lists: vec![NOWHERE; WINDOWS],
            occupied: vec![0; WINDOWS / 64],
            listed: 0,
            far: BinaryHeap::new(),
            places: Vec::new(),
            free: NOWHERE,
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
    ///
    /// # Panics
    /// With 2^32 - 1 events that have not happened.
    pub fn enter(&mut self, at: Moment, event: E) {
        let (at, number) = (at.max(self.now), self.next);
        self.next += 1;
        let entry = Place { at, number, next: NOWHERE, event: Some(event) };
        let place = self.free;
        let place = if let Some(free) = self.places.get_mut(place as usize) {
            self.free = free.next;
            *free = entry;
            place
        } else {
            self.places.push(entry);
            u32::try_from(self.places.len() - 1).expect("events fit into memory")
        };
        self.list(Due { at, number, place });
    }

    fn list(&mut self, due: Due) {
        let ahead = (due.at.0 >> WINDOW_BITS).saturating_sub(self.window);
        if ahead == 0 {
            self.near.push(Reverse(due));
        } else if ahead < WINDOWS as u64 {
            let list = list_of(self.window + ahead);
            self.places[due.place as usize].next = std::mem::replace(&mut self.lists[list], due.place);
            self.occupied[list / 64] |= 1 << (list % 64);
            self.listed += 1;
        } else {
            self.far.push(Reverse(due));
        }
    }

    /// The next event up to `until`; time moves on to it, or to `until` if there is none.
    pub fn next(&mut self, until: Moment) -> Option<E> {
        while self.near.is_empty() && self.window < until.0 >> WINDOW_BITS {
            self.advance(until.0 >> WINDOW_BITS);
        }
        if self.near.peek().is_some_and(|Reverse(due)| due.at <= until) {
            let Reverse(due) = self.near.pop()?;
            self.now = due.at;
            let place = &mut self.places[due.place as usize];
            place.next = std::mem::replace(&mut self.free, due.place);
            return place.event.take();
        }
        self.now = self.now.max(until);
        None
    }

    /// Goes on to the next window in which something happens; not beyond `last`.
    fn advance(&mut self, last: u64) {
        let far = self.far.peek().map_or(u64::MAX, |Reverse(due)| due.at.0 >> WINDOW_BITS);
        self.window = self.next_listed().min(far).min(last);
        while self.far.peek().is_some_and(|Reverse(e)| (e.at.0 >> WINDOW_BITS) < self.window + WINDOWS as u64)
        {
            if let Some(Reverse(due)) = self.far.pop() {
                self.list(due);
            }
        }
        let begun = list_of(self.window);
        let mut place = std::mem::replace(&mut self.lists[begun], NOWHERE);
        self.occupied[begun / 64] &= !(1 << (begun % 64));
        while let Some(listed) = self.places.get(place as usize) {
            self.near.push(Reverse(Due { at: listed.at, number: listed.number, place }));
            self.listed -= 1;
            place = listed.next;
        }
    }

    /// The first window behind this one that has a list.
    fn next_listed(&self) -> u64 {
        if self.listed == 0 {
            return u64::MAX;
        }
        let mut ahead = 1;
        loop {
            let list = list_of(self.window + ahead);
            let rest = self.occupied[list / 64] >> (list % 64);
            if rest != 0 {
                return self.window + ahead + u64::from(rest.trailing_zeros());
            }
            ahead += 64 - (list % 64) as u64;
        }
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
