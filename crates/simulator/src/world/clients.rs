//! Clients and the network: what clients want done, what reaches them.

use coordinator::ids::GroupId;
use coordinator::messages::{JoinGroupResponse, Request, Response};

use super::{Event, World};
use crate::agenda::{Moment, SECOND};
use crate::broker::Message;
use crate::checkers::Rule;
use crate::checkers::offsets::Offsets;
use crate::client::hostile::Rumour;
use crate::client::rules::Asked;
use crate::client::{Action, InFlight, Link};
use crate::faults::Fault;
use crate::network::{ConnectionId, Side};
use crate::told;

/// How many that were seen are remembered for those who steal ids.
const RUMOURS: usize = 64;

impl World {
    pub(super) fn schedule_client(&mut self, client: usize) {
        let at = self.clients[client].next_step().max(self.now());
        if at < self.clients[client].scheduled {
            self.clients[client].scheduled = at;
            self.agenda.enter(at, Event::Client(self.clients[client].number));
        }
    }

    pub(super) fn wake_client(&mut self, client: usize) {
        if self.clients[client].scheduled != self.now() {
            return;
        }
        self.clients[client].scheduled = Moment::NEVER;
        self.act(client, crate::client::Client::step);
    }

    /// Lets a client do something, and does what it wants done.
    pub(super) fn act(
        &mut self,
        client: usize,
        act: impl FnOnce(&mut crate::client::Client, Moment, &mut Vec<Action>),
    ) {
        let now = self.now();
        let mut actions = std::mem::take(&mut self.actions);
        act(&mut self.clients[client], now, &mut actions);
        for action in actions.drain(..) {
            self.carry_out(client, action);
        }
        self.actions = actions;
        self.schedule_client(client);
    }

    fn carry_out(&mut self, client: usize, action: Action) {
        let now = self.now();
        let own = &self.clients[client];
        let (number, attempt) = (own.number, own.attempt);
        match action {
            Action::Find => {
                let asked = self.random.index(self.brokers.len());
                let home = self.homes[own.common.index];
                let broker = &self.brokers[asked];
                let knows = broker.is_running().then(|| broker.routes[home]);
                let at = now.after(self.network.latency() + self.network.latency());
                self.agenda.enter(at, Event::Found(number, attempt, knows));
            }
            Action::Connect(broker) => {
                let at = now.after(self.network.latency());
                self.agenda.enter(at, Event::Connect(number, attempt, broker));
            }
            Action::Send(asked, request) => self.send(client, asked, request),
            Action::Close => self.give_up_connection(client),
        }
    }

    pub(super) fn client_found(&mut self, client: usize, attempt: u32, broker: Option<usize>) {
        if self.clients[client].attempt == attempt && self.clients[client].link == Link::Finding {
            self.act(client, |client, now, actions| client.found(now, broker, actions));
        }
    }

    pub(super) fn connect(&mut self, client: usize, attempt: u32, broker: usize) {
        let own = &self.clients[client];
        if own.attempt != attempt || own.link != Link::Connecting {
            return;
        }
        let (number, life) = (own.number, own.life);
        let connection =
            self.brokers[broker].coordinator.is_some().then(|| self.network.open(number, life, broker));
        self.transcript.note(
            self.agenda.now(),
            "connect",
            [number.into(), broker as u64, connection.map_or(0, ConnectionId::number)],
            || {
                format!(
                    "client {number} to broker {broker}: {}",
                    connection.map_or("refused".to_owned(), |id| format!("connection {}", id.number()))
                )
            },
        );
        self.act(client, |client, now, _| match connection {
            Some(connection) => client.connected(now, connection),
            None => drop(client.disconnected(now)),
        });
    }

    fn send(&mut self, client: usize, asked: Asked, request: Request) {
        let own = &self.clients[client];
        let (Link::Up(connection), group) = (own.link, own.common.index) else { return };
        let twice = self.random.chance(self.faults.in_a_million(Fault::Duplicate));
        if twice && let Some(copy) = copy(&request) {
            self.send_once(client, connection, group, asked, copy);
        }
        self.send_once(client, connection, group, asked, request);
    }

