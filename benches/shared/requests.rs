//! P3, Kafka's own test of its purgatory: requests wait at most 200 ms, under 3 of 100 keys, and are completed after a
//! log-normal time.
//!
//! The load is driven as Kafka drives it. A generator submits without a pause; each request carries 100 bytes of its
//! own. A completer keeps them until their latency is over and then completes them by id, whichever keys they watch:
//! those of a tick together, or one by one. What leaves runs on the thread that let it go: the completer, or the driver
//! for what expired. The exits are counted and their names summed, each by a mixing function: had one left twice or
//! never, the sums would differ.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use benches::measure::{Numbers, Spread, process_cpu_nanos};
use crossbeam_channel::{Receiver, Sender};
use purgatory::{
    Cause, Clock, DelayedOperation, Driver, Exit, Options, SharedId, SharedPurgatory, Submission,
    SystemClock, Timestamp, TimingWheel,
};

use crate::histogram::Histogram;
use crate::memory::counted;
use crate::{Size, each};

const KEYS: u64 = 100;
const TIMEOUT: Duration = Duration::from_millis(200);
const TIMEOUT_MS: u64 = 200;
/// The generator hands so many completions over at once.
const HANDED: usize = 256;

struct Request {
    name: u64,
    data: Box<[u8; 100]>,
}

impl DelayedOperation for Request {
    fn is_ready(&mut self) -> bool {
        false
    }
}

type Waiting = SharedPurgatory<u64, Request>;
type Completions = Vec<(Timestamp, SharedId)>;

#[derive(Clone, Copy)]
enum Completing {
    OneByOne,
    ByTheTick,
}

/// What left, as the executor counts it.
#[derive(Clone)]
struct Left {
    satisfied: u64,
    expired: u64,
    sum: u64,
    lateness: Histogram,
}

struct Outcome {
    per_second: f64,
    cpu_nanos: f64,
    left: Left,
    most_pending: u64,
}

pub(crate) fn measure(size: &Size) {
    println!(
        "P3 Kafka's test: {TIMEOUT_MS} ms timeout, 3 of {KEYS} keys, 100 bytes each, log-normal completion, unlimited rate, \
         {} requests a run",
        size.requests
    );
    for (p50, p75) in [(20.0, 60.0), (200.0, 400.0)] {
        for (how, completing) in
            [("ids one by one", Completing::OneByOne), ("ids of a tick together", Completing::ByTheTick)]
        {
            let outcomes: Vec<_> =
                (0..size.runs.min(3)).map(|_| run(size.requests, p50, p75, completing)).collect();
            let rate = Spread::of(outcomes.iter().map(|outcome| outcome.per_second / 1_000.0).collect());
            let cpu = Spread::of(outcomes.iter().map(|outcome| outcome.cpu_nanos).collect());
            let last = outcomes.last().expect("at least one run");
            println!(
                "half within {p50} ms, 3/4 within {p75} ms; {how}: {rate} k requests/s; CPU ns each, all threads: {cpu}"
            );
            println!(
                "    completed {}, expired {}, at most {} pending; us late: {}; early: {}; checksum {:016x}",
                last.left.satisfied,
                last.left.expired,
                last.most_pending,
                last.left.lateness,
                last.left.lateness.early(),
                last.left.sum,
            );
            println!("    no later than: {}", last.left.lateness.shape());
        }
    }
    let alone = (0..size.runs.min(3)).map(|_| load_alone(size.requests, 20.0, 60.0)).collect();
    println!("    the load alone, that is all of this but the purgatory: CPU ns each {}", Spread::of(alone));
    println!("    a thread that sleeps 1 ms beside the same load, us late: {}", sleeper(size.requests));
    println!("    bytes a pending request, its 100 of data excluded: {:.0}", bytes(size.requests / 20));
}

