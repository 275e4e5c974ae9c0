//! W8: one structure, two threads. Time by the clock, because what two threads wait for each other is in no CPU time.

#[cfg(feature = "peers")]
#[path = "shared/peers.rs"]
mod peers;
#[path = "shared/structures.rs"]
mod structures;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use benches::figures::{Cell, share_out};
use benches::measure::{Numbers, process_cpu_nanos, wall_nanos};
use purgatory::TimingWheel;

use crate::check::{Question, check};
use crate::contest::Effort;
use crate::plain::LazyHeap;
use crate::timers::Timers;
use structures::{Locked, Parked, SharedTimers};

pub(crate) struct Shared {
    pub(crate) code: &'static str,
    pub(crate) title: &'static str,
    pub(crate) of: &'static str,
    pub(crate) about: &'static str,
}

pub(crate) const WORKLOADS: [Shared; 3] = [
    Shared {
        code: "W8r",
        title: "re-arm, two threads",
        of: "re-arm",
        about: "each thread re-arms any of its half of the timers, anew an hour and 1 to 60,000 ms ahead",
    },
    Shared {
        code: "W8c",
        title: "cancel and insert, two threads",
        of: "pair",
        about: "the same by a removal and an insertion",
    },
    Shared {
        code: "W8p",
        title: "insert while all expire",
        of: "timer",
        about: "one thread lets all timers expire on one tick; the other inserts and cancels meanwhile, and the worst of \
                its calls is what counts",
    },
];

/// A structure that takes part, its type forgotten.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    pub(crate) about: &'static str,
    fault: Option<String>,
    run: fn(usize, u32) -> Run,
}

/// What one run took and did.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    operations: u64,
    cpu: u64,
    wall: u64,
    worst: Option<u64>,
    checksum: u64,
}

impl Peer {
    fn of<S: SharedTimers>() -> Self {
        let fault = S::MOVES_CLOCK.then(|| check::<Alone<S>>(Question::Expiry).err()).flatten();
        Self { name: S::NAME, package: S::CRATE, about: S::ABOUT, fault, run: run::<S> }
    }
}

/// Everyone, ours first.
pub(crate) fn everyone() -> Vec<Peer> {
    let ours = [Peer::of::<Parked>(), Peer::of::<Locked<TimingWheel<u32>>>(), Peer::of::<Locked<LazyHeap>>()];
    #[cfg(feature = "peers")]
    let others = [Peer::of::<peers::SharedSkipList>(), Peer::of::<peers::SharedSleeps>()];
    #[cfg(not(feature = "peers"))]
    let others = [];
    ours.into_iter().chain(others).collect()
}

/// One workload at one size, done by all, turn by turn.
pub(crate) fn hold(all: &[Peer], at: usize, count: u32, effort: Effort) -> Vec<Cell> {
    let mut runs: Vec<Vec<Run>> = all.iter().map(|_| Vec::new()).collect();
    let fit: Vec<usize> = (0..all.len()).filter(|&who| all[who].fault.is_none()).collect();
    let begun = wall_nanos();
    let mut costs = Vec::new();
    for &who in &fit {
        let since = wall_nanos();
        runs[who].push((all[who].run)(at, count));
        costs.push(Duration::from_nanos(wall_nanos() - since).as_secs_f64());
    }
    let left = effort.at_most.saturating_sub(Duration::from_nanos(wall_nanos() - begun));
    let shares = share_out(effort.runs, left.as_secs_f64() + costs.iter().sum::<f64>(), &costs);
    for round in 1..effort.runs {
        for (&who, _) in fit.iter().zip(&shares).filter(|(_, share)| round < **share) {
            runs[who].push((all[who].run)(at, count));
        }
    }
    all.iter().zip(runs).map(|(peer, runs)| cell(peer, at, count, &runs)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "figures to read")]
fn cell(peer: &Peer, at: usize, size: u32, runs: &[Run]) -> Cell {
    let each = |of: fn(&Run) -> u64| runs.iter().map(|run| of(run) as f64 / run.operations as f64).collect();
    let mut worst: Vec<u64> = runs.iter().filter_map(|run| run.worst).collect();
    worst.sort_unstable();
    let checksum = runs.first().map_or(0, |run| run.checksum);
    assert!(
        runs.iter().all(|run| run.checksum == checksum),
        "{}: the same work gave different sums",
        peer.name
    );
    Cell {
        size,
        work: WORKLOADS[at].code.to_owned(),
        peer: peer.name.to_owned(),
        operations: runs.first().map_or(0, |run| run.operations),
        cpu: each(|run| run.cpu),
        wall: each(|run| run.wall),
        worst: worst.get(worst.len() / 2).copied(),
        checksum,
        why: peer.fault.as_ref().map(|fault| format!("not timed, because it is not right: {fault}")),
        session: String::new(),
    }
}

fn run<S: SharedTimers>(at: usize, count: u32) -> Run {
    match at {
        0 => by_two(count, |timers: &S, slot, deadline, value| {
            if let Some(id) = slot {
                timers.rearm(id, deadline, value);
            }
        }),
        1 => by_two(count, |timers: &S, slot, deadline, value| {
            if let Some(id) = slot.take() {
                timers.remove(id);
            }
            *slot = Some(timers.insert(deadline, value));
        }),
        _ => pause::<S>(count),
    }
}

