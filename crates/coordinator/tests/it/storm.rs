//! A thousand members that change their minds at random: every request is answered, nothing grows, and each round has
//! an event that says whose doing it was.
//!
//! `STORM_MINUTES=60 cargo test --release -p coordinator storm` runs the whole simulated hour; by default a few
//! minutes.

use std::collections::BinaryHeap;
use std::{cmp::Reverse, collections::BTreeMap};

use coordinator::events::EventKind;
use coordinator::ids::{Blob, Generation, GroupId, MemberId, OwnerEpoch};
use coordinator::messages::{
    GroupError, Heartbeat, Input, JoinGroup, LeaveGroup, LeavingMember, Output, Request, Response, SyncGroup,
    Token,
};
use coordinator::{Config, Coordinator, Partitioner, Timestamp};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const MEMBERS: usize = 1_000;

struct Storm {
    coordinator: Coordinator,
    now: u64,
    random: ChaCha8Rng,
    clients: Vec<Client>,
    /// When which client acts next.
    agenda: BinaryHeap<Reverse<(u64, usize)>>,
    waiting: BTreeMap<u64, usize>,
    tokens: u64,
    answered: u64,
    started: u64,
    joined: u64,
    leaders: BTreeMap<i32, MemberId>,
    last_generation: i32,
}

#[derive(Clone, Default)]
struct Client {
    member: MemberId,
    generation: i32,
    version: u32,
    /// Its request that is not answered yet.
    waits: Option<u64>,
    must_join: bool,
    must_sync: bool,
    leads: Vec<MemberId>,
}

#[test]
fn a_storm_of_rejoins_is_survived_and_explained() {
    let minutes = std::env::var("STORM_MINUTES").map_or(3, |minutes| minutes.parse().expect("minutes"));
    let mut storm = Storm::new();
    storm.run(minutes * 60_000);
    let stats = storm.coordinator.stats();
    println!(
        "{minutes} simulated minutes: {} requests, {} rounds begun, {} joined, {} stored",
        storm.tokens, storm.started, storm.joined, stats.counters.rebalances_completed
    );
    assert_eq!(stats.counters.rebalances_started, storm.started, "each round that began has its event");
    assert_eq!(stats.counters.rebalances_joined, storm.joined, "each generation has its event");
    assert!(storm.joined > 0 && stats.counters.rebalances_completed > 0);
    storm.end();
}

impl Storm {
    fn new() -> Self {
        let now = Timestamp::ZERO;
        let config = Config { offsets_retention_check_interval_ms: None, ..Config::default() };
        let mut coordinator = Coordinator::new(config, 11, now);
        let partition = Partitioner::default().partition(&group());
        coordinator.handle(now, Input::BeginLoad(partition, OwnerEpoch(1)));
        coordinator.handle(now, Input::FinishLoad(partition));
        Self {
            coordinator,
            now: 0,
            random: ChaCha8Rng::seed_from_u64(11),
            clients: vec![Client { must_join: true, ..Client::default() }; MEMBERS],
            agenda: (0..MEMBERS).map(|n| Reverse((n as u64, n))).collect(),
            waiting: BTreeMap::new(),
            tokens: 0,
            answered: 0,
            started: 0,
            joined: 0,
            leaders: BTreeMap::new(),
            last_generation: 0,
        }
    }

    fn run(&mut self, until: u64) {
        while let Some(Reverse((at, client))) = self.agenda.pop() {
            if at > until {
                break;
            }
            self.pass(at);
            if self.clients[client].waits.is_none() {
                self.act(client);
            }
            let pause =
                if self.clients[client].must_sync { 10 } else { self.random.random_range(2_000..4_000) };
            self.agenda.push(Reverse((at + pause, client)));
            let stats = self.coordinator.stats();
            assert!(stats.parked_requests <= MEMBERS, "{} requests are parked", stats.parked_requests);
            // A member each, its clients' lost ids, a round, a generation, a few writes.
            assert!(stats.operations <= 2 * MEMBERS + 16, "{} operations wait", stats.operations);
        }
    }

    fn pass(&mut self, until: u64) {
        while let Some(due) = self.coordinator.next_deadline().filter(|due| due.ticks() <= until) {
            self.now = due.ticks().max(self.now);
            self.coordinator.expire(Timestamp::from_ticks(self.now));
            self.drain();
        }
        self.now = until;
    }

