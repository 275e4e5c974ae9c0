//! Clients that are no members, at work: transactions from their first offset to their marker, and deletions.

use coordinator::ids::TopicName;
use coordinator::messages::{
    GroupError, Input, Record, Request, Response, StoreError, StoreId, TransactionOutcome, TxnOffsetCommit,
};

use super::{Event, World};
use crate::agenda::SECOND;
use crate::broker::Stage as Ownership;
use crate::checkers::Rule;
use crate::client::InFlight;
use crate::client::outsider::{self, Mark, Stage};
use crate::faults::Fault;
use crate::planted::Plant;
use crate::store::Write;

/// Groups that have no members.
pub(super) const LEDGERS: usize = 2;
/// Ids of writes of markers begin here: a coordinator's never come so far.
pub(super) const MARKERS: u64 = 1 << 62;
/// After so long without an answer a transaction is aborted.
const PATIENCE: u64 = 10 * SECOND;

impl World {
    /// The topic of a group.
    pub(super) fn clients_topic(&self, group: usize) -> TopicName {
        self.topics[group].clone()
    }

    pub(super) fn wake_outsiders(&mut self) {
        for (number, own) in (0..).zip(&mut self.outsiders) {
            if !std::mem::replace(&mut own.is_awake, true) {
                self.agenda.enter(self.agenda.now(), Event::Outsider(number));
            }
        }
    }

    pub(super) fn outsider_acts(&mut self, number: usize) {
        let now = self.now();
        let own = &mut self.outsiders[number];
        match own.stage {
            Stage::Idle if self.faults.level(Fault::Outsiders) == 0 => {
                own.is_awake = false;
                return;
            }
            Stage::Idle => self.outsider_begins(number),
            Stage::Open(until) if until <= now => self.decide(number, TransactionOutcome::Abort),
            Stage::Open(_) => {}
            Stage::Ending(outcome) => self.send_mark(number, outcome),
        }
        let pause = self.random.wait(SECOND).min(5 * SECOND);
        self.agenda.enter(now.after(pause), Event::Outsider(u32::try_from(number).unwrap_or(0)));
    }

    fn outsider_begins(&mut self, number: usize) {
        let watched = self.scenario.groups.len();
        // Mostly groups without members: the others refuse most of it.
        let group = if self.random.below(3) > 0 {
            watched + self.random.index(LEDGERS)
        } else {
            self.random.index(watched.max(1))
        };
        let names = (self.names[group].clone(), self.topics[group].clone());
        let names = (&names.0, &names.1);
        match self.random.below(10) {
            0..4 => {
                let patience = self.now().after(PATIENCE);
                let own = &mut self.outsiders[number];
                (own.stage, own.group) = (Stage::Open(patience), group);
                self.pend(number);
            }
            4..6 => {
                let commit = outsider::plain_commit(&mut self.random, names);
                self.outsider_asks(number, group, Request::OffsetCommit(commit));
            }
            6..9 => {
                let read = outsider::read(&mut self.random, names);
                self.outsider_asks(number, group, read);
            }
            _ => {
                let delete = outsider::delete(&mut self.random, names);
                self.outsider_asks(number, group, delete);
            }
        }
    }

    fn pend(&mut self, number: usize) {
        let group = self.outsiders[number].group;
        let member = self.rumours.iter().rev().find(|rumour| rumour.group == group).cloned();
        let member = member.filter(|_| self.random.below(2) == 0);
        let names = (&self.names[group], &self.topics[group]);
        let request = self.outsiders[number].pend(&mut self.random, names, member.as_ref());
        self.outsider_asks(number, group, request);
    }

    fn outsider_asks(&mut self, number: usize, group: usize, mut request: Request) {
        let now = self.now();
        let home = self.assigned[self.homes[group]];
        let broker = if self.random.below(8) == 0 { self.random.index(self.brokers.len()) } else { home };
        if self.brokers[broker].coordinator.is_none() {
            return;
        }
        let caller = self.scenario.hostile_clients() as usize + number;
        let connection = self.hostile_connection(caller, broker);
        self.hostiles[caller].correlation += 1;
        let mut flying = InFlight::of_nobody(self.hostiles[caller].correlation);
        if let Request::TxnOffsetCommit(commit) = &mut request {
            for offset in &mut commit.commit.offsets {
                let (id, value) = self.offsets.begin_transactional(now, group, offset.partition.partition);
                offset.offset = value;
                flying.writes.push(id);
                self.outsiders[number].writes.push(id);
            }
        } else {
            self.number_offsets(now, group, &mut request, &mut flying);
        }
        self.call(caller, connection, group, request, flying);
    }

    /// Whether offsets that arrive are of an open transaction: its coordinator is asked.
    pub(super) fn verify(&self, commit: &mut TxnOffsetCommit) {
        let Some(own) = self.outsiders.iter().find(|own| own.producer == commit.producer) else { return };
        if !own.is_open(commit) && self.scenario.plant != Plant::Zombie {
            commit.verification = Err(GroupError::InvalidProducerEpoch);
        }
    }

    pub(super) fn outsider_hears(&mut self, caller: usize, flying: &InFlight, response: &Response) {
        let Some(number) = caller.checked_sub(self.scenario.hostile_clients() as usize) else { return };
        let Response::TxnOffsetCommit(committed) = response else { return };
        let own = &self.outsiders[number];
        let is_open = matches!(own.stage, Stage::Open(_));
        if !is_open || !flying.writes.first().is_some_and(|first| own.writes.contains(first)) {
            return;
        }
        if committed.results.iter().any(|(_, error)| error.is_some()) {
            return self.decide(number, TransactionOutcome::Abort);
        }
        match self.random.below(6) {
            0 | 1 => {
                self.outsiders[number].stage = Stage::Open(self.now().after(PATIENCE));
                self.pend(number);
            }
            2 => self.decide(number, TransactionOutcome::Abort),
            _ => self.decide(number, TransactionOutcome::Commit),
        }
    }

