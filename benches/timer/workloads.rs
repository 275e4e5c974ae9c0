//! The work: the same for everyone, checked by a sum over what expired and when.

use benches::measure::{Numbers, cpu_nanos};

use crate::timers::Timers;

const MINUTE: u64 = 60_000;

/// What one run of a workload took and did.
pub(crate) struct Run {
    pub(crate) operations: u64,
    pub(crate) nanos: u64,
    pub(crate) checksum: u64,
}

/// A population that is told of what expired, and sums it up.
struct Population<T: Timers> {
    timers: T,
    ids: Vec<Option<T::Id>>,
    due: Vec<u32>,
    expired: u64,
    checksum: u64,
}

impl<T: Timers> Population<T> {
    fn new(count: u32) -> Self {
        let ids = std::iter::repeat_with(|| None).take(count as usize).collect();
        Self { timers: T::new(), ids, due: Vec::new(), expired: 0, checksum: 0 }
    }

    #[inline]
    fn insert(&mut self, value: u32, deadline: u64) {
        self.ids[value as usize] = Some(self.timers.insert(deadline, value));
    }

    #[inline]
    fn rearm(&mut self, value: u32, deadline: u64) {
        if let Some(id) = &mut self.ids[value as usize] {
            self.timers.rearm(id, deadline, value);
        }
    }

    #[inline]
    fn remove(&mut self, value: u32) {
        if let Some(id) = self.ids[value as usize].take() {
            self.timers.remove(id);
        }
    }

    #[inline]
    fn expire(&mut self, now: u64, when: u64) {
        self.timers.expire(now, &mut self.due);
        for value in self.due.drain(..) {
            self.expired += 1;
            self.checksum = self.checksum.wrapping_add((u64::from(value) + 1).wrapping_mul(when));
            if let Some(id) = self.ids[value as usize].take() {
                self.timers.expired(id);
            }
        }
    }

    fn fill(&mut self, now: u64, numbers: &mut Numbers) {
        for value in 0..u32::try_from(self.ids.len()).expect("fewer than 2^32") {
            self.insert(value, now + 1 + numbers.below(MINUTE));
        }
    }

    /// Fills and empties once, so that memory is there and warm.
    fn warmed(count: u32, numbers: &mut Numbers) -> Self {
        let mut population = Self::new(count);
        population.fill(0, numbers);
        population.expire(MINUTE, 1);
        population.checksum = 0;
        population.expired = 0;
        population
    }

    fn run(self, operations: u64, since: u64) -> Run {
        Run { operations, nanos: cpu_nanos() - since, checksum: self.checksum.wrapping_add(self.expired) }
    }
}

fn numbers() -> Numbers {
    Numbers::new(42)
}

/// Enough that a population is re-armed several times over: the steady state counts.
fn operations(count: u32) -> u64 {
    (8 * u64::from(count)).clamp(10_000, 8_000_000)
}

/// W1: insert, 1 to 60,000 ms ahead. Memory is warm.
pub(crate) fn insert<T: Timers>(count: u32) -> Run {
    let mut numbers = numbers();
    let mut population = Population::<T>::warmed(count, &mut numbers);
    let since = cpu_nanos();
    population.fill(MINUTE, &mut numbers);
    population.run(count.into(), since)
}

/// W1 from nothing: growth and fresh memory included.
pub(crate) fn insert_cold<T: Timers>(count: u32) -> Run {
    let mut population = Population::<T>::new(count);
    let since = cpu_nanos();
    population.fill(0, &mut numbers());
    population.run(count.into(), since)
}

/// W2: re-arm any of them, anew 1 to 60,000 ms ahead; the clock stands still.
pub(crate) fn rearm<T: Timers>(count: u32) -> Run {
    let mut numbers = numbers();
    let mut population = Population::<T>::warmed(count, &mut numbers);
    population.fill(MINUTE, &mut numbers);
    let since = cpu_nanos();
    for _ in 0..operations(count) {
        let value = u32::try_from(numbers.below(count.into())).expect("an index");
        population.rearm(value, MINUTE + 1 + numbers.below(MINUTE));
    }
    population.run(operations(count), since)
}

/// W2t: the same, with the clock moving: one pass over all takes a minute of its time, and who expires comes back.
pub(crate) fn rearm_moving<T: Timers>(count: u32) -> Run {
    let mut numbers = numbers();
    let mut population = Population::<T>::warmed(count, &mut numbers);
    population.fill(MINUTE, &mut numbers);
    let a_tick = (u64::from(count) / MINUTE).max(1);
    let mut now = MINUTE;
    let since = cpu_nanos();
    for operation in 0..operations(count) {
        if operation % a_tick == 0 {
            now += 1;
            population.expire(now, now);
        }
        let value = u32::try_from(numbers.below(count.into())).expect("an index");
        let deadline = now + 1 + numbers.below(MINUTE);
        if population.ids[value as usize].is_some() {
            population.rearm(value, deadline);
        } else {
            population.insert(value, deadline);
        }
    }
    population.run(operations(count), since)
}

/// W2c: remove any of them and insert it again.
pub(crate) fn replace<T: Timers>(count: u32) -> Run {
    let mut numbers = numbers();
    let mut population = Population::<T>::warmed(count, &mut numbers);
    population.fill(MINUTE, &mut numbers);
    let since = cpu_nanos();
    for _ in 0..operations(count) {
        let value = u32::try_from(numbers.below(count.into())).expect("an index");
        population.remove(value);
        population.insert(value, MINUTE + 1 + numbers.below(MINUTE));
    }
    population.run(operations(count), since)
}

