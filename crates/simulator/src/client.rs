//! A consumer's process: its connection to the coordinator, its membership, its commits. Acts by its kind's rules.
//!
//! A state machine like the coordinator: time and answers go in, [`Action`]s come out. What it draws comes from its own
//! stream of chance.

pub mod assignor;
mod commits;
pub mod hostile;
mod membership;
pub mod outsider;
pub mod rules;

use std::collections::VecDeque;
use std::sync::Arc;

use coordinator::ids::{Generation, GroupId, InstanceId, MemberId, TopicName};
use coordinator::messages::{JoinedMember, Request, Response};

use crate::agenda::{MS, Moment, SECOND};
use crate::checkers::offsets::{DeletionId, ReadId, WriteId};
use crate::network::ConnectionId;
use crate::random::Random;
use crate::scenario::{ClientPlan, Flavor, GroupPlan};
use rules::Asked;

/// What a client wants done.
#[derive(Debug)]
pub enum Action {
    /// Ask somebody where the coordinator of the group is.
    Find,
    /// Connect to a broker.
    Connect(usize),
    /// Send a request on the connection.
    Send(Asked, Request),
    /// Close the connection.
    Close,
}

/// A request that is not answered yet.
#[derive(Debug)]
pub struct InFlight {
    /// Answers come in the order of these.
    pub correlation: u32,
    /// What was asked.
    pub asked: Asked,
    /// In which generation.
    pub generation: Generation,
    /// As whom.
    pub member: MemberId,
    /// When the client gives up.
    pub until: Moment,
    /// The commits it carries, for the check of their history.
    pub writes: Vec<WriteId>,
    /// The reads it carries.
    pub reads: Vec<ReadId>,
    /// The deletions it carries.
    pub deletions: Vec<DeletionId>,
}

impl InFlight {
    /// What a client asks that is no member, and that does not wait.
    pub fn of_nobody(correlation: u32) -> Self {
        Self {
            correlation,
            asked: Asked::Any,
            generation: Generation::NONE,
            member: MemberId::default(),
            until: Moment::NEVER,
            writes: Vec::new(),
            reads: Vec::new(),
            deletions: Vec::new(),
        }
    }
}

/// The way to the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// None; tried again then.
    None(Moment),
    /// Somebody was asked where it is.
    Finding,
    /// The connection is being made.
    Connecting,
    /// There.
    Up(ConnectionId),
}

/// What a member is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Not in a generation; joins then.
    Out(Moment),
    /// Commits what it has read before it gives its partitions up.
    Committing,
    /// JoinGroup is sent.
    Joining,
    /// SyncGroup is sent.
    Syncing,
    /// Has an assignment.
    Stable,
}

/// What all clients of a group have in common.
#[derive(Clone, Debug)]
pub struct Common {
    /// The group's plan, without its clients.
    pub plan: GroupPlan,
    /// Its topic.
    pub topic: TopicName,
    /// Which group it is.
    pub index: usize,
}

impl Common {
    /// Of one group of a scenario.
    pub fn new(plan: &GroupPlan, index: usize) -> Self {
        let topic = TopicName::new(assignor::topic_of(plan.name.as_str()));
        Self { plan: GroupPlan { clients: Vec::new(), ..plan.clone() }, topic, index }
    }
}

/// A consumer.
#[derive(Debug)]
pub struct Client {
    /// Its place in the world.
    pub number: u32,
    /// Its group.
    pub common: Arc<Common>,
    /// Raised with every start of its process.
    pub life: u32,
    /// When its process starts again; none while it runs.
    pub down: Option<Moment>,
    /// The way to the coordinator.
    pub link: Link,
    /// Raised with every attempt to find or connect, so that late news of an earlier one is told from that of this.
    pub attempt: u32,
    /// Requests sent on this connection, in order.
    pub in_flight: VecDeque<InFlight>,
    /// What it is doing.
    pub standing: Standing,
    /// Who it is.
    pub member: MemberId,
    /// Where it is.
    pub generation: Generation,
    /// What it owns.
    pub owned: Vec<u16>,
    /// For which time an event is entered.
    pub scheduled: Moment,
    flavor: Flavor,
    instance: Option<InstanceId>,
    named: Arc<str>,
    random: Random,
    correlation: u32,
    attempts: u32,
    leads: Option<Vec<JoinedMember>>,
    protocol: Option<Arc<str>>,
    also: u32,
    heartbeat_due: Moment,
    heartbeat_heard: Moment,
    commit_due: Moment,
    /// The application works on what it polled.
    busy: Option<(Moment, Moment)>,
    rejoin: Option<Moment>,
    fetch: bool,
}

