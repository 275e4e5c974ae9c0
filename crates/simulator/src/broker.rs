//! A broker: a process with a coordinator, its inbox, the requests it has not answered, the partitions it believes to own.

use std::collections::VecDeque;

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::{Input, Request, StoreError, StoreId};
use coordinator::{Config, Coordinator, Partitioner};

use crate::agenda::Moment;
use crate::checkers::Map;
use crate::checkers::answers::Answers;
use crate::checkers::sessions::Sessions;
use crate::client::outsider::Mark;
use crate::network::ConnectionId;
use crate::random::mix;
use crate::scenario::Scenario;

/// What a broker is told.
#[derive(Debug)]
pub enum Message {
    /// A client asks.
    Ask {
        /// On which connection.
        connection: ConnectionId,
        /// Its place among the answers there.
        correlation: u32,
        /// Of which group, if it is one of those that are watched.
        group: Option<usize>,
        /// What.
        request: Box<Request>,
    },
    /// A client has closed its end.
    Gone(ConnectionId),
    /// News of the store or of ownership.
    News(Input),
    /// What was read of a partition that was taken under this epoch.
    Load(OwnerEpoch, Input),
    /// A transaction has ended, and its marker is to be written.
    Mark(Mark),
    /// A marker was written, or could not be.
    Marked(StoreId, Result<(), StoreError>),
}

/// What a broker believes of its ownership of a partition: the rules by which a coordinator takes news of it, once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ownership {
    /// The newest that it has heard of.
    pub epoch: OwnerEpoch,
    /// Whether it is the owner, and has loaded it.
    pub stage: Stage,
}

/// How far an ownership has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Somebody else is the owner.
    #[default]
    Lost,
    /// It is the owner, and reads what is kept.
    Loading,
    /// It is the owner, and serves.
    Serving,
}

impl Ownership {
    /// Takes news of the ownership under `epoch`. `true`: it changes something, and what was known of groups is void.
    pub fn hear(&mut self, epoch: OwnerEpoch, stage: Stage) -> bool {
        let is_repeated = epoch == self.epoch && self.stage != Stage::Lost && stage == Stage::Loading;
        if epoch < self.epoch || is_repeated {
            return false;
        }
        *self = Self { epoch, stage };
        true
    }
}

/// A broker.
#[derive(Debug)]
pub struct Broker {
    /// None while its process is down.
    pub coordinator: Option<Coordinator>,
    /// Raised with every end of its process.
    pub life: u32,
    /// It stands still until then.
    pub suspended: Option<Moment>,
    /// For how long it has stood still, in all; microseconds.
    pub stood_still: u64,
    /// What came while it stood still.
    pub inbox: VecDeque<Message>,
    /// What it has not answered.
    pub answers: Answers,
    /// What is known of its members' signs of life, by group.
    pub sessions: Vec<Sessions>,
    /// What it believes of its ownership of each partition.
    pub owned: Vec<Ownership>,
    /// Whom it believes to own each partition.
    pub routes: Vec<usize>,
    /// For when its next deadline is entered.
    pub wake: Moment,
    /// What its coordinator has said so far.
    pub outputs: u64,
    /// The markers that are being written.
    pub marks: Map<StoreId, Mark>,
}

impl Broker {
    /// One that is down.
    pub fn new(partitions: usize, groups: usize, routes: Vec<usize>) -> Self {
        Self {
            coordinator: None,
            life: 0,
            suspended: None,
            stood_still: 0,
            inbox: VecDeque::new(),
            answers: Answers::default(),
            sessions: (0..groups).map(|_| Sessions::default()).collect(),
            owned: vec![Ownership::default(); partitions],
            routes,
            wake: Moment::NEVER,
            outputs: 0,
            marks: Map::default(),
        }
    }

    /// Its process starts.
    pub fn start(&mut self, scenario: &Scenario, number: usize, now: Moment) {
        let seed = mix(scenario.seed ^ mix(number as u64) ^ u64::from(self.life) << 32);
        self.coordinator = Some(Coordinator::new(config(scenario), seed, now.timestamp()));
    }

    /// Its process ends: all it knew is gone.
    pub fn crash(&mut self, now: Moment) {
        self.coordinator = None;
        self.life += 1;
        self.suspended = None;
        self.inbox.clear();
        self.answers = Answers::default();
        self.marks.clear();
        self.owned.fill(Ownership::default());
        self.wake = Moment::NEVER;
        for sessions in &mut self.sessions {
            sessions.reset(now);
        }
    }

    /// Whether it answers.
    pub fn is_running(&self) -> bool {
        self.coordinator.is_some() && self.suspended.is_none()
    }
}

/// The settings of a scenario's coordinators.
pub fn config(scenario: &Scenario) -> Config {
    Config {
        group_initial_rebalance_delay_ms: scenario.initial_delay_ms,
        store_timeout_ms: Some(scenario.store_timeout_ms),
        group_max_size: scenario.group_max_size,
        partitioner: partitioner(scenario),
        unix_ms_at_zero: 1_700_000_000_000,
        ..retention(scenario)
    }
}

fn retention(scenario: &Scenario) -> Config {
    let Some(retention_ms) = scenario.retention_ms else { return Config::default() };
    Config {
        offsets_retention_ms: i64::from(retention_ms) / scenario.plant.haste(),
        offsets_retention_check_interval_ms: Some(5_000),
        ..Config::default()
    }
}

/// How a scenario's groups are spread.
pub fn partitioner(scenario: &Scenario) -> Partitioner {
    Partitioner::Kafka { partitions: scenario.partitions }
}

/// The place of a partition in lists.
pub fn place(partition: OffsetsPartition) -> usize {
    usize::try_from(partition.0).unwrap_or(0)
}
