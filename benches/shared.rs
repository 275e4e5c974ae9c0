//! What does the purgatory for many threads cost? Kafka's own test of its purgatory, the calls one by one, the worst call
//! while a million operations expire, and two threads beside other structures under one lock.
//!
//! `cargo bench -p benches --bench shared` runs small, so that CI keeps it alive. For figures, in less than a minute:
//! `cargo bench -p benches --features peers --bench shared -- --full`; `--only P3` runs one part (calls, P3, W7 or W8).
//!
//! ns are CPU time: of the calling thread for single calls, of all threads together where it says so. The allocator is
//! mimalloc. Every part checks that each operation left exactly once.
#![expect(clippy::disallowed_methods, reason = "measures: threads and clocks are what is measured")]

#[path = "shared/calls.rs"]
mod calls;
#[path = "shared/histogram.rs"]
mod histogram;
#[path = "shared/memory.rs"]
mod memory;
#[path = "shared/requests.rs"]
mod requests;
#[path = "shared/stall.rs"]
mod stall;
#[path = "shared/two_threads.rs"]
mod two_threads;

/// How much of everything.
pub(crate) struct Size {
    pub(crate) runs: usize,
    /// Operations that wait while single calls are measured, and calls a run.
    pub(crate) calls: u64,
    /// Requests of Kafka's test.
    pub(crate) requests: u64,
    /// Operations that are due on one tick.
    pub(crate) due: u64,
    /// Timers that two threads replace, each.
    pub(crate) pairs: u64,
}

const SMALL: Size = Size { runs: 2, calls: 2_000, requests: 20_000, due: 20_000, pairs: 20_000 };
const FULL: Size = Size { runs: 5, calls: 10_000, requests: 2_000_000, due: 1_000_000, pairs: 500_000 };

type Part = (&'static str, fn(&Size));

const PARTS: [Part; 4] = [
    ("calls", calls::measure),
    ("P3", requests::measure),
    ("W7", stall::measure),
    ("W8", two_threads::measure),
];

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    let size = if arguments.iter().any(|argument| argument == "--full") { FULL } else { SMALL };
    let only = arguments.iter().skip_while(|argument| *argument != "--only").nth(1);
    let wanted = |part: &str| only.is_none_or(|only| only == part);
    println!("SharedPurgatory, 16 shards; min / median / max of {} runs", size.runs);
    for (part, measure) in PARTS.iter().filter(|(part, _)| wanted(part)) {
        println!("\n{part}");
        measure(&size);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
pub(crate) fn each(total: u64, count: u64) -> f64 {
    total as f64 / count as f64
}
