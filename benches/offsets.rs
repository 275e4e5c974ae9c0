//! How fast are offsets? Commits and fetches of ten partitions each, over many groups in random order, in process.
//!
//! Each group has one stable member, which commits; the log acknowledges inline; the clock moves on by a millisecond
//! every hundred requests. Requests are made a hundred at a time outside the time measured, with strings of their own as
//! a decoder makes them; what the coordinator says is taken and dropped within it.
//!
//! `cargo bench -p benches --bench offsets` runs small, so that CI keeps it alive. For figures:
//! `cargo bench -p benches --bench offsets -- --groups 10000 --runs 11 [--only Fetch]`

use std::sync::Arc;

use benches::measure::{Numbers, Spread, cpu_nanos};
use coordinator::ids::{
    Blob, Generation, GroupId, MemberId, OffsetsPartition, OwnerEpoch, TopicName, TopicPartition,
};
use coordinator::messages::{
    CommitOffset, GroupRecord, Input, MemberRecord, OffsetCommit, OffsetFetch, Output, Record, Request,
    Response, Token,
};
use coordinator::{Config, Coordinator, Partitioner, Timestamp};

/// As in groupd.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PARTITIONS: i32 = 10;
const TOPIC: &str = "orders";
const START_MS: u64 = 1_000_000_000;

fn main() {
    let options = options();
    println!(
        "Thread CPU time, ns a partition, {PARTITIONS} partitions a request, {} groups, {} runs: min / median / max, \
         checksum of the work.",
        options.groups, options.runs
    );
    // First: later it would fill what the others have left.
    if options.groups >= 1_000 && options.only.is_empty() {
        memory(options.groups);
    }
    let metadata = "AgAAAZPz1N0XAAAAAAAAAAAAAAAAAAAA";
    for work in [
        Work { name: "OffsetCommit", metadata: "", kind: Kind::Commit },
        Work { name: "OffsetCommit, 32 bytes of metadata", metadata, kind: Kind::Commit },
        Work { name: "OffsetFetch", metadata: "", kind: Kind::Fetch },
        Work { name: "OffsetFetch, 32 bytes of metadata", metadata, kind: Kind::Fetch },
        Work { name: "OffsetFetch of all", metadata: "", kind: Kind::FetchAll },
    ] {
        if work.name.contains(&options.only) {
            work.report(&options);
        }
    }
}

struct Options {
    groups: u32,
    runs: usize,
    only: String,
}

fn options() -> Options {
    let mut options = Options { groups: 200, runs: 3, only: String::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--bench" {
            continue;
        }
        let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
        let number = || value.parse().unwrap_or_else(|_| panic!("{name}: {value} is no number"));
        match name.as_str() {
            "--groups" => options.groups = number(),
            "--runs" => options.runs = number() as usize,
            "--only" => options.only = value,
            other => panic!("unknown option {other}"),
        }
    }
    options
}

struct Work {
    name: &'static str,
    metadata: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Commit,
    Fetch,
    FetchAll,
}

impl Work {
    fn report(&self, options: &Options) {
        let mut world = World::with_groups(options.groups);
        // Everyone has committed before anything is measured.
        world.round(options.groups, Kind::Commit, self.metadata, TOPIC);
        let runs = (0..options.runs).map(|_| world.round(options.groups, self.kind, self.metadata, TOPIC));
        let partitions = f64::from(options.groups) * f64::from(PARTITIONS);
        #[expect(clippy::cast_precision_loss, reason = "figures to read")]
        let spread = Spread::of(runs.map(|nanos| nanos as f64 / partitions).collect());
        println!("  {:<36}{:>24}   {:016x}", self.name, spread.to_string(), world.checksum);
    }
}

struct World {
    coordinator: Coordinator,
    numbers: Numbers,
    now: u64,
    requests: u64,
    checksum: u64,
}

impl World {
    /// A coordinator that was loaded with stable groups of one member each.
    fn with_groups(groups: u32) -> Self {
        let config = Config { partitioner: Partitioner::Kafka { partitions: 1 }, ..Config::default() };
        let now = Timestamp::from_ticks(START_MS);
        let mut coordinator = Coordinator::new(config, 1, now);
        let partition = OffsetsPartition(0);
        coordinator.handle(now, Input::BeginLoad(partition, OwnerEpoch(1)));
        coordinator.handle(now, Input::Load(partition, (0..groups).map(stable_group).collect()));
        coordinator.handle(now, Input::FinishLoad(partition));
        while coordinator.poll_output().is_some() {}
        Self { coordinator, numbers: Numbers::new(7), now: START_MS, requests: 0, checksum: 0 }
    }

