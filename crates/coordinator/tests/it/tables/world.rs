//! One group in a chosen phase, and all that can happen to it.
//!
//! It has a static leader and a dynamic follower. In PreparingRebalance the leader waits for the follower; in
//! CompletingRebalance both have joined, and the follower waits for the leader's assignment.

use coordinator::ids::{
    Blob, Generation, GroupId, InstanceId, MemberId, OffsetsPartition, OwnerEpoch, ProducerId, TopicName,
    TopicPartition,
};
use coordinator::messages::{
    CommitOffset, DeleteGroups, DescribeGroup, GroupError, Heartbeat, Input, JoinGroup, LeaveGroup,
    LeavingMember, OffsetCommit, OffsetDelete, OffsetFetch, Output, Request, Response, SyncGroup, Token,
    TxnOffsetCommit,
};
use coordinator::{Config, Coordinator, Partitioner, Phase, Stats, Timestamp};

pub(super) struct World {
    coordinator: Coordinator,
    now: Timestamp,
    session_timeout_ms: i32,
    leader: MemberId,
    follower: MemberId,
    generation: Generation,
    token: u64,
}

/// Something that happens to a group.
#[derive(Clone, Copy)]
pub(super) enum Happening {
    Request(fn(&World) -> Request),
    Input(fn() -> Input),
    /// So many ms pass, for members with this session timeout.
    Time(u64, i32),
}

use Happening::{Input as Told, Request as Asked, Time};

pub(super) const HAPPENINGS: [(&str, Happening); 20] = [
    ("JoinGroup of a new member", Asked(|w| w.join(&MemberId::default(), None, "new", false))),
    ("JoinGroup of a new member, id required", Asked(|w| w.join(&MemberId::default(), None, "new", true))),
    ("JoinGroup of the leader", Asked(|w| w.join(&w.leader, Some("i"), "leader", false))),
    ("JoinGroup of the follower, unchanged", Asked(|w| w.join(&w.follower, None, "follower", false))),
    ("JoinGroup of the follower, changed", Asked(|w| w.join(&w.follower, None, "other", false))),
    (
        "JoinGroup of the restarted static leader",
        Asked(|w| w.join(&MemberId::default(), Some("i"), "leader", false)),
    ),
    ("SyncGroup of the leader", Asked(|w| w.sync(&w.leader, Some("i")))),
    ("SyncGroup of the follower", Asked(|w| w.sync(&w.follower, None))),
    ("Heartbeat of the follower", Asked(World::heartbeat)),
    ("LeaveGroup of the follower", Asked(|w| leave(&w.follower))),
    ("OffsetCommit of the follower", Asked(|w| Request::OffsetCommit(w.commit(&w.follower, w.generation)))),
    (
        "OffsetCommit without member",
        Asked(|w| Request::OffsetCommit(w.commit(&MemberId::default(), Generation::NONE))),
    ),
    ("TxnOffsetCommit without member", Asked(World::txn_commit)),
    (
        "OffsetFetch",
        Asked(|_| {
            Request::OffsetFetch(OffsetFetch {
                group: group(),
                partitions: Some(vec![partition()]),
                require_stable: true,
            })
        }),
    ),
    (
        "OffsetDelete",
        Asked(|_| Request::OffsetDelete(OffsetDelete { group: group(), partitions: vec![partition()] })),
    ),
    ("DescribeGroup", Asked(|_| Request::DescribeGroup(DescribeGroup { group: group() }))),
    ("DeleteGroups", Asked(|_| Request::DeleteGroups(DeleteGroups { groups: vec![group()] }))),
    ("a session timeout passes in silence", Time(10_000, 10_000)),
    ("the rebalance timeout passes", Time(30_000, 1_000_000)),
    ("the partition is lost", Told(|| Input::Unload(OffsetsPartition(0), OwnerEpoch(2)))),
];