    fn act(&mut self, n: usize) {
        let client = self.clients[n].clone();
        let luck: u32 = self.random.random_range(0..1_000);
        if client.must_join {
            self.join(n);
        } else if client.must_sync {
            let assignments = client.leads.iter().map(|member| (member.clone(), Blob::from(&[1][..])));
            let assignments = assignments.collect();
            let (member, generation) = (client.member, Generation(client.generation));
            let (protocol_type, protocol) = (None, None);
            let sync = SyncGroup {
                group: group(),
                generation,
                member,
                instance: None,
                protocol_type,
                protocol,
                assignments,
            };
            self.send(n, Request::SyncGroup(sync));
        } else if luck < 2 {
            // It reads something else from now on.
            self.clients[n].version += 1;
            self.join(n);
        } else if luck < 3 {
            let members = vec![LeavingMember { member: client.member, instance: None, reason: None }];
            self.send(n, Request::LeaveGroup(LeaveGroup { group: group(), members }));
        } else if luck < 4 {
            // The process dies, and another starts without knowing anything.
            self.clients[n] = Client { must_join: true, version: client.version, ..Client::default() };
        } else {
            let (member, generation) = (client.member, Generation(client.generation));
            self.send(
                n,
                Request::Heartbeat(Heartbeat { group: group(), generation, member, instance: None }),
            );
        }
        // Some clients go away while they wait.
        if let Some(token) = self.clients[n].waits.filter(|_| luck == 999) {
            self.waiting.remove(&token);
            self.answered += 1;
            self.clients[n].waits = None;
            self.clients[n].must_join = true;
            self.coordinator.handle(Timestamp::from_ticks(self.now), Input::Abandon(token));
            self.drain();
        }
    }

    fn join(&mut self, n: usize) {
        let metadata = self.clients[n].version.to_be_bytes();
        let join = JoinGroup {
            group: group(),
            member: self.clients[n].member.clone(),
            instance: None,
            client_id: "storm".into(),
            client_host: "/127.0.0.1".into(),
            protocol_type: "consumer".into(),
            protocols: vec![("range".into(), Blob::from(&metadata[..]))],
            session_timeout_ms: 10_000,
            rebalance_timeout_ms: 20_000,
            require_known_member_id: n.is_multiple_of(2),
            supports_skipping_assignment: true,
            reason: None,
        };
        self.send(n, Request::JoinGroup(join));
    }

    fn send(&mut self, n: usize, request: Request) {
        self.tokens += 1;
        self.waiting.insert(self.tokens, n);
        self.clients[n].waits = Some(self.tokens);
        let now = Timestamp::from_ticks(self.now);
        self.coordinator.expire(now);
        self.coordinator.handle(now, Input::Request(Token::new(self.tokens), request));
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.coordinator.poll_output() {
            match output {
                Output::Respond(token, response) => {
                    let n = self.waiting.remove(&token.number()).expect("answered once, and only who waits");
                    self.answered += 1;
                    self.clients[n].waits = None;
                    self.hear(n, response);
                }
                Output::Superseded(token) => panic!("{token:?}: each client asks one thing at a time"),
                Output::Store(store) => {
                    let now = Timestamp::from_ticks(self.now);
                    self.coordinator.handle(now, Input::Stored(store.id, Ok(())));
                }
                Output::Event(event) => match event.kind {
                    EventKind::RebalanceStarted { cause, .. } => {
                        assert!(!cause.is_empty(), "a round has a cause");
                        self.started += 1;
                    }
                    EventKind::RebalanceJoined { members, leader, .. } => {
                        assert!(event.generation.0 > self.last_generation, "no generation goes back");
                        self.last_generation = event.generation.0;
                        if members > 0 {
                            self.joined += 1;
                            let before = self.leaders.insert(event.generation.0, leader);
                            assert_eq!(before, None, "one leader a generation");
                        }
                    }
                    _ => {}
                },
            }
        }
    }

    fn hear(&mut self, n: usize, response: Response) {
        let client = &mut self.clients[n];
        match response {
            Response::JoinGroup(joined) => match joined.error {
                None => {
                    assert_eq!(
                        Some(&joined.leader),
                        self.leaders.get(&joined.generation.0),
                        "all know one leader"
                    );
                    let leads = joined.members.into_iter().map(|member| member.member).collect();
                    *client = Client {
                        member: joined.member,
                        generation: joined.generation.0,
                        must_join: false,
                        must_sync: true,
                        leads,
                        ..client.clone()
                    };
                }
                Some(GroupError::MemberIdRequired) => {
                    client.member = joined.member;
                    client.must_join = true;
                }
                Some(_) => *client = Client { must_join: true, version: client.version, ..Client::default() },
            },
            Response::SyncGroup(synced) => {
                client.must_sync = false;
                client.must_join = synced.error.is_some();
                if synced.error == Some(GroupError::UnknownMemberId) {
                    client.member = MemberId::default();
                }
            }
            Response::Heartbeat(heartbeat) => match heartbeat.error {
                None => {}
                Some(GroupError::RebalanceInProgress | GroupError::IllegalGeneration) => {
                    client.must_join = true;
                }
                Some(_) => *client = Client { must_join: true, version: client.version, ..Client::default() },
            },
            Response::LeaveGroup(_) => {
                *client = Client { must_join: true, version: client.version, ..Client::default() };
            }
            other => panic!("nobody asked: {other:?}"),
        }
    }

    /// All go home: what is left over is answered, and nothing waits any more.
    fn end(mut self) {
        let partition = Partitioner::default().partition(&group());
        let now = Timestamp::from_ticks(self.now);
        self.coordinator.handle(now, Input::Unload(partition, OwnerEpoch(2)));
        self.drain();
        assert_eq!(self.answered, self.tokens, "every request was answered, or given up by its client");
        let stats = self.coordinator.stats();
        assert_eq!((stats.groups, stats.parked_requests, stats.operations), (0, 0, 0));
    }
}

fn group() -> GroupId {
    GroupId::new("storm")
}
