//! How fast are timers? Ours beside others, the same work in the same process, one thread.
//!
//! `cargo bench -p benches --bench timer` runs small, so that CI keeps it alive. For figures:
//! `cargo bench -p benches --features peers --bench timer -- --sizes 100000,1000000 --runs 5 [--only wheel] [--work W3]`

use benches::measure::Spread;
use purgatory::{Purgatory, TimingWheel};
use timers::{LazyHeap, SortedSet, Timers};
use workloads::Run;

#[cfg(feature = "peers")]
#[path = "timer/peers.rs"]
mod peers;
#[path = "timer/timers.rs"]
mod timers;
#[path = "timer/workloads.rs"]
mod workloads;

struct Options {
    sizes: Vec<u32>,
    runs: usize,
    only: String,
    work: String,
}

/// A workload by name, and what it needs of whoever does it.
struct Workload {
    name: &'static str,
    of: &'static str,
    depends_on_size: bool,
}

const WORKLOADS: [Workload; 11] = [
    Workload { name: "W1 insert", of: "insert", depends_on_size: true },
    Workload { name: "W1 insert, cold", of: "insert", depends_on_size: true },
    Workload { name: "W2 re-arm", of: "re-arm", depends_on_size: true },
    Workload { name: "W2t re-arm, clock moving", of: "re-arm", depends_on_size: true },
    Workload { name: "W2c cancel+insert", of: "pair", depends_on_size: true },
    Workload { name: "W3 heartbeats", of: "re-arm", depends_on_size: true },
    Workload { name: "W4 expire by ticks", of: "timer", depends_on_size: true },
    Workload { name: "W4 expire in one jump", of: "timer", depends_on_size: true },
    Workload { name: "W5 whole life", of: "timer", depends_on_size: true },
    Workload { name: "W6 idle tick", of: "tick", depends_on_size: false },
    Workload { name: "W7 all on one tick", of: "timer", depends_on_size: true },
];

fn run<T: Timers>(work: usize, count: u32) -> Run {
    let works = [
        workloads::insert::<T>,
        workloads::insert_cold::<T>,
        workloads::rearm::<T>,
        workloads::rearm_moving::<T>,
        workloads::replace::<T>,
        workloads::heartbeats::<T>,
        workloads::expire_by_ticks::<T>,
        workloads::expire_at_once::<T>,
        workloads::life::<T>,
        workloads::idle_ticks::<T>,
        workloads::one_tick::<T>,
    ];
    works[work](count)
}

/// Runs one workload and prints its line; the checksum must be the one that came first.
fn report<T: Timers>(options: &Options, work: usize, count: u32, checksum: &mut Option<u64>) {
    if !T::NAME.contains(&options.only) {
        return;
    }
    let runs: Vec<Run> = (0..options.runs).map(|_| run::<T>(work, count)).collect();
    #[expect(clippy::cast_precision_loss, reason = "figures to read")]
    let spread = Spread::of(runs.iter().map(|run| run.nanos as f64 / run.operations as f64).collect());
    let sum = runs[0].checksum;
    assert!(runs.iter().all(|run| run.checksum == sum), "{}: the same work gave different sums", T::NAME);
    let remark = if *checksum.get_or_insert(sum) == sum { "" } else { "  DIFFERENT WORK" };
    println!("  {:<32}{:>30}   {sum:016x}{remark}", T::NAME, spread.to_string());
}

fn everyone(options: &Options, work: usize, count: u32) {
    let checksum = &mut None;
    report::<TimingWheel<u32>>(options, work, count, checksum);
    report::<Purgatory<u32, u32>>(options, work, count, checksum);
    report::<LazyHeap>(options, work, count, checksum);
    report::<SortedSet>(options, work, count, checksum);
    #[cfg(feature = "peers")]
    {
        report::<peers::TokioDelayQueue>(options, work, count, checksum);
        report::<peers::TmWheel>(options, work, count, checksum);
        report::<peers::TimerQueue>(options, work, count, checksum);
        report::<peers::NexusWheel>(options, work, count, checksum);
        report::<peers::HashWheel>(options, work, count, checksum);
    }
}

fn worst<T: Timers>(options: &Options, count: u32) {
    if T::NAME.contains(&options.only) {
        let [insert, step] = workloads::worst_calls::<T>(count).map(|nanos| nanos / 1_000);
        println!("  {:<32}{insert:>15} insert {step:>15} step", T::NAME);
    }
}

fn worst_calls(options: &Options, count: u32) {
    println!("\nWorst single call from nothing, {count} timers: us");
    worst::<TimingWheel<u32>>(options, count);
    worst::<LazyHeap>(options, count);
    worst::<SortedSet>(options, count);
    #[cfg(feature = "peers")]
    {
        worst::<peers::TokioDelayQueue>(options, count);
        worst::<peers::TmWheel>(options, count);
        worst::<peers::TimerQueue>(options, count);
        worst::<peers::NexusWheel>(options, count);
        worst::<peers::HashWheel>(options, count);
    }
}

fn options() -> Options {
    let mut options = Options { sizes: vec![1_000], runs: 5, only: String::new(), work: String::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--bench" {
            continue;
        }
        let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{name}: {text} is no number"));
        match name.as_str() {
            "--sizes" => options.sizes = value.split(',').map(number).collect(),
            "--runs" => options.runs = number(&value) as usize,
            "--only" => options.only = value,
            "--work" => options.work = value,
            other => panic!("unknown option {other}"),
        }
    }
    options
}

fn main() {
    let options = options();
    println!(
        "Thread CPU time, ns an operation: min / median / max of {} runs, checksum of the work.",
        options.runs
    );
    for (work, workload) in WORKLOADS.iter().enumerate() {
        if !workload.name.contains(&options.work) {
            continue;
        }
        let sizes = if workload.depends_on_size { &options.sizes[..] } else { &options.sizes[..1] };
        for &count in sizes {
            println!(
                "\n{}, {count} timers: ns a{} {}",
                workload.name,
                if workload.of.starts_with('i') { "n" } else { "" },
                workload.of
            );
            everyone(&options, work, count);
        }
    }
    if options.work.is_empty() {
        println!("\nNext deadline of 100 timers over 24 h: {:.1} ns", next_deadline());
        for &count in &options.sizes {
            worst_calls(&options, count);
            if let Some(bytes) = workloads::bytes_each::<TimingWheel<u32>>(count) {
                println!("\nBytes a timer, {count} timers, u32 value included: {bytes:.1}");
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
fn next_deadline() -> f64 {
    let run = workloads::next_deadline::<TimingWheel<u32>>(0);
    run.nanos as f64 / run.operations as f64
}
