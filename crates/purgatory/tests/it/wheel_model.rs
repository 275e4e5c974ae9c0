//! The wheel against a sorted map: random steps from seeds, with deadlines and jumps of every size, at every uptime
//! where a level of the wheel could go wrong.

use std::collections::{BTreeMap, BTreeSet};

use purgatory::{TimerId, Timestamp, TimingWheel};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::hunt::{Run, seeds};

/// What the wheel should do, done with sorted maps.
#[derive(Default)]
struct Model {
    timers: BTreeMap<TimerId, Modelled>,
    /// What will come due, by when. What has the last deadline of all never does.
    due: BTreeSet<(u64, TimerId)>,
    /// All ids, in no order, to pick from.
    ids: Vec<TimerId>,
    now: u64,
}

struct Modelled {
    deadline: u64,
    /// When it counts as due: its deadline, or the time at which a deadline in the past was given.
    due: u64,
    value: u64,
    /// Where its id is.
    at: usize,
}

impl Model {
    fn insert(&mut self, id: TimerId, deadline: u64, value: u64) {
        let modelled = Modelled { deadline, due: deadline.max(self.now), value, at: self.ids.len() };
        if deadline < u64::MAX {
            self.due.insert((modelled.due, id));
        }
        self.ids.push(id);
        assert!(self.timers.insert(id, modelled).is_none(), "{id:?} named two timers");
    }

    fn remove(&mut self, id: TimerId) -> Modelled {
        let modelled = self.timers.remove(&id).expect("what leaves was waiting");
        self.due.remove(&(modelled.due, id));
        self.ids.swap_remove(modelled.at);
        if let Some(moved) = self.ids.get(modelled.at) {
            self.timers.get_mut(moved).expect("every id has its timer").at = modelled.at;
        }
        modelled
    }

    fn rearm(&mut self, id: TimerId, deadline: u64) {
        let modelled = self.timers.get_mut(&id).expect("picked from the model");
        self.due.remove(&(modelled.due, id));
        (modelled.deadline, modelled.due) = (deadline, deadline.max(self.now));
        if deadline < u64::MAX {
            self.due.insert((modelled.due, id));
        }
    }

    /// The earliest tick at which something is due.
    fn earliest(&self) -> Option<u64> {
        self.due.first().map(|&(due, _)| due)
    }
}

struct Check {
    wheel: TimingWheel<u64>,
    model: Model,
    gone: Vec<TimerId>,
    rng: ChaCha8Rng,
    next_value: u64,
}

fn t(ticks: u64) -> Timestamp {
    Timestamp::from_ticks(ticks)
}

impl Check {
    fn new(seed: u64, start: u64) -> Self {
        Self {
            wheel: TimingWheel::new(t(start)),
            model: Model { now: start, ..Model::default() },
            gone: Vec::new(),
            rng: ChaCha8Rng::seed_from_u64(seed),
            next_value: 0,
        }
    }

    /// A distance whose order of magnitude is uniform: 0, 1, 255, 256, 65,535, hours, years, nearly for ever.
    fn distance(&mut self) -> u64 {
        let bits = self.rng.random_range(0..=64_u32);
        let any = self.rng.random::<u64>().checked_shr(64 - bits).unwrap_or(0);
        match self.rng.random_range(0..4) {
            0 => 1_u64.checked_shl(bits).unwrap_or(u64::MAX),
            1 => 1_u64.checked_shl(bits).unwrap_or(u64::MAX) - 1,
            2 => self.rng.random_range(0..600),
            _ => any,
        }
    }

    fn deadline(&mut self) -> u64 {
        let distance = self.distance();
        match self.rng.random_range(0..10) {
            0 => self.model.now.saturating_sub(distance),
            1 => u64::MAX - distance.min(1_000),
            _ => self.model.now.saturating_add(distance),
        }
    }

    fn any_timer(&mut self) -> Option<TimerId> {
        let at = self.rng.random_range(0..self.model.ids.len().max(1));
        self.model.ids.get(at).copied()
    }

    fn insert(&mut self) {
        let deadline = self.deadline();
        let value = self.next_value;
        self.next_value += 1;
        let id = self.wheel.insert(t(deadline), value);
        self.model.insert(id, deadline, value);
        assert!(!self.gone.contains(&id), "{id:?} named a timer before");
    }

    fn remove(&mut self) {
        let Some(id) = self.any_timer() else { return };
        let modelled = self.model.remove(id);
        assert_eq!(self.wheel.remove(id), Some(modelled.value));
        self.forget(id);
    }