/// So far ahead that nothing comes due while two threads work.
const FAR: u64 = 3_600_000;
const MINUTE: u64 = 60_000;

fn by_two<S: SharedTimers>(count: u32, operation: fn(&S, &mut Option<S::Id>, u64, u32)) -> Run {
    let timers = S::new(count);
    let mut numbers = Numbers::new(42);
    let mut ids: Vec<_> = timers.inside(|| {
        (0..count).map(|value| Some(timers.insert(FAR + 1 + numbers.below(MINUTE), value))).collect()
    });
    let half = count / 2;
    let each = (4 * u64::from(count)).clamp(8_000, 1_000_000);
    let barrier = Barrier::new(2);
    let cpu = process_cpu_nanos();
    let (first, second) = ids.split_at_mut(half as usize);
    let worker = |ids: &mut [Option<S::Id>], from: u32| {
        let mut numbers = Numbers::new(43 + u64::from(from));
        let own = u64::try_from(ids.len()).expect("a count");
        timers.inside(|| {
            barrier.wait();
            let begun = wall_nanos();
            for _ in 0..each {
                let at = u32::try_from(numbers.below(own)).expect("an index");
                let deadline = FAR + 1 + numbers.below(MINUTE);
                operation(&timers, &mut ids[at as usize], deadline, from + at);
            }
            (begun, wall_nanos())
        })
    };
    let wall = thread::scope(|scope| {
        let other = scope.spawn(|| worker(second, half));
        let (begun, ended) = worker(first, 0);
        let other = other.join().expect("the other thread does not panic");
        ended.max(other.1) - begun.min(other.0)
    });
    let cpu = process_cpu_nanos() - cpu;
    Run { operations: 2 * each, cpu, wall, worst: None, checksum: settle(&timers, &ids) }
}

/// Lets all expire in steps, and sums up who did when.
fn settle<S: SharedTimers>(timers: &S, ids: &[Option<S::Id>]) -> u64 {
    const STEP: u64 = 100;
    let mut due = Vec::new();
    let mut checksum = 0_u64;
    let mut add = |value: u32, when: u64| {
        checksum = checksum.wrapping_add((u64::from(value) + 1).wrapping_mul(when));
    };
    if S::MOVES_CLOCK {
        for step in 1..=MINUTE / STEP {
            timers.expire(FAR + step * STEP, &mut due);
            due.drain(..).for_each(|value| add(value, step));
        }
    } else {
        for (id, value) in ids.iter().flatten().zip(0..) {
            add(value, (timers.deadline(id) - FAR).div_ceil(STEP));
        }
    }
    checksum
}

fn pause<S: SharedTimers>(count: u32) -> Run {
    // A structure on a real clock is filled meanwhile.
    let deadline = 500 + u64::from(count) / 200;
    let timers = S::new(count + 1);
    let ids: Vec<_> = timers.inside(|| (0..count).map(|value| timers.insert(deadline, value)).collect());
    let barrier = Barrier::new(2);
    let (under_way, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut due = Vec::new();
    assert!(timers.wait_until(deadline - 2), "{}: it takes too long to fill", S::NAME);
    let cpu = process_cpu_nanos();
    let (wall, worst) = thread::scope(|scope| {
        let inserter = scope.spawn(|| {
            timers.inside(|| {
                barrier.wait();
                let mut worst = insert_and_cancel(&timers, count, deadline + MINUTE);
                under_way.store(true, Ordering::Relaxed);
                while !over.load(Ordering::Relaxed) {
                    worst = worst.max(insert_and_cancel(&timers, count, deadline + MINUTE));
                }
                worst
            })
        });
        barrier.wait();
        while !under_way.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        timers.wait_until(deadline);
        let begun = wall_nanos();
        timers.expire(deadline, &mut due);
        let wall = wall_nanos() - begun;
        over.store(true, Ordering::Relaxed);
        (wall, inserter.join().expect("the inserter does not panic"))
    });
    let cpu = process_cpu_nanos() - cpu;
    drop(ids);
    assert_eq!(due.len(), count as usize, "{}: all of them expire, once", S::NAME);
    let checksum = due.iter().map(|&value| u64::from(value) + 1).sum();
    Run { operations: count.into(), cpu, wall, worst: Some(worst), checksum }
}

/// The longer of the two calls.
fn insert_and_cancel<S: SharedTimers>(timers: &S, value: u32, deadline: u64) -> u64 {
    let begun = wall_nanos();
    let id = timers.insert(deadline, value);
    let inserted = wall_nanos();
    timers.remove(id);
    (inserted - begun).max(wall_nanos() - inserted)
}

/// A shared structure in the hands of one thread, to be checked as the others are.
struct Alone<S>(S);

impl<S: SharedTimers> Timers for Alone<S> {
    const NAME: &'static str = S::NAME;
    const ABOUT: &'static str = S::ABOUT;
    const SAYS_NEXT: bool = false;
    type Id = S::Id;

    fn new(count: u32) -> Self {
        Self(S::new(count))
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Self::Id {
        self.0.insert(deadline, value)
    }

    fn remove(&mut self, id: Self::Id) {
        self.0.remove(id);
    }

    fn rearm(&mut self, id: &mut Self::Id, deadline: u64, value: u32) {
        self.0.rearm(id, deadline, value);
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        self.0.expire(now, due);
    }
}
