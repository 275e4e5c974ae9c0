//! W7: many operations are due on one tick, and the driver lets them expire; how long does another thread wait, at worst,
//! to submit one meanwhile?
//!
//! The same thread submits as many while nothing is due: what that takes at worst is the machine's, not ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use benches::measure::Spread;
use purgatory::{Clock, DelayedOperation, Driver, Exit, Options, SharedPurgatory, SimulatedClock, Timestamp};

use crate::{Size, each};

struct Operation;

impl DelayedOperation for Operation {
    fn is_ready(&mut self) -> bool {
        false
    }
}

pub(crate) fn measure(size: &Size) {
    println!("W7 {} operations are due on one tick; us of the worst submission by another thread", size.due);
    for (name, keys) in [("under 1,000 keys", 1_000), ("under one key", 1)] {
        let runs: Vec<_> = (0..size.runs.min(3)).map(|_| run(size.due, keys)).collect();
        let spread = |part: fn(&[f64; 4]) -> f64| Spread::of(runs.iter().map(part).collect());
        println!(
            "{name:<20} while they expire: {}; while nothing is due: {}; expired in {} ms, ns each {}",
            spread(|run| run[0]),
            spread(|run| run[1]),
            spread(|run| run[2]),
            spread(|run| run[3]),
        );
    }
}

/// Microseconds of the worst submission while they expire, and while nothing is due; milliseconds of the expiry, and
/// nanoseconds per operation.
fn run(due: u64, keys: u64) -> [f64; 4] {
    let clock = SimulatedClock::new(Timestamp::ZERO);
    let driver = Driver::manual(clock.clone());
    let expired = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&expired);
    let waiting = SharedPurgatory::with_executor(&driver, &Options::default(), move |_: Exit<Operation>| {
        counting.fetch_add(1, Ordering::Relaxed);
    });
    // Far enough that it is filed two levels up.
    let tick = Timestamp::from_ticks(100_000);
    for name in 0..due {
        assert!(waiting.try_complete_else_watch(Operation, [name % keys], tick).is_ok());
    }
    let worst = |until: &dyn Fn(u64) -> bool| {
        let (mut worst, mut count) = (Duration::ZERO, 0);
        while !until(count) {
            let deadline = clock.now().saturating_add(1_000_000 + count);
            let begun = Instant::now();
            assert!(waiting.try_complete_else_watch(Operation, [count % keys], deadline).is_ok());
            worst = worst.max(begun.elapsed());
            count += 1;
        }
        (worst, count)
    };
    // Warm, and the allocator has what it needs.
    let idle = worst(&|count| count == due / 10).0;
    clock.set(tick);
    let turning = {
        let driver = driver.clone();
        thread::spawn(move || {
            let begun = Instant::now();
            driver.turn();
            begun.elapsed()
        })
    };
    let (busy, submitted) = worst(&|_| expired.load(Ordering::Relaxed) == due);
    let took = turning.join().expect("the driver does not panic");
    assert_eq!(waiting.pending() as u64, due / 10 + submitted, "checksum");
    let nanos = u64::try_from(took.as_nanos()).expect("less than a century");
    let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
    [micros(busy), micros(idle), each(nanos, 1_000_000), each(nanos, due)]
}
