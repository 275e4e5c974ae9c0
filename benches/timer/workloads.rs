//! The work: the same for everyone, checked by a sum over what expired and when.

use benches::measure::Numbers;

use crate::meter::{Meter, Stopwatch, Whole};
use crate::timers::Timers;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// What one run of a workload took and did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) operations: u64,
    pub(crate) cpu: u64,
    pub(crate) wall: u64,
    /// Of what expired while the time was taken.
    pub(crate) within: u64,
    /// Of what expired while the time was taken and afterwards; only of a run that checks.
    pub(crate) checksum: u64,
}

/// A workload by name, and what it needs of whoever does it.
pub(crate) struct Workload {
    /// What to call it on the command line.
    pub(crate) code: &'static str,
    pub(crate) title: &'static str,
    /// What is counted.
    pub(crate) of: &'static str,
    pub(crate) about: &'static str,
    pub(crate) depends_on_size: bool,
    /// The longest delay.
    pub(crate) longest: u64,
    pub(crate) needs_expiry: bool,
    pub(crate) needs_next: bool,
}

impl Workload {
    const fn new(code: &'static str, title: &'static str, of: &'static str, about: &'static str) -> Self {
        let (needs_expiry, needs_next) = (true, false);
        Self { code, title, of, about, depends_on_size: true, longest: MINUTE, needs_expiry, needs_next }
    }

    const fn expiring_nothing(mut self) -> Self {
        self.needs_expiry = false;
        self
    }

    const fn of_a_day(mut self) -> Self {
        self.longest = DAY;
        self
    }

    const fn of_one_size(mut self) -> Self {
        self.depends_on_size = false;
        self
    }

    const fn asking_next(mut self) -> Self {
        self.needs_next = true;
        self
    }
}

pub(crate) const WORKLOADS: [Workload; 12] = [
    Workload::new("W1c", "insert, from nothing", "insert", "1 to 60,000 ms ahead; growth and fresh memory included")
        .expiring_nothing(),
    Workload::new("W1", "insert", "insert", "the same, after all had expired once: memory is there and warm")
        .expiring_nothing(),
    Workload::new("W2", "re-arm", "re-arm", "any of them, anew 1 to 60,000 ms ahead; the clock stands still")
        .expiring_nothing(),
    Workload::new("W2c", "cancel and insert", "pair", "the same by a removal and an insertion").expiring_nothing(),
    Workload::new(
        "W2t",
        "re-arm, clock moving",
        "re-arm",
        "the same while as many re-arms as there are timers take a minute of its time; who expires comes back",
    ),
    Workload::new(
        "W3",
        "heartbeats",
        "re-arm",
        "sessions of 30 s, each re-armed every 3 s in an order of its own, the clock moving by 1 ms, all included",
    )
    .expiring_nothing(),
    Workload::new("W4", "expire by ticks", "timer", "all of them, by 60,000 steps of 1 ms"),
    Workload::new("W4j", "expire in one jump", "timer", "all of them, by one step of a minute"),
    Workload::new(
        "W5",
        "a whole life",
        "timer",
        "inserted over a second: 90 % for 10 to 100 ms, 10 % for 1 to 24 h; 70 % removed after 5 ms; the clock moving",
    )
    .of_a_day(),
    Workload::new("W6", "idle tick", "tick", "a step of 1 ms on which nothing is due; 100 timers over 24 h")
        .of_a_day()
        .of_one_size()
        .expiring_nothing(),
    Workload::new("W6n", "next deadline", "call", "of 100 timers over 24 h").of_a_day().of_one_size().asking_next(),
    Workload::new("W7", "all on one tick", "timer", "the one step of 1 ms on which all of them are due"),
];

/// The workload at `at` of [`WORKLOADS`].
pub(crate) fn run<T: Timers, M: Meter>(at: usize, count: u32, meter: M) -> Run {
    let works = [
        insert_cold,
        insert,
        rearm,
        replace,
        rearm_moving,
        heartbeats,
        expire_by_ticks,
        expire_at_once,
        life,
        idle_ticks,
        next_deadline,
        one_tick,
    ];
    works[at](Population::<T, Whole>::new(count), count, meter)
}

/// Timers, and those who know them, are told of what expired and sum it up.
struct Population<T: Timers, M> {
    timers: T,
    ids: Vec<Option<T::Id>>,
    due: Vec<u32>,
    expired: u64,
    checksum: u64,
    meter: M,
}

impl<T: Timers> Population<T, Whole> {
    fn new(count: u32) -> Self {
        let ids = std::iter::repeat_with(|| None).take(count as usize).collect();
        Self { timers: T::new(count), ids, due: Vec::new(), expired: 0, checksum: 0, meter: Whole }
    }

