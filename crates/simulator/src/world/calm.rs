//! Times without faults: everything is put right, and then has to be right.

use coordinator::Phase;
use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::Input;

use super::{Event, World};
use crate::agenda::{Moment, SECOND};
use crate::broker::{Message, place};
use crate::checkers::Rule;
use crate::client::Standing;
use crate::faults::FaultMix;
use crate::planted::Plant;
use crate::scenario::{GroupPlan, Strategy};

impl World {
    /// Nothing goes wrong from now on; what is down starts.
    pub(super) fn begin_calm(&mut self) {
        let now = self.now();
        self.transcript.note(now, "calm", [0; 3], String::new);
        self.era += 1;
        self.faults = FaultMix::none();
        self.network.faults = FaultMix::none();
        self.network.heal(now);
        self.store.heal();
        self.end_hostiles();
        for broker in 0..self.brokers.len() {
            let own = &mut self.brokers[broker];
            if own.coordinator.is_none() {
                self.agenda.enter(now, Event::Start(broker, own.life));
            } else if own.suspended.is_some() {
                own.suspended = Some(now);
                self.agenda.enter(now, Event::Resume(broker, own.life));
            }
        }
        self.agenda.enter(now, Event::StoreStart(self.store.life));
        for client in 0..self.clients.len() {
            if self.twins.contains(&self.clients[client].number) {
                self.crash_client(client, Moment::NEVER, true);
                continue;
            }
            self.act(client, |client, now, _| {
                client.be_idle();
                client.down = client.down.map(|until| until.min(now));
            });
        }
    }

    /// Every group whose clients live must be stable, each partition owned by one of them.
    pub(super) fn check_calm(&mut self) {
        let now = self.now();
        for group in 0..self.scenario.groups.len() {
            if let Err(what) = self.is_settled(group) {
                let name = self.name(group).clone();
                self.findings.broken(Rule::Stuck, now, || format!("{name}: {what}"));
            }
        }
        self.check_transactions();
        self.offsets.check(now, &mut self.findings);
    }

    fn is_settled(&self, group: usize) -> Result<(), String> {
        let name = self.name(group);
        let coordinating = &self.brokers[self.assigned[place(self.partitioner.partition(name))]];
        let view = coordinating.coordinator.as_ref().and_then(|coordinator| coordinator.group(name));
        let clients: Vec<_> =
            self.clients.iter().filter(|client| client.common.index == group && client.is_up()).collect();
        let Some(view) = view else {
            return if clients.is_empty() { Ok(()) } else { Err("does not exist".to_owned()) };
        };
        let room = self.scenario.group_max_size;
        let stable: Vec<_> = clients.iter().filter(|client| client.standing == Standing::Stable).collect();
        if view.phase != Phase::Stable || view.members.len() != clients.len().min(room) {
            return Err(format!(
                "{:?}, generation {}, {} members of {} clients",
                view.phase,
                view.generation.0,
                view.members.len(),
                clients.len()
            ));
        }
        if stable.len() != view.members.len() {
            return Err(format!("{} clients of {} members are stable", stable.len(), view.members.len()));
        }
        for client in &stable {
            if client.generation != view.generation || !view.members.contains(&client.member) {
                let (number, generation) = (client.number, client.generation.0);
                return Err(format!(
                    "client {number} is in generation {generation}, not {}",
                    view.generation.0
                ));
            }
        }
        if self.scenario.hostile_clients() > 0 {
            // A stolen leader may have assigned nothing to anybody.
            return Ok(());
        }
        let mut owned: Vec<u16> = stable.iter().flat_map(|client| client.owned.iter().copied()).collect();
        owned.sort_unstable();
        let plan = &self.scenario.groups[group];
        let all_are_owned = owned.iter().copied().eq(0..plan.partitions);
        let none_is_owned_twice = owned.windows(2).all(|pair| pair[0] != pair[1]);
        if all_are_owned || (none_is_owned_twice && may_be_without_owner(plan)) {
            return Ok(());
        }
        Err(format!("the clients own {owned:?} together"))
    }

    /// All clients go for good: nothing of them may be left.
    pub(super) fn end(&mut self) {
        self.era += 1;
        if self.scenario.plant == Plant::Ghost {
            self.plant_ghost();
        }
        for client in 0..self.clients.len() {
            if !self.clients[client].is_up() {
                self.crash_client(client, Moment::NEVER, true);
            } else if self.random.below(2) == 0 {
                self.close_client(client, Moment::NEVER);
            } else {
                self.crash_client(client, Moment::NEVER, true);
            }
        }
        self.pass(self.scenario.calm() + 2 * SECOND);
        self.check_left("after all members left", false);
        for broker in 0..self.brokers.len() {
            for partition in 0..self.scenario.partitions {
                let epoch = OwnerEpoch(self.epochs[place(OffsetsPartition(partition))].0 + 1);
                let unload = Input::Unload(OffsetsPartition(partition), epoch);
                self.tell(broker, Message::News(unload));
            }
        }
        self.check_left("after all partitions were given up", true);
    }

    fn check_left(&mut self, when: &str, no_groups: bool) {
        let now = self.now();
        for (number, broker) in self.brokers.iter().enumerate() {
            let Some(coordinator) = &broker.coordinator else { continue };
            let stats = coordinator.stats();
            let groups = if no_groups { stats.groups } else { 0 };
            // The next periodic clean-up waits for ever.
            let left = [stats.members, stats.parked_requests, stats.operations.saturating_sub(1), groups];
            if left != [0; 4] || broker.answers.waiting() > 0 {
                self.findings.broken(Rule::Leak, now, || {
                    let waiting = broker.answers.waiting();
                    format!("broker {number} {when}: members, parked requests, operations, groups: {left:?}; {waiting} unanswered")
                });
            }
        }
    }

    /// The planted fault: somebody is let in whom nobody asked for.
    fn plant_ghost(&mut self) {
        let group = 0;
        let broker = self.assigned[place(self.partitioner.partition(self.name(group)))];
        let now = self.now().timestamp();
        let join = coordinator::messages::JoinGroup {
            group: self.name(group).clone(),
            member: "".into(),
            instance: None,
            client_id: "ghost".into(),
            client_host: "".into(),
            protocol_type: "consumer".into(),
            protocols: vec![("cooperative-sticky".into(), [].into()), ("range".into(), [].into())],
            session_timeout_ms: 1_800_000,
            rebalance_timeout_ms: 1_800_000,
            require_known_member_id: true,
            supports_skipping_assignment: false,
            reason: None,
        };
        let token = coordinator::messages::Token::new(u64::MAX);
        if let Some(coordinator) = &mut self.brokers[broker].coordinator {
            coordinator.handle(now, Input::Request(token, coordinator::messages::Request::JoinGroup(join)));
            while coordinator.poll_output().is_some() {}
        }
    }
}

/// A static member that is replaced between the two rounds of a cooperative rebalance comes back without one (KIP-345), so
/// nobody asks for the second, and what was given up stays with nobody until somebody does. So it is with Kafka.
fn may_be_without_owner(plan: &GroupPlan) -> bool {
    plan.strategy == Strategy::Cooperative && plan.clients.iter().any(|client| client.instance.is_some())
}
