//! Who owns which partition: taken from the store, loaded, lost; news of it comes late and out of order.

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::Input;

use super::{Event, World};
use crate::agenda::{MS, SECOND};
use crate::broker::{Message, Ownership, Stage, place};

impl World {
    pub(super) fn news(&mut self, broker: usize, input: Input) {
        let now = self.now();
        self.transcript
            .note(now, "news", [broker as u64, 0, 0], || format!("broker {broker} {}", news_told(&input)));
        let owned = &mut self.brokers[broker].owned;
        let (lost, loaded) = match &input {
            Input::BeginLoad(partition, epoch) => {
                (owned[place(*partition)].hear(*epoch, Stage::Loading).then_some(*partition), None)
            }
            Input::Unload(partition, epoch) => {
                (owned[place(*partition)].hear(*epoch, Stage::Lost).then_some(*partition), None)
            }
            Input::FinishLoad(partition) => {
                owned[place(*partition)].stage = Stage::Serving;
                (None, Some(*partition))
            }
            _ => (None, None),
        };
        if let Some(partition) = lost {
            for group in self.groups_of(partition) {
                self.generations.lost(broker, group);
                self.brokers[broker].sessions[group].reset(now);
            }
        }
        self.input(broker, input);
        if let Some(partition) = loaded {
            for group in self.groups_of(partition) {
                let is_owner = self.is_owner(broker, group);
                let own = &mut self.brokers[broker];
                let view = own.coordinator.as_ref().and_then(|one| one.group(&self.names[group]));
                own.sessions[group].on_round(now);
                self.generations.loaded(now, (broker, is_owner), group, view.as_ref(), &mut self.findings);
            }
        }
    }

    pub(super) fn groups_of(&self, partition: OffsetsPartition) -> Vec<usize> {
        let numbered = self.homes.iter().enumerate();
        let here = numbered.filter(|(_, home)| **home == place(partition));
        here.map(|(number, _)| number).collect()
    }

    /// Whether the broker owns the group, as the store has it.
    pub(super) fn is_owner(&self, broker: usize, group: usize) -> bool {
        let partition = self.homes[group];
        self.brokers[broker].owned[partition].epoch == self.epochs[partition]
    }

    pub(super) fn hear_news(&mut self, broker: usize, life: u32, input: Input) {
        if self.brokers[broker].life == life {
            self.tell(broker, Message::News(input));
        }
    }

    pub(super) fn hear_load(&mut self, broker: usize, life: u32, epoch: OwnerEpoch, input: Input) {
        if self.brokers[broker].life == life {
            self.tell(broker, Message::Load(epoch, input));
        }
    }

    /// What was read of a partition counts unless the broker has lost it meanwhile, or owns it anew.
    pub(super) fn load(&mut self, broker: usize, epoch: OwnerEpoch, input: Input) {
        let (Input::Load(partition, _) | Input::FinishLoad(partition)) = &input else { return };
        let expected = Ownership { epoch, stage: Stage::Loading };
        if self.brokers[broker].owned[place(*partition)] == expected {
            self.news(broker, input);
        }
    }

    /// A broker takes a partition: from the store at once, from its former owner when that hears of it.
    pub(super) fn acquire(&mut self, broker: usize, life: u32, partition: OffsetsPartition) {
        let now = self.now();
        let own = &self.brokers[broker];
        if own.life != life || own.coordinator.is_none() || self.assigned[place(partition)] != broker {
            return;
        }
        let acquired = self.store.acquire(partition);
        let Ok(Some((epoch, chunks))) = acquired else {
            if acquired.is_err() {
                self.store_failed();
            }
            let again = now.after(self.random.between(200 * MS, SECOND));
            self.agenda.enter(again, Event::Acquire(broker, life, partition));
            return;
        };
        self.epochs[place(partition)] = epoch;
        self.tell_former_owner(broker, partition, epoch);
        self.brokers[broker].routes[place(partition)] = broker;
        let mut at = now.after(self.network.latency());
        self.agenda.enter(at, Event::News(broker, life, Box::new(Input::BeginLoad(partition, epoch))));
        for chunk in chunks {
            at = at.after(self.network.latency());
            let load = Box::new(Input::Load(partition, chunk));
            self.agenda.enter(at, Event::Load(broker, life, epoch, load));
        }
        at = at.after(self.network.latency());
        self.agenda.enter(at, Event::Load(broker, life, epoch, Box::new(Input::FinishLoad(partition))));
    }

    pub(super) fn tell_former_owner(&mut self, owner: usize, partition: OffsetsPartition, epoch: OwnerEpoch) {
        let now = self.now();
        for broker in (0..self.brokers.len()).filter(|&broker| broker != owner) {
            let news = now.after(self.random.wait(SECOND));
            self.agenda.enter(news, Event::Learn(broker, partition, owner));
            let own = &self.brokers[broker];
            if own.owned[place(partition)].stage != Stage::Lost {
                let late = if self.random.chance(300_000) { 30 * SECOND } else { SECOND };
                let input = Box::new(Input::Unload(partition, epoch));
                let event = Event::News(broker, own.life, input);
                self.agenda.enter(now.after(self.random.wait(late)), event);
            }
        }
    }
}

/// News as people read it: records are many.
fn news_told(input: &Input) -> String {
    match input {
        Input::Load(partition, records) => format!("loads {} records of {}", records.len(), partition.0),
        other => format!("{other:?}"),
    }
}
