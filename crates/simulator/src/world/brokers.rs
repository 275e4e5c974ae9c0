//! Brokers at work: turns of their coordinators, what comes to them, their crashes.

use coordinator::Timestamp;
use coordinator::ids::OffsetsPartition;
use coordinator::messages::{Input, Request, Token};

use super::{Event, World};
use crate::agenda::{MS, Moment, SECOND};
use crate::broker::{Message, place};
use crate::checkers::answers::{Kind, Open, Patience};
use crate::checkers::sessions::ALLOWED;
use crate::network::{ConnectionId, Side};
use crate::planted::Plant;
use crate::told;

impl World {
    pub(super) fn start_broker(&mut self, broker: usize) {
        let now = self.now();
        self.brokers[broker].start(&self.scenario, broker, now);
        self.transcript.note(now, "start", [broker as u64, 0, 0], || format!("broker {broker}"));
        let life = self.brokers[broker].life;
        for partition in 0..self.scenario.partitions {
            let partition = OffsetsPartition(partition);
            if self.assigned[place(partition)] == broker {
                let at = now.after(self.network.latency());
                self.agenda.enter(at, Event::Acquire(broker, life, partition));
            }
        }
        self.schedule_broker(broker);
    }

    /// A broker's process ends. Its clients notice, or not before their own patience ends.
    pub(super) fn crash_broker(&mut self, broker: usize, is_noticed: bool) {
        let now = self.now();
        self.transcript.note(now, "crash", [broker as u64, u64::from(is_noticed), 0], || {
            format!("broker {broker}{}", if is_noticed { "" } else { ", and no client is told" })
        });
        self.brokers[broker].crash(now);
        for group in 0..self.names.len() {
            self.generations.lost(broker, group);
        }
        for connection in self.network.of_broker(broker) {
            if is_noticed {
                self.close(connection, Side::Broker);
            } else {
                self.network.close(connection, Side::Broker);
            }
        }
    }

    pub(super) fn wake_broker(&mut self, broker: usize, life: u32) {
        let own = &mut self.brokers[broker];
        if own.life == life && own.wake <= self.agenda.now() {
            own.wake = Moment::NEVER;
            if own.is_running() {
                self.turn(broker, None);
            }
        }
    }

    pub(super) fn suspend_broker(&mut self, broker: usize, span: u64) {
        let until = self.now().after(span);
        let own = &mut self.brokers[broker];
        if own.is_running() {
            own.suspended = Some(until);
            own.stood_still += span;
            let event = Event::Resume(broker, own.life);
            self.agenda.enter(until, event);
            self.transcript.note(self.agenda.now(), "suspend", [broker as u64, span, 0], || {
                format!("broker {broker} stands still until {until}")
            });
        }
    }

    /// What came meanwhile comes before what is due.
    pub(super) fn resume_broker(&mut self, broker: usize, life: u32) {
        let now = self.now();
        let own = &mut self.brokers[broker];
        if own.life != life || own.suspended.is_none_or(|until| until > now) {
            return;
        }
        own.suspended = None;
        for sessions in &mut own.sessions {
            sessions.on_round(now);
        }
        let inbox = std::mem::take(&mut own.inbox);
        self.transcript.note(now, "resume", [broker as u64, inbox.len() as u64, 0], || {
            format!("broker {broker} goes on, {} messages wait", inbox.len())
        });
        for message in inbox {
            self.handle(broker, message);
        }
        self.expire(broker);
        self.schedule_broker(broker);
    }

    /// A broker is told something.
    pub(super) fn tell(&mut self, broker: usize, message: Message) {
        let own = &mut self.brokers[broker];
        if own.suspended.is_some() {
            own.inbox.push_back(message);
        } else if own.coordinator.is_some() {
            self.turn(broker, Some(message));
        }
    }

    fn turn(&mut self, broker: usize, message: Option<Message>) {
        if self.scenario.deadlines_first {
            self.expire(broker);
        }
        if let Some(message) = message {
            self.handle(broker, message);
        }
        if !self.scenario.deadlines_first {
            self.expire(broker);
        }
        self.schedule_broker(broker);
    }

    fn expire(&mut self, broker: usize) {
        let now = self.now().timestamp();
        let ticks = now.ticks().saturating_add_signed(self.scenario.plant.skew_ms());
        if let Some(coordinator) = &mut self.brokers[broker].coordinator {
            coordinator.expire(Timestamp::from_ticks(ticks));
        }
        self.drain(broker);
    }

    fn schedule_broker(&mut self, broker: usize) {
        let now = self.now();
        let own = &mut self.brokers[broker];
        let Some(coordinator) = &own.coordinator else { return };
        let Some(deadline) = coordinator.next_deadline() else { return };
        let mut at = Moment::of(deadline).max(now);
        if self.scenario.plant.skew_ms() < 0 {
            at = at.after(SECOND);
        }
        if at < own.wake {
            own.wake = at;
            let event = Event::Broker(broker, own.life);
            self.agenda.enter(at, event);
        }
    }