impl Client {
    /// The client of a plan, in this place of the world. It starts when the plan says.
    pub fn new(seed: u64, plan: &ClientPlan, number: u32, common: Arc<Common>) -> Self {
        Self {
            number,
            common,
            life: 0,
            down: Some(Moment(plan.starts)),
            link: Link::None(Moment::default()),
            attempt: 0,
            in_flight: VecDeque::new(),
            standing: Standing::Out(Moment::default()),
            member: MemberId::default(),
            generation: Generation::NONE,
            owned: Vec::new(),
            scheduled: Moment::NEVER,
            flavor: plan.flavor,
            instance: plan.instance.clone(),
            named: Arc::clone(&plan.client_id),
            random: Random::new(seed, "client", u64::from(plan.number)),
            correlation: 0,
            attempts: 0,
            leads: None,
            protocol: None,
            also: 0,
            heartbeat_due: Moment::NEVER,
            heartbeat_heard: Moment::default(),
            commit_due: Moment::NEVER,
            busy: None,
            rejoin: None,
            fetch: false,
        }
    }

    /// The name of its group.
    pub fn group(&self) -> &GroupId {
        &self.common.plan.name
    }

    /// Whether its process runs.
    pub fn is_up(&self) -> bool {
        self.down.is_none()
    }

    /// Whether it is a static member.
    pub fn instance(&self) -> Option<&InstanceId> {
        self.instance.as_ref()
    }

    /// Takes the place of a static member.
    pub fn set_instance(&mut self, instance: Option<InstanceId>) {
        self.instance = instance;
    }

    /// The process ends, without a word. It starts again at `until`. What was in flight is handed back.
    pub fn crash(&mut self, until: Moment) -> VecDeque<InFlight> {
        self.life += 1;
        self.attempt += 1;
        self.down = Some(until);
        self.link = Link::None(until);
        self.forget();
        self.busy = None;
        std::mem::take(&mut self.in_flight)
    }

    /// The process is being closed: it says goodbye as its kind does. The end of the process comes next.
    pub fn say_goodbye(&mut self, actions: &mut Vec<Action>) {
        if !matches!(self.link, Link::Up(_)) {
            return;
        }
        if self.standing == Standing::Stable && !self.owned.is_empty() {
            self.commit(actions);
        }
        self.leave("the consumer is being closed", actions);
    }

    /// The application is busy for a while.
    pub fn be_busy(&mut self, now: Moment, span: u64) {
        if self.is_up() && self.busy.is_none() {
            self.busy = Some((now, now.after(span)));
        }
    }

    /// The application is not busy any more.
    pub fn be_idle(&mut self) {
        self.busy = None;
    }

    /// The application subscribes to another topic besides.
    pub fn resubscribe(&mut self, now: Moment, also: u32) {
        self.also = also;
        if self.standing == Standing::Stable {
            self.rejoin = Some(now);
        }
    }

    /// Does what is due.
    pub fn step(&mut self, now: Moment, actions: &mut Vec<Action>) {
        match self.down {
            Some(until) if until > now => return,
            Some(_) => {
                self.down = None;
                self.link = Link::None(now);
                self.standing = Standing::Out(now);
            }
            None => {}
        }
        if self.busy.is_some_and(|(_, until)| until <= now) {
            self.busy = None;
        }
        if self.in_flight.iter().any(|request| request.until <= now) {
            // No answer: the connection is given up with all that is on it.
            actions.push(Action::Close);
            return;
        }
        match self.link {
            Link::None(at) if at <= now => {
                self.link = Link::Finding;
                self.attempt += 1;
                actions.push(Action::Find);
            }
            Link::None(_) | Link::Finding | Link::Connecting => {}
            Link::Up(_) => self.step_as_member(now, actions),
        }
    }

