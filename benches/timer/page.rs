//! The page and the plots in `docs/`, made of the figures that were kept.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use benches::figures::{Cell, Figures};
use benches::measure::Spread;

use crate::workloads::WORKLOADS;
use crate::{contest, plots, shared};

const DELAY_QUEUE: &str = "tokio-util DelayQueue";
/// Plotted by size.
const BY_SIZE: [(&str, &str); 3] = [("W2", "re-arm"), ("W3", "heartbeats"), ("W4", "expire by ticks")];

/// Writes `docs/timer-figures.md` and the plots beside it.
///
/// # Errors
///
/// If a file cannot be written.
pub(crate) fn write(figures: &Figures, single: &[contest::Peer], shared: &[shared::Peer]) -> io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let sizes = sizes(figures);
    let plotted = if sizes.contains(&100_000) { 100_000 } else { sizes.first().copied().unwrap_or_default() };
    let works: Vec<_> = WORKLOADS.iter().map(|work| (work.code, work.title)).collect();
    let works: Vec<_> = works.into_iter().filter(|(code, _)| !code.starts_with("W6")).collect();
    fs::write(docs.join("timer-figures.svg"), plots::by_workload(figures, &works, plotted))?;
    fs::write(docs.join("timer-sizes.svg"), plots::by_size(figures, &BY_SIZE))?;
    let mut page = String::new();
    head(&mut page, figures);
    for size in sizes {
        by_size(&mut page, figures, size);
    }
    few(&mut page, figures);
    two_threads(&mut page, figures);
    worst(&mut page, figures);
    who(&mut page, single, shared);
    left_out(&mut page, figures);
    every_run(&mut page, figures);
    fs::write(docs.join("timer-figures.md"), page)
}

