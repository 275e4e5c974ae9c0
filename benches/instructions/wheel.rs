//! The timing wheel: what a timer costs from its beginning to its end, beside ten thousand others.

use std::hint::black_box;

use benches::measure::Numbers;
use gungraun::prelude::*;
use purgatory::{TimerId, Timestamp, TimingWheel};

use crate::limits::{CALLS, limited};

const PENDING: usize = 10_000;
const SPAN: u64 = 60_000;

/// A wheel at work, and what the benchmark will ask of it.
struct Work {
    wheel: TimingWheel<u64>,
    ids: Vec<TimerId>,
    deadlines: Vec<Timestamp>,
}

/// Ten thousand timers within a minute, of which a thousand are chosen; and a thousand deadlines.
fn work() -> Work {
    let mut numbers = Numbers::new(7);
    let mut wheel = TimingWheel::new(Timestamp::ZERO);
    let mut deadline = || Timestamp::from_ticks(1 + numbers.below(SPAN));
    let ids: Vec<_> = (0..PENDING).map(|value| wheel.insert(deadline(), value as u64)).collect();
    let ids = ids.into_iter().step_by(PENDING / CALLS).collect();
    Work { wheel, ids, deadlines: (0..CALLS).map(|_| deadline()).collect() }
}

/// A heartbeat: 30 s from now instead of 27.
fn sessions() -> Work {
    let mut wheel = TimingWheel::new(Timestamp::ZERO);
    let ids: Vec<_> =
        (0..PENDING as u64).map(|n| wheel.insert(Timestamp::from_ticks(27_000 + n % 3_000), n)).collect();
    let ids = ids.into_iter().step_by(PENDING / CALLS).collect();
    Work { wheel, ids, deadlines: vec![Timestamp::from_ticks(30_000); CALLS] }
}

#[library_benchmark(config = limited("wheel_insert"))]
#[bench::at_work(work())]
fn wheel_insert(mut work: Work) -> Work {
    for &deadline in &work.deadlines {
        black_box(work.wheel.insert(deadline, 0));
    }
    work
}

#[library_benchmark(config = limited("wheel_heartbeat"))]
#[bench::sessions(sessions())]
fn wheel_heartbeat(mut work: Work) -> Work {
    for (&id, &deadline) in work.ids.iter().zip(&work.deadlines) {
        black_box(work.wheel.rearm(id, deadline));
    }
    work
}

#[library_benchmark(config = limited("wheel_rearm"))]
#[bench::at_work(work())]
fn wheel_rearm(mut work: Work) -> Work {
    for (&id, &deadline) in work.ids.iter().zip(&work.deadlines) {
        black_box(work.wheel.rearm(id, deadline));
    }
    work
}

#[library_benchmark(config = limited("wheel_cancel"))]
#[bench::at_work(work())]
fn wheel_cancel(mut work: Work) -> Work {
    for &id in &work.ids {
        black_box(work.wheel.remove(id));
    }
    work
}

#[library_benchmark(config = limited("wheel_next_deadline"))]
#[bench::at_work(work())]
fn wheel_next_deadline(work: Work) -> Work {
    for _ in 0..CALLS {
        black_box(black_box(&work.wheel).next_deadline());
    }
    work
}

/// A hundred timers of a day: nearly every tick finds nothing.
fn idle() -> TimingWheel<u64> {
    let mut wheel = TimingWheel::new(Timestamp::ZERO);
    for timer in 0..100 {
        wheel.insert(Timestamp::from_ticks(10_000 + timer * 864_000), timer);
    }
    wheel
}

#[library_benchmark(config = limited("wheel_idle_tick"))]
#[bench::idle(idle())]
fn wheel_idle_tick(mut wheel: TimingWheel<u64>) -> TimingWheel<u64> {
    for tick in 1..=CALLS as u64 {
        black_box(wheel.expire_next(Timestamp::from_ticks(tick)));
    }
    wheel
}

// By ticks, until a thousand have come: about six seconds, cascades included.
#[library_benchmark(config = limited("wheel_expire"))]
#[bench::at_work(work())]
fn wheel_expire(mut work: Work) -> Work {
    let (mut expired, mut tick) = (0, 0);
    while expired < CALLS {
        tick += 1;
        while let Some(due) = work.wheel.expire_next(Timestamp::from_ticks(tick)) {
            black_box(due);
            expired += 1;
        }
    }
    work
}

library_benchmark_group!(
    name = wheel_calls,
    benchmarks = [
        wheel_insert,
        wheel_heartbeat,
        wheel_rearm,
        wheel_cancel,
        wheel_next_deadline,
        wheel_idle_tick,
        wheel_expire,
    ]
);
