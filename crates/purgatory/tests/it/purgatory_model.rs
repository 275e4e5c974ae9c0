//! The purgatory against a list of operations: random steps from seeds; the order of exits must be the same too.

use purgatory::{Cause, OperationId, Purgatory, Stats, Submission, Timestamp};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::hunt::{Run, seeds};

/// What the purgatory should do, done slowly: everything that waits, in watch order.
#[derive(Default)]
struct Model {
    pending: Vec<Modelled>,
    now: u64,
    stats: Stats,
}

struct Modelled {
    id: OperationId,
    operation: u64,
    keys: Vec<u8>,
    /// Which keys must yet reach what. Empty for those that wait for a trigger.
    thresholds: Vec<(u8, u64)>,
    deadline: u64,
    due: u64,
}

struct Check {
    purgatory: Purgatory<u8, u64>,
    model: Model,
    rng: ChaCha8Rng,
    next_operation: u64,
    last_gone: Option<OperationId>,
}

fn t(ticks: u64) -> Timestamp {
    Timestamp::from_ticks(ticks)
}

impl Check {
    fn new(seed: u64, start: u64) -> Self {
        Self {
            purgatory: Purgatory::new(t(start)),
            model: Model { now: start, ..Model::default() },
            rng: ChaCha8Rng::seed_from_u64(seed),
            next_operation: 0,
            last_gone: None,
        }
    }

    /// Few distinct deadlines, so that many fall together; some past, some never.
    fn deadline(&mut self) -> u64 {
        match self.rng.random_range(0..12) {
            0 => u64::MAX,
            1 => self.model.now.saturating_sub(self.rng.random_range(0..20)),
            2 => self.model.now.saturating_add(1 << self.rng.random_range(0..40)),
            3 => self.model.now.saturating_add(self.rng.random_range(0..3_000)),
            // Where slots of the next level begin, and where they do not.
            4..8 => {
                let soon = self.model.now.saturating_add(self.rng.random_range(0..800));
                (soon | 127).saturating_add(1).min(u64::MAX - 1)
            }
            _ => (self.model.now.saturating_add(self.rng.random_range(0..400)) | 31).min(u64::MAX - 1),
        }
    }

    fn keys(&mut self) -> Vec<u8> {
        let count = self.rng.random_range(0..4);
        (0..count).map(|_| self.rng.random_range(0..6)).collect()
    }

    /// Whether an operation is ready: by a rule that a trigger chooses.
    fn rule(&mut self) -> impl Fn(&u64) -> bool + use<> {
        let (modulus, rest) = (self.rng.random_range(1..4_u64), self.rng.random_range(0..3));
        move |&operation| operation % modulus == rest
    }

    fn watch(&mut self) {
        let (operation, mut keys, deadline) = (self.next_operation, self.keys(), self.deadline());
        let ready = self.rng.random_bool(0.1);
        self.next_operation += 1;
        self.model.stats.submitted += 1;
        match self.purgatory.try_complete_else_watch(operation, keys.clone(), t(deadline), |_| ready) {
            Err(refused) => panic!("{refused}"),
            Ok(Submission::Completed(completed)) => {
                assert!(ready);
                assert_eq!(completed, operation);
                self.model.stats.satisfied += 1;
            }
            Ok(Submission::Watched(id)) => {
                assert!(!ready);
                keys.sort_unstable();
                keys.dedup();
                let due = deadline.max(self.model.now);
                let thresholds = Vec::new();
                self.model.pending.push(Modelled { id, operation, keys, thresholds, deadline, due });
            }
        }
    }

    fn watch_thresholds(&mut self) {
        let (operation, deadline) = (self.next_operation, self.deadline());
        let keys = self.keys();
        let thresholds: Vec<_> = keys.iter().map(|&key| (key, self.rng.random_range(0..50))).collect();
        let id = self.purgatory.watch_thresholds(operation, thresholds.clone(), t(deadline));
        let id = id.expect("there is no limit");
        self.next_operation += 1;
        self.model.stats.submitted += 1;
        let due = deadline.max(self.model.now);
        self.model.pending.push(Modelled { id, operation, keys: Vec::new(), thresholds, deadline, due });
    }

