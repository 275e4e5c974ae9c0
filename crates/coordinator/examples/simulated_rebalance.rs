//! A test of a rebalance, without a socket, a thread or a second of waiting: time is a number.
//!
//! Three consumers form a group; one falls silent; ten simulated seconds later the others are told to rejoin, and an
//! event says whose fault it was. Every run is the same, since nothing but the inputs and the seed decides.
//!
//! `cargo run -p coordinator --example simulated_rebalance`

use coordinator::events::EventKind;
use coordinator::ids::{Blob, Generation, GroupId, MemberId, OwnerEpoch};
use coordinator::messages::{
    GroupError, Heartbeat, Input, JoinGroup, Output, Request, Response, SyncGroup, Token,
};
use coordinator::{Config, Coordinator, Partitioner, Phase, Timestamp};

/// The coordinator, and a clock that jumps.
struct Simulation {
    coordinator: Coordinator,
    now: Timestamp,
    requests: u64,
    /// What was said, with the token it answers.
    answers: Vec<(u64, Response)>,
    events: Vec<EventKind>,
}

impl Simulation {
    fn new() -> Self {
        let (now, config) = (Timestamp::ZERO, Config::default());
        let partition = Partitioner::default().partition(&group());
        let mut coordinator = Coordinator::new(config, 7, now);
        coordinator.handle(now, Input::BeginLoad(partition, OwnerEpoch(1)));
        coordinator.handle(now, Input::FinishLoad(partition));
        Self { coordinator, now, requests: 0, answers: Vec::new(), events: Vec::new() }
    }

    fn send(&mut self, request: Request) -> u64 {
        self.requests += 1;
        self.coordinator.handle(self.now, Input::Request(Token::new(self.requests), request));
        self.drain();
        self.requests
    }

    /// `seconds` pass, deadline by deadline.
    fn pass(&mut self, seconds: u64) {
        let until = self.now.saturating_add(seconds * 1_000);
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
                Output::Superseded(token) => panic!("{token:?}: nobody asks twice here"),
                Output::Store(store) => self.coordinator.handle(self.now, Input::Stored(store.id, Ok(()))),
                Output::Event(event) => {
                    println!("{:>6} ms  {:?}", self.now.ticks(), event.kind);
                    self.events.push(event.kind);
                }
            }
        }
    }

    fn answer(&mut self, token: u64) -> Response {
        let at = self.answers.iter().position(|(of, _)| *of == token).expect("it was answered");
        self.answers.remove(at).1
    }

    fn heartbeat(&mut self, member: &MemberId) -> Option<GroupError> {
        let (group, generation, member) = (group(), Generation(1), member.clone());
        let token = self.send(Request::Heartbeat(Heartbeat { group, generation, member, instance: None }));
        let Response::Heartbeat(answer) = self.answer(token) else { unreachable!("a heartbeat's answer") };
        answer.error
    }
}

fn group() -> GroupId {
    GroupId::new("orders")
}

fn join(n: u32) -> Request {
    Request::JoinGroup(JoinGroup {
        group: group(),
        member: MemberId::default(),
        instance: None,
        client_id: format!("consumer-{n}").into(),
        client_host: "/127.0.0.1".into(),
        protocol_type: "consumer".into(),
        protocols: vec![("range".into(), Blob::from(&b"topics"[..]))],
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 60_000,
        require_known_member_id: false,
        supports_skipping_assignment: true,
        reason: None,
    })
}

fn main() {
    let mut simulation = Simulation::new();
    let tokens: Vec<u64> = (1..=3).map(|n| simulation.send(join(n))).collect();
    simulation.pass(6);
    let members: Vec<MemberId> = tokens
        .into_iter()
        .map(|token| match simulation.answer(token) {
            Response::JoinGroup(joined) => joined.member,
            other => panic!("not a join's answer: {other:?}"),
        })
        .collect();
    for member in &members {
        simulation.send(Request::SyncGroup(SyncGroup {
            group: group(),
            generation: Generation(1),
            member: member.clone(),
            instance: None,
            protocol_type: None,
            protocol: None,
            assignments: Vec::new(),
        }));
    }
    assert_eq!(simulation.coordinator.group(&group()).expect("it exists").phase, Phase::Stable);

    // Two heartbeat every three seconds. The third does not.
    for _ in 0..3 {
        simulation.pass(3);
        assert_eq!(simulation.heartbeat(&members[0]), None);
        assert_eq!(simulation.heartbeat(&members[1]), None);
    }
    simulation.pass(1);

    assert_eq!(simulation.heartbeat(&members[0]), Some(GroupError::RebalanceInProgress));
    let blamed = simulation.events.iter().find_map(|event| match event {
        EventKind::SessionExpired { member, .. } => Some(member),
        _ => None,
    });
    assert_eq!(blamed, Some(&members[2]));
    let view = simulation.coordinator.group(&group()).expect("it exists");
    println!(
        "{} members, {}: {} simulated seconds",
        view.members.len(),
        view.phase,
        simulation.now.ticks() / 1_000
    );
}
