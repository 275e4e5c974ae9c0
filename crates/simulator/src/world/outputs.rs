//! What coordinators say: carried out, and checked on its way.

use coordinator::Phase;
use coordinator::events::{Event as Told, EventKind};
use coordinator::messages::{Input, Output, Response};

use super::{Event, World};
use crate::agenda::MS;
use crate::checkers::Rule;
use crate::checkers::answers::Open;
use crate::network::{Answer, ConnectionId, Side};
use crate::planted::Plant;
use crate::store::Write;
use crate::told;

impl World {
    /// Carries out what a coordinator says.
    pub(super) fn drain(&mut self, broker: usize) {
        let plant = self.scenario.plant;
        loop {
            let own = &mut self.brokers[broker];
            let Some(output) = own.coordinator.as_mut().and_then(coordinator::Coordinator::poll_output)
            else {
                return;
            };
            own.outputs += 1;
            let count = own.outputs;
            let changed = if plant == Plant::None { Some(output) } else { plant.change(count, output) };
            let Some(output) = changed else { continue };
            match output {
                Output::Respond(token, response) => {
                    if plant == Plant::AnswerTwice && count.is_multiple_of(100) {
                        let again =
                            Response::Heartbeat(coordinator::messages::HeartbeatResponse { error: None });
                        self.respond(broker, token.number(), again);
                    }
                    self.respond(broker, token.number(), response);
                }
                Output::Superseded(token) => {
                    let now = self.now();
                    let open =
                        self.brokers[broker].answers.superseded(now, token.number(), &mut self.findings);
                    if let Some(open) = open {
                        self.close_by_broker(broker, open.connection);
                    }
                }
                Output::Store(write) if plant == Plant::AcknowledgedUnwritten && are_offsets(&write) => {
                    self.input(broker, Input::Stored(write.id, Ok(())));
                }
                Output::Store(write) => {
                    let sabotage = self.sabotage();
                    let life = self.brokers[broker].life;
                    let now = self.now();
                    self.transcript.note(
                        now,
                        "store",
                        [broker as u64, write.id.0, u64::from(sabotage.is_some())],
                        || {
                            let how = sabotage.map(|how| format!("; {how:?}")).unwrap_or_default();
                            format!(
                                "broker {broker} write {} epoch {}: {}{how}",
                                write.id.0,
                                write.epoch.0,
                                told::records(&write.records)
                            )
                        },
                    );
                    self.push_write(Write::new(broker, life, &write, sabotage));
                }
                Output::Event(event) => self.told(broker, &event),
            }
        }
    }

    /// The broker closes a connection: what else waits on it is dropped.
    pub(super) fn close_by_broker(&mut self, broker: usize, connection: ConnectionId) {
        self.close(connection, Side::Broker);
        for (token, _) in self.brokers[broker].answers.abandon(connection) {
            self.input(broker, Input::Abandon(token));
        }
    }

    pub(super) fn told(&mut self, broker: usize, event: &Told) {
        let now = self.now();
        self.transcript.note(
            now,
            "event",
            [broker as u64, event.generation.0.unsigned_abs().into(), 0],
            || format!("broker {broker} {} generation {} {:?}", event.group, event.generation.0, event.kind),
        );
        let Some(group) = self.groups.of(&event.group) else { return };
        let is_owner = self.is_owner(broker, group);
        let sessions = &mut self.brokers[broker].sessions[group];
        match &event.kind {
            EventKind::SessionExpired { member, .. } => {
                sessions.on_expired(now, member, self.shortest_session[group], &mut self.findings);
            }
            EventKind::RebalanceJoined { .. } => sessions.on_round(now),
            EventKind::OffsetExpired { partition } if is_owner && partition.topic == self.topics[group] => {
                // With members a group ages as a whole, from when the last of them left, as in Kafka.
                let retention = self.scenario.retention_ms.filter(|_| event.generation.0 == 0);
                let retention = u64::from(retention.unwrap_or(0)) * MS;
                self.offsets.expired(now, group, (partition.partition, retention), &mut self.findings);
                self.check_unread(broker, group);
            }
            EventKind::StaticMemberReplaced { old, new, .. } => {
                sessions.on_replaced(now, old, new);
                self.brokers[broker].answers.name_last(new);
            }
            _ => {}
        }
        self.generations.on_event(now, (broker, is_owner), group, event, &mut self.findings);
    }

    /// What members read does not expire.
    fn check_unread(&mut self, broker: usize, group: usize) {
        let now = self.now();
        let Some(coordinator) = &self.brokers[broker].coordinator else { return };
        let phase = coordinator.group(&self.names[group]).map(|view| view.phase);
        // Those who steal ids may subscribe to something else.
        if phase.is_some_and(|phase| phase != Phase::Empty) && self.scenario.hostile_clients() == 0 {
            self.findings.broken(Rule::Linearizable, now, || {
                format!("an offset of group {group} expires, which is {phase:?}")
            });
        }
    }

    pub(super) fn respond(&mut self, broker: usize, token: u64, response: Response) {
        let now = self.now();
        self.transcript.note(now, "answer", [broker as u64, token, 0], || {
            format!("broker {broker} token {token} {}", told::response(&response))
        });
        let answered = self.brokers[broker].answers.answered(now, token, &response, &mut self.findings);
        let Some(open) = answered else { return };
        if let Some(group) = open.group {
            self.check_answer(broker, group, &open, &response);
        }
        let is_stale = open.group.is_some_and(|group| !self.is_owner(broker, group));
        let Some(connection) = self.network.get_mut(open.connection) else { return };
        let waiting = connection.pending.iter_mut().find(|(number, _)| *number == open.correlation);
        if let Some((_, answer)) = waiting {
            *answer = Some(Answer { response: Box::new(response), is_stale });
        }
        self.flush(open.connection);
    }

    /// Sends the answers that wait for no earlier one.
    pub(super) fn flush(&mut self, id: ConnectionId) {
        let now = self.now();
        while let Some(connection) = self.network.get_mut(id) {
            if !connection.pending.front().is_some_and(|(_, answer)| answer.is_some()) {
                break;
            }
            let Some((correlation, Some(answer))) = connection.pending.pop_front() else { break };
            let Answer { response, is_stale } = answer;
            if let Some(at) = self.network.send(now, id, Side::Client) {
                let at = at.after(self.scenario.plant.delay());
                self.agenda.enter(at, Event::Answer(id, correlation, is_stale, response));
            }
        }
    }

    pub(super) fn check_answer(&mut self, broker: usize, group: usize, open: &Open, response: &Response) {
        let now = self.now();
        let sessions = &mut self.brokers[broker].sessions[group];
        match response {
            Response::Heartbeat(heartbeat) => sessions.on_heartbeat(now, &open.member, heartbeat.error),
            Response::JoinGroup(joined) => {
                sessions.possible(now, &open.member);
                sessions.asks_for(now, &joined.member, open.session_timeout_ms);
                self.generations.on_joined(now, broker, group, joined, &mut self.findings);
                if joined.error.is_none() {
                    self.remember(group, joined);
                }
            }
            Response::SyncGroup(synced) => {
                sessions.possible(now, &open.member);
                let asked = (&open.member, open.generation);
                self.generations.on_synced(now, group, asked, synced, &mut self.findings);
            }
            _ => sessions.possible(now, &open.member),
        }
    }
}

/// Whether a write is of offsets alone.
fn are_offsets(write: &coordinator::messages::Store) -> bool {
    write.records.iter().all(|record| matches!(record, coordinator::messages::Record::Offset(_)))
}