    fn handle(&mut self, broker: usize, message: Message) {
        match message {
            Message::Ask { connection, correlation, group, request } => {
                self.ask(broker, connection, correlation, group, *request);
            }
            Message::Gone(connection) => {
                self.network.close(connection, Side::Broker);
                let abandoned = self.brokers[broker].answers.abandon(connection);
                for (token, open) in abandoned {
                    let now = self.now();
                    if let Some(group) = open.group {
                        self.brokers[broker].sessions[group].possible(now, &open.member);
                    }
                    self.input(broker, Input::Abandon(token));
                }
            }
            Message::News(input) => self.news(broker, input),
            Message::Load(epoch, input) => self.load(broker, epoch, input),
            Message::Mark(mark) => self.mark(broker, mark),
            Message::Marked(id, outcome) => self.marked(broker, id, outcome),
        }
    }

    pub(super) fn input(&mut self, broker: usize, input: Input) {
        let now = self.now().timestamp();
        if let Some(coordinator) = &mut self.brokers[broker].coordinator {
            coordinator.handle(now, input);
        }
        self.drain(broker);
    }

    fn ask(
        &mut self,
        broker: usize,
        connection: ConnectionId,
        correlation: u32,
        group: Option<usize>,
        request: Request,
    ) {
        // Its client has closed it meanwhile.
        let Some(known) = self.network.get_mut(connection) else { return };
        known.pending.push_back((correlation, None));
        let now = self.now();
        self.requests += 1;
        let (member, generation) = who(&request);
        if let Some(group) = group {
            let sessions = &mut self.brokers[broker].sessions[group];
            match &request {
                Request::JoinGroup(join) => {
                    sessions.on_join(now, join);
                    let rebalance = u64::try_from(join.rebalance_timeout_ms).unwrap_or(0) * MS;
                    self.longest_rebalance[group] = self.longest_rebalance[group].max(rebalance);
                    if ALLOWED.contains(&join.session_timeout_ms) {
                        let session = u64::try_from(join.session_timeout_ms).unwrap_or(0) * MS;
                        self.longest_session[group] = self.longest_session[group].max(session);
                        self.shortest_session[group] = self.shortest_session[group].min(session);
                    }
                }
                Request::SyncGroup(sync) => {
                    sessions.possible(now, &sync.member);
                    self.generations.on_sync_asked(broker, group, sync);
                }
                // Its answer says whether it counts.
                Request::Heartbeat(_) => {}
                _ => sessions.possible(now, &member),
            }
        }
        let kind = Kind::of(&request);
        let suspended = self.brokers[broker].stood_still;
        let session_timeout_ms =
            if let Request::JoinGroup(join) = &request { join.session_timeout_ms } else { 0 };
        let open = Open {
            connection,
            correlation,
            kind,
            group,
            member,
            generation,
            session_timeout_ms,
            at: now,
            suspended,
        };
        let token = self.brokers[broker].answers.begin(open);
        self.transcript.note(now, "ask", [broker as u64, token, connection.number()], || {
            format!("broker {broker} token {token} {}", told::request(&request))
        });
        if self.scenario.plant != Plant::None {
            if let Some(answer) = self.scenario.plant.answer(&request) {
                return self.respond(broker, token, answer);
            }
            self.plant_early_end(broker, &request);
        }
        self.input(broker, Input::Request(Token::new(token), request));
    }

    pub(super) fn check_waiting(&mut self) {
        let now = self.now();
        let initial = u64::from(self.scenario.initial_delay_ms) * MS;
        let store = u64::from(self.scenario.store_timeout_ms) * MS;
        for broker in self.brokers.iter().filter(|broker| broker.is_running()) {
            let patience = |group: Option<usize>| {
                let longest = self.longest_rebalance.iter().copied().max().unwrap_or_default();
                let rebalance = group.map_or(longest, |group| self.longest_rebalance[group]);
                // The first members wait for more, up to their rebalance timeout.
                Patience { rebalance, initial: initial.max(rebalance), store }
            };
            broker.answers.check(now, broker.stood_still, patience, &mut self.findings);
        }
    }

    pub(super) fn check_silence(&mut self) {
        let now = self.now();
        for broker in self.brokers.iter().filter(|broker| broker.is_running()) {
            let Some(coordinator) = &broker.coordinator else { continue };
            let waiting: Vec<_> = broker.answers.members_waiting().collect();
            for (group, name) in self.names.iter().enumerate() {
                let Some(view) = coordinator.group(name) else { continue };
                let waits = |member: &_| waiting.contains(&(Some(group), member));
                let longest = self.longest_session[group];
                broker.sessions[group].check(now, &view.members, waits, longest, &mut self.findings);
            }
        }
    }
}

/// Who asks, and of which generation.
fn who(request: &Request) -> (coordinator::ids::MemberId, coordinator::ids::Generation) {
    use coordinator::ids::{Generation, MemberId};
    match request {
        Request::JoinGroup(join) => (join.member.clone(), Generation::NONE),
        Request::SyncGroup(sync) => (sync.member.clone(), sync.generation),
        Request::Heartbeat(heartbeat) => (heartbeat.member.clone(), heartbeat.generation),
        Request::OffsetCommit(commit) => (commit.member.clone(), commit.generation),
        Request::TxnOffsetCommit(commit) => (commit.commit.member.clone(), commit.commit.generation),
        Request::LeaveGroup(_)
        | Request::OffsetFetch(_)
        | Request::OffsetDelete(_)
        | Request::DescribeGroup(_)
        | Request::ListGroups(_)
        | Request::DeleteGroups(_) => (MemberId::default(), Generation::NONE),
    }
}
