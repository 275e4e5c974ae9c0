//! Groups that change at random: at every step the sessions are those of the members, and heartbeats are answered alike
//! whichever way the member is looked for.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::events::EventKind;
use crate::ids::{Blob, Generation, GroupId, InstanceId, MemberId, OffsetsPartition, OwnerEpoch};
use crate::messages::{
    GroupError, Heartbeat, Input, JoinGroup, LeaveGroup, LeavingMember, Output, Request, Response,
    StoreError, SyncGroup, Token,
};
use crate::requests::heartbeat::tests::both_ways;
use crate::{Config, Coordinator, Partitioner, Timestamp};

const GROUPS: usize = 3;

struct World {
    coordinator: Coordinator,
    random: ChaCha8Rng,
    now: u64,
    tokens: u64,
    epochs: [i32; GROUPS],
    /// All that were ever told, those that are long gone included.
    ids: Vec<MemberId>,
    /// How heartbeats were answered, by what is seen of the group.
    seen: [u32; 4],
    expired: u32,
}

impl World {
    fn new(seed: u64) -> Self {
        let groups = (0..GROUPS).map(|n| (group(n), OffsetsPartition(i32::try_from(n).unwrap()))).collect();
        let partitioner = Partitioner::Table { groups, otherwise: OffsetsPartition(0) };
        let config = Config { partitioner, group_max_size: 12, ..Config::default() };
        let coordinator = Coordinator::new(config, seed, Timestamp::ZERO);
        let random = ChaCha8Rng::seed_from_u64(seed);
        let ids = vec![MemberId::default()];
        let mut world = Self {
            coordinator,
            random,
            now: 0,
            tokens: 0,
            epochs: [0; GROUPS],
            ids,
            seen: [0; 4],
            expired: 0,
        };
        (0..GROUPS).for_each(|n| world.own(n));
        world
    }

    fn own(&mut self, n: usize) {
        self.epochs[n] += 1;
        let (partition, epoch) = (OffsetsPartition(i32::try_from(n).unwrap()), OwnerEpoch(self.epochs[n]));
        self.handle(Input::BeginLoad(partition, epoch));
        self.handle(Input::FinishLoad(partition));
    }

    fn ask(&mut self, request: Request) {
        self.tokens += 1;
        self.handle(Input::Request(Token::new(self.tokens), request));
    }

    fn handle(&mut self, input: Input) {
        let now = Timestamp::from_ticks(self.now);
        self.coordinator.expire(now);
        self.coordinator.handle(now, input);
        while let Some(output) = self.coordinator.poll_output() {
            match output {
                Output::Respond(_, Response::JoinGroup(joined)) if !joined.member.is_empty() => {
                    if !self.ids.contains(&joined.member) {
                        self.ids.push(joined.member);
                    }
                }
                Output::Store(store) => {
                    let outcome = if self.random.random_ratio(1, 9) {
                        Err(StoreError::UnknownServerError)
                    } else {
                        Ok(())
                    };
                    self.coordinator.handle(now, Input::Stored(store.id, outcome));
                }
                Output::Event(event) if matches!(event.kind, EventKind::SessionExpired { .. }) => {
                    self.expired += 1;
                }
                Output::Event(_) | Output::Respond(..) | Output::Superseded(_) => {}
            }
        }
    }

    /// Somebody ever heard of, mostly lately.
    fn somebody(&mut self) -> MemberId {
        let last = self.ids.len();
        let from = if self.random.random_ratio(1, 4) { 0 } else { last.saturating_sub(20) };
        self.ids[self.random.random_range(from..last)].clone()
    }

    fn instance(&mut self) -> Option<InstanceId> {
        self.random.random_ratio(1, 3).then(|| ["i", "j", "k"][self.random.random_range(0..3)].into())
    }

    fn generation(&self, group: &GroupId) -> Generation {
        self.coordinator.group(group).map_or(Generation(0), |view| view.generation)
    }