/// Sizes that workloads were done at, ascending.
fn sizes(figures: &Figures) -> Vec<u32> {
    let scales = |cell: &&Cell| WORKLOADS.iter().any(|work| work.code == cell.work && work.depends_on_size);
    let mut sizes: Vec<u32> = figures.cells.iter().filter(scales).map(|cell| cell.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

macro_rules! line {
    ($page:expr) => { $page.push('\n') };
    ($page:expr, $($argument:tt)*) => { writeln!($page, $($argument)*).expect("a string takes all") };
}

fn head(page: &mut String, figures: &Figures) {
    line!(page, "# Timers, measured\n");
    line!(page, "Made by `benches/timer.rs`; not written by hand. What the figures are worth is said in");
    line!(
        page,
        "[timing-wheel.md](timing-wheel.md); who takes part, and what was left out and why, stands below the tables.\n"
    );
    line!(
        page,
        "Everybody does the same work in the same process, turn by turn, and is first compared with a sorted map over"
    );
    line!(
        page,
        "20,000 random steps; what expired when is summed up, and whoever differs is not timed. Figures are ns of CPU time an"
    );
    line!(
        page,
        "operation, the median of 5 runs or of as many as the last section lists; ticks of 1 ms, `u32` values. The workload's"
    );
    line!(
        page,
        "own cost is in all of them and is the row `nothing`; `floor` adds the one access to memory that no structure can do"
    );
    line!(page, "without.\n");
    line!(page, "```sh\ncargo bench -p benches --features peers --bench timer -- --sizes 100000 --append");
    line!(page, "cargo bench -p benches --features peers --bench timer_memory -- --sizes 100000 --append");
    line!(page, "cargo bench -p benches --features peers --bench timer -- --write-docs\n```\n");
    line!(
        page,
        "`--workloads W1,W2` takes a part, `--budget-secs` bounds the time, and `--append` keeps what was measured before.\n"
    );
    machine(page, figures);
    line!(page, "![ns an operation, by workload and participant](timer-figures.svg)\n");
    line!(page, "![ns an operation against the number of timers](timer-sizes.svg)\n");
    line!(page, "| workload | |\n|---|---|");
    for work in &WORKLOADS {
        line!(page, "| {} {} | {} |", work.code, work.title, work.about);
    }
    for work in &shared::WORKLOADS {
        line!(page, "| {} {} | {} |", work.code, work.title, work.about);
    }
    line!(page);
}

fn machine(page: &mut String, figures: &Figures) {
    let used = |id: &str| {
        figures.cells.iter().any(|cell| cell.session == id)
            || figures.bytes.iter().any(|bytes| bytes.session == id)
    };
    let sessions: Vec<_> = figures.sessions.iter().filter(|session| used(&session.id)).collect();
    let (Some(first), Some(latest)) = (sessions.first(), sessions.last()) else { return };
    let loads = sessions.iter().flat_map(|one| [Some(one.load_before), one.load_after]).flatten();
    let (lowest, highest) =
        loads.fold((f64::MAX, 0.0_f64), |(low, high), load| (low.min(load), high.max(load)));
    let mut revisions: Vec<&str> = sessions.iter().map(|session| session.revision.as_str()).collect();
    revisions.dedup();
    line!(
        page,
        "Machine: {}, {} cores; {}; load average {lowest:.1} to {highest:.1} at the beginnings and",
        first.processor,
        first.cores,
        first.rustc
    );
    line!(
        page,
        "ends of {} parts; {} to {} UTC; revision {}.\n",
        sessions.len(),
        first.date,
        latest.date,
        revisions.join(", ")
    );
}

/// Rows are participants, columns are workloads.
fn by_size(page: &mut String, figures: &Figures, size: u32) {
    let sized = |code: &str| figures.cells.iter().any(|cell| cell.size == size && cell.work == code);
    let works: Vec<_> = WORKLOADS.iter().filter(|work| work.depends_on_size && sized(work.code)).collect();
    if works.is_empty() {
        return;
    }
    line!(page, "## {} timers\n", short_count(size));
    let codes: Vec<_> = works.iter().map(|work| format!("{} {}", work.code, work.title)).collect();
    line!(page, "| | {} | bytes a timer, fresh / used |", codes.join(" | "));
    line!(page, "|---|{}---|", "---|".repeat(works.len()));
    for peer in names(figures, size) {
        let cells: Vec<_> = works.iter().map(|work| entry(find(figures, size, work.code, &peer))).collect();
        let bytes = figures.bytes.iter().find(|bytes| bytes.size == size && bytes.peer == peer);
        let bytes = bytes.map_or("-".to_owned(), |bytes| format!("{:.0} / {:.0}", bytes.fresh, bytes.used));
        line!(page, "| {} | {} | {bytes} |", bold(&peer), cells.join(" | "));
    }
    let times: Vec<_> = works.iter().map(|work| times(figures, size, work.code, "TimingWheel")).collect();
    line!(page, "| *DelayQueue ÷ TimingWheel* | {} | |\n", times.join(" | "));
}

/// How many times longer a `DelayQueue` takes.
fn times(figures: &Figures, size: u32, code: &str, peer: &str) -> String {
    let of = |peer: &str| find(figures, size, code, peer).and_then(median);
    match (of(DELAY_QUEUE), of(peer)) {
        (Some(other), Some(own)) => format!("{:.1}", other / own),
        _ => "-".to_owned(),
    }
}

/// Workloads that know but one size.
fn few(page: &mut String, figures: &Figures) {
    let works: Vec<_> = WORKLOADS.iter().filter(|work| !work.depends_on_size).collect();
    line!(page, "## 100 timers over 24 hours\n");
    let codes: Vec<_> = works.iter().map(|work| format!("{} {}", work.code, work.title)).collect();
    line!(page, "| | {} |\n|---|{}", codes.join(" | "), "---|".repeat(works.len()));
    for peer in names(figures, 100) {
        let cells: Vec<_> = works.iter().map(|work| entry(find(figures, 100, work.code, &peer))).collect();
        if cells.iter().any(|cell| cell != "-") {
            line!(page, "| {} | {} |", bold(&peer), cells.join(" | "));
        }
    }
    line!(page);
}

fn two_threads(page: &mut String, figures: &Figures) {
    line!(page, "## Two threads, one structure\n");
    line!(
        page,
        "Time by the clock, ns an operation of both threads together, min / median / max; for W8p the time a timer takes to"
    );
    line!(page, "expire meanwhile, and the worst single call of the other thread, the median of the runs.\n");
    line!(
        page,
        "| | timers | {} | worst call in W8p |",
        shared::WORKLOADS.map(|work| format!("{} {}", work.code, work.title)).join(" | ")
    );
    line!(page, "|---|---|---|---|---|---|");
    let mut rows: Vec<(u32, &str)> = Vec::new();
    for cell in figures.cells.iter().filter(|cell| cell.work.starts_with("W8")) {
        if !rows.contains(&(cell.size, cell.peer.as_str())) {
            rows.push((cell.size, &cell.peer));
        }
    }
    rows.sort_by_key(|row| row.0);
    for (size, peer) in rows {
        let cell = |code: &str| find(figures, size, code, peer).filter(|cell| !cell.wall.is_empty());
        let wall =
            |code: &str| cell(code).map_or("-".to_owned(), |cell| Spread::of(cell.wall.clone()).to_string());
        let columns: Vec<_> = shared::WORKLOADS.iter().map(|work| wall(work.code)).collect();
        let worst = cell("W8p").and_then(|cell| cell.worst).map_or("-".to_owned(), duration);
        line!(page, "| {} | {} | {} | {worst} |", bold(peer), short_count(size), columns.join(" | "));
    }
    line!(page);
}

/// The worst single call of each workload.
fn worst(page: &mut String, figures: &Figures) {
    line!(page, "## The worst single call\n");
    line!(
        page,
        "By the clock, each call of a workload timed, steps of the clock among them; of each call the shorter of two runs that"
    );
    line!(page, "make the same calls, so that interruptions of one of them do not count.\n");
    let works: Vec<_> = WORKLOADS.iter().filter(|work| work.depends_on_size).collect();
    let codes: Vec<_> = works.iter().map(|work| work.code).collect();
    line!(page, "| | timers | {} |\n|---|---|{}", codes.join(" | "), "---|".repeat(works.len()));
    for size in sizes(figures) {
        for peer in
            names(figures, size).into_iter().filter(|peer| !matches!(peer.as_str(), "floor" | "nothing"))
        {
            let worst = |code: &str| find(figures, size, code, &peer).and_then(|cell| cell.worst);
            let cells: Vec<_> =
                codes.iter().map(|code| worst(code).map_or("-".to_owned(), duration)).collect();
            if cells.iter().any(|cell| cell != "-") {
                line!(page, "| {} | {} | {} |", bold(&peer), short_count(size), cells.join(" | "));
            }
        }
    }
    line!(page);
}

fn who(page: &mut String, single: &[contest::Peer], shared: &[shared::Peer]) {
    line!(page, "## Who takes part\n");
    line!(page, "| | crate | |\n|---|---|---|");
    for peer in single {
        line!(page, "| {} | {} | {} |", peer.name, version(peer.package), peer.about);
    }
    line!(page);
    line!(page, "With two threads:\n\n| | crate | |\n|---|---|---|");
    for peer in shared {
        line!(page, "| {} | {} | {} |", peer.name, version(peer.package), peer.about);
    }
    line!(page);
}

/// A package of the lock file, with its version.
fn version(package: &str) -> String {
    const LOCK: &str = include_str!("../../Cargo.lock");
    let found = LOCK.split_once(&format!("name = \"{package}\"\nversion = \""));
    found.map_or("-".to_owned(), |(_, rest)| {
        format!("{package} {}", rest.split('"').next().unwrap_or_default())
    })
}

/// What is known to be worth a look, and is not in the tables.
const ABSENT: [&str; 4] = [
    "*timeout.c*: no crate has it by itself; its one way into Rust is inside a build of Tor. `tm-wheel` is the nearest: the \
     same levels of 64 slots and doubly linked nodes.",
    "*priority-queue*: it is under the MPL or the LGPL; `orx-priority-queue` stands for heaps that find their entries.",
    "*pingora-timeout*: it has ticks of 10 ms on a clock and a thread of its own, and timers are not cancelled: other work.",
    "*kestrel-timer's service* runs on tokio's clock in a task of its own, behind channels; its wheel is measured instead.",
];

fn left_out(page: &mut String, figures: &Figures) {
    line!(page, "## What is not there, and why\n");
    for absent in ABSENT {
        line!(page, "- {absent}");
    }
    let mut reasons: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for cell in &figures.cells {
        let Some(why) = &cell.why else { continue };
        let place = if cell.size == 100 {
            cell.work.clone()
        } else {
            format!("{} at {}", cell.work, short_count(cell.size))
        };
        match reasons.iter_mut().find(|(peer, reason, _)| (*peer, *reason) == (&cell.peer, why)) {
            Some((.., places)) => places.push(place),
            None => reasons.push((&cell.peer, why, vec![place])),
        }
    }
    for (peer, why, places) in reasons {
        line!(page, "- *{peer}*, {}: {why}.", places.join(", "));
    }
    line!(page);
}

fn every_run(page: &mut String, figures: &Figures) {
    line!(page, "## Every figure\n");
    line!(page, "ns an operation; `times` is how many times longer a DelayQueue takes.\n");
    line!(
        page,
        "| timers | workload | | runs | operations | CPU min / median / max | clock, median | times | checksum |"
    );
    line!(page, "|---|---|---|---|---|---|---|---|---|");
    let mut cells: Vec<&Cell> = figures.cells.iter().filter(|cell| !cell.cpu.is_empty()).collect();
    cells.sort_by_key(|cell| cell.size);
    for cell in cells {
        let cpu = Spread::of(cell.cpu.clone());
        let wall = amount(Spread::of(cell.wall.clone()).median);
        let times = times(figures, cell.size, &cell.work, &cell.peer);
        let Cell { size, work, peer, operations, checksum, .. } = cell;
        line!(
            page,
            "| {} | {work} | {peer} | {} | {operations} | {cpu} | {wall} | {times} | {checksum:016x} |",
            short_count(*size),
            cell.cpu.len()
        );
    }
}

/// Who did anything at this size, in the order in which they take part.
fn names(figures: &Figures, size: u32) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for cell in &figures.cells {
        let there = cell.size == size && !cell.cpu.is_empty() && !cell.work.starts_with("W8");
        if there && !names.contains(&cell.peer) {
            names.push(cell.peer.clone());
        }
    }
    names
}

fn find<'a>(figures: &'a Figures, size: u32, code: &str, peer: &str) -> Option<&'a Cell> {
    figures.cells.iter().find(|cell| cell.size == size && cell.work == code && cell.peer == peer)
}

