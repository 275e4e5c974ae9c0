//! Times of faults: what strikes when, and whom.

use coordinator::ids::OffsetsPartition;

use super::{Event, World};
use crate::agenda::{Moment, SECOND};
use crate::broker::place;
use crate::client::Link;
use crate::disk::DiskFault;
use crate::faults::Fault;
use crate::network::Side;

impl World {
    pub(super) fn begin_chaos(&mut self) {
        self.faults = self.scenario.faults.clone();
        self.network.faults = self.faults.clone();
        for fault in Fault::ALL {
            self.schedule_strike(fault);
        }
    }

    fn schedule_strike(&mut self, fault: Fault) {
        if fault.strikes()
            && let Some(mean) = self.faults.mean_wait(fault)
        {
            let wait = self.strike_random[fault as usize].wait(mean);
            let (at, era) = (self.now().after(wait), self.era);
            self.agenda.enter(at, Event::Strike(fault, era));
        }
    }

    pub(super) fn strike(&mut self, fault: Fault, era: u32) {
        if era != self.era {
            return;
        }
        self.strikes += 1;
        match fault {
            Fault::Cut => self.cut(),
            Fault::Stall => self.stall(),
            Fault::Crash => {
                let broker = self.random.index(self.brokers.len());
                if self.brokers[broker].coordinator.is_some() {
                    let is_noticed = self.random.below(4) > 0;
                    self.crash_broker(broker, is_noticed);
                    let at = self.now().after(self.random.wait(3 * SECOND));
                    self.agenda.enter(at, Event::Start(broker, self.brokers[broker].life));
                }
            }
            Fault::Suspend => {
                let broker = self.random.index(self.brokers.len());
                let span = self.random.wait(10 * SECOND);
                self.suspend_broker(broker, span);
            }
            Fault::Move => self.move_partition(),
            Fault::StoreCrash => self.store_loses_power(),
            Fault::DiskError => {
                let fault = *self.random.pick(&[DiskFault::Failed, DiskFault::Full]);
                self.store.fail_disk(fault);
            }
            Fault::ClientCrash | Fault::ClientLeave => self.end_client(fault),
            Fault::ClientBusy => {
                if let Some(client) = self.any_client() {
                    let rebalance = u64::from(self.clients[client].common.plan.rebalance_ms);
                    let span = self.random.wait(rebalance * crate::agenda::MS);
                    self.act(client, |client, now, _| client.be_busy(now, span));
                }
            }
            Fault::Resubscribe => {
                if let Some(client) = self.any_client() {
                    let also = u32::try_from(self.random.below(4)).unwrap_or(0);
                    self.act(client, |client, now, _| client.resubscribe(now, also));
                }
            }
            Fault::Twin => self.start_twin(),
            Fault::Hostile => {
                for number in 0..self.scenario.hostile_clients() {
                    self.agenda.enter(self.now(), Event::Hostile(number));
                }
                // Each goes on by itself.
                return;
            }
            Fault::Outsiders => {
                self.wake_outsiders();
                return;
            }
            Fault::Latency | Fault::StoreSlow | Fault::StoreFail | Fault::StoreTwice | Fault::Duplicate => {}
        }
        self.schedule_strike(fault);
    }

    fn any_client(&mut self) -> Option<usize> {
        let client = self.random.index(self.clients.len());
        self.clients[client].is_up().then_some(client)
    }

    fn cut(&mut self) {
        let whole = self.network.whole();
        if whole.is_empty() {
            return;
        }
        let connection = *self.random.pick(&whole);
        self.network.cut(connection);
        let now = self.now();
        self.transcript
            .note(now, "cut", [connection.number(), 0, 0], || format!("connection {}", connection.number()));
        // Either end may hear of it soon, late, or by its own patience.
        for side in [Side::Client, Side::Broker] {
            let late = if self.random.below(4) == 0 { 60 * SECOND } else { SECOND };
            let at = now.after(self.random.wait(late));
            self.agenda.enter(at, Event::Closed(connection, side));
        }
    }

    fn stall(&mut self) {
        let whole = self.network.whole();
        if whole.is_empty() {
            return;
        }
        let connection = *self.random.pick(&whole);
        let until = self.now().after(self.random.wait(10 * SECOND));
        self.network.stall(connection, until);
        self.transcript.note(self.agenda.now(), "stall", [connection.number(), until.0, 0], || {
            format!("connection {} until {until}", connection.number())
        });
    }

    fn move_partition(&mut self) {
        if self.brokers.len() < 2 {
            return;
        }
        let partition = self.random.index(self.assigned.len());
        let step = 1 + self.random.index(self.brokers.len() - 1);
        let owner = (self.assigned[partition] + step) % self.brokers.len();
        self.assigned[partition] = owner;
        let now = self.now();
        self.transcript.note(now, "move", [partition as u64, owner as u64, 0], || {
            format!("partition {partition} to broker {owner}")
        });
        let partition = OffsetsPartition(i32::try_from(partition).unwrap_or(0));
        debug_assert!(place(partition) < self.assigned.len());
        let event = Event::Acquire(owner, self.brokers[owner].life, partition);
        self.agenda.enter(now, event);
    }

    fn end_client(&mut self, fault: Fault) {
        let Some(client) = self.any_client() else { return };
        let now = self.now();
        let is_twin = self.twins.contains(&self.clients[client].number);
        let wait = if self.random.below(8) == 0 { 60 * SECOND } else { 5 * SECOND };
        let until = if is_twin { Moment::NEVER } else { now.after(self.random.wait(wait)) };
        if fault == Fault::ClientLeave {
            self.close_client(client, until);
        } else {
            let is_noticed = self.random.below(4) > 0;
            self.crash_client(client, until, is_noticed);
        }
    }

    /// A static member is started a second time; or that one ends.
    fn start_twin(&mut self) {
        let group = self.random.index(self.twins.len());
        let twin = self.twins[group] as usize;
        if self.clients[twin].is_up() {
            return self.crash_client(twin, Moment::NEVER, true);
        }
        let original = self.clients.iter().find(|client| {
            client.common.index == group && client.instance().is_some() && matches!(client.link, Link::Up(_))
        });
        let Some(instance) = original.and_then(|client| client.instance().cloned()) else { return };
        let now = self.now();
        self.transcript
            .note(now, "twin", [twin as u64, group as u64, 0], || format!("client {twin} as {instance}"));
        self.clients[twin].set_instance(Some(instance));
        self.clients[twin].down = Some(now);
        self.schedule_client(twin);
    }
}
