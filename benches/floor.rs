//! How near the floor is re-arming? The cache lines it cannot do without, touched in the same order in the same run.
//!
//! `cargo bench -p benches --bench floor` runs small, so that CI keeps it alive. For figures:
//! `cargo bench -p benches --bench floor -- 100000 1000000`

use std::hint::black_box;

use benches::measure::{Numbers, Spread, cpu_nanos};
use purgatory::{TimerId, Timestamp, TimingWheel};

const RUNS: usize = 7;
const SESSION: u64 = 30_000;

/// Sixteen bytes, as the wheel has for a timer.
#[derive(Clone, Copy)]
struct Line {
    deadline: u64,
    generation: u32,
    _filed: u32,
}

/// ns an operation of `work`, which is given fresh numbers each time.
fn measure(operations: u64, mut work: impl FnMut(&mut Numbers)) -> Spread {
    #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
    let run = |_| {
        let mut numbers = Numbers::new(42);
        let since = cpu_nanos();
        work(&mut numbers);
        (cpu_nanos() - since) as f64 / operations as f64
    };
    Spread::of((0..RUNS).map(run).collect())
}

fn any(numbers: &mut Numbers, count: u32) -> usize {
    usize::try_from(numbers.below(count.into())).expect("an index")
}

fn compare(count: u32) {
    let operations = (8 * u64::from(count)).clamp(10_000, 8_000_000);
    let order = Numbers::new(7).shuffled(count);
    let numbers_alone = measure(operations, |numbers| {
        for _ in 0..operations {
            black_box(any(numbers, count));
        }
    });

    // The floor: the application's table says where the timer is, and its line takes the deadline.
    let mut lines = vec![Line { deadline: 0, generation: 1, _filed: 0 }; count as usize];
    let floor = measure(operations, |numbers| {
        for operation in 0..operations {
            let line = &mut lines[order[any(numbers, count)] as usize];
            if line.generation == 1 {
                line.deadline = operation;
            }
        }
    });
    let mut checksum = lines.iter().fold(0, |sum: u64, line| sum.wrapping_add(line.deadline));

    // Ours: the same order, each time a little later, as heartbeats are.
    let mut wheel = TimingWheel::new(Timestamp::ZERO);
    wheel.reserve(count as usize);
    let made: Vec<TimerId> =
        (0..count).map(|_| wheel.insert(Timestamp::from_ticks(SESSION), 0_u32)).collect();
    let ids: Vec<TimerId> = order.iter().map(|&at| made[at as usize]).collect();
    let one_by_one = measure(operations, |numbers| {
        for operation in 0..operations {
            wheel.rearm(ids[any(numbers, count)], Timestamp::from_ticks(SESSION + operation));
        }
    });
    let mut beats = Vec::with_capacity(256);
    let in_batches = measure(operations, |numbers| {
        for operation in 0..operations {
            beats.push((ids[any(numbers, count)], Timestamp::from_ticks(SESSION + operation)));
            if beats.len() == beats.capacity() {
                wheel.rearm_batch(beats.iter().copied());
                beats.clear();
            }
        }
    });
    for &id in &ids {
        checksum = checksum.wrapping_add(wheel.deadline(id).map_or(0, Timestamp::ticks));
    }
    println!(
        "\n{count} timers: ns an operation   {checksum:016x}\n  numbers alone             {numbers_alone}\n  the lines \
         alone, floor    {floor}\n  TimingWheel, re-arm       {one_by_one}\n  TimingWheel, rearm_batch  {in_batches}"
    );
    println!(
        "  ours over the floor: {:.2} one by one, {:.2} in batches of 256; {:.1} bytes a timer, u32 value included",
        one_by_one.median / floor.median,
        in_batches.median / floor.median,
        bytes_each(&wheel, count)
    );
}

#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
fn bytes_each(wheel: &TimingWheel<u32>, count: u32) -> f64 {
    wheel.bytes() as f64 / f64::from(count)
}

fn main() {
    let sizes: Vec<u32> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    println!("Thread CPU time, min / median / max of {RUNS} runs, checksum of the work.");
    for count in if sizes.is_empty() { vec![1_000] } else { sizes } {
        compare(count);
    }
}