/// The middle run, in ns of CPU time an operation.
pub(crate) fn median(cell: &Cell) -> Option<f64> {
    (!cell.cpu.is_empty()).then(|| Spread::of(cell.cpu.clone()).median)
}

fn entry(cell: Option<&Cell>) -> String {
    cell.and_then(median).map_or("-".to_owned(), amount)
}

fn bold(peer: &str) -> String {
    if peer == "TimingWheel" || peer == "SharedPurgatory" { format!("**{peer}**") } else { peer.to_owned() }
}

/// A figure with three digits that matter.
pub(crate) fn amount(value: f64) -> String {
    match value {
        0.0..10.0 => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        10.0..100.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        100.0..10_000.0 => format!("{value:.0}"),
        _ => format!("{:.0}k", value / 1_000.0),
    }
}

/// A time by the clock, in the unit that reads best.
#[expect(clippy::cast_precision_loss, reason = "a figure to read")]
fn duration(nanos: u64) -> String {
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{:.0} µs", nanos as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", nanos as f64 / 1e6),
        _ => format!("{:.1} s", nanos as f64 / 1e9),
    }
}

/// 100 k, 1 M.
pub(crate) fn short_count(count: u32) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{} k", count / 1_000),
        _ => format!("{} M", count / 1_000_000),
    }
}
