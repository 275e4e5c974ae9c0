//! What does the purgatory for many threads cost? Kafka's own test of its purgatory, and the calls one by one.
//!
//! `cargo bench -p benches --bench shared` runs small; `-- --full` takes the sizes of the README. Costs are CPU time: of
//! the calling thread for single calls, of the whole process (generator, completer, driver, collector) for the test.
#![expect(clippy::disallowed_methods, reason = "measures: threads and clocks are what is measured")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use benches::measure::{Numbers, Spread, cpu_nanos};
use crossbeam_channel::{Receiver, Sender};
use purgatory::{
    Cause, DelayedOperation, Driver, Exits, Options, SharedId, SharedPurgatory, SimulatedClock, Submission,
    SystemClock, Timestamp, TimingWheel,
};
use rustix::time::{ClockId, clock_gettime};

/// Kafka's parameters: a request waits at most 200 ms, under 3 of 100 keys.
const KEYS: u64 = 100;
const TIMEOUT_MS: u64 = 200;

struct Request {
    done: Arc<AtomicBool>,
}

impl DelayedOperation for Request {
    fn is_ready(&mut self) -> bool {
        self.done.load(Ordering::Relaxed)
    }
}

type Waiting = SharedPurgatory<u64, Request>;

fn main() {
    let full = std::env::args().any(|argument| argument == "--full");
    let (runs, count) = if full { (5, 2_000_000) } else { (3, 20_000) };
    println!("SharedPurgatory, 16 shards; min / median / max of {runs} runs; {count} operations a run\n");
    println!("ns of the calling thread's CPU            keys    watch + complete");
    for (name, unique) in [("keys shared by all, 1,000 of them", false), ("keys of its own", true)] {
        for keys in 1..=3 {
            let taken = (0..runs).map(|_| watch_and_complete(count, keys, unique)).collect();
            println!("{name:<41} {keys:<7} {}", Spread::of(taken));
        }
    }
    let taken = (0..runs).map(|_| trigger_nobody(count)).collect();
    println!("{:<41} 1       {}", "a trigger that nobody waits for", Spread::of(taken));
    println!("\nKafka's test: {TIMEOUT_MS} ms timeout, 3 of {KEYS} keys, log-normal completion");
    println!("50th / 75th percentile    operations/s               CPU ns each (all threads)    expired");
    for (p50, p75) in [(20.0, 60.0), (200.0, 400.0)] {
        let results: Vec<_> = (0..runs).map(|_| kafka_test(count, p50, p75)).collect();
        let rate = Spread::of(results.iter().map(|result| result.per_second).collect());
        let cpu = Spread::of(results.iter().map(|result| result.cpu_nanos).collect());
        let expired = results.iter().map(|result| result.expired).max().unwrap_or(0);
        println!("{p50} / {p75} ms    {rate}    {cpu}    {expired}");
    }
}

/// Operations wait under `keys` keys each, 10,000 at a time; each is completed by a trigger of one of them.
fn watch_and_complete(count: u64, keys: usize, unique: bool) -> f64 {
    const AT_A_TIME: u64 = 10_000;
    let driver = Driver::manual(SimulatedClock::new(Timestamp::ZERO));
    let (waiting, mut exits): (Waiting, Exits<Request>) =
        SharedPurgatory::with_channel(&driver, &Options::default());
    let (mut random, mut left, mut spent) = (Numbers::new(1), 0, 0);
    let (spread, triggers) = if unique { (4, AT_A_TIME) } else { (1, 1_000) };
    for _ in 0..count / AT_A_TIME {
        let done = Arc::new(AtomicBool::new(false));
        let begun = cpu_nanos();
        for operation in 0..AT_A_TIME {
            let mut next = operation * spread;
            let key = || {
                next += 1;
                if unique { next - 1 } else { random.below(1_000) }
            };
            let request = Request { done: Arc::clone(&done) };
            let keys = std::iter::repeat_with(key).take(keys);
            assert!(waiting.try_complete_else_watch(request, keys, Timestamp::MAX).is_ok());
        }
        done.store(true, Ordering::Relaxed);
        for key in 0..triggers {
            waiting.complete(&(key * spread));
        }
        spent += cpu_nanos() - begun;
        while exits.try_next().is_some() {
            left += 1;
        }
    }
    assert_eq!((left, waiting.pending()), (count / AT_A_TIME * AT_A_TIME, 0), "checksum");
    per(spent, left)
}

fn trigger_nobody(count: u64) -> f64 {
    let driver = Driver::manual(SimulatedClock::new(Timestamp::ZERO));
    let (waiting, _exits): (Waiting, _) = SharedPurgatory::with_channel(&driver, &Options::default());
    let begun = cpu_nanos();
    let completed: usize = (0..count).map(|key| waiting.complete(&key)).sum();
    assert_eq!(completed, 0, "checksum");
    per(cpu_nanos() - begun, count)
}