    /// A key has reached a value: the marks that are below go, and who has none left, by minimum and watch order.
    fn reach(&mut self) {
        let (key, value) = (self.rng.random_range(0..6), self.rng.random_range(0..50));
        loop {
            let mut marks = Vec::new();
            for modelled in &self.model.pending {
                let below = modelled.thresholds.iter().filter(|&&(k, minimum)| k == key && minimum <= value);
                marks.extend(below.map(|&(_, minimum)| (minimum, modelled.operation)));
            }
            marks.sort_unstable();
            let mut expected = None;
            for mark in marks {
                let at =
                    self.model.pending.iter().position(|m| m.operation == mark.1).expect("it has a mark");
                let thresholds = &mut self.model.pending[at].thresholds;
                let reached = thresholds.iter().position(|&t| t == (key, mark.0)).expect("it has this mark");
                thresholds.remove(reached);
                if thresholds.is_empty() {
                    let gone = self.model.pending.remove(at);
                    self.last_gone = Some(gone.id);
                    self.model.stats.satisfied += 1;
                    expected = Some(gone.operation);
                    break;
                }
            }
            assert_eq!(self.purgatory.reach_next(&key, value), expected);
            if expected.is_none() {
                break;
            }
        }
        let all = self.model.pending.iter().flat_map(|m| &m.thresholds);
        let lowest = all.filter(|&&(k, _)| k == key).map(|&(_, minimum)| minimum).min();
        assert_eq!(self.purgatory.lowest_threshold(&key), lowest);
    }

    fn complete_all(&mut self) {
        let key = self.rng.random_range(0..6);
        let mut expected = Vec::new();
        let mut leave = |model: &mut Model, gone: &dyn Fn(&Modelled) -> bool| {
            while let Some(at) = model.pending.iter().position(gone) {
                expected.push(model.pending.remove(at).operation);
                model.stats.cancelled += 1;
            }
        };
        leave(&mut self.model, &|m| m.keys.contains(&key));
        for minimum in 0..50 {
            leave(&mut self.model, &|m| m.thresholds.contains(&(key, minimum)));
        }
        assert_eq!(self.purgatory.complete_all(&key, Cause::Cancelled), expected);
    }

    fn any(&mut self) -> Option<usize> {
        let count = self.model.pending.len();
        (count > 0).then(|| self.rng.random_range(0..count))
    }

    fn cancel(&mut self) {
        let Some(at) = self.any() else { return };
        let gone = self.model.pending.remove(at);
        assert_eq!(self.purgatory.cancel(gone.id), Some(gone.operation));
        self.model.stats.cancelled += 1;
        self.last_gone = Some(gone.id);
    }

    fn extend(&mut self) {
        let (deadline, Some(at)) = (self.deadline(), self.any()) else { return };
        let due = deadline.max(self.model.now);
        let modelled = &mut self.model.pending[at];
        assert!(self.purgatory.extend(modelled.id, t(deadline)));
        (modelled.deadline, modelled.due) = (deadline, due);
    }

    fn complete(&mut self) {
        let (key, rule) = (self.rng.random_range(0..6), self.rule());
        let at = self.model.pending.iter().position(|m| m.keys.contains(&key) && rule(&m.operation));
        let expected = at.map(|at| self.model.pending.remove(at));
        self.model.stats.satisfied += u64::from(expected.is_some());
        self.last_gone = expected.as_ref().map(|m| m.id).or(self.last_gone);
        assert_eq!(self.purgatory.complete_next(&key, rule), expected.map(|m| m.operation));
    }

    /// A pass during which operations come, go and are extended.
    fn sweep(&mut self) {
        let (key, rule) = (self.rng.random_range(0..6), self.rule());
        let end = self.next_operation;
        let mut after = None;
        let mut sweep = self.purgatory.sweep(key);
        loop {
            let ready = |m: &Modelled| {
                m.keys.contains(&key) && m.operation < end && Some(m.operation) > after && rule(&m.operation)
            };
            let at = self.model.pending.iter().position(ready);
            let got = self.purgatory.sweep_next(&mut sweep, &rule);
            assert_eq!(got, at.map(|at| self.model.pending[at].operation));
            let Some(at) = at else { break };
            let gone = self.model.pending.remove(at);
            after = Some(gone.operation);
            self.last_gone = Some(gone.id);
            self.model.stats.satisfied += 1;
            match self.rng.random_range(0..4) {
                0 => self.watch(),
                1 => self.cancel(),
                2 => self.extend(),
                _ => {}
            }
        }
    }

