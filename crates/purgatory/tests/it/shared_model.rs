//! The shared purgatory, in one thread under a simulated clock, against a list of what waits: random steps from seeds.
//!
//! The model is told what left and why, judges whether it might, and knows what must have; all counts must agree after
//! every step. Half of the runs take exits from the channel, half have an executor that meddles.

mod judgement;
mod operations;

use std::collections::BTreeSet;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use purgatory::{
    Cause, Driver, Exits, Options, Refused, SharedId, SharedPurgatory, SharedStats, SimulatedClock,
    Submission, Timestamp, Wait,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::hunt::{Run, seeds};
use operations::{Event, KEYS, MapName, Mood, Operation, SharedMood, Subject, World};

struct Waiting {
    name: u64,
    keys: BTreeSet<u8>,
    /// Those that were not reached.
    thresholds: Vec<(u8, u64)>,
    deadline: u64,
    mood: SharedMood,
    /// None of a future.
    id: Option<SharedId>,
    /// It was cancelled while it was in hand.
    noted: bool,
}

/// What a step may do to operations that are not found ready.
#[derive(Clone, Copy, Default)]
struct Allowed {
    cause: Option<Cause>,
    forced: bool,
}

struct Check {
    clock: SimulatedClock,
    driver: Driver,
    world: Arc<World>,
    exits: Option<Exits<Operation>>,
    waits: Vec<(u64, Pin<Box<Wait>>)>,
    model: Vec<Waiting>,
    stats: SharedStats,
    rng: ChaCha8Rng,
    bound: usize,
    now: u64,
    /// The latest that the clock has shown.
    latest: u64,
    next_name: u64,
    last_gone: Option<SharedId>,
    left: u64,
}

fn t(ticks: u64) -> Timestamp {
    Timestamp::from_ticks(ticks)
}

impl Check {
    fn new(seed: u64, start: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let bound = if rng.random_bool(0.3) { 30 } else { 400 };
        let shards = [1, 2, 16][rng.random_range(0..3)];
        let options = Options { max_pending: bound, shards, ..Options::default() };
        let clock = SimulatedClock::new(t(start));
        let driver = Driver::manual(clock.clone());
        let world = Arc::new(World::new(seed));
        let (purgatory, exits) = if seed.is_multiple_of(2) {
            let (purgatory, exits) = SharedPurgatory::with_channel(&driver, &options);
            (purgatory, Some(exits))
        } else {
            let inside = Arc::downgrade(&world);
            let run = move |exit| inside.upgrade().expect("the test holds it").run(&exit);
            (SharedPurgatory::with_executor(&driver, &options, run), None)
        };
        assert!(world.purgatory.set(purgatory).is_ok());
        Self {
            clock,
            driver,
            world,
            exits,
            waits: Vec::new(),
            model: Vec::new(),
            stats: SharedStats::default(),
            rng,
            bound,
            now: start,
            latest: start,
            next_name: 0,
            last_gone: None,
            left: 0,
        }
    }

    fn purgatory(&self) -> Subject {
        self.world.purgatory.get().expect("set when made").clone()
    }

    fn key(&mut self) -> u8 {
        self.rng.random_range(0..KEYS)
    }

    fn keys(&mut self) -> Vec<u8> {
        (0..self.rng.random_range(0..5)).map(|_| self.key()).collect()
    }

    /// Few distinct deadlines, so that many fall together; some past, some never, some near the end of time.
    fn deadline(&mut self) -> u64 {
        match self.rng.random_range(0..12) {
            0 => u64::MAX - self.rng.random_range(0..3),
            1 => self.now.saturating_sub(self.rng.random_range(0..20)),
            2 => self.now.saturating_add(1 << self.rng.random_range(0..40)),
            3..6 => (self.now.saturating_add(self.rng.random_range(0..3_000)) | 511).min(u64::MAX - 1),
            _ => (self.now.saturating_add(self.rng.random_range(0..400)) | 31).min(u64::MAX - 1),
        }
    }

    fn mood(&mut self) -> Mood {
        match self.rng.random_range(0..20) {
            0..4 => Mood::Ready,
            4 => Mood::Panics,
            5 => Mood::CancelsItself,
            6 => Mood::TriggersItself,
            _ => Mood::Waits,
        }
    }

    fn any(&mut self) -> Option<usize> {
        let count = self.model.len();
        (count > 0).then(|| self.rng.random_range(0..count))
    }

    fn submit(&mut self) {
        let (name, keys, deadline) = (self.next_name, self.keys(), self.deadline());
        self.next_name += 1;
        let first = match self.rng.random_range(0..20) {
            0 => Mood::Ready,
            1 => Mood::Panics,
            _ => Mood::Waits,
        };
        let then = self.mood();
        let with_thresholds = self.rng.random_bool(0.3);
        let thresholds: Vec<_> = keys.iter().map(|&key| (key, self.rng.random_range(0..50))).collect();
        let (mood, id) = (SharedMood::new(first), Arc::default());
        let operation = Operation {
            name,
            key: keys.first().copied().unwrap_or_default(),
            mood: mood.clone(),
            then: Some(then),
            id: Arc::clone(&id),
            world: Arc::downgrade(&self.world),
        };
        let purgatory = self.purgatory();
        let submitted = catch_unwind(AssertUnwindSafe(|| {
            if with_thresholds {
                purgatory.try_complete_else_watch_thresholds(operation, thresholds.clone(), t(deadline))
            } else {
                purgatory.try_complete_else_watch(operation, keys.clone(), t(deadline))
            }
        }));
        let Ok(submitted) = submitted else {
            assert_eq!(first, Mood::Panics, "nothing was registered");
            return;
        };
        match submitted {
            Ok(Submission::Completed(operation)) => {
                assert_eq!(
                    (operation.name, operation.mood.get() == Mood::Ready || first == Mood::Ready),
                    (name, true)
                );
                self.stats.submitted += 1;
                self.stats.satisfied += 1;
            }
            Ok(Submission::Watched(parked)) => {
                assert!(first == Mood::Waits && self.model.len() < self.bound);
                id.set(parked).expect("set once");
                self.world.ids.lock().expect("nobody panics with it").push((name, parked));
                self.stats.submitted += 1;
                let (keys, thresholds) = if with_thresholds {
                    (BTreeSet::new(), thresholds)
                } else {
                    (keys.into_iter().collect(), Vec::new())
                };
                self.model.push(Waiting {
                    name,
                    keys,
                    thresholds,
                    deadline,
                    mood,
                    id: Some(parked),
                    noted: false,
                });
            }
            Err(Refused::Full(operation)) => {
                assert_eq!((operation.name, first, self.model.len()), (name, Mood::Waits, self.bound));
            }
            Err(refused) => panic!("{refused}"),
        }
        // In the second examination it may have left again, or let others go.
        self.settle(Allowed::default());
        let here = self.model.iter().find(|waiting| waiting.name == name);
        assert!(
            here.is_none_or(|waiting| !matches!(waiting.mood.get(), Mood::Panics) || then != Mood::Panics)
        );
    }

    fn wait(&mut self) {
        let (name, keys, deadline) = (self.next_name, self.keys(), self.deadline());
        self.next_name += 1;
        let ready = self.rng.random_bool(0.1);
        let mood = SharedMood::new(if ready { Mood::Ready } else { Mood::Waits });
        let asked = mood.clone();
        let condition = move || match asked.get() {
            Mood::Panics => panic!("this condition fails"),
            mood => mood == Mood::Ready,
        };
        match self.purgatory().wait(keys.clone(), t(deadline), condition) {
            Ok(mut wait) if ready => {
                let mut context = Context::from_waker(Waker::noop());
                assert_eq!(Pin::new(&mut wait).poll(&mut context), Poll::Ready(Cause::Satisfied));
                self.stats.submitted += 1;
                self.stats.satisfied += 1;
            }
            Ok(wait) => {
                assert!(self.model.len() < self.bound);
                self.stats.submitted += 1;
                self.waits.push((name, Box::pin(wait)));
                let keys = keys.into_iter().collect();
                self.model.push(Waiting {
                    name,
                    keys,
                    thresholds: Vec::new(),
                    deadline,
                    mood,
                    id: None,
                    noted: false,
                });
            }
            Err(refused) => assert_eq!((refused, self.model.len()), (Refused::Full(()), self.bound)),
        }
    }

    fn drop_a_wait(&mut self) {
        if self.waits.is_empty() {
            return;
        }
        let at = self.rng.random_range(0..self.waits.len());
        let (name, wait) = self.waits.swap_remove(at);
        drop(wait);
        self.apply(Event::Taken(name), Allowed::default());
    }

    fn change_moods(&mut self) {
        for _ in 0..self.rng.random_range(1..10) {
            let (mood, Some(at)) = (self.mood(), self.any()) else { return };
            self.model[at].mood.set(mood);
        }
    }

    fn complete(&mut self) {
        let key = self.key();
        let leaves = |waiting: &Waiting| {
            waiting.keys.contains(&key)
                && (waiting.mood.get() == Mood::Ready
                    || waiting.mood.get() != Mood::Waits && waiting.id.is_some())
        };
        let expected = self.names(leaves);
        let satisfied = self.stats.satisfied;
        let calm = self.model.iter().all(|waiting| waiting.mood.get() != Mood::TriggersItself);
        let completed = self.purgatory().complete(&key);
        self.settle(Allowed::default());
        self.assert_gone(&expected);
        if calm && self.exits.is_some() {
            assert_eq!(completed as u64, self.stats.satisfied - satisfied);
        }
    }

    fn reach(&mut self) {
        let (key, value) = (self.key(), self.rng.random_range(0..50));
        let reached = |&(k, minimum): &(u8, u64)| k == key && minimum <= value;
        let leaves = |waiting: &Waiting| {
            waiting.thresholds.iter().any(reached)
                && matches!(waiting.mood.get(), Mood::Ready | Mood::Panics | Mood::CancelsItself)
        };
        let expected = self.names(leaves);
        for waiting in &mut self.model {
            waiting.thresholds.retain(|threshold| !reached(threshold));
        }
        self.purgatory().reach(&key, value);
        self.settle(Allowed::default());
        self.assert_gone(&expected);
    }

    fn complete_all(&mut self) {
        let key = self.key();
        let under = |waiting: &Waiting| {
            waiting.keys.contains(&key) || waiting.thresholds.iter().any(|&(k, _)| k == key)
        };
        let expected = self.names(under);
        let cause = [Cause::Cancelled, Cause::Shutdown][self.rng.random_range(0..2)];
        let left = self.purgatory().complete_all(&key, cause);
        if self.exits.is_some() {
            assert_eq!(left, expected.len());
        }
        self.settle(Allowed { cause: Some(cause), forced: false });
        self.assert_gone(&expected);
    }

    fn cancel(&mut self) {
        let Some(at) = self.any() else { return };
        let Some(id) = self.model[at].id else { return };
        assert_eq!(self.purgatory().cancel(id).map_name(), Ok(self.model[at].name));
        self.apply(Event::Taken(self.model[at].name), Allowed::default());
    }

    fn force_complete(&mut self) {
        let chosen: BTreeSet<_> = (0..self.rng.random_range(0..6)).filter_map(|_| self.any()).collect();
        let chosen = chosen.into_iter().filter_map(|at| Some((self.model[at].name, self.model[at].id?)));
        let (names, ids): (Vec<_>, Vec<_>) = chosen.unzip();
        if let ([name], [id]) = (&*names, &*ids) {
            assert!(self.purgatory().force_complete(*id), "{name}");
        } else {
            assert_eq!(self.purgatory().force_complete_all(ids.iter().copied()), ids.len());
        }
        self.settle(Allowed { cause: None, forced: true });
        self.assert_gone(&names);
    }

    fn extend(&mut self) {
        let (deadline, Some(at)) = (self.deadline(), self.any()) else { return };
        let Some(id) = self.model[at].id else { return };
        assert!(self.purgatory().extend(id, t(deadline)));
        self.model[at].deadline = deadline;
    }

    fn let_time_pass(&mut self) {
        self.now = match self.rng.random_range(0..40) {
            0 => self.now.saturating_sub(self.rng.random_range(0..1_000)),
            1 => self.now.saturating_add(1 << self.rng.random_range(0..42)),
            2..8 => self.now.saturating_add(self.rng.random_range(0..3_000)),
            _ => self.now.saturating_add(self.rng.random_range(0..40)),
        };
        self.latest = self.latest.max(self.now);
        self.clock.set(t(self.now));
        let next = self.driver.turn();
        self.settle(Allowed::default());
        let deadlines = self.model.iter().map(|waiting| waiting.deadline);
        let earliest = deadlines.filter(|&deadline| deadline < u64::MAX).min();
        assert!(
            earliest.is_none_or(|earliest| next.is_some_and(|next| next <= t(earliest.max(self.latest))))
        );
        if self.now == self.latest {
            assert!(earliest.is_none_or(|earliest| earliest > self.now), "{earliest:?} at {}", self.now);
        }
    }

    fn names(&self, which: impl Fn(&Waiting) -> bool) -> Vec<u64> {
        self.model.iter().filter(|waiting| which(waiting)).map(|waiting| waiting.name).collect()
    }

    fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..30 => self.submit(),
            30..37 => self.wait(),
            37..40 => self.drop_a_wait(),
            40..52 => self.change_moods(),
            52..62 => self.complete(),
            62..67 => self.reach(),
            67 => self.complete_all(),
            68..72 => self.cancel(),
            72..74 => self.force_complete(),
            74..84 => self.extend(),
            _ => self.let_time_pass(),
        }
        self.compare();
    }

    /// Everything leaves, nothing comes in any more.
    fn finish(mut self) -> u64 {
        let all = self.names(|_| true);
        let left = self.purgatory().shutdown();
        assert!(self.exits.is_none() || left == all.len());
        self.settle(Allowed { cause: Some(Cause::Shutdown), forced: false });
        self.assert_gone(&all);
        assert!(self.model.is_empty());
        self.compare();
        let refused = self.purgatory().wait([1], Timestamp::MAX, || false);
        assert_eq!(refused.err(), Some(Refused::ShutDown(())));
        // The bound may be that of one that has left; a wake-up that finds nothing is the last.
        self.clock.set(Timestamp::MAX);
        assert_eq!((self.driver.turn(), self.purgatory().next_deadline()), (None, None));
        self.left
    }
}

#[test]
fn random_steps() {
    let (few, steps) = if cfg!(debug_assertions) { (4, 1_000) } else { (16, 20_000) };
    let (seeds, mut left) = (seeds(few), 0);
    std::panic::set_hook(Box::new(quietly));
    for seed in seeds.clone() {
        for start in
            [0, 65_500, (1 << 24) - 300, (1 << 32) - 100, (1 << 40) - 1, u64::MAX - (1 << 20), u64::MAX - 300]
        {
            let _run = Run { test: "shared_model::random_steps", seed, start };
            let mut check = Check::new(seed, start);
            for _ in 0..steps {
                check.step();
            }
            left += check.finish();
        }
    }
    println!("shared_model: seeds {seeds:?}, {steps} steps each from 7 starts, {left} operations left");
}

/// Panics that are part of the test are not news.
fn quietly(panic: &std::panic::PanicHookInfo<'_>) {
    let said = panic.payload_as_str().unwrap_or_default();
    if !said.ends_with("fails") {
        eprintln!("{panic}");
    }
}
