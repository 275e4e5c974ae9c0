//! What is simulated: the cluster, its groups and clients, the fault mix, for how long. Drawn from a seed.

use std::sync::Arc;

use coordinator::ids::{GroupId, InstanceId};

use crate::agenda::{MINUTE, SECOND};
use crate::faults::{Fault, FaultMix};
use crate::planted::Plant;
use crate::random::Random;

/// All that a run depends on.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What everything is drawn from.
    pub seed: u64,
    /// How many brokers there are, each with a coordinator.
    pub brokers: usize,
    /// Over how many offsets partitions the groups are spread.
    pub partitions: i32,
    /// The groups and their clients.
    pub groups: Vec<GroupPlan>,
    /// What goes wrong.
    pub faults: FaultMix,
    /// Times of faults, each followed by a time of calm in which every group must become stable.
    pub rounds: u32,
    /// How long a time of faults lasts, microseconds.
    pub chaos: u64,
    /// `group.initial.rebalance.delay.ms`.
    pub initial_delay_ms: u32,
    /// `offsets.commit.timeout.ms`.
    pub store_timeout_ms: u32,
    /// `group.max.size`.
    pub group_max_size: usize,
    /// `offsets.retention.minutes`, ms; `None`: longer than any run.
    pub retention_ms: Option<u32>,
    /// Whether the store's files are small, so that they are folded often.
    pub small_store: bool,
    /// Whether a turn handles deadlines before what has arrived, as Kafka does, or after, as a shard of groupd does.
    pub deadlines_first: bool,
    /// A fault planted into the code under test, to show that a checker sees it.
    pub plant: Plant,
}

/// One group.
#[derive(Clone, Debug)]
pub struct GroupPlan {
    /// Its name.
    pub name: GroupId,
    /// Partitions of its topic.
    pub partitions: u16,
    /// How its members give up partitions.
    pub strategy: Strategy,
    /// `session.timeout.ms` of its clients.
    pub session_ms: u32,
    /// `max.poll.interval.ms`, which clients send as their rebalance timeout.
    pub rebalance_ms: u32,
    /// `heartbeat.interval.ms`.
    pub heartbeat_ms: u32,
    /// `auto.commit.interval.ms`.
    pub commit_ms: u32,
    /// Its clients.
    pub clients: Vec<ClientPlan>,
}

/// How members give up partitions in a rebalance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// All of them, before they join.
    Eager,
    /// Those that go to another member, after which they join again.
    Cooperative,
}

/// One client.
#[derive(Clone, Debug)]
pub struct ClientPlan {
    /// Which client of the whole simulation; streams of chance are told by it.
    pub number: u32,
    /// Whose rules it follows.
    pub flavor: Flavor,
    /// Static membership.
    pub instance: Option<InstanceId>,
    /// `client.id`.
    pub client_id: Arc<str>,
    /// When it starts, microseconds.
    pub starts: u64,
}

/// Whose rules a client follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// Apache Kafka's own consumer.
    Java,
    /// librdkafka and what stands on it.
    Librdkafka,
    /// kafka-python.
    KafkaPython,
}

impl Scenario {
    /// What a seed stands for.
    pub fn from_seed(seed: u64) -> Self {
        let mut random = Random::new(seed, "scenario", 0);
        let faults = FaultMix::drawn(&mut Random::new(seed, "faults", 0));
        let brokers = *random.pick(&[1, 1, 2, 3, 3, 5]);
        let mut scenario = Self {
            seed,
            brokers,
            partitions: *random.pick(&[1, 2, 4, 8]),
            groups: Vec::new(),
            faults,
            rounds: u32::try_from(random.between(1, 3)).unwrap_or(1),
            chaos: random.between(2 * MINUTE, 25 * MINUTE),
            initial_delay_ms: *random.pick(&[0, 100, 3_000, 3_000]),
            store_timeout_ms: *random.pick(&[1_000, 5_000, 5_000]),
            group_max_size: if random.chance(100_000) { 6 } else { usize::MAX },
            retention_ms: random.chance(300_000).then(|| *random.pick(&[20_000, 60_000, 300_000])),
            small_store: random.chance(250_000),
            deadlines_first: random.chance(500_000),
            plant: Plant::None,
        };
        let groups = random.between(1, 12);
        let crowd = random.chance(30_000);
        let mut number = 0;
        for index in 0..groups {
            let clients = if crowd && index == 0 { random.between(100, 400) } else { random.between(1, 12) };
            scenario.groups.push(GroupPlan::drawn(&mut random, index, clients, &mut number));
        }
        scenario
    }

