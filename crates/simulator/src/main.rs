//! Runs simulations: one seed, a range of them, or new ones for so many hours.
#![expect(clippy::disallowed_methods, reason = "says how long it took")]

use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Parser;
use simulator::agenda::{HOUR, MS, SECOND};
use simulator::{Fault, FaultMix, Report, Scenario, Transcript, minimize, run};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Lines of a failure's transcript that are printed unless all are wanted.
const LINES: usize = 120;

/// Simulates clusters of consumers on the real coordinator and store. The same seed does the same, every time.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// What everything is drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seeds from A up to, without, B: "1..1000".
    #[arg(long, value_parser = range, conflicts_with = "hours")]
    seeds: Option<Range<u64>>,
    /// Runs seeds from --seed on until clients have run for so many hours, all together.
    #[arg(long)]
    hours: Option<u64>,
    /// Threads that run seeds.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Makes a failing scenario smaller, and prints that one.
    #[arg(long)]
    minimize: bool,
    /// Prints the whole transcript, of a seed that does not fail too.
    #[arg(long)]
    transcript: bool,
    /// Only lines of the transcript that contain this.
    #[arg(long)]
    grep: Option<String>,
    /// Instead of the seed's fault mix: "cut:2 move:1", or "none".
    #[arg(long, value_parser = mix)]
    faults: Option<FaultMix>,
    /// Only these groups of the seed, by name: "group-0,group-3".
    #[arg(long, value_delimiter = ',')]
    groups: Vec<String>,
    /// Only these clients of the seed, by client id: "c0,c3".
    #[arg(long, value_delimiter = ',')]
    clients: Vec<String>,
    /// Instead of the seed's number of brokers.
    #[arg(long)]
    brokers: Option<usize>,
    /// Instead of the seed's number of rounds of faults and calm.
    #[arg(long)]
    rounds: Option<u32>,
    /// Instead of how long the seed's faults last, ms.
    #[arg(long)]
    chaos_ms: Option<u64>,
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("a range is written A..B")?;
    let number = |text: &str| text.parse::<u64>().map_err(|error| format!("{text:?}: {error}"));
    Ok(number(from)?..number(to)?)
}

fn mix(text: &str) -> Result<FaultMix, String> {
    let mut mix = FaultMix::none();
    for part in text.split_whitespace().filter(|part| *part != "none") {
        let (name, level) = part.split_once(':').unwrap_or((part, "1"));
        let fault = Fault::named(name).ok_or_else(|| format!("there is no fault {name:?}"))?;
        mix.set(fault, level.parse().map_err(|error| format!("{part:?}: {error}"))?);
    }
    Ok(mix)
}

impl Options {
    fn scenario(&self, seed: u64) -> Scenario {
        let mut scenario = Scenario::from_seed(seed);
        if let Some(faults) = &self.faults {
            scenario.faults = faults.clone();
        }
        if !self.groups.is_empty() {
            scenario.groups.retain(|group| self.groups.iter().any(|name| name == group.name.as_str()));
        }
        if !self.clients.is_empty() {
            for group in &mut scenario.groups {
                group.clients.retain(|client| self.clients.iter().any(|id| **id == *client.client_id));
            }
        }
        scenario.brokers = self.brokers.unwrap_or(scenario.brokers).max(1);
        scenario.rounds = self.rounds.unwrap_or(scenario.rounds).max(1);
        scenario.chaos = self.chaos_ms.map_or(scenario.chaos, |ms| ms * MS);
        scenario
    }
}

/// What several runs came to.
#[derive(Default)]
struct Totals {
    runs: AtomicU64,
    client_time: AtomicU64,
    simulated: AtomicU64,
    requests: AtomicU64,
    generations: AtomicU64,
    commits: AtomicU64,
    reads: AtomicU64,
    transactions: AtomicU64,
    removed: AtomicU64,
    strikes: AtomicU64,
}

