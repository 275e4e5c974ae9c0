//! Large groups and many groups.

use coordinator::ids::{Blob, Generation, GroupId, MemberId, OffsetsPartition, OwnerEpoch};
use coordinator::messages::{
    DescribeGroup, Input, JoinGroup, ListGroups, Output, Record, Request, Response, SyncGroup, Token,
};
use coordinator::{Config, Coordinator, Partitioner, Phase, Timestamp};

/// A coordinator with one partition, whose log keeps everything.
struct World {
    coordinator: Coordinator,
    now: Timestamp,
    log: Vec<Record>,
    answers: Vec<(u64, Response)>,
    tokens: u64,
}

impl World {
    fn new(log: Vec<Record>, now: Timestamp) -> Self {
        let partition = OffsetsPartition(0);
        let groups = hashbrown::HashMap::default();
        let partitioner = Partitioner::Table { groups, otherwise: partition };
        let config = Config { partitioner, offsets_retention_check_interval_ms: None, ..Config::default() };
        let mut coordinator = Coordinator::new(config, 5, now);
        coordinator.handle(now, Input::BeginLoad(partition, OwnerEpoch(1)));
        coordinator.handle(now, Input::Load(partition, log.clone()));
        coordinator.handle(now, Input::FinishLoad(partition));
        Self { coordinator, now, log, answers: Vec::new(), tokens: 0 }
    }

    fn send(&mut self, request: Request) -> u64 {
        self.tokens += 1;
        self.coordinator.handle(self.now, Input::Request(Token::new(self.tokens), request));
        self.drain();
        self.tokens
    }

    fn pass(&mut self, ms: u64) {
        let until = self.now.saturating_add(ms);
        while let Some(due) = self.coordinator.next_deadline().filter(|&due| due <= until) {
            self.now = due.max(self.now);
            self.coordinator.expire(self.now);
            self.drain();
        }
        self.now = until;
    }

    fn drain(&mut self) {
        while let Some(output) = self.coordinator.poll_output() {
            match output {
                Output::Respond(token, response) => self.answers.push((token.number(), response)),
                Output::Superseded(token) => panic!("{token:?} asked twice"),
                Output::Store(store) => {
                    self.log.extend(store.records);
                    self.coordinator.handle(self.now, Input::Stored(store.id, Ok(())));
                }
                Output::Event(_) => {}
            }
        }
    }

    fn take(&mut self) -> Vec<(u64, Response)> {
        std::mem::take(&mut self.answers)
    }

    /// All sync, the leader with assignments for all; all get theirs.
    fn sync(&mut self, members: &[MemberId], generation: i32) {
        for (n, member) in members.iter().enumerate() {
            let assignments = members.iter().map(|member| (member.clone(), blob(member)));
            let assignments = if n == 0 { assignments.collect() } else { Vec::new() };
            self.send(Request::SyncGroup(SyncGroup {
                group: group(),
                generation: Generation(generation),
                member: member.clone(),
                instance: None,
                protocol_type: None,
                protocol: None,
                assignments,
            }));
        }
        let answers = self.take();
        assert_eq!(answers.len(), members.len());
        for ((_, answer), member) in answers.into_iter().zip(members) {
            let Response::SyncGroup(synced) = answer else { panic!("not a sync's answer: {answer:?}") };
            assert_eq!((synced.error, synced.assignment), (None, blob(member)));
        }
    }

    fn phase(&self) -> Phase {
        self.coordinator.group(&group()).expect("it exists").phase
    }
}

fn group() -> GroupId {
    GroupId::new("large")
}

fn blob(member: &MemberId) -> Blob {
    Blob::from(member.as_str().as_bytes())
}

fn join(member: MemberId) -> Request {
    Request::JoinGroup(JoinGroup {
        group: group(),
        member,
        instance: None,
        client_id: "consumer".into(),
        client_host: "/127.0.0.1".into(),
        protocol_type: "consumer".into(),
        protocols: vec![("range".into(), Blob::from(&[7; 100][..]))],
        session_timeout_ms: 60_000,
        rebalance_timeout_ms: 300_000,
        require_known_member_id: false,
        supports_skipping_assignment: true,
        reason: None,
    })
}

/// Kafka's record limit ends groups at about 3,400 members.
#[test]
fn a_group_of_ten_thousand_forms_restarts_and_rebalances() {
    const MEMBERS: usize = 10_000;
    let mut world = World::new(Vec::new(), Timestamp::ZERO);
    for _ in 0..MEMBERS {
        world.send(join(MemberId::default()));
    }
    world.pass(6_000);
    let joined = world.take();
    assert_eq!(joined.len(), MEMBERS);
    let members: Vec<MemberId> = joined
        .into_iter()
        .map(|(_, answer)| match answer {
            Response::JoinGroup(joined) => joined.member,
            other => panic!("not a join's answer: {other:?}"),
        })
        .collect();
    world.sync(&members, 1);
    assert_eq!(world.phase(), Phase::Stable);

    let mut world = World::new(world.log, world.now);
    assert_eq!((world.phase(), world.coordinator.stats().operations), (Phase::Stable, MEMBERS));
    for member in &members {
        world.send(join(member.clone()));
    }
    let rejoined = world.take();
    assert_eq!(rejoined.len(), MEMBERS);
    let lists = rejoined.iter().filter(|(_, answer)| match answer {
        Response::JoinGroup(joined) => joined.members.len() == MEMBERS && joined.generation == Generation(2),
        _ => false,
    });
    assert_eq!(lists.count(), 1, "the leader is told of all");
    world.sync(&members, 2);
    assert_eq!(world.phase(), Phase::Stable);

    // All fall silent: everything is freed but the empty group.
    world.pass(3_600_000);
    assert_eq!((world.phase(), world.coordinator.stats().operations), (Phase::Empty, 0));
}

/// A list is made in pages; in between others are served.
#[test]
fn a_long_list_holds_nobody_up() {
    let groups = |n: u32| {
        let record = |n| coordinator::messages::GroupRecord {
            group: GroupId::new(format!("group-{n:06}")),
            generation: Generation(1),
            protocol_type: "consumer".into(),
            protocol: None,
            leader: None,
            state_timestamp_ms: 0,
            members: Vec::new(),
        };
        (0..n).rev().map(|n| Record::Group(record(n))).collect::<Vec<_>>()
    };
    let mut world = World::new(groups(10_500), Timestamp::ZERO);
    let list = world.send(Request::ListGroups(ListGroups::default()));
    let describe = world.send(Request::DescribeGroup(DescribeGroup { group: "group-000007".into() }));
    let first = world.take();
    assert_eq!(first.iter().map(|(token, _)| *token).collect::<Vec<_>>(), [describe]);
    world.pass(100);
    let (token, Response::ListGroups(listed)) = world.take().remove(0) else { panic!("not a list") };
    assert_eq!((token, listed.error, listed.groups.len()), (list, None, 10_500));
    assert!(listed.groups.is_sorted_by(|one, other| one.group < other.group));

    let mut world = World::new(groups(999), Timestamp::ZERO);
    world.send(Request::ListGroups(ListGroups::default()));
    assert_eq!(world.take().len(), 1, "a short one is answered at once");
}