    /// Clients of all groups.
    pub fn clients(&self) -> impl Iterator<Item = (usize, &ClientPlan)> {
        let groups = self.groups.iter().enumerate();
        groups.flat_map(|(group, plan)| plan.clients.iter().map(move |client| (group, client)))
    }

    /// How many hostile clients there are.
    pub fn hostile_clients(&self) -> u32 {
        u32::from(self.faults.level(Fault::Hostile))
    }

    /// How many clients there are that are no members.
    pub fn outsiders(&self) -> u32 {
        u32::from(self.faults.level(Fault::Outsiders))
    }

    /// Within this time, without faults, every group whose clients live is stable: microseconds.
    ///
    /// Whoever died is noticed by the end of its session, and whoever does not join by the end of a round; one more
    /// of each for what follows from it; a minute for requests that time out, back-off and starts.
    pub fn calm(&self) -> u64 {
        let longest = |of: fn(&GroupPlan) -> u32| self.groups.iter().map(of).max().unwrap_or_default();
        let (session, rebalance) = (longest(|group| group.session_ms), longest(|group| group.rebalance_ms));
        let hostile = crate::client::hostile::timeouts_ms(self.faults.level(Fault::Hostile));
        let timeouts =
            hostile + 2 * (u64::from(session) + u64::from(rebalance)) + u64::from(self.initial_delay_ms);
        timeouts * crate::agenda::MS + MINUTE
    }
}

impl GroupPlan {
    fn drawn(random: &mut Random, index: u64, clients: u64, number: &mut u32) -> Self {
        let (session_ms, heartbeat_ms) = *random.pick(&[
            (6_000, 2_000),
            (10_000, 3_000),
            (45_000, 3_000),
            (30_000, 10_000),
            (30_000, 10_000),
            (45_000, 15_000),
            (45_000, 15_000),
            (45_000, 15_000),
            (60_000, 20_000),
            (60_000, 20_000),
        ]);
        let statics = random.below(3);
        let flavors: &[Flavor] = match random.below(5) {
            0 | 1 => &[Flavor::Java],
            2 => &[Flavor::Librdkafka],
            3 => &[Flavor::KafkaPython],
            _ => &[Flavor::Java, Flavor::Librdkafka, Flavor::KafkaPython],
        };
        // kafka-python has no cooperative assignor.
        let cooperative = !flavors.contains(&Flavor::KafkaPython) && random.chance(500_000);
        let name: Arc<str> = format!("group-{index}").into();
        let mut plan = Self {
            name: GroupId::new(Arc::clone(&name)),
            partitions: u16::try_from(random.between(1, 16)).unwrap_or(1),
            strategy: if cooperative { Strategy::Cooperative } else { Strategy::Eager },
            session_ms,
            // Members hear of a round by a heartbeat: those who could not in time would never be together.
            rebalance_ms: (*random.pick(&[10_000, 30_000, 60_000, 300_000])).max(3 * heartbeat_ms),
            heartbeat_ms,
            commit_ms: *random.pick(&[5_000, 60_000, 60_000, 120_000]),
            clients: Vec::new(),
        };
        for place in 0..clients {
            let is_static = statics == 1 && random.chance(500_000) || statics == 2;
            let instance = is_static.then(|| InstanceId::new(format!("{name}-instance-{place}")));
            let starts =
                if random.chance(700_000) { random.below(2 * SECOND) } else { random.below(2 * MINUTE) };
            plan.clients.push(ClientPlan {
                number: *number,
                flavor: *random.pick(flavors),
                instance,
                client_id: format!("c{number}").into(),
                starts,
            });
            *number += 1;
        }
        plan
    }
}
