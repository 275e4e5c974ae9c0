//! How fast are timers? Ours beside others: the same work, checked, in the same process, turn by turn.
//!
//! `cargo bench -p benches --bench timer` runs small, so that it stays alive. For figures, with everybody:
//! `cargo bench -p benches --features peers --bench timer -- --sizes 100000 --append`, and for the page in `docs/`
//! that is made of them: `cargo bench -p benches --features peers --bench timer -- --write-docs`.

use std::io;
use std::time::Duration;

use benches::figures::{Cell, Record, Store};
use benches::machine::Session;
use benches::measure::{Spread, wall_nanos};
use clap::Parser;
use contest::{Checked, Effort, Peer};
use purgatory::{Purgatory, TimingWheel};
use workloads::WORKLOADS;

#[path = "timer/check.rs"]
mod check;
#[path = "timer/contest.rs"]
mod contest;
#[path = "timer/meter.rs"]
mod meter;
#[path = "timer/page.rs"]
mod page;
#[cfg(feature = "peers")]
#[path = "timer/peers.rs"]
mod peers;
#[path = "timer/plain.rs"]
mod plain;
#[path = "timer/plots.rs"]
mod plots;
#[path = "timer/shared.rs"]
mod shared;
#[path = "timer/timers.rs"]
mod timers;
#[path = "timer/workloads.rs"]
mod workloads;

/// Where figures are kept between runs, in the directory of build products.
const STORE: &str = "timer-figures.jsonl";

/// Timers, measured beside each other.
#[derive(Parser)]
struct Options {
    /// Numbers of timers.
    #[arg(long, value_delimiter = ',', default_value = "1000")]
    sizes: Vec<u32>,
    /// Runs of each workload, beside the one or two in which each call is timed.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Workloads by their short names, as W1,W2c; all of them if none is named.
    #[arg(long, value_delimiter = ',')]
    workloads: Vec<String>,
    /// Those whose names contain one of these; all of them if none is given.
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Seconds for everything: the slowest get fewer runs where they would not fit.
    #[arg(long, default_value_t = 3_600)]
    budget_secs: u64,
    /// Keep the figures, in the place of former ones of the same workload, size and name.
    #[arg(long)]
    append: bool,
    /// Make the page and the plots in `docs/` of the figures that were kept, and measure nothing.
    #[arg(long)]
    write_docs: bool,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    fn wants(&self, workload: &str) -> bool {
        self.workloads.is_empty() || self.workloads.iter().any(|code| code == workload)
    }

    fn wants_peer(&self, name: &str) -> bool {
        self.peers.is_empty() || self.peers.iter().any(|part| name.contains(part))
    }
}

/// Everyone, ours first.
fn everyone() -> Vec<Peer> {
    let mut all = vec![
        Peer::of::<TimingWheel<u32>>(),
        Peer::of::<Purgatory<u32, u32>>(),
        Peer::of::<plain::LazyHeap>(),
        Peer::of::<plain::SortedSet>(),
    ];
    #[cfg(feature = "peers")]
    all.extend([
        Peer::of::<peers::TokioDelayQueue>(),
        Peer::of::<peers::Sleeps>(),
        Peer::of::<peers::TmWheel>(),
        Peer::of::<peers::TimerQueue>(),
        Peer::of::<peers::NexusWheel>(),
        Peer::of::<peers::SlabWheel>().up_to(1_000_000),
        Peer::of::<peers::Kestrel>().up_to(100_000),
        Peer::of::<peers::HashWheel>().up_to(100_000),
        Peer::of::<peers::IndexedHeap>().up_to(1_000_000),
        Peer::of::<peers::SkipList>().up_to(100_000),
    ]);
    all.push(Peer::of::<plain::Floor>());
    all.push(Peer::of::<plain::Nothing>());
    all
}

/// What is measured in one go: a workload at a size.
enum Part {
    Single(usize, u32),
    Shared(usize, u32),
}