impl Totals {
    fn add(&self, report: &Report) {
        let counts = report.counts;
        for (total, more) in [
            (&self.runs, 1),
            (&self.client_time, report.client_time),
            (&self.simulated, report.simulated),
            (&self.requests, counts.requests),
            (&self.generations, counts.generations),
            (&self.commits, counts.commits),
            (&self.reads, counts.reads),
            (&self.transactions, counts.transactions),
            (&self.removed, counts.removed),
            (&self.strikes, counts.strikes),
        ] {
            total.fetch_add(more, Ordering::Relaxed);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    fn print(&self, took: f64, threads: usize) {
        let processor = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let worked = processor.tv_sec as f64 + processor.tv_nsec as f64 / 1e9;
        let of = |total: &AtomicU64| total.load(Ordering::Relaxed);
        let hours = of(&self.client_time) as f64 / HOUR as f64;
        println!(
            "{} scenarios: {hours:.0} client-hours in {:.0} hours of simulated time, {took:.1} s on {threads} thread(s): {:.0} client-hours a second of one core's work ({worked:.1} s)",
            of(&self.runs),
            of(&self.simulated) as f64 / HOUR as f64,
            hours / worked
        );
        println!(
            "{} requests, {} generations, {} commits acknowledged, {} transactions, {} offsets removed, {} reads checked, {} faults struck",
            of(&self.requests),
            of(&self.generations),
            of(&self.commits),
            of(&self.transactions),
            of(&self.removed),
            of(&self.reads),
            of(&self.strikes)
        );
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    // A panic of the code under test is told with its transcript.
    std::panic::set_hook(Box::new(|_| {}));
    let seeds = match (&options.seeds, options.hours) {
        (Some(seeds), _) => seeds.clone(),
        (None, Some(_)) => options.seed..u64::MAX,
        (None, None) => options.seed..options.seed.saturating_add(1),
    };
    let enough = options.hours.map_or(u64::MAX, |hours| hours.saturating_mul(HOUR));
    let start = Instant::now();
    let (totals, next, failed) = (Totals::default(), AtomicU64::new(seeds.start), AtomicU64::new(u64::MAX));
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(|| {
                while totals.client_time.load(Ordering::Relaxed) < enough {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    // The lowest that fails is told, so a thread goes on below it.
                    if seed >= seeds.end || seed > failed.load(Ordering::Relaxed) {
                        break;
                    }
                    let report = run(&options.scenario(seed), Transcript::default());
                    totals.add(&report);
                    if report.violation.is_some() {
                        failed.fetch_min(seed, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    if options.transcript && seeds.end - seeds.start == 1 && failed == u64::MAX {
        let report = run(&options.scenario(seeds.start), Transcript::recording());
        print_transcript(&options, &report, usize::MAX);
    }
    totals.print(start.elapsed().as_secs_f64(), options.threads.max(1));
    if failed == u64::MAX {
        return ExitCode::SUCCESS;
    }
    tell_failure(&options, failed);
    ExitCode::FAILURE
}

fn tell_failure(options: &Options, seed: u64) {
    let mut scenario = options.scenario(seed);
    let mut report = run(&scenario, Transcript::recording());
    let Some(violation) = report.violation.clone() else {
        println!("seed {seed} failed and does not fail again: something depends on more than the seed");
        return;
    };
    if options.minimize {
        println!("seed {seed} breaks a rule: {violation}");
        scenario = minimize::minimize(&scenario, violation.rule, &mut |smaller| {
            println!("  smaller: {}", command(smaller));
        });
        report = run(&scenario, Transcript::recording());
    }
    print_transcript(options, &report, if options.transcript { usize::MAX } else { LINES });
    if let Some(violation) = &report.violation {
        println!("\nseed {seed} breaks a rule: {violation}");
    }
    println!("faults: {}", scenario.faults);
    println!("again:  {}", command(&scenario));
}

fn print_transcript(options: &Options, report: &Report, last: usize) {
    let wanted = |line: &&str| options.grep.as_ref().is_none_or(|text| line.contains(text));
    let lines: Vec<&str> = report.transcript.lines().filter(wanted).collect();
    for line in &lines[lines.len().saturating_sub(last)..] {
        println!("{line}");
    }
}

/// How to run a scenario again.
fn command(scenario: &Scenario) -> String {
    let whole = Scenario::from_seed(scenario.seed);
    let mut command = format!("cargo run --release -p simulator -- --seed {}", scenario.seed);
    let mut add = |text: String| command.push_str(&text);
    if scenario.faults != whole.faults {
        add(format!(" --faults \"{}\"", scenario.faults));
    }
    if scenario.groups.len() != whole.groups.len() {
        let names: Vec<_> = scenario.groups.iter().map(|group| group.name.as_str()).collect();
        add(format!(" --groups {}", names.join(",")));
    }
    if scenario.clients().count() != whole.clients().count() {
        let ids: Vec<_> = scenario.clients().map(|(_, client)| &*client.client_id).collect();
        add(format!(" --clients {}", ids.join(",")));
    }
    if scenario.brokers != whole.brokers {
        add(format!(" --brokers {}", scenario.brokers));
    }
    if scenario.rounds != whole.rounds {
        add(format!(" --rounds {}", scenario.rounds));
    }
    if scenario.chaos != whole.chaos {
        add(format!(" --chaos-ms {}", scenario.chaos / MS));
    }
    debug_assert!(scenario.chaos >= SECOND);
    command
}
