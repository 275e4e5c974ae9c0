//! How long does one turn hold everybody up? What goes over all groups, or over very many offsets of one.

use std::sync::Arc;

use benches::measure::{Spread, cpu_nanos};
use coordinator::ids::{Blob, Generation, GroupId, MemberId, OffsetsPartition, OwnerEpoch, TopicPartition};
use coordinator::messages::{
    DescribeGroup, GroupRecord, Input, ListGroups, MemberRecord, OffsetFetch, OffsetRecord, Output, Record,
    Request, Response, Token,
};
use coordinator::{Config, Coordinator, Partitioner, Timestamp};

const PARTITION: OffsetsPartition = OffsetsPartition(0);
const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// The longest turn of each piece of work, `runs` times: a list and descriptions of `groups`, one of `members` members,
/// all `offsets` of one group read, and then expired.
pub(crate) fn turns(groups: u32, members: u32, offsets: u32, runs: usize) {
    type Work = (String, fn(&mut World, u32), Vec<Record>, u32);
    let works: [Work; 5] = [
        (format!("list of {groups} groups"), list, small_groups(groups), groups),
        (format!("{groups} groups described"), describe, small_groups(groups), groups),
        (format!("one group of {members} described"), describe, vec![group(0, members)], 1),
        (format!("{offsets} offsets of one group read"), read, many_offsets(offsets), offsets),
        (format!("{offsets} offsets of one group expired"), expire, many_offsets(offsets), offsets),
    ];
    for (what, work, records, size) in works {
        let mut world = World::new(&records);
        let mut longest = Vec::new();
        let mut turns = 0;
        for run in 0..runs {
            if run > 0 && what.ends_with("expired") {
                world = World::new(&records);
            }
            (world.longest, world.turns) = (0, 0);
            work(&mut world, size);
            longest.push(f64::from(u32::try_from(world.longest).unwrap_or(u32::MAX)) / 1e6);
            turns = world.turns;
        }
        let (spread, checksum) = (Spread::of(longest), world.checksum);
        println!("turns, {what}: longest of {turns}: {spread} ms; {checksum:x}");
    }
}

struct World {
    coordinator: Coordinator,
    now: Timestamp,
    /// CPU time of the longest turn, ns.
    longest: u64,
    turns: u64,
    tokens: u64,
    answers: u64,
    checksum: u64,
}

impl World {
    fn new(records: &[Record]) -> Self {
        let config = Config {
            partitioner: Partitioner::Kafka { partitions: 1 },
            offsets_retention_check_interval_ms: None,
            ..Config::default()
        };
        let now = Timestamp::from_ticks(1_000_000_000);
        let mut coordinator = Coordinator::new(config, 1, now);
        coordinator.handle(now, Input::BeginLoad(PARTITION, OwnerEpoch(1)));
        coordinator.handle(now, Input::Load(PARTITION, records.to_vec()));
        coordinator.handle(now, Input::FinishLoad(PARTITION));
        while coordinator.poll_output().is_some() {}
        Self { coordinator, now, longest: 0, turns: 0, tokens: 0, answers: 0, checksum: 0 }
    }

    /// One turn, and a tick of time.
    fn turn(&mut self, input: Option<Input>) {
        self.now = self.now.saturating_add(1);
        let start = cpu_nanos();
        self.coordinator.expire(self.now);
        if let Some(input) = input {
            self.coordinator.handle(self.now, input);
        }
        self.longest = self.longest.max(cpu_nanos() - start);
        self.turns += 1;
        while let Some(output) = self.coordinator.poll_output() {
            match output {
                Output::Respond(_, response) => self.add(&response),
                Output::Store(store) => {
                    self.checksum = self.checksum.wrapping_mul(31) ^ store.records.len() as u64;
                    self.coordinator.handle(self.now, Input::Stored(store.id, Ok(())));
                }
                Output::Event(_) | Output::Superseded(_) => {}
            }
        }
    }

    fn add(&mut self, response: &Response) {
        let size = match response {
            Response::ListGroups(list) => list.groups.len(),
            Response::DescribeGroup(group) => group.members.len(),
            Response::OffsetFetch(fetch) => fetch.offsets.len(),
            other => panic!("not asked for: {other:?}"),
        };
        self.answers += 1;
        self.checksum = self.checksum.wrapping_mul(31) ^ size as u64;
    }

    fn ask(&mut self, request: Request) {
        self.tokens += 1;
        self.turn(Some(Input::Request(Token::new(self.tokens), request)));
    }

    /// Turns until all that was asked is answered.
    fn finish(&mut self) {
        while self.answers < self.tokens {
            self.turn(None);
        }
    }
}

fn list(world: &mut World, _groups: u32) {
    world.ask(Request::ListGroups(ListGroups::default()));
    world.finish();
}

fn describe(world: &mut World, groups: u32) {
    for n in 0..groups {
        world.ask(Request::DescribeGroup(DescribeGroup { group: name(n) }));
    }
}

fn read(world: &mut World, _offsets: u32) {
    world.ask(Request::OffsetFetch(OffsetFetch { group: name(0), partitions: None, require_stable: true }));
    world.finish();
}

fn expire(world: &mut World, _offsets: u32) {
    world.turn(Some(Input::CleanUp));
    while world.coordinator.next_deadline().is_some() {
        world.turn(None);
    }
}

fn small_groups(groups: u32) -> Vec<Record> {
    (0..groups).map(|n| group(n, 1)).collect()
}

/// All older than is kept.
fn many_offsets(offsets: u32) -> Vec<Record> {
    let topics = (0..offsets).map(|n| (n / 1_000, n % 1_000));
    let record = |(topic, partition): (u32, u32)| {
        Record::Offset(OffsetRecord {
            group: name(0),
            partition: TopicPartition {
                topic: format!("topic-{topic:04}").as_str().into(),
                partition: i32::try_from(partition).expect("below a thousand"),
            },
            offset: i64::from(partition),
            leader_epoch: -1,
            metadata: Arc::default(),
            commit_timestamp_ms: -WEEK_MS,
            expire_timestamp_ms: None,
        })
    };
    topics.map(record).collect()
}

fn group(n: u32, members: u32) -> Record {
    let members = (0..members).map(|member| MemberRecord {
        member: MemberId::new(format!("consumer-{n}-{member}-0123456789abcdef0123456789abcdef")),
        instance: None,
        client_id: "consumer".into(),
        client_host: "/127.0.0.1".into(),
        session_timeout_ms: 1_800_000,
        rebalance_timeout_ms: 300_000,
        subscription: Blob::from([7; 100]),
        assignment: Blob::from([7; 100]),
    });
    Record::Group(GroupRecord {
        group: name(n),
        generation: Generation(1),
        protocol_type: "consumer".into(),
        protocol: Some("range".into()),
        leader: None,
        state_timestamp_ms: -1,
        members: members.collect(),
    })
}

fn name(n: u32) -> GroupId {
    GroupId::new(format!("group-{n}"))
}