impl World {
    pub(super) fn at(phase: Phase, happening: Happening) -> Self {
        let table = hashbrown::HashMap::default();
        let config = Config {
            partitioner: Partitioner::Table { groups: table, otherwise: OffsetsPartition(0) },
            offsets_retention_check_interval_ms: None,
            ..Config::default()
        };
        let mut world = Self {
            coordinator: Coordinator::new(config, 3, Timestamp::ZERO),
            now: Timestamp::ZERO,
            session_timeout_ms: match happening {
                Time(_, session_timeout_ms) => session_timeout_ms,
                Asked(_) | Told(_) => 10_000,
            },
            leader: MemberId::default(),
            follower: MemberId::default(),
            generation: Generation(1),
            token: 0,
        };
        world.tell(Input::BeginLoad(OffsetsPartition(0), OwnerEpoch(1)));
        world.tell(Input::FinishLoad(OffsetsPartition(0)));
        world.form();
        world.ask(world.sync(&world.follower, None));
        if phase != Phase::CompletingRebalance {
            world.ask(world.sync(&world.leader, Some("i")));
        }
        if phase == Phase::PreparingRebalance {
            world.ask(world.join(&world.leader, Some("i"), "leader", false));
        }
        if phase == Phase::Empty {
            world.ask(leave(&world.follower));
            world.ask(leave(&world.leader));
        }
        assert_eq!(world.phase(), Some(phase));
        world
    }

    fn form(&mut self) {
        self.ask(self.join(&MemberId::default(), Some("i"), "leader", false));
        self.ask(self.join(&MemberId::default(), None, "follower", false));
        for output in self.pass(6_000) {
            let Output::Respond(_, Response::JoinGroup(joined)) = output else { continue };
            if joined.members.is_empty() {
                self.follower = joined.member;
            } else {
                self.leader = joined.member;
            }
        }
    }

    /// What comes of `happening`, in words.
    pub(super) fn observe(&mut self, happening: Happening) -> String {
        let (before, phase) = (self.coordinator.stats(), self.phase());
        let (seen, own) = match happening {
            Asked(request) => (self.ask(request(self)), Some(self.token)),
            Told(input) => (self.tell(input()), None),
            Time(ms, _) => (self.pass(ms), None),
        };
        let is_own =
            |output: &&Output| matches!(output, Output::Respond(token, _) if Some(token.number()) == own);
        let mut said = Vec::new();
        match seen.iter().find(is_own) {
            Some(Output::Respond(_, response)) => said.push(answer(response)),
            Some(_) | None if own.is_some() => said.push("waits".to_owned()),
            Some(_) | None => {}
        }
        for output in seen.iter().filter(|output| !is_own(output)) {
            match output {
                Output::Respond(_, Response::JoinGroup(join)) => {
                    said.push(format!("the parked join gets {}", error(join.error)));
                }
                Output::Respond(_, Response::SyncGroup(sync)) => {
                    said.push(format!("the parked sync gets {}", error(sync.error)));
                }
                Output::Respond(_, other) => panic!("nobody waits for {other:?}"),
                Output::Superseded(_) => said.push("the parked one is superseded".to_owned()),
                Output::Store(_) => said.push("**writes**".to_owned()),
                Output::Event(_) => {}
            }
        }
        let after = self.phase();
        if after != phase {
            said.push(after.map_or("→ *gone*".to_owned(), |phase| format!("→ *{phase}*")));
        }
        said.extend(operations(before, self.coordinator.stats()));
        if said.is_empty() { "nothing".to_owned() } else { said.join("; ") }
    }

    fn phase(&self) -> Option<Phase> {
        self.coordinator.group(&group()).map(|group| group.phase)
    }

    fn ask(&mut self, request: Request) -> Vec<Output> {
        self.token += 1;
        self.tell(Input::Request(Token::new(self.token), request))
    }

    /// Writes succeed at once; they are seen all the same.
    fn tell(&mut self, input: Input) -> Vec<Output> {
        self.coordinator.handle(self.now, input);
        self.take()
    }

    fn pass(&mut self, ms: u64) -> Vec<Output> {
        let until = self.now.saturating_add(ms);
        let mut seen = Vec::new();
        while let Some(due) = self.coordinator.next_deadline().filter(|&due| due <= until) {
            self.now = due.max(self.now);
            self.coordinator.expire(self.now);
            seen.append(&mut self.take());
        }
        self.now = until;
        seen
    }

    fn take(&mut self) -> Vec<Output> {
        let mut seen = Vec::new();
        while let Some(output) = self.coordinator.poll_output() {
            if let Output::Store(store) = &output {
                self.coordinator.handle(self.now, Input::Stored(store.id, Ok(())));
            }
            seen.push(output);
        }
        seen
    }