    fn step(&mut self) {
        let n = self.random.random_range(0..GROUPS);
        let (group, member, instance) = (group(n), self.somebody(), self.instance());
        match self.random.random_range(0..100) {
            0..45 => {
                let session_timeout_ms = self.random.random_range(6_000..30_000);
                let rebalance_timeout_ms = self.random.random_range(1_000..20_000);
                let metadata = [self.random.random_range(0..2_u8)];
                self.ask(Request::JoinGroup(JoinGroup {
                    group,
                    member,
                    instance,
                    client_id: "c".into(),
                    client_host: "/h".into(),
                    protocol_type: "consumer".into(),
                    protocols: vec![("range".into(), Blob::from(&metadata[..]))],
                    session_timeout_ms,
                    rebalance_timeout_ms,
                    require_known_member_id: session_timeout_ms % 2 == 0,
                    supports_skipping_assignment: true,
                    reason: None,
                }));
            }
            45..80 => {
                let generation = self.generation(&group);
                let leader = self.coordinator.group(&group).and_then(|view| view.leader);
                self.ask(Request::SyncGroup(SyncGroup {
                    group,
                    generation,
                    member: leader.filter(|_| generation.0 % 4 > 0).unwrap_or(member),
                    instance: None,
                    protocol_type: None,
                    protocol: None,
                    assignments: self.ids.iter().map(|id| (id.clone(), Blob::from(&b"a"[..]))).collect(),
                }));
            }
            80..86 => {
                let members = vec![LeavingMember { member, instance, reason: None }];
                self.ask(Request::LeaveGroup(LeaveGroup { group, members }));
            }
            86..88 => {
                let abandoned = self.random.random_range(0..=self.tokens);
                self.handle(Input::Abandon(abandoned));
            }
            88 => self.own(n),
            _ => {
                self.now += self.random.random_range(0..20_000);
                self.handle(Input::CleanUp);
            }
        }
    }

    /// Heartbeats of somebody, in each group and of each generation it may believe in.
    fn beat(&mut self) {
        let (member, instance) = (self.somebody(), self.instance());
        for group in (0..=GROUPS).map(group) {
            for step in -1..=1 {
                let generation = Generation(self.generation(&group).0 + step);
                let (member, instance) = (member.clone(), instance.clone());
                let request = Heartbeat { group: group.clone(), generation, member, instance };
                match both_ways(&mut self.coordinator, &request) {
                    Ok(()) => self.seen[0] += 1,
                    Err(GroupError::RebalanceInProgress) => self.seen[1] += 1,
                    Err(GroupError::IllegalGeneration) => self.seen[2] += 1,
                    Err(_) => self.seen[3] += 1,
                }
            }
        }
    }

    fn check(&self) {
        let Coordinator { groups, turn, .. } = &self.coordinator;
        let mut members = 0;
        for group in groups.iter() {
            for (index, member) in group.members.iter() {
                members += 1;
                assert_eq!(turn.sessions.find_in(group, &member.id), Some(index));
                let fingerprint = turn.sessions.fingerprint(&group.name, &member.id);
                let session = turn.sessions.find(fingerprint).unwrap();
                assert_eq!(
                    (session.timer, session.timeout_ms),
                    (member.heartbeat, member.session_timeout_ms)
                );
                assert!(turn.purgatory.get(session.timer).is_some(), "the timer runs");
            }
        }
        assert_eq!(turn.sessions.len(), members);
        let entries: usize = turn.sessions.parts.iter().map(hashbrown::HashTable::len).sum();
        assert_eq!((entries, turn.sessions.slots.taken()), (members, members));
    }
}

fn group(n: usize) -> GroupId {
    GroupId::new(format!("group-{n}"))
}

#[test]
fn sessions_are_those_of_the_members_and_heartbeats_are_answered_alike_either_way() {
    let (mut seen, mut expired) = ([0; 4], 0);
    for seed in 0..20 {
        let mut world = World::new(seed);
        for _ in 0..1_000 {
            world.step();
            world.beat();
            world.check();
        }
        (0..4).for_each(|n| seen[n] += world.seen[n]);
        expired += world.expired;
    }
    assert!(seen.iter().all(|&count| count > 100), "all answers were met: {seen:?}");
    assert!(expired > 100, "sessions ended: {expired}");
}