    fn rearm(&mut self) {
        let deadline = self.deadline();
        let Some(id) = self.any_timer() else { return };
        assert!(self.wheel.rearm(id, t(deadline)));
        self.model.rearm(id, deadline);
    }

    /// Some timers at once, one of them twice, among ids that are stale: the last word counts.
    fn rearm_batch(&mut self) {
        let mut batch = Vec::new();
        for _ in 0..self.rng.random_range(0..20) {
            let deadline = self.deadline();
            let stale = self.gone.last().copied().filter(|_| self.rng.random_range(0..8) == 0);
            batch.extend(stale.or_else(|| self.any_timer()).map(|id| (id, deadline)));
        }
        let live = batch.iter().filter(|(id, _)| self.model.timers.contains_key(id)).count();
        assert_eq!(self.wheel.rearm_batch(batch.iter().map(|&(id, deadline)| (id, t(deadline)))), live);
        for (id, deadline) in batch {
            if self.model.timers.contains_key(&id) {
                self.model.rearm(id, deadline);
            }
        }
    }

    fn forget(&mut self, id: TimerId) {
        if self.gone.len() < 64 {
            self.gone.push(id);
        } else {
            let at = self.rng.random_range(0..64);
            self.gone[at] = id;
        }
    }

    fn ask_stale(&mut self) {
        let Some(&id) = self.gone.last() else { return };
        assert!(!self.wheel.rearm(id, t(self.model.now)));
        assert_eq!(self.wheel.remove(id), None);
        assert_eq!(self.wheel.get(id), None);
        assert_eq!(self.wheel.deadline(id), None);
    }

    /// Moves the clock, sometimes back, and takes at most `limit` timers out.
    fn expire(&mut self, limit: usize) {
        let distance = self.distance();
        let now = match self.rng.random_range(0..8) {
            0 => self.model.now.saturating_sub(distance),
            1..4 => self.model.now.saturating_add(distance),
            _ => self.model.now.saturating_add(distance.min(300)),
        };
        for _ in 0..limit {
            if !self.expire_one(now) {
                break;
            }
        }
    }

    fn expire_one(&mut self, now: u64) -> bool {
        let now = now.max(self.model.now);
        let earliest = self.model.earliest().filter(|&due| due <= now);
        let Some(expired) = self.wheel.expire_next(t(now)) else {
            assert_eq!(earliest, None, "nothing came out at {now}");
            self.model.now = now;
            return false;
        };
        let modelled = self.model.remove(expired.id);
        assert_eq!((expired.value, expired.deadline), (modelled.value, t(modelled.deadline)));
        assert_eq!(Some(modelled.due), earliest, "out of order at {now}");
        self.model.now = modelled.due;
        self.forget(expired.id);
        true
    }

    fn compare(&self) {
        assert_eq!(self.wheel.len(), self.model.timers.len());
        assert_eq!(self.wheel.is_empty(), self.model.timers.is_empty());
        let earliest = self.model.earliest();
        match (self.wheel.next_deadline(), earliest) {
            (Some(next), Some(earliest)) => assert!(next <= t(earliest), "{next:?} is later than {earliest}"),
            (None, Some(earliest)) => panic!("{earliest} is not announced"),
            (_, None) => {}
        }
    }

    fn step(&mut self, population: usize) {
        let crowded = self.model.timers.len() > population;
        match self.rng.random_range(0..100) {
            0..35 if !crowded => self.insert(),
            0..48 => self.rearm(),
            48..50 => self.rearm_batch(),
            50..65 => self.remove(),
            65..68 => self.ask_stale(),
            68..71 => self.expire(3),
            _ => self.expire(usize::MAX),
        }
        self.compare();
    }

    /// A steady crowd of short and long timers, in which time passes slowly.
    fn crowd_step(&mut self, population: usize) {
        let crowded = self.model.timers.len() > population;
        match self.rng.random_range(0..100) {
            0..45 if !crowded => self.insert(),
            0..65 => self.rearm(),
            65..97 => self.remove(),
            97..99 => self.ask_stale(),
            _ => {
                let now = self.model.now + self.rng.random_range(0..4);
                while self.expire_one(now) {}
            }
        }
        self.compare();
    }

    fn finish(mut self) {
        while self.expire_one(u64::MAX) {}
        assert!(self.model.timers.values().all(|m| m.deadline == u64::MAX));
        for (id, modelled) in &self.model.timers {
            assert_eq!(self.wheel.remove(*id), Some(modelled.value));
        }
        assert!(self.wheel.is_empty());
        assert_eq!(self.wheel.next_deadline(), None);
    }
}