    /// From here on the transaction will end so, whatever happens.
    fn decide(&mut self, number: usize, outcome: TransactionOutcome) {
        let now = self.now();
        self.transcript.note(
            now,
            "decide",
            [number as u64, u64::from(outcome == TransactionOutcome::Commit), 0],
            || format!("outsider {number} {outcome:?}"),
        );
        self.outsiders[number].stage = Stage::Ending(outcome);
        for id in &self.outsiders[number].writes {
            self.offsets.decide(*id, outcome);
        }
        self.send_mark(number, outcome);
    }

    fn send_mark(&mut self, number: usize, outcome: TransactionOutcome) {
        let own = &self.outsiders[number];
        if own.marking.is_some_and(|(broker, life)| self.brokers[broker].life == life) {
            return;
        }
        let home = self.homes[own.group];
        let broker = self.assigned[home];
        if self.brokers[broker].coordinator.is_none() {
            return;
        }
        let partition = coordinator::ids::OffsetsPartition(i32::try_from(home).unwrap_or(0));
        let outsider = u32::try_from(number).unwrap_or(0);
        let attempt = own.attempt + 1;
        let mark = Mark { outsider, attempt, producer: own.producer, partition, outcome };
        let life = self.brokers[broker].life;
        let own = &mut self.outsiders[number];
        (own.marking, own.attempt) = (Some((broker, life)), attempt);
        let at = self.now().after(self.network.latency());
        self.agenda.enter(at, Event::Mark(broker, life, mark));
    }

    /// A broker writes a marker behind all that its coordinator has wanted written, if it serves the partition.
    pub(super) fn mark(&mut self, broker: usize, mark: Mark) {
        let owned = self.brokers[broker].owned[crate::broker::place(mark.partition)];
        let is_lost = self.scenario.plant == Plant::LostMarker;
        if owned.stage != Ownership::Serving || is_lost {
            return self.tell_marked(mark, is_lost);
        }
        self.marks += 1;
        let id = StoreId(MARKERS + self.marks);
        let sabotage = self.sabotage();
        let (now, life) = (self.now(), self.brokers[broker].life);
        self.transcript.note(now, "mark", [broker as u64, id.0, u64::from(sabotage.is_some())], || {
            format!("broker {broker} write {} {:?} of {}; {sabotage:?}", id.0, mark.outcome, mark.outsider)
        });
        self.brokers[broker].marks.insert(id, mark);
        let record = Record::TxnMarker(mark.producer, mark.outcome);
        let place = (mark.partition, owned.epoch);
        self.push_write(Write::of_marker((broker, life), id, place, record, sabotage));
    }

    /// A marker is kept, or not. A report that comes twice finds nobody.
    pub(super) fn marked(&mut self, broker: usize, id: StoreId, result: Result<(), StoreError>) {
        let Some(mark) = self.brokers[broker].marks.remove(&id) else { return };
        if result.is_ok() {
            let outcome = self.scenario.plant.outcome(mark.outcome);
            let (producer, partitions) = (mark.producer, vec![mark.partition]);
            self.input(broker, Input::EndTransaction { producer, partitions, outcome });
        }
        self.tell_marked(mark, result.is_ok());
    }

    fn tell_marked(&mut self, mark: Mark, is_written: bool) {
        let at = self.now().after(self.network.latency());
        self.agenda.enter(at, Event::Marked(mark.outsider, mark.attempt, is_written));
    }

    pub(super) fn hear_marked(&mut self, number: usize, attempt: u32, is_written: bool) {
        let now = self.now();
        let own = &mut self.outsiders[number];
        // One that is on its way could end the next transaction: that one is waited for.
        if own.attempt != attempt {
            return;
        }
        own.marking = None;
        let Stage::Ending(outcome) = own.stage else { return };
        if !is_written {
            return;
        }
        self.transcript
            .note(now, "ended", [number as u64, 0, 0], || format!("outsider {number} {outcome:?}"));
        let own = &mut self.outsiders[number];
        own.stage = Stage::Idle;
        own.epoch = own.epoch.wrapping_add(1);
        let writes = std::mem::take(&mut own.writes);
        if outcome == TransactionOutcome::Commit {
            for id in writes {
                self.offsets.end_write(now, id, None, &mut self.findings);
            }
        }
        self.transactions += 1;
    }

    /// Without faults every transaction ends.
    pub(super) fn check_transactions(&mut self) {
        let now = self.now();
        for (number, own) in self.outsiders.iter().enumerate() {
            if own.stage != Stage::Idle {
                self.findings.broken(Rule::Stuck, now, || {
                    format!("the transaction of outsider {number} does not end: {:?}", own.stage)
                });
            }
        }
    }

    /// The planted fault: what was pended before counts, as soon as more is.
    pub(super) fn plant_early_end(&mut self, broker: usize, request: &Request) {
        if self.scenario.plant == Plant::EarlyEnd
            && let Request::TxnOffsetCommit(commit) = request
        {
            let partitions = vec![self.partitioner.partition(&commit.commit.group)];
            let (producer, outcome) = (commit.producer, TransactionOutcome::Commit);
            self.input(broker, Input::EndTransaction { producer, partitions, outcome });
        }
    }
}
