//! W7: many operations are due on one tick, and the driver lets them expire; how long does another thread wait, at worst,
//! to submit one meanwhile?
//!
//! Each is cancelled again at once, so that nothing has to grow meanwhile. The same thread submits as many while nothing
//! is due: what that takes at worst is the machine's, not ours. What growing takes, and memory that is touched for the
//! first time, shows while the purgatory is filled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use benches::measure::Spread;
use purgatory::{
    Cancellation, Clock, DelayedOperation, Driver, Exit, Options, SharedPurgatory, SimulatedClock,
    Submission, Timestamp,
};

use crate::Size;

struct Operation;

impl DelayedOperation for Operation {
    fn is_ready(&mut self) -> bool {
        false
    }
}

pub(crate) fn measure(size: &Size) {
    println!("W7 {} operations are due on one tick; us of the worst submission by another thread", size.due);
    for (name, keys) in [("under 1,000 keys", 1_000), ("under one key", 1)] {
        let runs: Vec<_> = (0..size.runs).map(|_| run(size.due, keys)).collect();
        let spread = |part: fn(&Worst) -> f64| Spread::of(runs.iter().map(part).collect());
        println!(
            "{name:<18} while they expire: {}; while nothing is due: {}; while it is filled: {}; expired in {} ms",
            spread(|run| run.busy),
            spread(|run| run.idle),
            spread(|run| run.filling),
            spread(|run| run.expiry / 1e3),
        );
    }
}

/// Microseconds of the worst submissions, and of the whole expiry.
struct Worst {
    filling: f64,
    idle: f64,
    busy: f64,
    expiry: f64,
}

fn run(due: u64, keys: u64) -> Worst {
    let clock = SimulatedClock::new(Timestamp::ZERO);
    let driver = Driver::manual(clock.clone());
    let expired = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&expired);
    let waiting = SharedPurgatory::with_executor(&driver, &Options::default(), move |_: Exit<Operation>| {
        counting.fetch_add(1, Ordering::Relaxed);
    });
    let submit = |key, deadline| {
        let begun = Instant::now();
        let submitted = waiting.try_complete_else_watch(Operation, [key % keys], deadline);
        let took = begun.elapsed();
        match submitted {
            Ok(Submission::Watched(id)) => (took, id),
            _ => unreachable!("it is not ready, and there is room"),
        }
    };
    // Far enough that it is filed two levels up.
    let tick = Timestamp::from_ticks(100_000);
    let filling = (0..due).map(|name| submit(name, tick).0).max();
    let worst = |until: &dyn Fn(u64) -> bool| {
        let (mut worst, mut count) = (Duration::ZERO, 0);
        while !until(count) {
            let (took, id) = submit(count, clock.now().saturating_add(1_000_000 + count % 1_000));
            assert!(matches!(waiting.cancel(id), Cancellation::Taken(_)));
            worst = worst.max(took);
            count += 1;
        }
        worst
    };
    let idle = worst(&|count| count == due / 10);
    clock.set(tick);
    let turning = {
        let driver = driver.clone();
        thread::spawn(move || {
            let begun = Instant::now();
            driver.turn();
            begun.elapsed()
        })
    };
    let busy = worst(&|_| expired.load(Ordering::Relaxed) == due);
    let expiry = turning.join().expect("the driver does not panic");
    assert_eq!((waiting.pending(), waiting.stats().expired), (0, due), "checksum");
    let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
    Worst {
        filling: micros(filling.unwrap_or_default()),
        idle: micros(idle),
        busy: micros(busy),
        expiry: micros(expiry),
    }
}
