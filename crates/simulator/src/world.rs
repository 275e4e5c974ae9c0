//! The world: brokers, a store, a network and clients in one thread, moved on by one agenda.

mod brokers;
mod calm;
mod chaos;
mod clients;
mod hostiles;
mod outputs;
mod outsiders;
mod ownership;
mod stores;

use std::sync::Arc;

use coordinator::Partitioner;
use coordinator::ids::{GroupId, OffsetsPartition, OwnerEpoch, TopicName};
use coordinator::messages::{Input, Request, Response};

use crate::agenda::{Agenda, HOUR, Moment, SECOND};
use crate::broker::{self, Broker, Message};
use crate::checkers::generations::Generations;
use crate::checkers::offsets::Offsets;
use crate::checkers::{Findings, GroupNumbers, Rule, Violation};
use crate::client::assignor::topic_of;
use crate::client::hostile::{Hostile, Rumour};
use crate::client::outsider::{Mark, Outsider};
use crate::client::{Action, Client, Common};
use crate::faults::{Fault, FaultMix};
use crate::network::{ConnectionId, Network, Side};
use crate::random::Random;
use crate::scenario::{ClientPlan, Flavor, Scenario};
use crate::store::{Outcome, StoreNode};
use crate::transcript::Transcript;

/// What can happen.
#[derive(Debug)]
pub(crate) enum Event {
    /// Something is due at a client.
    Client(u32),
    /// A client is told where its coordinator is.
    Found(u32, u32, Option<usize>),
    /// A client's connection is made, or refused.
    Connect(u32, u32, usize),
    /// A request arrives: its place among the answers, and the number of its group.
    Request(ConnectionId, u32, u32, Box<Request>),
    /// An answer arrives. The flag: it was given by a coordinator that owns the group no more.
    Answer(ConnectionId, u32, bool, Box<Response>),
    /// This end learns that the other is closed.
    Closed(ConnectionId, Side),
    /// Something is due at a broker, in this life of it.
    Broker(usize, u32),
    /// A broker goes on.
    Resume(usize, u32),
    /// A broker's process starts.
    Start(usize, u32),
    /// A broker asks the store for a partition.
    Acquire(usize, u32, OffsetsPartition),
    /// News reaches a broker.
    News(usize, u32, Box<Input>),
    /// What is read of a partition that was taken under this epoch reaches its owner.
    Load(usize, u32, OwnerEpoch, Box<Input>),
    /// A broker learns who owns a partition.
    Learn(usize, OffsetsPartition, usize),
    /// The store's commit ends, in this life of it.
    Commit(u32),
    /// The store's report reaches a broker.
    Stored(Outcome),
    /// The store starts.
    StoreStart(u32),
    /// A fault strikes, if it is still the time of faults in which it was to.
    Strike(Fault, u32),
    /// A hostile client acts.
    Hostile(u32),
    /// A client that is no member acts.
    Outsider(u32),
    /// The end of a transaction reaches a broker, in this life of it.
    Mark(usize, u32, Mark),
    /// A client learns whether the marker of its transaction was written.
    Marked(u32, u32, bool),
    /// Time to look at everything.
    Look,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The first rule that was broken.
    pub violation: Option<Violation>,
    /// Simulated microseconds.
    pub simulated: u64,
    /// Microseconds that clients ran, all together.
    pub client_time: u64,
    /// Counts.
    pub counts: Counts,
    /// A number that stands for the whole transcript.
    pub fingerprint: u64,
    /// Lines of the transcript.
    pub lines: u64,
    /// The transcript, if it was recorded.
    pub transcript: String,
}

/// What happened, in numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Events of the agenda.
    pub events: u64,
    /// Requests that coordinators handled.
    pub requests: u64,
    /// Generations with members.
    pub generations: u64,
    /// Commits that were acknowledged.
    pub commits: u64,
    /// Reads that were checked.
    pub reads: u64,
    /// Transactions that ended.
    pub transactions: u64,
    /// Offsets that were deleted or expired.
    pub removed: u64,
    /// Faults that struck, of those that strike now and then.
    pub strikes: u64,
}

impl Report {
    /// Hours that clients ran, all together.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    pub fn client_hours(&self) -> f64 {
        self.client_time as f64 / HOUR as f64
    }
}

/// Numbers of the plans of twins begin here.
const TWINS: u32 = 1_000_000;
/// Numbers of the streams of those who are no members begin here.
const OUTSIDERS: u32 = 1_000;

/// Runs a scenario from its beginning to its end, or to the first violation.
///
/// A panic of the code under test is a violation too.
pub fn run(scenario: &Scenario, transcript: Transcript) -> Report {
    let mut world = World::new(scenario.clone(), transcript);
    let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.live()));
    if let Err(panic) = lived {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words").to_owned();
        let now = world.now();
        world.findings.broken(Rule::Panicked, now, || said);
    }
    world.report()
}