    /// What follows counts.
    fn counting<M: Meter>(self, meter: M) -> (Population<T, M>, Stopwatch) {
        let counting =
            Population { timers: self.timers, ids: self.ids, due: self.due, expired: 0, checksum: 0, meter };
        (counting, Stopwatch::start())
    }
}

impl<T: Timers, M: Meter> Population<T, M> {
    #[inline]
    fn insert(&mut self, value: u32, deadline: u64) {
        self.ids[value as usize] = Some(self.meter.call(|| self.timers.insert(deadline, value)));
    }

    #[inline]
    fn rearm(&mut self, value: u32, deadline: u64) {
        if let Some(id) = &mut self.ids[value as usize] {
            self.meter.call(|| self.timers.rearm(id, deadline, value));
        }
    }

    #[inline]
    fn remove(&mut self, value: u32) {
        if let Some(id) = self.ids[value as usize].take() {
            self.meter.call(|| self.timers.remove(id));
        }
    }

    /// Moves the clock to `now`.
    #[inline]
    fn expire(&mut self, now: u64) {
        self.meter.call(|| self.timers.expire(now, &mut self.due));
        for value in self.due.drain(..) {
            self.expired += 1;
            self.checksum = self.checksum.wrapping_add((u64::from(value) + 1).wrapping_mul(now));
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

    /// The time is over; what still waits, none of it longer than `longest`, expires only to be summed up.
    fn done(self, operations: u64, stopwatch: &Stopwatch, now: u64, longest: u64) -> Run {
        const STEPS: u64 = 600;
        let (cpu, wall) = stopwatch.read();
        let sum = |checksum: u64, expired: u64| checksum.wrapping_add(expired);
        let within = sum(self.checksum, self.expired);
        let mut run = Run { operations, cpu, wall, within, checksum: within };
        if M::CHECKS && T::EXPIRES {
            let Self { timers, ids, due, expired, checksum, .. } = self;
            let mut rest = Population { timers, ids, due, expired, checksum, meter: Whole };
            for step in 1..=STEPS {
                rest.expire(now + step * longest.div_ceil(STEPS));
            }
            assert!(rest.ids.iter().all(Option::is_none), "{}: not all of them expired", T::NAME);
            run.checksum = sum(rest.checksum, rest.expired);
        }
        run
    }
}

fn numbers() -> Numbers {
    Numbers::new(42)
}

/// Enough that each timer is re-armed several times over, so that the steady state counts; of the largest populations
/// as many as fit a run.
fn operations(count: u32) -> u64 {
    match count {
        0..=200_000 => (8 * u64::from(count)).max(10_000),
        200_001..=2_000_000 => 2 * u64::from(count),
        _ => (u64::from(count) / 2).max(4_000_000),
    }
}

fn insert_cold<T: Timers, M: Meter>(population: Population<T, Whole>, count: u32, meter: M) -> Run {
    let (mut population, stopwatch) = population.counting(meter);
    population.fill(0, &mut numbers());
    population.done(count.into(), &stopwatch, 0, MINUTE)
}

fn insert<T: Timers, M: Meter>(mut population: Population<T, Whole>, count: u32, meter: M) -> Run {
    let mut numbers = numbers();
    population.fill(0, &mut numbers);
    population.expire(MINUTE);
    let (mut population, stopwatch) = population.counting(meter);
    population.fill(MINUTE, &mut numbers);
    population.done(count.into(), &stopwatch, MINUTE, MINUTE)
}

fn rearm<T: Timers, M: Meter>(mut population: Population<T, Whole>, count: u32, meter: M) -> Run {
    let mut numbers = numbers();
    population.fill(0, &mut numbers);
    let (mut population, stopwatch) = population.counting(meter);
    for _ in 0..operations(count) {
        let value = any(&mut numbers, count);
        population.rearm(value, 1 + numbers.below(MINUTE));
    }
    population.done(operations(count), &stopwatch, 0, MINUTE)
}

fn replace<T: Timers, M: Meter>(mut population: Population<T, Whole>, count: u32, meter: M) -> Run {
    let mut numbers = numbers();
    population.fill(0, &mut numbers);
    let (mut population, stopwatch) = population.counting(meter);
    for _ in 0..operations(count) {
        let value = any(&mut numbers, count);
        population.remove(value);
        population.insert(value, 1 + numbers.below(MINUTE));
    }
    population.done(operations(count), &stopwatch, 0, MINUTE)
}

fn rearm_moving<T: Timers, M: Meter>(mut population: Population<T, Whole>, count: u32, meter: M) -> Run {
    let mut numbers = numbers();
    population.fill(0, &mut numbers);
    let a_tick = (u64::from(count) / MINUTE).max(1);
    let mut now = 0;
    let (mut population, stopwatch) = population.counting(meter);
    for operation in 0..operations(count) {
        if operation % a_tick == 0 {
            now += 1;
            population.expire(now);
        }
        let value = any(&mut numbers, count);
        let deadline = now + 1 + numbers.below(MINUTE);
        if population.ids[value as usize].is_some() {
            population.rearm(value, deadline);
        } else {
            population.insert(value, deadline);
        }
    }
    population.done(operations(count), &stopwatch, now, MINUTE)
}

/// Sessions that have been beating for long: whoever files lazily has them filed all over the 30 s, as it would.
fn heartbeats<T: Timers, M: Meter>(mut population: Population<T, Whole>, count: u32, meter: M) -> Run {
    const SESSION: u64 = 30_000;
    const BEAT: u64 = 3_000;
    /// A whole number of turns of rings of 64, 256 and 4,096 ticks, so that each boundary counts as often as it comes.
    const TURN: u64 = 8_192;
    let mut numbers = numbers();
    let order = numbers.shuffled(count);
    population.expire(MINUTE);
    for &value in &order {
        population.insert(value, MINUTE + 1 + numbers.below(SESSION));
    }
    let beats = |elapsed: u64| elapsed * u64::from(count) / BEAT;
    for (at, &value) in order.iter().enumerate() {
        population.rearm(value, MINUTE + SESSION - BEAT + 1 + BEAT * at as u64 / u64::from(count));
    }
    let span = if count < 100_000 { 8 * TURN } else { TURN };
    let (mut next, mut done) = (0, 0);
    let (mut population, stopwatch) = population.counting(meter);
    for elapsed in 1..=span {
        let now = MINUTE + elapsed;
        population.expire(now);
        while done < beats(elapsed) {
            population.rearm(order[next], now + SESSION);
            next = if next + 1 == order.len() { 0 } else { next + 1 };
            done += 1;
        }
    }
    population.done(done, &stopwatch, MINUTE + span, SESSION)
}

fn expire_by_ticks<T: Timers, M: Meter>(mut population: Population<T, Whole>, count: u32, meter: M) -> Run {
    population.fill(0, &mut numbers());
    let (mut population, stopwatch) = population.counting(meter);
    for now in 1..=MINUTE {
        population.expire(now);
    }
    population.done(count.into(), &stopwatch, MINUTE, 1)
}

fn expire_at_once<T: Timers, M: Meter>(mut population: Population<T, Whole>, count: u32, meter: M) -> Run {
    population.fill(0, &mut numbers());
    let (mut population, stopwatch) = population.counting(meter);
    population.expire(MINUTE);
    population.done(count.into(), &stopwatch, MINUTE, 1)
}

fn life<T: Timers, M: Meter>(population: Population<T, Whole>, count: u32, meter: M) -> Run {
    let mut numbers = numbers();
    let a_tick = (count / 1_000).max(1);
    let (mut now, mut value, mut removed) = (0, 0, 0);
    let (mut population, stopwatch) = population.counting(meter);
    while value < count {
        now += 1;
        population.expire(now);
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
    population.done(count.into(), &stopwatch, now, DAY)
}

/// A hundred timers within a day.
fn a_few<T: Timers, M: Meter>(population: &mut Population<T, M>) {
    let mut numbers = numbers();
    for value in 0..100 {
        population.insert(value, 1 + numbers.below(DAY));
    }
}

fn idle_ticks<T: Timers, M: Meter>(mut population: Population<T, Whole>, _count: u32, meter: M) -> Run {
    const TICKS: u64 = 500_000;
    a_few(&mut population);
    let (mut population, stopwatch) = population.counting(meter);
    for now in 1..=TICKS {
        population.expire(now);
    }
    population.done(TICKS, &stopwatch, TICKS, DAY)
}

fn next_deadline<T: Timers, M: Meter>(mut population: Population<T, Whole>, _count: u32, meter: M) -> Run {
    const ASKED: u64 = 100_000;
    a_few(&mut population);
    let mut found = 0;
    let (mut population, stopwatch) = population.counting(meter);
    for _ in 0..ASKED {
        let timers = std::hint::black_box(&mut population.timers);
        found += u64::from(population.meter.call(|| timers.next_deadline()).is_some());
    }
    assert_eq!(found, ASKED, "{}: there is a next deadline", T::NAME);
    population.done(ASKED, &stopwatch, 0, DAY)
}

fn one_tick<T: Timers, M: Meter>(mut population: Population<T, Whole>, count: u32, meter: M) -> Run {
    for value in 0..count {
        population.insert(value, MINUTE);
    }
    population.expire(MINUTE - 1);
    let (mut population, stopwatch) = population.counting(meter);
    population.expire(MINUTE);
    population.done(count.into(), &stopwatch, MINUTE, 1)
}

/// One of `count`.
fn any(numbers: &mut Numbers, count: u32) -> u32 {
    u32::try_from(numbers.below(count.into())).expect("an index")
}
