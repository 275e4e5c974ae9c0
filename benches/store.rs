//! What does a durable commit cost? The embedded store beside a plain append and fdatasync of the same bytes.
//!
//! Both are driven by the same commit thread and take turns in the same run, so that a busy disk disturbs both. A
//! committer has one write in flight: it commits the offsets of one group, waits for it to be durable, and goes on
//! with another group. Bytes are counted where they are written (all three files, folding included) and compared
//! with the bytes of the encoded records.
//!
//! `cargo bench -p benches --bench store` runs small, so that CI keeps it alive. For figures, a part at a time:
//! `cargo bench -p benches --bench store -- --part commits --seconds 10 --groups 10000`
//! `cargo bench -p benches --bench store -- --part space --commits 100000000 --keys 100000`
//! and `--directory PATH` for another disk than that of temporary files.

#![expect(clippy::disallowed_methods, reason = "the question is how long a disk takes: wall-clock time")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use benches::measure::process_cpu_nanos;
use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::StoreId;
use groupd::store::{
    Batch, CommitSettings, CommitThread, EmbeddedSettings, EmbeddedStore, Store, StoreHandle, Stored,
};

#[path = "store/counted.rs"]
mod counted;
#[path = "store/plain.rs"]
mod plain;
#[path = "store/records.rs"]
mod records;
#[path = "store/space.rs"]
mod space;

use counted::Counters;
use plain::PlainAppend;
use records::{PARTITIONS, record};

/// Turns each store has within a run.
const TURNS: u32 = 5;

/// Commits in flight while a store is filled.
const FILLING: u32 = 256;

/// As in groupd.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Options {
    /// One part only; empty: all.
    part: String,
    seconds: f64,
    groups: u32,
    /// Committers and records a commit: all if none are named.
    committers: Option<usize>,
    records: Option<i32>,
    directory: PathBuf,
    /// Offsets committed over a life.
    commits: u32,
    /// How many different ones.
    keys: u32,
}

fn main() {
    let options = options();
    let wants = |part: &str| options.part.is_empty() || options.part == part;
    if wants("commits") {
        commits(&options);
    }
    if wants("space") {
        space::measure(&options);
    }
}

fn commits(options: &Options) {
    println!("{} groups, {} s each, in {}", options.groups, options.seconds, options.directory.display());
    println!(
        "committers | records | store    | commits/s | records/s | p50 us | p99 us | max us | bytes/byte | cpu us/record | rate"
    );
    for records in options.records.map_or(vec![1, 100], |records| vec![records]) {
        for committers in options.committers.map_or(vec![1, 16, 256], |committers| vec![committers]) {
            compare(options, committers, records);
        }
    }
}

fn options() -> Options {
    let mut options = Options {
        part: String::new(),
        seconds: 0.1,
        groups: 1000,
        committers: None,
        records: None,
        directory: std::env::temp_dir(),
        commits: 20_000,
        keys: 2_000,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--bench" {
            continue;
        }
        let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
        match name.as_str() {
            "--part" => options.part = value,
            "--seconds" => options.seconds = value.parse().expect("seconds are a number"),
            "--groups" => options.groups = value.parse().expect("groups are a number"),
            "--committers" => options.committers = Some(value.parse().expect("committers are a number")),
            "--records" => options.records = Some(value.parse().expect("records are a number")),
            "--commits" => options.commits = value.parse().expect("commits are a number"),
            "--keys" => options.keys = value.parse().expect("keys are a number"),
            "--directory" => options.directory = value.into(),
            other => panic!("unknown option {other}"),
        }
    }
    options
}

/// Both stores, in turns.
fn compare(options: &Options, committers: usize, records: i32) {
    let place = tempfile::tempdir_in(&options.directory).expect("the directory can be written to");
    let mut embedded = Contender::start("embedded", |counters| open_embedded(place.path(), counters));
    let mut plain = Contender::start("plain", |counters| {
        Box::new(
            PlainAppend::create(&place.path().join("plain"), counters.clone()).expect("a file can be made"),
        )
    });
    let turn = Duration::from_secs_f64(options.seconds / f64::from(TURNS));
    for contender in [&mut embedded, &mut plain] {
        contender.fill(options.groups, records);
    }
    for _ in 0..TURNS {
        for contender in [&mut embedded, &mut plain] {
            contender.run(turn / 4, options.groups, committers, records);
            contender.measure(turn, options.groups, committers, records);
            settle();
        }
    }
    let baseline = plain.rate();
    embedded.report(committers, records, baseline);
    plain.report(committers, records, baseline);
}

/// Waits until nothing goes on any more: a fold that one store left behind must not disturb the other.
fn settle() {
    loop {
        let cpu = process_cpu_nanos();
        std::thread::sleep(Duration::from_millis(20));
        if process_cpu_nanos() - cpu < 1_000_000 {
            return;
        }
    }
}

fn open_embedded(directory: &Path, counters: &Counters) -> Box<dyn Store> {
    let files = counted::files(directory, counters).expect("files can be made");
    Box::new(EmbeddedStore::open(files, EmbeddedSettings::default(), 1).expect("a new store opens"))
}