    /// One request of each group, in random order. Returns the nanoseconds they took together.
    fn round(&mut self, groups: u32, kind: Kind, metadata: &str, topic: &str) -> u64 {
        let mut nanos = 0;
        for batch in self.numbers.shuffled(groups).chunks(100) {
            let requests: Vec<Request> = batch.iter().map(|n| request(*n, kind, metadata, topic)).collect();
            self.now += 1;
            let start = cpu_nanos();
            for request in requests {
                self.ask(request);
            }
            nanos += cpu_nanos() - start;
        }
        nanos
    }

    fn ask(&mut self, request: Request) {
        self.requests += 1;
        let now = Timestamp::from_ticks(self.now);
        self.coordinator.expire(now);
        self.coordinator.handle(now, Input::Request(Token::new(self.requests), request));
        while let Some(output) = self.coordinator.poll_output() {
            match output {
                Output::Store(store) => self.coordinator.handle(now, Input::Stored(store.id, Ok(()))),
                Output::Respond(_, response) => self.add(&response),
                Output::Superseded(_) | Output::Event(_) => {}
            }
        }
    }

    fn add(&mut self, response: &Response) {
        match response {
            Response::OffsetCommit(response) => {
                for (partition, error) in &response.results {
                    assert!(error.is_none(), "{partition}: {error:?}");
                    self.mix(i64::from(partition.partition));
                }
            }
            Response::OffsetFetch(response) => {
                for fetched in &response.offsets {
                    assert!(fetched.error.is_none() && fetched.offset >= 0, "{fetched:?}");
                    self.mix(fetched.offset);
                }
            }
            other => panic!("{other:?}"),
        }
    }

    fn mix(&mut self, value: i64) {
        self.checksum = (self.checksum ^ value.cast_unsigned()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

fn request(group: u32, kind: Kind, metadata: &str, topic: &str) -> Request {
    let group_id = GroupId::new(format!("group-{group}"));
    let topic = TopicName::from(topic);
    let partition = |partition| TopicPartition { topic: topic.clone(), partition };
    match kind {
        Kind::Commit => Request::OffsetCommit(OffsetCommit {
            group: group_id,
            generation: Generation(1),
            member: member(group),
            instance: None,
            retention_time_ms: -1,
            offsets: (0..PARTITIONS)
                .map(|index| CommitOffset {
                    partition: partition(index),
                    offset: i64::from(group) + i64::from(index),
                    leader_epoch: 1,
                    metadata: if metadata.is_empty() { Arc::default() } else { metadata.into() },
                    commit_timestamp_ms: -1,
                })
                .collect(),
        }),
        Kind::Fetch | Kind::FetchAll => Request::OffsetFetch(OffsetFetch {
            group: group_id,
            partitions: match kind {
                Kind::FetchAll => None,
                Kind::Fetch | Kind::Commit => Some((0..PARTITIONS).map(partition).collect()),
            },
            require_stable: true,
        }),
    }
}

fn member(group: u32) -> MemberId {
    MemberId::new(format!("consumer-{group}-0123456789abcdef0123456789abcdef"))
}

fn stable_group(group: u32) -> Record {
    Record::Group(GroupRecord {
        group: GroupId::new(format!("group-{group}")),
        generation: Generation(1),
        protocol_type: "consumer".into(),
        protocol: Some("range".into()),
        leader: Some(member(group)),
        state_timestamp_ms: -1,
        members: vec![MemberRecord {
            member: member(group),
            instance: None,
            client_id: "consumer".into(),
            client_host: "/127.0.0.1".into(),
            session_timeout_ms: 1_800_000,
            rebalance_timeout_ms: 300_000,
            subscription: Blob::from([0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]),
            assignment: Blob::default(),
        }],
    })
}

/// What an offset takes in memory, by the growth of the resident set while four more topics are committed.
fn memory(groups: u32) {
    let mut world = World::with_groups(groups);
    // What the work itself needs is there after a round.
    world.round(groups, Kind::Commit, "", TOPIC);
    let before = resident_bytes();
    for topic in ["payments", "shipments", "returns", "customers"] {
        world.round(groups, Kind::Commit, "", topic);
    }
    if let (Some(before), Some(after)) = (before, resident_bytes()) {
        let offsets = u64::from(groups) * u64::from(PARTITIONS.unsigned_abs()) * 4;
        println!("  Bytes an offset, without metadata: {}", after.saturating_sub(before) / offsets);
    }
}

fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4_096)
}