struct Result {
    per_second: f64,
    cpu_nanos: f64,
    expired: u64,
}

/// A generator submits as fast as it can; a completer lets each operation go when its latency is over, unless it has
/// expired by then; a collector takes what leaves.
fn kafka_test(count: u64, p50: f64, p75: f64) -> Result {
    let clock = SystemClock::new();
    let driver = Driver::spawn(clock);
    let (waiting, exits): (Waiting, _) = SharedPurgatory::with_channel(&driver, &Options::default());
    let (to_complete, completions) = crossbeam_channel::bounded(1 << 16);
    let (begun, cpu) = (Instant::now(), process_cpu());
    let expired = Arc::new(AtomicU64::new(0));
    let collector = {
        let expired = Arc::clone(&expired);
        thread::spawn(move || collect(exits, &expired))
    };
    let completer = {
        let waiting = waiting.clone();
        thread::spawn(move || complete_in_time(&waiting, clock, &completions))
    };
    generate(&waiting, clock, count, p50, p75, to_complete);
    let generated = begun.elapsed();
    completer.join().expect("the completer does not panic");
    // What takes longer than its timeout is left to expire.
    while waiting.pending() > 0 {
        thread::yield_now();
    }
    let spent = process_cpu() - cpu;
    drop(waiting);
    let left = collector.join().expect("the collector does not panic");
    assert_eq!(left, count, "checksum");
    Result {
        per_second: whole(count) / generated.as_secs_f64(),
        cpu_nanos: per(spent, count),
        expired: expired.load(Ordering::Relaxed),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the channel closes when the generator is done")]
fn generate(
    waiting: &Waiting,
    clock: SystemClock,
    count: u64,
    p50: f64,
    p75: f64,
    to_complete: Sender<(Timestamp, SharedId)>,
) {
    let mut random = Numbers::new(7);
    let latencies: Vec<u64> = (0..1 << 16).map(|_| log_normal(&mut random, p50, p75)).collect();
    let never = Arc::new(AtomicBool::new(false));
    let mut latencies = latencies.into_iter().cycle();
    for _ in 0..count {
        let keys: [u64; 3] = std::array::from_fn(|_| random.below(KEYS));
        let now = purgatory::Clock::now(&clock);
        let deadline = now.saturating_add(1 + TIMEOUT_MS);
        let request = Request { done: Arc::clone(&never) };
        let Ok(Submission::Watched(id)) = waiting.try_complete_else_watch(request, keys, deadline) else {
            unreachable!("nothing is ready, and there is room");
        };
        let latency = latencies.next().expect("a cycle does not end");
        if latency < TIMEOUT_MS {
            to_complete.send((now.saturating_add(latency), id)).expect("the completer listens");
        }
    }
}

fn complete_in_time(waiting: &Waiting, clock: SystemClock, completions: &Receiver<(Timestamp, SharedId)>) {
    let mut due = TimingWheel::new(purgatory::Clock::now(&clock));
    let mut open = true;
    while open || !due.is_empty() {
        let pause = due.next_deadline().map_or(Duration::from_millis(1), |next| clock.until(next));
        match completions.recv_timeout(pause.min(Duration::from_millis(1))) {
            Ok((when, id)) => drop(due.insert(when, id)),
            Err(crossbeam_channel::RecvTimeoutError::Timeout) => {}
            Err(crossbeam_channel::RecvTimeoutError::Disconnected) => {
                open = false;
                thread::sleep(pause);
            }
        }
        for (when, id) in completions.try_iter().take(1_024) {
            due.insert(when, id);
        }
        while let Some(expired) = due.expire_next(purgatory::Clock::now(&clock)) {
            waiting.force_complete(expired.value);
        }
    }
}

fn collect(exits: Exits<Request>, expired: &AtomicU64) -> u64 {
    let mut left = 0;
    for exit in exits {
        left += 1;
        if exit.cause == Cause::Expired {
            expired.fetch_add(1, Ordering::Relaxed);
        }
    }
    left
}

/// Milliseconds with this median and this 75th percentile (by Box and Muller's method).
fn log_normal(random: &mut Numbers, p50: f64, p75: f64) -> u64 {
    let mut uniform = || (whole(random.below(1 << 24)) + 1.0) / whole((1 << 24) + 1);
    let normal = (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    let sigma = (p75 / p50).ln() / 0.674_49;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time, far below 2^53")]
    let latency = (p50 * (sigma * normal).exp()).min(1e9) as u64;
    latency
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
fn per(nanos: u64, count: u64) -> f64 {
    nanos as f64 / count as f64
}

#[expect(clippy::cast_precision_loss, reason = "a count of operations")]
fn whole(count: u64) -> f64 {
    count as f64
}

/// Nanoseconds of CPU that all threads of this process have used.
fn process_cpu() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let part = |value: i64| u64::try_from(value).expect("CPU time is not negative");
    part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec)
}