/// W3: sessions of 30 s, each re-armed every 3 s in an order of its own, for 45 s by steps of 1 ms; steps included.
pub(crate) fn heartbeats<T: Timers>(count: u32) -> Run {
    const SESSION: u64 = 30_000;
    const BEAT: u64 = 3_000;
    const SPAN: u64 = 45_000;
    let mut numbers = numbers();
    let mut population = Population::<T>::warmed(count, &mut numbers);
    let order = numbers.shuffled(count);
    for &value in &order {
        population.insert(value, MINUTE + SESSION);
    }
    let beats = |elapsed: u64| elapsed * u64::from(count) / BEAT;
    let (mut next, mut done) = (0, 0);
    let since = cpu_nanos();
    for elapsed in 1..=SPAN {
        let now = MINUTE + elapsed;
        population.expire(now, now);
        while done < beats(elapsed) {
            population.rearm(order[next], now + SESSION);
            next = if next + 1 == order.len() { 0 } else { next + 1 };
            done += 1;
        }
    }
    population.run(done, since)
}

/// W4: expire all, by steps of 1 ms.
pub(crate) fn expire_by_ticks<T: Timers>(count: u32) -> Run {
    let mut numbers = numbers();
    let mut population = Population::<T>::warmed(count, &mut numbers);
    population.fill(MINUTE, &mut numbers);
    let since = cpu_nanos();
    for now in MINUTE + 1..=2 * MINUTE {
        population.expire(now, now);
    }
    population.run(count.into(), since)
}

/// W4: expire all, in one jump.
pub(crate) fn expire_at_once<T: Timers>(count: u32) -> Run {
    let mut numbers = numbers();
    let mut population = Population::<T>::warmed(count, &mut numbers);
    population.fill(MINUTE, &mut numbers);
    let since = cpu_nanos();
    population.expire(2 * MINUTE, 1);
    population.run(count.into(), since)
}

/// W5: a timer's whole life. 90 % are 10 to 100 ms, 10 % 1 to 24 h; 70 % are removed after 5 ms. A thousandth of them
/// comes every millisecond.
pub(crate) fn life<T: Timers>(count: u32) -> Run {
    const HOUR: u64 = 3_600_000;
    let mut numbers = numbers();
    let mut population = Population::<T>::warmed(count, &mut numbers);
    let a_tick = (count / 1_000).max(1);
    let (mut now, mut value, mut removed) = (MINUTE, 0, 0);
    let since = cpu_nanos();
    while value < count {
        now += 1;
        population.expire(now, now);
        for _ in 0..a_tick.min(count - value) {
            let long = numbers.below(10) == 0;
            let delay = if long { HOUR + numbers.below(23 * HOUR) } else { 10 + numbers.below(91) };
            population.insert(value, now + delay);
            value += 1;
        }
        while removed + 5 * a_tick < value {
            if numbers.below(10) < 7 {
                population.remove(removed);
            }
            removed += 1;
        }
    }
    population.run(count.into(), since)
}

/// W6: a tick on which nothing is due, with 100 timers over 24 h.
pub(crate) fn idle_ticks<T: Timers>(_count: u32) -> Run {
    const DAY: u64 = 86_400_000;
    const TICKS: u64 = 1_000_000;
    let mut numbers = numbers();
    let mut population = Population::<T>::new(100);
    for value in 0..100 {
        population.insert(value, 1 + numbers.below(DAY));
    }
    let since = cpu_nanos();
    for now in 1..=TICKS {
        population.expire(now, now);
    }
    population.run(TICKS, since)
}

/// W6: asking for the next deadline of the same, as time passes.
pub(crate) fn next_deadline<T: Timers>(_count: u32) -> Run {
    const DAY: u64 = 86_400_000;
    const ASKED: u64 = 100_000;
    let mut numbers = numbers();
    let mut population = Population::<T>::new(100);
    for value in 0..100 {
        population.insert(value, 1 + numbers.below(DAY));
    }
    let mut found = 0;
    let since = cpu_nanos();
    for _ in 0..ASKED {
        found += u64::from(std::hint::black_box(&population.timers).next_deadline().is_some());
    }
    let mut run = population.run(ASKED, since);
    run.checksum = u64::from(found > 0);
    run
}

/// W7: all on one tick, a minute ahead: the time that tick takes, a timer.
pub(crate) fn one_tick<T: Timers>(count: u32) -> Run {
    let mut population = Population::<T>::warmed(count, &mut numbers());
    for value in 0..count {
        population.insert(value, 2 * MINUTE);
    }
    population.expire(2 * MINUTE - 1, 0);
    let since = cpu_nanos();
    population.expire(2 * MINUTE, 1);
    population.run(count.into(), since)
}

/// The worst single insert of a population from nothing, and the worst single step of 1 ms as it expires, in ns.
pub(crate) fn worst_calls<T: Timers>(count: u32) -> [u64; 2] {
    let mut numbers = numbers();
    let mut population = Population::<T>::new(count);
    let timed = |worst: &mut u64, work: &mut dyn FnMut()| {
        let since = cpu_nanos();
        work();
        *worst = (*worst).max(cpu_nanos() - since);
    };
    let [mut insert, mut step] = [0, 0];
    for value in 0..count {
        let deadline = 1 + numbers.below(MINUTE);
        timed(&mut insert, &mut || population.insert(value, deadline));
    }
    for now in 1..=MINUTE {
        timed(&mut step, &mut || population.expire(now, now));
    }
    [insert, step]
}

/// Bytes a timer takes, its `u32` value included, where it is known.
pub(crate) fn bytes_each<T: Timers>(count: u32) -> Option<f64> {
    let mut population = Population::<T>::new(count);
    population.fill(0, &mut numbers());
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    population.timers.bytes().map(|bytes| bytes as f64 / f64::from(count))
}