    fn join(&self, member: &MemberId, instance: Option<&str>, metadata: &str, requires_id: bool) -> Request {
        Request::JoinGroup(JoinGroup {
            group: group(),
            member: member.clone(),
            instance: instance.map(InstanceId::from),
            client_id: "client".into(),
            client_host: "/127.0.0.1".into(),
            protocol_type: "consumer".into(),
            protocols: vec![("range".into(), Blob::from(metadata.as_bytes()))],
            session_timeout_ms: self.session_timeout_ms,
            rebalance_timeout_ms: 30_000,
            require_known_member_id: requires_id,
            supports_skipping_assignment: true,
            reason: None,
        })
    }

    fn sync(&self, member: &MemberId, instance: Option<&str>) -> Request {
        Request::SyncGroup(SyncGroup {
            group: group(),
            generation: self.generation,
            member: member.clone(),
            instance: instance.map(InstanceId::from),
            protocol_type: None,
            protocol: None,
            assignments: Vec::new(),
        })
    }

    fn heartbeat(&self) -> Request {
        let (generation, member) = (self.generation, self.follower.clone());
        Request::Heartbeat(Heartbeat { group: group(), generation, member, instance: None })
    }

    fn commit(&self, member: &MemberId, generation: Generation) -> OffsetCommit {
        let _ = self;
        OffsetCommit {
            group: group(),
            generation,
            member: member.clone(),
            instance: None,
            retention_time_ms: -1,
            offsets: vec![CommitOffset {
                partition: partition(),
                offset: 7,
                leader_epoch: -1,
                metadata: "".into(),
                commit_timestamp_ms: -1,
            }],
        }
    }

    fn txn_commit(&self) -> Request {
        Request::TxnOffsetCommit(TxnOffsetCommit {
            commit: self.commit(&MemberId::default(), Generation::NONE),
            producer: ProducerId(5),
            producer_epoch: 0,
            verification: Ok(()),
        })
    }
}

fn group() -> GroupId {
    GroupId::new("g")
}

fn partition() -> TopicPartition {
    TopicPartition { topic: TopicName::new("t"), partition: 0 }
}

fn leave(member: &MemberId) -> Request {
    let members = vec![LeavingMember { member: member.clone(), instance: None, reason: None }];
    Request::LeaveGroup(LeaveGroup { group: group(), members })
}

/// Kafka's name of it.
fn error(error: Option<GroupError>) -> String {
    let Some(error) = error else { return "NONE".to_owned() };
    let mut name = String::new();
    for letter in format!("{error:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

fn answer(response: &Response) -> String {
    match response {
        Response::JoinGroup(join) if join.skip_assignment => "NONE, skip the assignment".to_owned(),
        Response::JoinGroup(join) => error(join.error),
        Response::SyncGroup(sync) => error(sync.error),
        Response::Heartbeat(heartbeat) => error(heartbeat.error),
        Response::LeaveGroup(leave) => error(leave.error.or(leave.members[0].error)),
        Response::OffsetCommit(commit) | Response::TxnOffsetCommit(commit) => error(commit.results[0].1),
        Response::OffsetFetch(fetch) => error(fetch.error.or(fetch.offsets[0].error)),
        Response::OffsetDelete(delete) => {
            error(delete.error.or_else(|| delete.results.first().and_then(|(_, error)| *error)))
        }
        Response::DescribeGroup(describe) => format!("*{}*", describe.state),
        Response::ListGroups(list) => error(list.error),
        Response::DeleteGroups(delete) => error(delete.results[0].1),
    }
}

/// How many operations began to wait, and how those that left did.
fn operations(before: Stats, after: Stats) -> Option<String> {
    let counts = [
        ("created", after.operations_created - before.operations_created),
        ("completed", after.operations_completed - before.operations_completed),
        ("expired", after.operations_expired - before.operations_expired),
        ("cancelled", after.operations_cancelled - before.operations_cancelled),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(_, count)| *count > 0).map(|(how, count)| format!("{count} {how}")).collect();
    (!counts.is_empty()).then(|| format!("({})", counts.join(", ")))
}