/// One run. The generator is the calling thread.
fn run(requests: u64, p50: f64, p75: f64, completing: Completing) -> Outcome {
    // Made first, so that it never shows a request earlier than it came.
    let micros = SystemClock::with_tick(Duration::from_micros(1));
    let clock = SystemClock::new();
    let left = Arc::new(Mutex::new(Left { satisfied: 0, expired: 0, sum: 0, lateness: Histogram::new() }));
    let driver = Driver::spawn(clock);
    let waiting = waiting(&driver, &left, micros);
    let latencies = latencies(p50, p75);
    let (to_complete, completions) = crossbeam_channel::bounded(1 << 10);
    let (begun, cpu) = (Instant::now(), process_cpu_nanos());
    let completer = {
        let waiting = waiting.clone();
        thread::spawn(move || complete_in_time(&waiting, clock, &completions, completing))
    };
    let (sum, most_pending) = generate(&waiting, clock, requests, &latencies, &to_complete);
    let generated = begun.elapsed();
    drop(to_complete);
    completer.join().expect("the completer does not panic");
    // What takes longer than its timeout is left to expire.
    let all_left = || {
        let left = left.lock().expect("nobody panics with it");
        left.satisfied + left.expired == requests
    };
    while !all_left() {
        thread::sleep(Duration::from_millis(1));
    }
    let cpu_nanos = each(process_cpu_nanos() - cpu, requests);
    drop(waiting);
    drop(driver);
    let left = left.lock().expect("nobody panics with it").clone();
    assert_eq!((left.satisfied + left.expired, left.sum), (requests, sum), "each has left exactly once");
    assert_eq!(left.lateness.count(), left.expired);
    Outcome { per_second: each(requests, 1) / generated.as_secs_f64(), cpu_nanos, left, most_pending }
}

fn waiting(driver: &Driver, left: &Arc<Mutex<Left>>, micros: SystemClock) -> Waiting {
    let left = Arc::clone(left);
    SharedPurgatory::with_executor(driver, &Options::default(), move |exit: Exit<Request>| {
        let mut left = left.lock().expect("nobody panics with it");
        left.sum = left.sum.wrapping_add(mixed(&exit.operation));
        match exit.cause {
            Cause::Satisfied => left.satisfied += 1,
            _ => left.expired += 1,
        }
        if let Some(deadline) = exit.expired_at {
            left.lateness.add(deadline.ticks() * 1_000, micros.now().ticks());
        }
    })
}

