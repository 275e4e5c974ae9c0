//! The state of a model: clients, coordinators, store and clock; its steps; and what must hold after each.

use std::collections::{BTreeMap, VecDeque};

use coordinator::ids::{Blob, Generation, GroupId, MemberId, OffsetsPartition, OwnerEpoch};
use coordinator::messages::{HeartbeatResponse, Input, Output, Record, Response, Store, StoreError, Token};
use coordinator::{Config, Coordinator, Partitioner, Phase, Timestamp};

use super::client::{Client, Learnt, Stage};
use super::store::Kept;
use super::{Bounds, Plant, Step};

/// Ms.
pub(super) const STORE_TIMEOUT_MS: u32 = 5_000;
/// Ms.
pub(super) const INITIAL_DELAY_MS: u32 = 1_000;
const PARTITION: OffsetsPartition = OffsetsPartition(0);

/// A coordinator, and what it is not told yet.
#[derive(Debug)]
pub(super) struct Owner {
    pub(super) coordinator: Coordinator,
    pub(super) writes: VecDeque<Store>,
    /// It was replaced and has not been told.
    pub(super) is_deceived: bool,
}

/// Everything.
#[derive(Debug)]
pub(super) struct World {
    pub(super) bounds: Bounds,
    pub(super) plant: Plant,
    pub(super) group: GroupId,
    pub(super) now: Timestamp,
    pub(super) clients: Vec<Client>,
    pub(super) owners: Vec<Owner>,
    pub(super) kept: Kept,
    /// Which client each member id was made for.
    pub(super) ids: BTreeMap<MemberId, usize>,
    /// Who led each generation, as each coordinator says.
    pub(super) leaders: BTreeMap<(usize, Generation), MemberId>,
    /// Whose assignment each generation got that was acknowledged to anybody.
    pub(super) assigned: BTreeMap<Generation, MemberId>,
}

impl World {
    pub(super) fn new(bounds: Bounds, plant: Plant) -> Self {
        let now = Timestamp::ZERO;
        let mut this = Self {
            bounds,
            plant,
            group: GroupId::from("g"),
            now,
            clients: (0..bounds.clients).map(Client::new).collect(),
            owners: Vec::new(),
            kept: Kept::new(),
            ids: BTreeMap::new(),
            leaders: BTreeMap::new(),
            assigned: BTreeMap::new(),
        };
        this.take_over();
        this
    }