    /// When [`Client::step`] has something to do.
    pub fn next_step(&self) -> Moment {
        if let Some(until) = self.down {
            return until;
        }
        let patience = self.in_flight.iter().map(|request| request.until).min().unwrap_or(Moment::NEVER);
        let link = match self.link {
            Link::None(at) => at,
            Link::Finding | Link::Connecting => Moment::NEVER,
            Link::Up(_) => self.next_step_as_member(),
        };
        patience.min(link)
    }

    /// The coordinator was found, or nobody knows it.
    pub fn found(&mut self, now: Moment, broker: Option<usize>, actions: &mut Vec<Action>) {
        match broker {
            Some(broker) => {
                self.link = Link::Connecting;
                actions.push(Action::Connect(broker));
            }
            None => self.seek(now),
        }
    }

    /// The connection stands.
    pub fn connected(&mut self, now: Moment, connection: ConnectionId) {
        self.link = Link::Up(connection);
        self.attempts = 0;
        // A member that comes back goes on from where it is.
        self.heartbeat_due = self.heartbeat_due.min(now.after(self.heartbeat_interval()));
        if matches!(self.standing, Standing::Joining | Standing::Syncing | Standing::Committing) {
            self.standing = Standing::Out(now);
        }
    }

    /// The connection ended, or could not be made. What was in flight is handed back.
    pub fn disconnected(&mut self, now: Moment) -> VecDeque<InFlight> {
        self.seek(now);
        std::mem::take(&mut self.in_flight)
    }

    /// An answer came. The request it answers has been taken off [`Client::in_flight`].
    pub fn hear(&mut self, now: Moment, request: &InFlight, response: Response, actions: &mut Vec<Action>) {
        match response {
            Response::JoinGroup(joined) => self.on_joined(now, joined, actions),
            Response::SyncGroup(synced) => self.on_synced(now, request, &synced, actions),
            Response::Heartbeat(heartbeat) => self.on_heartbeat(now, request, heartbeat.error, actions),
            Response::OffsetCommit(committed) => self.on_committed(now, request, &committed, actions),
            Response::OffsetFetch(fetched) => self.on_fetched(now, fetched.error),
            Response::LeaveGroup(_)
            | Response::TxnOffsetCommit(_)
            | Response::OffsetDelete(_)
            | Response::DescribeGroup(_)
            | Response::ListGroups(_)
            | Response::DeleteGroups(_) => {}
        }
    }

    /// The coordinator is not where it was thought to be.
    fn seek(&mut self, now: Moment) {
        let wait = rules::back_off(self.flavor, Asked::Any, self.attempts) + self.random.below(50 * MS);
        self.attempts += 1;
        self.attempt += 1;
        self.link = Link::None(now.after(wait));
        if matches!(self.standing, Standing::Joining | Standing::Syncing | Standing::Committing) {
            self.standing = Standing::Out(now);
        }
    }

    /// It is nobody any more.
    fn forget(&mut self) {
        self.member = MemberId::default();
        self.generation = Generation::NONE;
        self.owned.clear();
        self.leads = None;
        self.rejoin = None;
        self.standing = Standing::Out(Moment::default());
        self.heartbeat_due = Moment::NEVER;
        self.commit_due = Moment::NEVER;
        self.fetch = false;
    }

    /// The application ends, having been told of an error, and is started again.
    fn die(&mut self, now: Moment, actions: &mut Vec<Action>) {
        let wait = self.random.between(SECOND, 10 * SECOND);
        self.down = Some(now.after(wait));
        self.life += 1;
        self.forget();
        self.busy = None;
        actions.push(Action::Close);
    }

    fn heartbeat_interval(&self) -> u64 {
        u64::from(self.common.plan.heartbeat_ms) * MS
    }

    fn is_asking(&self, asked: Asked) -> bool {
        self.in_flight.iter().any(|request| request.asked == asked)
    }

    /// What a request in flight needs to be told apart.
    pub fn flying(&mut self, now: Moment, asked: Asked) -> InFlight {
        self.correlation += 1;
        let plan = &self.common.plan;
        let patience = rules::patience(self.flavor, asked, plan.rebalance_ms, plan.session_ms);
        InFlight {
            correlation: self.correlation,
            asked,
            generation: self.generation,
            member: self.member.clone(),
            until: now.after(patience),
            writes: Vec::new(),
            reads: Vec::new(),
            deletions: Vec::new(),
        }
    }
}
