//! Hostile clients at work.

use coordinator::messages::{Request, Response};

use super::{Event, World};
use crate::agenda::{MS, SECOND};
use crate::client::InFlight;
use crate::faults::Fault;
use crate::network::{ConnectionId, Side};
use crate::told;

/// Requests of one hostile client that may be unanswered.
const IN_FLIGHT: usize = 12;

impl World {
    pub(super) fn hostile_acts(&mut self, number: usize) {
        if self.faults.level(Fault::Hostile) == 0 {
            return;
        }
        let now = self.now();
        let broker = self.random.index(self.brokers.len());
        if self.brokers[broker].coordinator.is_some() {
            let connection = self.hostile_connection(number, broker);
            if self.hostiles[number].in_flight.len() < IN_FLIGHT {
                self.hostile_sends(number, connection);
            }
            if self.hostiles[number].random.below(12) == 0 {
                self.close(connection, Side::Client);
                self.hostile_loses(number, connection);
            }
        }
        let pause = self.hostiles[number].random.wait(500 * MS).min(5 * SECOND);
        let event = Event::Hostile(u32::try_from(number).unwrap_or(0));
        self.agenda.enter(now.after(pause), event);
    }

    pub(super) fn hostile_connection(&mut self, number: usize, broker: usize) -> ConnectionId {
        let client = u32::try_from(self.clients.len() + number).unwrap_or(u32::MAX);
        let brokers = self.brokers.len();
        let connections = &mut self.hostiles[number].connections;
        connections.resize(brokers, None);
        *connections[broker].get_or_insert_with(|| self.network.open(client, 0, broker))
    }

    fn hostile_sends(&mut self, number: usize, connection: ConnectionId) {
        let now = self.now();
        let own = &mut self.hostiles[number];
        let (group, mut request) = own.request(&self.names, &self.rumours);
        own.correlation += 1;
        let mut flying = InFlight::of_nobody(own.correlation);
        self.number_offsets(now, group, &mut request, &mut flying);
        self.call(number, connection, group, request, flying);
    }

    /// Sends what a client without membership asks.
    pub(super) fn call(
        &mut self,
        number: usize,
        connection: ConnectionId,
        group: usize,
        request: Request,
        flying: InFlight,
    ) {
        let now = self.now();
        let correlation = flying.correlation;
        self.transcript.note(
            now,
            "hostile",
            [number as u64, correlation.into(), connection.number()],
            || format!("hostile {number} on {} {}", connection.number(), told::request(&request)),
        );
        self.hostiles[number].in_flight.push_back((connection, flying));
        if let Some(at) = self.network.send(now, connection, Side::Broker) {
            let group = u32::try_from(group).unwrap_or(u32::MAX);
            self.agenda.enter(at, Event::Request(connection, correlation, group, Box::new(request)));
        }
    }

    pub(super) fn hostile_hears(
        &mut self,
        number: usize,
        connection: ConnectionId,
        correlation: u32,
        is_stale: bool,
        response: &Response,
    ) {
        let in_flight = &mut self.hostiles[number].in_flight;
        let asked =
            in_flight.iter().position(|(id, flying)| (*id, flying.correlation) == (connection, correlation));
        if let Some((_, flying)) = asked.and_then(|place| in_flight.remove(place)) {
            self.end_offsets(&flying, is_stale, response);
            self.outsider_hears(number, &flying, response);
        }
    }

    pub(super) fn hostile_loses(&mut self, number: usize, connection: ConnectionId) {
        let own = &mut self.hostiles[number];
        for known in &mut own.connections {
            known.take_if(|id| *id == connection);
        }
        own.in_flight.retain(|(id, _)| *id != connection);
    }

    /// All hostile clients go away.
    pub(super) fn end_hostiles(&mut self) {
        for number in 0..self.hostiles.len() {
            let connections = std::mem::take(&mut self.hostiles[number].connections);
            for connection in connections.into_iter().flatten() {
                self.close(connection, Side::Client);
            }
            self.hostiles[number].in_flight.clear();
        }
    }
}