/// The clients of a scenario, and the places of those that start a static member a second time.
fn clients_of(scenario: &Scenario) -> (Vec<Client>, Vec<u32>) {
    let seed = scenario.seed;
    let commons: Vec<Arc<Common>> =
        scenario.groups.iter().enumerate().map(|(index, plan)| Arc::new(Common::new(plan, index))).collect();
    let planned = (0..).zip(scenario.clients());
    let client = |(number, (group, plan)): (u32, (usize, &ClientPlan))| {
        Client::new(seed, plan, number, Arc::clone(&commons[group]))
    };
    let mut clients: Vec<Client> = planned.map(client).collect();
    let mut twins = Vec::new();
    for common in &commons {
        let number = u32::try_from(clients.len()).unwrap_or(u32::MAX);
        let plan = ClientPlan {
            number: TWINS + u32::try_from(common.index).unwrap_or(0),
            flavor: Flavor::Java,
            instance: None,
            client_id: format!("twin{number}").into(),
            starts: u64::MAX,
        };
        twins.push(number);
        clients.push(Client::new(seed, &plan, number, Arc::clone(common)));
    }
    (clients, twins)
}

/// All that there is.
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) agenda: Agenda<Event>,
    pub(crate) transcript: Transcript,
    pub(crate) findings: Findings,
    pub(crate) network: Network,
    pub(crate) brokers: Vec<Broker>,
    pub(crate) store: StoreNode,
    pub(crate) clients: Vec<Client>,
    /// Hostile ones, and behind them the connections of those who are no members.
    pub(crate) hostiles: Vec<Hostile>,
    pub(crate) outsiders: Vec<Outsider>,
    /// The topic of each group.
    pub(crate) topics: Vec<TopicName>,
    pub(crate) groups: GroupNumbers,
    /// The names of all watched groups, by number.
    pub(crate) names: Vec<GroupId>,
    pub(crate) partitioner: Partitioner,
    /// Who is to own each partition, and the epoch of the last one who did.
    pub(crate) assigned: Vec<usize>,
    pub(crate) epochs: Vec<OwnerEpoch>,
    /// The longest rebalance timeout asked for, by group, microseconds.
    pub(crate) longest_rebalance: Vec<u64>,
    /// The longest session timeout asked for, by group, microseconds.
    pub(crate) longest_session: Vec<u64>,
    /// The shortest one.
    pub(crate) shortest_session: Vec<u64>,
    pub(crate) generations: Generations,
    pub(crate) offsets: Offsets,
    /// Where chance decides that is nobody's own.
    pub(crate) random: Random,
    /// What goes wrong now: the scenario's faults, or none.
    pub(crate) faults: FaultMix,
    /// Clients that start a static member a second time, by the group they are for.
    pub(crate) twins: Vec<u32>,
    pub(crate) requests: u64,
    /// Transactions that ended, and markers that were asked for.
    pub(crate) transactions: u64,
    pub(crate) marks: u64,
    pub(crate) strikes: u64,
    /// Raised with every change between faults and calm.
    pub(crate) era: u32,
    /// When each fault strikes is drawn from a stream of its own.
    pub(crate) strike_random: Vec<Random>,
    /// Who was seen to be what.
    pub(crate) rumours: Vec<Rumour>,
    /// When the last report of the store reaches each broker.
    pub(crate) reported: Vec<Moment>,
    /// The partition of each watched group.
    pub(crate) homes: Vec<usize>,
    /// What clients want done: one list that is used again.
    pub(crate) actions: Vec<Action>,
    client_time: u64,
}

impl World {
    fn new(scenario: Scenario, transcript: Transcript) -> Self {
        let seed = scenario.seed;
        let (clients, twins) = clients_of(&scenario);
        let mut names: Vec<GroupId> = scenario.groups.iter().map(|plan| plan.name.clone()).collect();
        names.extend((0..outsiders::LEDGERS).map(|number| GroupId::new(format!("ledger-{number}"))));
        names.extend((0..2).map(|number| GroupId::new(format!("hostile-{number}"))));
        let topics = names.iter().map(|name| TopicName::new(topic_of(name.as_str()))).collect();
        let partitions = usize::try_from(scenario.partitions).unwrap_or(1);
        let assigned: Vec<usize> = (0..partitions).map(|partition| partition % scenario.brokers).collect();
        let broker = |_| Broker::new(partitions, names.len(), assigned.clone());
        let mut findings = Findings::default();
        let store = StoreNode::new(seed, scenario.small_store, scenario.plant);
        let store = store.unwrap_or_else(|failure| panic!("an empty store opens: {failure}"));
        if !store.is_up() {
            findings.broken(Rule::StoreStopped, Moment::default(), || "an empty store".to_owned());
        }
        let partitioner = broker::partitioner(&scenario);
        Self {
            homes: names.iter().map(|name| broker::place(partitioner.partition(name))).collect(),
            actions: Vec::new(),
            agenda: Agenda::default(),
            transcript,
            findings,
            network: Network::new(seed, FaultMix::none()),
            brokers: (0..scenario.brokers).map(broker).collect(),
            store,
            hostiles: (0..scenario.hostile_clients())
                .chain((0..scenario.outsiders()).map(|number| OUTSIDERS + number))
                .map(|number| Hostile::new(seed, number))
                .collect(),
            outsiders: (0..scenario.outsiders()).map(Outsider::new).collect(),
            topics,
            groups: GroupNumbers::new(names.iter().cloned()),
            partitioner,
            epochs: vec![OwnerEpoch(0); partitions],
            longest_rebalance: vec![0; names.len()],
            longest_session: vec![0; names.len()],
            shortest_session: vec![u64::MAX; names.len()],
            generations: Generations::new(scenario.brokers, names.len()),
            offsets: Offsets::new(names.len()),
            random: Random::new(seed, "world", 0),
            faults: FaultMix::none(),
            twins,
            requests: 0,
            transactions: 0,
            marks: 0,
            strikes: 0,
            era: 0,
            strike_random: Fault::ALL.map(|fault| Random::new(seed, fault.name(), 0)).to_vec(),
            rumours: Vec::new(),
            reported: vec![Moment::default(); scenario.brokers],
            client_time: 0,
            assigned,
            names,
            clients,
            scenario,
        }
    }