/// A store, and what was seen of it.
struct Contender {
    name: &'static str,
    _thread: CommitThread,
    handle: StoreHandle,
    outcomes: crossbeam_channel::Receiver<Stored>,
    epochs: Vec<OwnerEpoch>,
    counters: Counters,
    next_group: u32,
    commits: u64,
    committed_bytes: u64,
    measured_bytes: u64,
    written_bytes: u64,
    time: Duration,
    cpu_nanos: u64,
    latencies: Vec<Duration>,
}

impl Contender {
    fn start(name: &'static str, open: impl FnOnce(&Counters) -> Box<dyn Store>) -> Self {
        let counters = Counters::default();
        let store = open(&counters);
        let thread = CommitThread::start(store, CommitSettings::default()).expect("a thread can be started");
        let partitions: Vec<_> = (0..PARTITIONS).map(OffsetsPartition).collect();
        let epochs = thread.client().acquire(&partitions).expect("a new store can be owned");
        let (inbox, outcomes) = crossbeam_channel::unbounded();
        let handle = thread.handle(Arc::new(inbox));
        Self {
            name,
            _thread: thread,
            handle,
            outcomes,
            epochs,
            counters,
            next_group: 0,
            commits: 0,
            committed_bytes: 0,
            measured_bytes: 0,
            written_bytes: 0,
            time: Duration::ZERO,
            cpu_nanos: 0,
            latencies: Vec::new(),
        }
    }

    /// Commits all groups once, so that what is measured overwrites.
    fn fill(&mut self, groups: u32, records: i32) {
        for group in 0..groups {
            self.commit(0, group, records);
            if group >= FILLING {
                self.outcomes.recv().expect("every write is answered").result.expect("the store works");
            }
        }
        for _ in 0..FILLING.min(groups) {
            self.outcomes.recv().expect("every write is answered").result.expect("the store works");
        }
    }

    /// Measures a turn that was going on already: what was put off before it is about what is put off in it.
    fn measure(&mut self, turn: Duration, groups: u32, committers: usize, records: i32) {
        let (written, committed) = (self.counters.written(), self.committed_bytes);
        let (cpu, start) = (process_cpu_nanos(), Instant::now());
        let latencies = self.run(turn, groups, committers, records);
        self.time += start.elapsed();
        self.cpu_nanos += process_cpu_nanos() - cpu;
        self.measured_bytes += self.committed_bytes - committed;
        self.written_bytes += self.counters.written() - written;
        self.commits += latencies.len() as u64;
        self.latencies.extend(latencies);
    }

    /// Keeps `committers` writes in flight for a while, and returns how long each took.
    fn run(&mut self, turn: Duration, groups: u32, committers: usize, records: i32) -> Vec<Duration> {
        let start = Instant::now();
        let mut latencies = Vec::new();
        let mut sent = vec![start; committers];
        for (committer, at) in sent.iter_mut().enumerate() {
            *at = self.commit_next(committer, groups, records);
        }
        let mut in_flight = committers;
        while in_flight > 0 {
            let outcome = self.outcomes.recv().expect("every write is answered");
            outcome.result.expect("the store works");
            let committer = usize::try_from(outcome.id.0).expect("a committer's index");
            latencies.push(sent[committer].elapsed());
            if start.elapsed() < turn {
                sent[committer] = self.commit_next(committer, groups, records);
            } else {
                in_flight -= 1;
            }
        }
        latencies
    }

    fn commit_next(&mut self, committer: usize, groups: u32, records: i32) -> Instant {
        // A step that shares no factor with most counts: groups come in no order.
        self.next_group = (self.next_group + 7919) % groups;
        self.commit(committer, self.next_group, records)
    }

    fn commit(&mut self, committer: usize, group: u32, records: i32) -> Instant {
        let now = Instant::now();
        let partition = i32::try_from(group).expect("groups are few") % PARTITIONS;
        let epoch = self.epochs[usize::try_from(partition).expect("not negative")];
        let offset = i64::try_from(self.commits).expect("few");
        let list: Vec<_> = (0..records).map(|index| record(group, index, offset)).collect();
        let batch = Batch::new(OffsetsPartition(partition), epoch, &list).expect("a small batch");
        self.committed_bytes += batch.records().len() as u64;
        self.handle.append(StoreId(committer as u64), batch);
        now
    }

    #[expect(clippy::cast_precision_loss, reason = "figures to print")]
    fn rate(&self) -> f64 {
        self.commits as f64 / self.time.as_secs_f64()
    }

    #[expect(clippy::cast_precision_loss, reason = "figures to print")]
    fn report(&mut self, committers: usize, records: i32, baseline: f64) {
        self.latencies.sort_unstable();
        let at = |part: usize| self.latencies[(self.latencies.len() - 1) * part / 100].as_micros();
        let all_records = self.commits as f64 * f64::from(records);
        println!(
            "{committers:>10} | {records:>7} | {:<8} | {:>9.0} | {:>9.0} | {:>6} | {:>6} | {:>6} | {:>10.2} | {:>13.2} | {:.2}",
            self.name,
            self.rate(),
            self.rate() * f64::from(records),
            at(50),
            at(99),
            at(100),
            self.written_bytes as f64 / self.measured_bytes as f64,
            self.cpu_nanos as f64 / 1000.0 / all_records,
            self.rate() / baseline,
        );
    }
}