    fn expire(&mut self) {
        let step = match self.rng.random_range(0..20) {
            0 => 1 << self.rng.random_range(0..42),
            1..4 => self.rng.random_range(0..3_000),
            _ => self.rng.random_range(0..40),
        };
        let now = self.model.now.saturating_add(step);
        let mut between = self.rng.random_range(0..4);
        loop {
            let due = self.model.pending.iter().enumerate();
            let due = due.filter(|(_, m)| m.due <= now && m.deadline < u64::MAX);
            let next = due.min_by_key(|&(at, m)| (m.due, at)).map(|(at, _)| at);
            let got = self.purgatory.expire_next(t(now));
            assert_eq!(got, next.map(|at| self.model.pending[at].operation), "at {now}");
            let Some(at) = next else { break };
            let gone = self.model.pending.remove(at);
            self.model.now = gone.due;
            self.model.stats.expired += 1;
            self.last_gone = Some(gone.id);
            // Siblings due in the same pass may still be cancelled or extended, and new ones may join it.
            if between > 0 {
                between -= 1;
                [Self::cancel, Self::extend, Self::watch][self.rng.random_range(0..3)](self);
            }
        }
        self.model.now = now;
    }

    fn compare(&mut self) {
        let pending = &self.model.pending;
        assert_eq!(self.purgatory.pending(), pending.len());
        let watched = pending.iter().map(|m| m.keys.len() + m.thresholds.len()).sum::<usize>();
        assert_eq!(self.purgatory.watched(), watched);
        let mut keys = 0;
        for key in 0..6 {
            let count = pending.iter().filter(|m| m.keys.contains(&key)).count();
            let marks = pending.iter().flat_map(|m| &m.thresholds).filter(|&&(k, _)| k == key).count();
            assert_eq!(self.purgatory.watched_by(&key), count + marks);
            assert_eq!(self.purgatory.contains_key(&key), count + marks > 0);
            keys += usize::from(count > 0) + usize::from(marks > 0);
        }
        assert_eq!(self.purgatory.keys(), keys);
        assert_eq!(self.purgatory.stats(), self.model.stats);
        let earliest = pending.iter().filter(|m| m.deadline < u64::MAX).map(|m| m.due).min();
        let next = self.purgatory.next_deadline();
        assert!(earliest.is_none_or(|earliest| next.is_some_and(|next| next <= t(earliest))), "{next:?}");
        if let Some(at) = self.any() {
            let modelled = &self.model.pending[at];
            assert_eq!(self.purgatory.get(modelled.id), Some(&modelled.operation));
            assert_eq!(self.purgatory.deadline(modelled.id), Some(t(modelled.deadline)));
        }
        if let Some(id) = self.last_gone {
            assert_eq!(self.purgatory.get_mut(id), None);
            assert!(!self.purgatory.extend(id, t(0)));
            assert_eq!(self.purgatory.cancel(id), None);
        }
    }

    fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..28 => self.watch(),
            28..36 => self.watch_thresholds(),
            36..39 => self.reach(),
            39 => self.complete_all(),
            40..50 => self.cancel(),
            50..65 => self.extend(),
            65..75 => self.complete(),
            75..80 => self.sweep(),
            _ => self.expire(),
        }
        self.compare();
    }
}

impl Check {
    /// What waits at the end comes back in watch order, and nothing is left.
    fn finish(mut self) {
        let expected: Vec<u64> = self.model.pending.iter().map(|m| m.operation).collect();
        assert_eq!(self.purgatory.shutdown(), expected);
        assert_eq!((self.purgatory.pending(), self.purgatory.watched(), self.purgatory.keys()), (0, 0, 0));
        assert_eq!(self.purgatory.expire_next(Timestamp::MAX), None);
        assert_eq!(self.purgatory.next_deadline(), None);
    }
}

#[test]
fn random_steps() {
    let (few, steps) = if cfg!(debug_assertions) { (4, 2_000) } else { (10, 20_000) };
    for seed in seeds(few) {
        for start in [0, 200, 65_500, (1 << 24) - 300, (1 << 32) - 100, (1 << 40) - 1, u64::MAX - (1 << 20)] {
            let _run = Run { test: "purgatory_model::random_steps", seed, start };
            let mut check = Check::new(seed, start);
            for _ in 0..steps {
                check.step();
            }
            check.finish();
        }
    }
}