/// Starts just before, at and after every power of 256 and of two, and at both ends of time.
fn uptimes() -> Vec<u64> {
    let mut uptimes = vec![0, 1, u64::MAX - 1_000_000, u64::MAX - 300, u64::MAX - 1];
    for bits in 1..64 {
        let boundary = 1_u64 << bits;
        uptimes.extend([
            boundary - 200.min(boundary),
            boundary - 1,
            boundary,
            boundary + (boundary - 256.min(boundary)),
        ]);
    }
    uptimes
}

#[test]
fn random_steps_at_every_uptime() {
    let steps = if cfg!(debug_assertions) { 400 } else { 6_000 };
    for seed in seeds(1) {
        for start in uptimes() {
            let _run = Run { test: "random_steps_at_every_uptime", seed, start };
            for population in [4, 40] {
                let mut check = Check::new(seed ^ start, start);
                for _ in 0..steps {
                    check.step(population);
                }
                check.finish();
            }
        }
    }
}

/// Enough timers, and enough of them re-armed to earlier and removed, that what they leave behind is cleared away.
#[test]
fn random_steps_in_a_crowd() {
    let (steps, starts): (_, &[u64]) = if cfg!(debug_assertions) {
        (25_000, &[0])
    } else {
        (1_500_000, &[0, (1 << 32) - 5_000, u64::MAX - (1 << 40)])
    };
    for seed in seeds(1) {
        for &start in starts {
            let _run = Run { test: "random_steps_in_a_crowd", seed, start };
            for population in [600, 5_000] {
                let mut check = Check::new(seed ^ start ^ population as u64, start);
                for _ in 0..steps {
                    check.crowd_step(population);
                }
                check.finish();
            }
        }
    }
}

/// Every sequence of a few steps over the distances at which a slot, a level or a lap ends.
#[test]
fn exhaustive_for_small_sizes() {
    const DISTANCES: [u64; 8] = [0, 1, 255, 256, 257, 511, 65_535, 65_536];
    let starts =
        if cfg!(debug_assertions) { vec![0, 255] } else { vec![0, 1, 255, 256, 65_535, u64::MAX - 200_000] };
    for start in starts {
        for a in DISTANCES {
            for b in DISTANCES {
                for step in DISTANCES {
                    for again in DISTANCES {
                        two_timers(start, a, b, step, again);
                    }
                }
            }
        }
    }
}

/// Two timers, a jump, a re-arm of the survivor or of the first, then tick by event to the end.
fn two_timers(start: u64, a: u64, b: u64, step: u64, again: u64) {
    let mut wheel = TimingWheel::new(t(start));
    let mut due: Vec<(u64, char)> = vec![(start + a, 'a'), (start + b, 'b')];
    let ids = [wheel.insert(t(start + a), 'a'), wheel.insert(t(start + b), 'b')];
    let mut now = start + step;
    while let Some(expired) = wheel.expire_next(t(now)) {
        assert!(expired.deadline <= t(now));
        let at = due.iter().position(|&(_, name)| name == expired.value).expect("leaves once");
        assert_eq!(t(due.remove(at).0), expired.deadline);
    }
    assert!(due.iter().all(|&(deadline, _)| deadline > now), "{start} {a} {b} {step}: {due:?} late");
    for (id, name) in ids.into_iter().zip(['a', 'b']) {
        let waits = due.iter_mut().find(|&&mut (_, waiting)| waiting == name);
        assert_eq!(wheel.rearm(id, t(now + again)), waits.is_some());
        if let Some(waits) = waits {
            waits.0 = now + again;
        }
    }
    let mut passed = None;
    while let Some(next) = wheel.next_deadline() {
        assert!(passed < Some(next), "{start} {a} {b} {step} {again}: {next:?} is announced again");
        now = now.max(next.ticks());
        passed = Some(t(now));
        while let Some(expired) = wheel.expire_next(t(now)) {
            let at = due.iter().position(|&(_, name)| name == expired.value).expect("leaves once");
            let (deadline, _) = due.remove(at);
            assert_eq!(deadline, now.max(deadline), "{start} {a} {b} {step} {again}: {expired:?} late");
            assert_eq!(t(deadline), expired.deadline);
        }
    }
    assert!(due.is_empty() && wheel.is_empty(), "{start} {a} {b} {step} {again}: {due:?} never came");
}