    /// All that can happen next.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.latest_generation() > Generation(self.bounds.generations) {
            return steps;
        }
        for (client, number) in self.clients.iter().zip(0..) {
            if client.waits.is_none() {
                steps.push(Step::Send(number));
            }
            // Without an id and a request nobody knows it.
            if self.bounds.crashes > 0 && (client.waits.is_some() || !client.member.is_empty()) {
                steps.extend([Step::Crash(number), Step::Vanish(number)]);
            }
            if self.bounds.leaves > 0 && client.waits.is_none() && client.stage == Stage::Stable {
                steps.push(Step::Leave(number));
            }
        }
        for (owner, number) in self.owners.iter().zip(0..) {
            if !owner.writes.is_empty() {
                steps.push(Step::Stored(number));
                if self.bounds.store_faults > 0 {
                    steps.extend([Step::StoreFails(number), Step::Unreported(number)]);
                }
            }
        }
        if self.next_deadline().is_some() {
            steps.push(Step::Tick);
        }
        if self.bounds.moves > 0 {
            steps.push(Step::Move);
        }
        if self.owners.iter().any(|owner| owner.is_deceived) {
            steps.push(Step::Told);
        }
        steps
    }

    /// Does one step.
    ///
    /// # Errors
    ///
    /// What does not hold any more.
    pub(super) fn take(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Send(client) => self.send(usize::from(client)),
            Step::Crash(client) => {
                self.bounds.crashes -= 1;
                self.hang_up(usize::from(client));
                self.clients[usize::from(client)].die(self.owners.len() - 1);
            }
            Step::Vanish(client) => {
                self.bounds.crashes -= 1;
                self.clients[usize::from(client)].die(self.owners.len() - 1);
            }
            Step::Leave(client) => {
                self.bounds.leaves -= 1;
                let client = &self.clients[usize::from(client)];
                let request = client.leave(&self.group);
                self.ask(client.number, request);
            }
            Step::Stored(owner) => self.stored(usize::from(owner)),
            Step::StoreFails(owner) => {
                self.bounds.store_faults -= 1;
                let write = self.oldest(usize::from(owner));
                self.report(usize::from(owner), &write, Err(StoreError::KafkaStorageError));
            }
            Step::Unreported(owner) => {
                self.bounds.store_faults -= 1;
                let write = self.oldest(usize::from(owner));
                // Whether it was taken: nobody hears.
                let _ = self.kept.write(&write, self.plant);
            }
            Step::Tick => {
                let next = self.next_deadline();
                self.advance(next.unwrap_or(self.now))?;
            }
            Step::Move => {
                self.bounds.moves -= 1;
                for owner in &mut self.owners {
                    owner.is_deceived = true;
                }
                self.kept.epoch = OwnerEpoch(self.kept.epoch.0 + 1);
                self.take_over();
            }
            Step::Told => self.tell(),
        }
        self.settle()
    }

    /// When something waits for time, in any coordinator.
    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        self.owners.iter().filter_map(|owner| owner.coordinator.next_deadline()).min()
    }

    /// Lets time pass, and handles what is due.
    ///
    /// # Errors
    ///
    /// If something still waits for a time that has passed.
    pub(super) fn advance(&mut self, to: Timestamp) -> Result<(), String> {
        self.now = self.now.max(to);
        for owner in &mut self.owners {
            if self.plant == Plant::NoExpiry {
                owner.coordinator.expire(Timestamp::ZERO);
            } else {
                owner.coordinator.expire(self.now);
            }
        }
        match self.next_deadline() {
            Some(next) if next <= self.now => Err("something waits past its deadline".into()),
            Some(_) | None => Ok(()),
        }
    }

    /// Sends the client's next request.
    pub(super) fn send(&mut self, client: usize) {
        let request = self.clients[client].request(&self.group);
        self.ask(client, request);
    }

    /// The oldest write ends well, if its owner may still write.
    pub(super) fn stored(&mut self, owner: usize) {
        let write = self.oldest(owner);
        let outcome = self.kept.write(&write, self.plant);
        self.report(owner, &write, outcome);
    }

    /// Tells all who were replaced.
    pub(super) fn tell(&mut self) {
        for owner in &mut self.owners {
            if std::mem::take(&mut owner.is_deceived) {
                owner.coordinator.handle(self.now, Input::Unload(PARTITION, self.kept.epoch));
            }
        }
    }

    /// Hands all outputs on until nobody says anything.
    ///
    /// # Errors
    ///
    /// What does not hold.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        for owner in 0..self.owners.len() {
            while let Some(output) = self.owners[owner].coordinator.poll_output() {
                match output {
                    Output::Respond(token, response) => {
                        let is_heartbeat = matches!(response, Response::Heartbeat(_));
                        self.answer(owner, &token, response)?;
                        if self.plant == Plant::AnsweredTwice && is_heartbeat {
                            let again = Response::Heartbeat(HeartbeatResponse { error: None });
                            self.answer(owner, &token, again)?;
                        }
                    }
                    Output::Superseded(token) => {
                        return Err(format!(
                            "request {} was superseded: no client asks twice",
                            token.number()
                        ));
                    }
                    Output::Store(write) => self.owners[owner].writes.push_back(write),
                    Output::Event(_) => {}
                }
            }
        }
        self.check()
    }

    fn latest_generation(&self) -> Generation {
        let of = |owner: &Owner| owner.coordinator.group(&self.group).map(|group| group.generation);
        self.owners.iter().filter_map(of).max().unwrap_or_default()
    }

    fn take_over(&mut self) {
        let config = Config {
            group_initial_rebalance_delay_ms: INITIAL_DELAY_MS,
            store_timeout_ms: Some(STORE_TIMEOUT_MS),
            offsets_retention_check_interval_ms: None,
            partitioner: Partitioner::Kafka { partitions: 1 },
            ..Config::default()
        };
        let seed = self.owners.len() as u64;
        let mut coordinator = Coordinator::new(config, seed, self.now);
        coordinator.handle(self.now, Input::BeginLoad(PARTITION, self.kept.epoch));
        let records = self.kept.group.iter().cloned().map(Record::Group).collect();
        coordinator.handle(self.now, Input::Load(PARTITION, records));
        coordinator.handle(self.now, Input::FinishLoad(PARTITION));
        self.owners.push(Owner { coordinator, writes: VecDeque::new(), is_deceived: false });
    }

    fn ask(&mut self, client: usize, request: coordinator::messages::Request) {
        let client = &mut self.clients[client];
        let token = client.token();
        client.waits = Some(token);
        let owner = &mut self.owners[client.owner];
        owner.coordinator.handle(self.now, Input::Request(Token::new(token), request));
    }

    /// The client's connection ends: what it has parked is dropped, and the id it may not have used is free.
    fn hang_up(&mut self, client: usize) {
        let client = &self.clients[client];
        let coordinator = &mut self.owners[client.owner].coordinator;
        if let Some(token) = client.waits {
            coordinator.handle(self.now, Input::Abandon(token));
        }
        if !client.member.is_empty() {
            coordinator.handle(self.now, Input::GiveUp(self.group.clone(), client.member.clone()));
        }
    }

    fn oldest(&mut self, owner: usize) -> Store {
        let oldest = self.owners[owner].writes.pop_front();
        oldest.unwrap_or_else(|| unreachable!("the step is possible only with a write"))
    }

    fn report(&mut self, owner: usize, write: &Store, outcome: Result<(), StoreError>) {
        self.owners[owner].coordinator.handle(self.now, Input::Stored(write.id, outcome));
    }

    fn answer(&mut self, owner: usize, token: &Token, response: Response) -> Result<(), String> {
        let number = token.number();
        let index = usize::try_from(number & 0xff).unwrap_or(usize::MAX);
        let client = &mut self.clients[index];
        if number >> 8 != client.life {
            // Of an earlier life, whose connection is gone.
            return Ok(());
        }
        if client.waits != Some(number) {
            return Err(format!("client {index} got an answer to nothing it asked: {response:?}"));
        }
        let is_follower = matches!(client.stage, Stage::Joined(ref members) if members.is_empty());
        if self.plant == Plant::LostAnswer && is_follower {
            return Ok(());
        }
        let learnt = client.learn(response);
        if !client.member.is_empty() {
            self.ids.entry(client.member.clone()).or_insert(index);
        }
        self.learnt(owner, index, learnt)
    }

    fn learnt(&mut self, owner: usize, client: usize, learnt: Learnt) -> Result<(), String> {
        match learnt {
            Learnt::Nothing => Ok(()),
            Learnt::Wrong(why) => Err(why),
            Learnt::Moved => {
                self.clients[client].owner = self.owners.len() - 1;
                Ok(())
            }
            Learnt::Joined(generation, leader) => {
                let first = self.leaders.entry((owner, generation)).or_insert_with(|| leader.clone());
                if *first == leader {
                    return Ok(());
                }
                Err(format!("generation {} has two leaders: {first} and {leader}", generation.0))
            }
            Learnt::Synced(generation, assignment) => self.synced(client, generation, &assignment),
        }
    }

    /// An assignment was acknowledged: there is one a generation, by one leader, and each is later than those before.
    fn synced(&mut self, client: usize, generation: Generation, assignment: &Blob) -> Result<(), String> {
        let text = String::from_utf8_lossy(assignment).into_owned();
        let member = self.clients[client].member.clone();
        let Some((leader, to)) = text.split_once(" to ") else {
            return Err(format!("client {client} got no assignment in generation {}", generation.0));
        };
        if to != member.as_str() {
            return Err(format!("{member} got the assignment of {to} in generation {}", generation.0));
        }
        let leader = MemberId::from(leader);
        if let Some((latest, _)) = self.assigned.last_key_value()
            && *latest > generation
            && !self.assigned.contains_key(&generation)
        {
            return Err(format!("generation {} was assigned after {}", generation.0, latest.0));
        }
        let first = self.assigned.entry(generation).or_insert_with(|| leader.clone());
        if *first == leader {
            return Ok(());
        }
        Err(format!("generation {} has assignments of {first} and of {leader}", generation.0))
    }

    /// What must hold between any two steps.
    fn check(&self) -> Result<(), String> {
        let newest = self.owners.last().and_then(|owner| owner.coordinator.group(&self.group));
        let Some(group) = newest else { return Ok(()) };
        if group.members.is_empty() && matches!(group.phase, Phase::Stable | Phase::CompletingRebalance) {
            return Err(format!("a group without members is {}", group.phase));
        }
        if let Some((acknowledged, _)) = self.assigned.last_key_value()
            && group.generation < *acknowledged
        {
            let now = group.generation.0;
            return Err(format!("the generation went back from {} to {now}", acknowledged.0));
        }
        if group.leader.as_ref().is_some_and(|leader| !group.members.contains(leader)) {
            return Err("the leader is no member".into());
        }
        Ok(())
    }
}