    /// The time it is.
    pub(crate) fn now(&self) -> Moment {
        self.agenda.now()
    }

    fn live(&mut self) {
        for broker in 0..self.brokers.len() {
            self.start_broker(broker);
        }
        for client in 0..self.clients.len() {
            self.schedule_client(client);
        }
        self.agenda.enter(Moment(SECOND), Event::Look);
        for _ in 0..self.scenario.rounds {
            self.begin_chaos();
            self.pass(self.scenario.chaos / u64::from(self.scenario.rounds));
            self.begin_calm();
            self.pass(self.scenario.calm());
            self.check_calm();
            if self.findings.any() {
                return;
            }
        }
        self.end();
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, span: u64) {
        let until = self.now().after(span);
        while !self.findings.any() {
            let Some(event) = self.agenda.next(until) else { break };
            self.happen(event);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Client(client) => self.wake_client(client as usize),
            Event::Found(client, attempt, broker) => self.client_found(client as usize, attempt, broker),
            Event::Connect(client, attempt, broker) => self.connect(client as usize, attempt, broker),
            Event::Request(connection, correlation, group, request) => {
                self.request_arrives(connection, correlation, group, request);
            }
            Event::Answer(connection, correlation, is_stale, response) => {
                self.answer_arrives(connection, correlation, is_stale, *response);
            }
            Event::Closed(connection, side) => self.hear_closed(connection, side),
            Event::Broker(broker, life) => self.wake_broker(broker, life),
            Event::Resume(broker, life) => self.resume_broker(broker, life),
            Event::Start(broker, life) => {
                if self.brokers[broker].life == life && self.brokers[broker].coordinator.is_none() {
                    self.start_broker(broker);
                }
            }
            Event::Acquire(broker, life, partition) => self.acquire(broker, life, partition),
            Event::News(broker, life, input) => self.hear_news(broker, life, *input),
            Event::Load(broker, life, epoch, input) => self.hear_load(broker, life, epoch, *input),
            Event::Learn(broker, partition, owner) => {
                self.brokers[broker].routes[broker::place(partition)] = owner;
            }
            Event::Commit(life) => self.commit(life),
            Event::Stored(outcome) => self.hear_stored(outcome),
            Event::StoreStart(life) => self.start_store(life),
            Event::Strike(fault, era) => self.strike(fault, era),
            Event::Hostile(number) => self.hostile_acts(number as usize),
            Event::Outsider(number) => self.outsider_acts(number as usize),
            Event::Mark(broker, life, mark) => {
                if self.brokers[broker].life == life {
                    self.tell(broker, Message::Mark(mark));
                }
            }
            Event::Marked(number, attempt, is_written) => {
                self.hear_marked(number as usize, attempt, is_written);
            }
            Event::Look => {
                self.look();
                self.agenda.enter(self.now().after(SECOND), Event::Look);
            }
        }
    }

    /// Checks what does not follow from one event.
    fn look(&mut self) {
        let up = self.clients.iter().filter(|client| client.is_up()).count();
        self.client_time += up as u64 * SECOND;
        self.check_waiting();
        if (self.now().0 / SECOND).is_multiple_of(5) {
            self.check_silence();
        }
    }

    fn report(mut self) -> Report {
        Report {
            violation: self.findings.take(),
            simulated: self.now().0,
            client_time: self.client_time,
            counts: Counts {
                events: self.agenda.entered(),
                requests: self.requests,
                generations: self.generations.rounds,
                commits: self.offsets.acknowledged,
                reads: self.offsets.reads,
                transactions: self.transactions,
                removed: self.offsets.removed,
                strikes: self.strikes,
            },
            fingerprint: self.transcript.fingerprint(),
            lines: self.transcript.lines(),
            transcript: self.transcript.text().to_owned(),
        }
    }
}