    fn send_once(
        &mut self,
        client: usize,
        connection: ConnectionId,
        group: usize,
        asked: Asked,
        mut request: Request,
    ) {
        let now = self.now();
        let mut flying = self.clients[client].flying(now, asked);
        self.number_offsets(now, group, &mut request, &mut flying);
        let number = self.clients[client].number;
        self.transcript.note(
            now,
            "send",
            [number.into(), flying.correlation.into(), connection.number()],
            || format!("client {number} on {} {}", connection.number(), told::request(&request)),
        );
        let correlation = flying.correlation;
        self.clients[client].in_flight.push_back(flying);
        if let Some(at) = self.network.send(now, connection, Side::Broker) {
            let group = u32::try_from(group).unwrap_or(u32::MAX);
            self.agenda.enter(at, Event::Request(connection, correlation, group, Box::new(request)));
        }
    }

    /// Gives each offset of a commit a number like no other, and begins its history, as that of each read.
    pub(super) fn number_offsets(
        &mut self,
        now: Moment,
        group: usize,
        request: &mut Request,
        flying: &mut InFlight,
    ) {
        // Hostile clients delete the last group.
        if group + 1 == self.names.len() {
            return;
        }
        match request {
            Request::OffsetCommit(commit) => {
                flying.writes.reserve_exact(commit.offsets.len());
                for offset in &mut commit.offsets {
                    let (id, number) = self.offsets.begin_write(now, group, offset.partition.partition);
                    offset.offset = number;
                    flying.writes.push(id);
                }
            }
            Request::OffsetFetch(fetch) => {
                let partitions = fetch.partitions.iter().flatten();
                let read = |partition: &coordinator::ids::TopicPartition| {
                    Offsets::begin_read(now, group, partition.partition)
                };
                flying.reads.extend(partitions.map(read));
            }
            Request::OffsetDelete(delete) => {
                let ours = self.clients_topic(group);
                let partitions = delete.partitions.iter().filter(|partition| partition.topic == ours);
                let partitions = partitions.map(|partition| partition.partition);
                let epoch = self.epochs[self.homes[group]];
                flying.deletions.push(self.offsets.begin_deletion(now, group, partitions, epoch));
            }
            Request::DeleteGroups(delete) if delete.groups.first() == Some(&self.names[group]) => {
                let epoch = self.epochs[self.homes[group]];
                flying.deletions.push(self.offsets.begin_deletion(now, group, 0.., epoch));
            }
            _ => {}
        }
    }

    /// What an answer says of the offsets that were asked for.
    pub(super) fn end_offsets(&mut self, flying: &InFlight, is_stale: bool, response: &Response) {
        let now = self.now();
        match response {
            Response::OffsetCommit(committed) => {
                for (id, (_, error)) in flying.writes.iter().zip(&committed.results) {
                    self.offsets.end_write(now, *id, *error, &mut self.findings);
                }
            }
            // A former owner that has not heard of the new one may tell what was: so it is in Kafka too.
            Response::OffsetFetch(fetched) if !is_stale => {
                for (id, offset) in flying.reads.iter().zip(&fetched.offsets) {
                    let epoch = self.epochs[self.homes[id.group()]];
                    self.offsets.end_read(now, *id, (offset, epoch), &mut self.findings);
                }
            }
            Response::OffsetDelete(deleted) => {
                let is_refused = deleted.error.is_some() || deleted.results.iter().any(|(_, e)| e.is_some());
                for id in &flying.deletions {
                    self.offsets.end_deletion(now, *id, is_refused, is_stale);
                }
            }
            Response::DeleteGroups(deleted) => {
                for (id, (_, error)) in flying.deletions.iter().zip(&deleted.results) {
                    self.offsets.end_deletion(now, *id, error.is_some(), is_stale);
                }
            }
            _ => {}
        }
    }

    pub(super) fn request_arrives(
        &mut self,
        connection: ConnectionId,
        correlation: u32,
        group: u32,
        mut request: Box<Request>,
    ) {
        if !self.network.arrives(connection, Side::Broker) {
            return;
        }
        if let Request::TxnOffsetCommit(commit) = &mut *request {
            self.verify(commit);
        }
        let Some(broker) = self.network.get(connection).map(|connection| connection.broker) else { return };
        let group = Some(group as usize);
        self.tell(broker, Message::Ask { connection, correlation, group, request });
    }