/// In the order of the workloads' names.
fn parts(options: &Options) -> Vec<Part> {
    let mut parts = Vec::new();
    for (at, workload) in WORKLOADS.iter().enumerate().filter(|(_, work)| options.wants(work.code)) {
        if workload.depends_on_size {
            parts.extend(options.sizes.iter().map(|&size| Part::Single(at, size)));
        } else {
            parts.push(Part::Single(at, 100));
        }
    }
    for (at, _) in shared::WORKLOADS.iter().enumerate().filter(|(_, work)| options.wants(work.code)) {
        parts.extend(options.sizes.iter().map(|&size| Part::Shared(at, size)));
    }
    parts
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let store = Store::named(STORE);
    if options.write_docs {
        return page::write(&store.read()?, &everyone(), &shared::everyone());
    }
    let mut session = Session::begin();
    let wanted = everyone().into_iter().filter(|peer| options.wants_peer(peer.name));
    let single: Vec<Checked> = wanted.map(Checked::new).collect();
    for one in &single {
        for fault in one.faults() {
            println!("{}: {fault}", one.peer.name);
        }
    }
    let shared: Vec<_> =
        shared::everyone().into_iter().filter(|peer| options.wants_peer(peer.name)).collect();
    if options.append {
        store.append(&[Record::Session(session.clone())])?;
    }
    let parts = parts(&options);
    let mut left = u32::try_from(parts.len()).expect("a few workloads at a few sizes");
    let end = wall_nanos() + options.budget_secs * 1_000_000_000;
    for part in parts {
        // Twice an equal share: what the cheap ones leave, the dear ones may use.
        let at_most = Duration::from_nanos(end.saturating_sub(wall_nanos())) * 2 / (left + 1);
        let effort = Effort { runs: options.runs, at_most };
        let cells = match part {
            Part::Single(at, count) => contest::hold(&single, &WORKLOADS[at], at, count, effort),
            Part::Shared(at, count) => shared::hold(&shared, at, count, effort),
        };
        print(&cells);
        if options.append {
            let kept = |cell| Record::Cell(Cell { session: session.id.clone(), ..cell });
            store.append(&cells.into_iter().map(kept).collect::<Vec<_>>())?;
        }
        left -= 1;
    }
    session.end();
    if options.append { store.append(&[Record::Session(session)]) } else { Ok(()) }
}

/// Title and unit of a workload.
fn named(code: &str) -> (&'static str, &'static str) {
    let single = WORKLOADS.iter().map(|work| (work.code, work.title, work.of));
    let shared = shared::WORKLOADS.iter().map(|work| (work.code, work.title, work.of));
    let found = single.chain(shared).find(|work| work.0 == code);
    found.map(|(_, title, of)| (title, of)).expect("its name comes from the list")
}

fn print(cells: &[Cell]) {
    let Some(first) = cells.first() else { return };
    let (title, of) = named(&first.work);
    println!("\n{} {title}, {} timers: ns a {of}", first.work, first.size);
    println!("  {:<24}{:>26}{:>9}{:>12}{:>8}", "", "CPU min / median / max", "clock", "worst call", "times");
    let delay_queue = cells.iter().find(|cell| cell.peer.contains("DelayQueue")).and_then(page::median);
    for cell in cells {
        let Some(median) = page::median(cell) else {
            println!("  {:<24} -  {}", cell.peer, cell.why.as_deref().unwrap_or_default());
            continue;
        };
        let times = delay_queue.map_or(String::new(), |other| format!("{:.1}", other / median));
        let (cpu, wall) = (Spread::of(cell.cpu.clone()).to_string(), Spread::of(cell.wall.clone()).median);
        let worst = cell.worst.unwrap_or_default();
        println!("  {:<24}{cpu:>26}{wall:>9.1}{worst:>12}{times:>8}  {:016x}", cell.peer, cell.checksum);
    }
}
