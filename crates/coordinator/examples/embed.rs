//! A broker of your own embeds the coordinator: your wire, your log, your clock.
//!
//! The broker below keeps its log in a `Vec`, speaks no wire, and runs two members of a Connect-like protocol whose
//! metadata only they understand. What it does for the coordinator is what any broker has to do:
//!
//! 1. give every request a token, and find the client again by it;
//! 2. call `expire` and `handle` with one `now` a turn, then drain `poll_output`;
//! 3. append what `Output::Store` asks for, and say how that went;
//! 4. sleep until `next_deadline`;
//! 5. after a restart, feed the log back.
//!
//! `cargo run -p coordinator --example embed`

use std::collections::BTreeMap;

use coordinator::ids::{Blob, Generation, GroupId, MemberId, OffsetsPartition, OwnerEpoch};
use coordinator::messages::{
    GroupError, Input, JoinGroup, Output, Record, Request, Response, Store, SyncGroup, Token,
};
use coordinator::{Config, Coordinator, Timestamp};

/// A broker with one log for groups.
struct Broker {
    coordinator: Coordinator,
    /// Yours: a replicated log, a database. Here it only has to outlive the coordinator.
    log: Vec<(OffsetsPartition, Record)>,
    /// Who waits for which token: in life a connection and a correlation id.
    clients: BTreeMap<u64, &'static str>,
    now: Timestamp,
    answers: Vec<(&'static str, Response)>,
}

impl Broker {
    /// Starts, or restarts, from what the log has.
    fn start(log: Vec<(OffsetsPartition, Record)>, now: Timestamp) -> Self {
        // The seed decides the member ids: draw it from the operating system.
        let mut coordinator = Coordinator::new(Config::default(), 2024, now);
        for partition in (0..50).map(OffsetsPartition) {
            // The epoch rises with every change of ownership; the log refuses writes of older ones.
            coordinator.handle(now, Input::BeginLoad(partition, OwnerEpoch(1)));
            let records = log.iter().filter(|(of, _)| *of == partition).map(|(_, record)| record.clone());
            coordinator.handle(now, Input::Load(partition, records.collect()));
            coordinator.handle(now, Input::FinishLoad(partition));
        }
        Self { coordinator, log, clients: BTreeMap::new(), now, answers: Vec::new() }
    }

    fn receive(&mut self, client: &'static str, request: Request) {
        let number = self.clients.len() as u64;
        self.clients.insert(number, client);
        self.turn(Some(Input::Request(Token::new(number), request)));
    }

    /// One turn. Deadlines come before input; a turn's outputs are drained before the next begins.
    fn turn(&mut self, input: Option<Input>) {
        self.coordinator.expire(self.now);
        if let Some(input) = input {
            self.coordinator.handle(self.now, input);
        }
        while let Some(output) = self.coordinator.poll_output() {
            match output {
                Output::Respond(token, response) => {
                    self.answers.push((self.clients[&token.number()], response));
                }
                Output::Superseded(token) => {
                    println!("  {} asked again meanwhile", self.clients[&token.number()]);
                }
                Output::Store(store) => self.append(store),
                Output::Event(event) => println!("  event: {:?}", event.kind),
            }
        }
    }

    /// A log that is durable at once. One that is not reports later, in a turn of its own.
    fn append(&mut self, store: Store) {
        self.log.extend(store.records.into_iter().map(|record| (store.partition, record)));
        self.coordinator.handle(self.now, Input::Stored(store.id, Ok(())));
    }

    /// Sleeps until the coordinator needs to be woken. In life: or until a request comes.
    fn sleep(&mut self) {
        if let Some(deadline) = self.coordinator.next_deadline() {
            self.now = deadline.max(self.now);
            self.turn(None);
        }
    }

    fn take_answers(&mut self) -> Vec<(&'static str, Response)> {
        while self.answers.is_empty() {
            self.sleep();
        }
        std::mem::take(&mut self.answers)
    }
}

fn group() -> GroupId {
    GroupId::new("connect-cluster")
}

/// Metadata is the members' own: the coordinator never looks into it.
fn join(worker: &str, member: MemberId) -> Request {
    Request::JoinGroup(JoinGroup {
        group: group(),
        member,
        instance: None,
        client_id: worker.into(),
        client_host: "/127.0.0.1".into(),
        protocol_type: "connect".into(),
        protocols: vec![("sessioned".into(), Blob::from(format!("url=http://{worker}").as_bytes()))],
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 60_000,
        require_known_member_id: true,
        supports_skipping_assignment: true,
        reason: None,
    })
}

fn sync(member: &MemberId, generation: Generation, assignments: Vec<(MemberId, Blob)>) -> Request {
    Request::SyncGroup(SyncGroup {
        group: group(),
        generation,
        member: member.clone(),
        instance: None,
        protocol_type: Some("connect".into()),
        protocol: Some("sessioned".into()),
        assignments,
    })
}

fn main() {
    let mut broker = Broker::start(Vec::new(), Timestamp::ZERO);

    println!("two workers join");
    for worker in ["worker-a", "worker-b"] {
        broker.receive(worker, join(worker, MemberId::default()));
    }
    // A client without an id is given one, and asked to come back with it (KIP-394).
    for (worker, answer) in broker.take_answers() {
        let Response::JoinGroup(answer) = answer else { unreachable!("they asked to join") };
        assert_eq!(answer.error, Some(GroupError::MemberIdRequired));
        broker.receive(worker, join(worker, answer.member));
    }

    // They wait for the initial delay; then the leader is told who is there, and assigns.
    let mut members = Vec::new();
    for (worker, answer) in broker.take_answers() {
        let Response::JoinGroup(joined) = answer else { unreachable!("they asked to join") };
        println!("{worker} is in generation {}, sees {} members", joined.generation.0, joined.members.len());
        let assignments = joined.members.iter().enumerate();
        let assignments = assignments.map(|(n, member)| {
            (member.member.clone(), Blob::from(format!("tasks of connector {n}").as_bytes()))
        });
        broker.receive(worker, sync(&joined.member, joined.generation, assignments.collect()));
        members.push((joined.member, joined.generation));
    }
    for (worker, answer) in broker.take_answers() {
        let Response::SyncGroup(synced) = answer else { unreachable!("they asked to sync") };
        println!("{worker} works on {:?}", String::from_utf8_lossy(&synced.assignment));
    }

    println!("the broker crashes; another starts from the log, and nobody has to rejoin");
    let mut broker = Broker::start(broker.log, broker.now);
    let (member, generation) = &members[1];
    broker.receive("worker-b", sync(member, *generation, Vec::new()));
    let (_, answer) = broker.take_answers().remove(0);
    let Response::SyncGroup(synced) = answer else { unreachable!("it asked to sync") };
    assert_eq!(synced.error, None);
    println!("worker-b still works on {:?}", String::from_utf8_lossy(&synced.assignment));
}