    pub(super) fn answer_arrives(
        &mut self,
        connection: ConnectionId,
        correlation: u32,
        is_stale: bool,
        response: Response,
    ) {
        if !self.network.arrives(connection, Side::Client) {
            return;
        }
        let Some(number) = self.network.get(connection).map(|connection| connection.client as usize) else {
            return;
        };
        if number >= self.clients.len() {
            return self.hostile_hears(
                number - self.clients.len(),
                connection,
                correlation,
                is_stale,
                &response,
            );
        }
        let own = &mut self.clients[number];
        let Some(flying) = own.in_flight.pop_front() else { return };
        if flying.correlation != correlation {
            let now = self.now();
            self.findings.broken(Rule::AnsweredOnce, now, || {
                format!("client {number} waits for answer {}, and {correlation} comes", flying.correlation)
            });
        }
        self.end_offsets(&flying, is_stale, &response);
        self.act(number, |client, now, actions| client.hear(now, &flying, response, actions));
    }

    /// Closes one end of a connection; the other hears of it behind all that was sent.
    pub(super) fn close(&mut self, connection: ConnectionId, side: Side) {
        let now = self.now();
        let other = if side == Side::Client { Side::Broker } else { Side::Client };
        let arrives = self.network.send(now, connection, other);
        if self.network.close(connection, side)
            && let Some(at) = arrives
        {
            self.agenda.enter(at, Event::Closed(connection, other));
        }
    }

    pub(super) fn hear_closed(&mut self, connection: ConnectionId, side: Side) {
        if !self.network.is_open(connection, side) {
            return;
        }
        let Some(known) = self.network.get(connection) else { return };
        let (client, broker) = (known.client as usize, known.broker);
        match side {
            Side::Broker => self.tell(broker, Message::Gone(connection)),
            Side::Client => {
                self.close(connection, Side::Client);
                if client >= self.clients.len() {
                    self.hostile_loses(client - self.clients.len(), connection);
                } else if self.clients[client].link == Link::Up(connection) {
                    self.act(client, |client, now, _| drop(client.disconnected(now)));
                }
            }
        }
    }

    fn give_up_connection(&mut self, client: usize) {
        let now = self.now();
        if let Link::Up(connection) = self.clients[client].link {
            self.close(connection, Side::Client);
        }
        // What was in flight may have happened or not: nobody will know.
        drop(self.clients[client].disconnected(now));
    }

    /// A client's process ends without a word; its broker hears of it soon, or late.
    pub(super) fn crash_client(&mut self, client: usize, until: Moment, is_noticed: bool) {
        let now = self.now();
        let own = &self.clients[client];
        let number = own.number;
        // One that does not run is only told when to start again.
        let kind = if own.is_up() { "dies" } else { "stays" };
        self.transcript.note(now, kind, [number.into(), until.0, u64::from(is_noticed)], || {
            format!("client {number}, until {until}")
        });
        if let Link::Up(connection) = own.link {
            if is_noticed {
                self.close(connection, Side::Client);
            } else {
                self.network.close(connection, Side::Client);
                let late = now.after(self.random.wait(60 * SECOND));
                self.agenda.enter(late, Event::Closed(connection, Side::Broker));
            }
        }
        drop(self.clients[client].crash(until));
        self.schedule_client(client);
    }

    /// A client's process is closed: it says goodbye first.
    pub(super) fn close_client(&mut self, client: usize, until: Moment) {
        self.act(client, |client, _, actions| client.say_goodbye(actions));
        self.crash_client(client, until, true);
    }

    /// Who was seen to be what, for those who steal ids.
    pub(super) fn remember(&mut self, group: usize, joined: &JoinGroupResponse) {
        if self.hostiles.is_empty() {
            return;
        }
        if self.rumours.len() == RUMOURS {
            self.rumours.remove(0);
        }
        let (member, generation) = (joined.member.clone(), joined.generation);
        self.rumours.push(Rumour { group, member, generation });
    }

    /// The number of a group that is watched.
    pub(super) fn name(&self, group: usize) -> &GroupId {
        &self.names[group]
    }
}

/// The same once more, of those that clients repeat.
fn copy(request: &Request) -> Option<Request> {
    match request {
        Request::JoinGroup(join) => Some(Request::JoinGroup(join.clone())),
        Request::SyncGroup(sync) => Some(Request::SyncGroup(sync.clone())),
        Request::Heartbeat(heartbeat) => Some(Request::Heartbeat(heartbeat.clone())),
        Request::OffsetCommit(commit) => Some(Request::OffsetCommit(commit.clone())),
        Request::LeaveGroup(leave) => Some(Request::LeaveGroup(leave.clone())),
        Request::TxnOffsetCommit(_)
        | Request::OffsetFetch(_)
        | Request::OffsetDelete(_)
        | Request::DescribeGroup(_)
        | Request::ListGroups(_)
        | Request::DeleteGroups(_) => None,
    }
}