/// Sums of this tell which names are in them.
fn mixed(request: &Request) -> u64 {
    let mixed = (request.name ^ u64::from(request.data[99])).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// Returns the sum over all requests, and how many waited at most (looked at now and then).
fn generate(
    waiting: &Waiting,
    clock: SystemClock,
    requests: u64,
    latencies: &[u64],
    to_complete: &Sender<Completions>,
) -> (u64, u64) {
    let (mut random, mut sum, mut most_pending) = (Numbers::new(7), 0_u64, 0);
    let mut handed = Vec::with_capacity(HANDED);
    for (name, &latency) in (0..requests).zip(latencies.iter().cycle()) {
        let keys: [u64; 3] = std::array::from_fn(|_| random.below(KEYS));
        let request = Request { name, data: Box::new([0; 100]) };
        sum = sum.wrapping_add(mixed(&request));
        let deadline = clock.deadline_after(TIMEOUT);
        let Ok(Submission::Watched(id)) = waiting.try_complete_else_watch(request, keys, deadline) else {
            unreachable!("nothing is ready, and there is room");
        };
        if latency < TIMEOUT_MS {
            let now = deadline.ticks() - TIMEOUT_MS;
            handed.push((Timestamp::from_ticks(now + latency), id));
        }
        if handed.len() == HANDED {
            let full = std::mem::replace(&mut handed, Vec::with_capacity(HANDED));
            to_complete.send(full).expect("the completer listens");
        }
        if name % 65_536 == 0 {
            most_pending = most_pending.max(waiting.pending() as u64);
        }
    }
    to_complete.send(handed).expect("the completer listens");
    (sum, most_pending.max(waiting.pending() as u64))
}

fn complete_in_time(
    waiting: &Waiting,
    clock: SystemClock,
    completions: &Receiver<Completions>,
    completing: Completing,
) {
    let mut latent = TimingWheel::new(clock.now());
    let mut due = Vec::new();
    let mut open = true;
    while open || !latent.is_empty() {
        let next = latent.next_deadline().unwrap_or(clock.now().saturating_add(1));
        thread::sleep(clock.until(next).min(Duration::from_millis(1)));
        loop {
            match completions.try_recv() {
                Ok(handed) => {
                    for (when, id) in handed {
                        latent.insert(when, id);
                    }
                }
                Err(error) => {
                    open &= error.is_empty();
                    break;
                }
            }
        }
        while let Some(expired) = latent.expire_next(clock.now()) {
            match completing {
                Completing::OneByOne => _ = waiting.force_complete(expired.value),
                Completing::ByTheTick => due.push(expired.value),
            }
        }
        waiting.force_complete_all(due.drain(..));
    }
}

/// What the load takes by itself: requests are made, handed to the completer, wait in its wheel and are dropped.
fn load_alone(requests: u64, p50: f64, p75: f64) -> f64 {
    let clock = SystemClock::new();
    let latencies = latencies(p50, p75);
    let (to_complete, completions) = crossbeam_channel::bounded::<Vec<(Timestamp, Request)>>(1 << 10);
    let cpu = process_cpu_nanos();
    let completer = thread::spawn(move || {
        let (mut latent, mut sum) = (TimingWheel::new(clock.now()), 0_u64);
        let mut drop_due = |latent: &mut TimingWheel<Request>, now| {
            while let Some(expired) = latent.expire_next(now) {
                sum = sum.wrapping_add(mixed(&expired.value));
            }
        };
        for handed in completions {
            for (when, request) in handed {
                latent.insert(when, request);
            }
            drop_due(&mut latent, clock.now());
        }
        drop_due(&mut latent, Timestamp::from_ticks(u64::MAX - 1));
        sum
    });
    let (mut random, mut sum) = (Numbers::new(7), 0_u64);
    let mut handed = Vec::with_capacity(HANDED);
    for (name, &latency) in (0..requests).zip(latencies.iter().cycle()) {
        let keys: [u64; 3] = std::array::from_fn(|_| random.below(KEYS));
        let request = Request { name, data: Box::new([0; 100]) };
        sum = sum.wrapping_add(mixed(&request));
        std::hint::black_box(keys);
        let now = clock.deadline_after(TIMEOUT).ticks() - TIMEOUT_MS;
        handed.push((Timestamp::from_ticks(now + latency.min(TIMEOUT_MS)), request));
        if handed.len() == HANDED {
            let full = std::mem::replace(&mut handed, Vec::with_capacity(HANDED));
            to_complete.send(full).expect("the completer listens");
        }
    }
    to_complete.send(handed).expect("the completer listens");
    drop(to_complete);
    assert_eq!(completer.join().expect("the completer does not panic"), sum, "checksum");
    each(process_cpu_nanos() - cpu, requests)
}

/// Latencies in ms with this median and this 75th percentile, by Box and Muller's method.
fn latencies(p50: f64, p75: f64) -> Vec<u64> {
    let mut random = Numbers::new(11);
    let mut uniform = move || each(random.below(1 << 24) + 1, (1 << 24) + 1);
    let sigma = (p75 / p50).ln() / 0.674_49;
    let log_normal = |_| {
        let normal = (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time, far below 2^53")]
        let latency = (p50 * (sigma * normal).exp()).min(1e9) as u64;
        latency
    };
    (0..1 << 16).map(log_normal).collect()
}

/// How late the operating system wakes any thread while the test runs.
fn sleeper(requests: u64) -> Histogram {
    let done = Arc::new(AtomicBool::new(false));
    let sleeping = {
        let done = Arc::clone(&done);
        thread::spawn(move || {
            let (micros, mut late) = (SystemClock::with_tick(Duration::from_micros(1)), Histogram::new());
            while !done.load(Ordering::Relaxed) {
                let due = micros.now().ticks() + 1_000;
                thread::sleep(micros.until(Timestamp::from_ticks(due)));
                late.add(due, micros.now().ticks());
            }
            late
        })
    };
    run(requests, 20.0, 60.0, Completing::ByTheTick);
    done.store(true, Ordering::Relaxed);
    sleeping.join().expect("the sleeper does not panic")
}

fn bytes(requests: u64) -> f64 {
    let clock = SystemClock::new();
    let driver = Driver::manual(clock);
    let counted_exits = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&counted_exits);
    let waiting: Waiting = SharedPurgatory::with_executor(&driver, &Options::default(), move |_| {
        counting.fetch_add(1, Ordering::Relaxed);
    });
    let mut random = Numbers::new(7);
    let ((), _, held) = counted(|| {
        for name in 0..requests {
            let keys: [u64; 3] = std::array::from_fn(|_| random.below(KEYS));
            let request = Request { name, data: Box::new([0; 100]) };
            let deadline = clock.deadline_after(TIMEOUT);
            assert!(waiting.try_complete_else_watch(request, keys, deadline).is_ok());
        }
    });
    assert_eq!(waiting.shutdown() as u64, requests);
    assert_eq!(counted_exits.load(Ordering::Relaxed), requests, "checksum");
    each(held.saturating_sub(requests * 100), requests)
}
