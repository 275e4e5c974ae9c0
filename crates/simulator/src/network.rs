//! Connections as TCP gives them: in order or ended, each direction with its own delays.

use std::collections::VecDeque;

use coordinator::messages::Response;

use crate::agenda::{MS, Moment, SECOND};
use crate::faults::{Fault, FaultMix};
use crate::random::Random;

/// One connection. The slot is used again; the serial number is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId {
    slot: u32,
    serial: u32,
}

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Who opened it.
    Client,
    /// Who serves it.
    Broker,
}

/// Which way a message goes.
pub type Towards = Side;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// What is answered.
    pub response: Box<Response>,
    /// It was given by a coordinator that owns the group no more.
    pub is_stale: bool,
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    serial: u32,
    /// Which client opened it.
    pub client: u32,
    /// In which life of it.
    pub client_life: u32,
    /// To which broker.
    pub broker: usize,
    client_open: bool,
    broker_open: bool,
    /// Nothing arrives before what was sent earlier.
    arrives: [Moment; 2],
    /// Nothing arrives before then, in either direction.
    stalled: Moment,
    /// Nothing arrives any more, in either direction.
    cut: bool,
    /// Requests that the broker has begun, and answers that wait for earlier ones.
    pub pending: VecDeque<(u32, Option<Answer>)>,
}

/// All connections.
#[derive(Debug)]
pub struct Network {
    connections: Vec<Connection>,
    free: Vec<u32>,
    random: Random,
    serial: u32,
    /// What of it goes wrong now.
    pub faults: FaultMix,
}

impl Network {
    /// No connection yet.
    pub fn new(seed: u64, faults: FaultMix) -> Self {
        let random = Random::new(seed, "network", 0);
        Self { connections: Vec::new(), free: Vec::new(), random, serial: 0, faults }
    }

    /// How long a message takes, microseconds.
    pub fn latency(&mut self) -> u64 {
        let usual = 100 + self.random.below(900);
        if self.random.chance(self.faults.in_a_million(Fault::Latency)) {
            return usual + self.random.wait(300 * MS).min(5 * SECOND);
        }
        usual
    }

    /// Opens a connection.
    pub fn open(&mut self, client: u32, client_life: u32, broker: usize) -> ConnectionId {
        self.serial = self.serial.wrapping_add(1);
        let connection = Connection {
            serial: self.serial,
            client,
            client_life,
            broker,
            client_open: true,
            broker_open: true,
            arrives: [Moment::default(); 2],
            stalled: Moment::default(),
            cut: false,
            pending: VecDeque::new(),
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.connections[slot as usize] = connection;
            slot
        } else {
            self.connections.push(connection);
            u32::try_from(self.connections.len() - 1).unwrap_or(u32::MAX)
        };
        ConnectionId { slot, serial: self.serial }
    }

    /// The connection, unless both ends are closed.
    pub fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(id.slot as usize).filter(|connection| connection.serial == id.serial)
    }

    /// The connection, unless both ends are closed.
    pub fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(id.slot as usize).filter(|connection| connection.serial == id.serial)
    }

    /// Whether this end is open.
    pub fn is_open(&self, id: ConnectionId, side: Side) -> bool {
        self.get(id).is_some_and(|connection| match side {
            Side::Client => connection.client_open,
            Side::Broker => connection.broker_open,
        })
    }

    /// When a message that is sent now arrives; none if the connection is gone.
    pub fn send(&mut self, now: Moment, id: ConnectionId, towards: Towards) -> Option<Moment> {
        let latency = self.latency();
        let connection = self.get_mut(id)?;
        let place = usize::from(towards == Side::Client);
        let at = now.after(latency).max(connection.arrives[place]).max(connection.stalled);
        connection.arrives[place] = at;
        Some(at)
    }

    /// From now on nothing arrives on it for so long.
    pub fn stall(&mut self, id: ConnectionId, until: Moment) {
        if let Some(connection) = self.get_mut(id) {
            connection.stalled = connection.stalled.max(until);
        }
    }

    /// What is on it, and what is sent on it from now on, is lost.
    pub fn cut(&mut self, id: ConnectionId) {
        if let Some(connection) = self.get_mut(id) {
            connection.cut = true;
        }
    }

    /// Whether what was sent to this end arrives there.
    pub fn arrives(&self, id: ConnectionId, side: Side) -> bool {
        self.is_open(id, side) && self.get(id).is_some_and(|connection| !connection.cut)
    }

    /// What was stalled is not any more.
    pub fn heal(&mut self, now: Moment) {
        for connection in &mut self.connections {
            connection.stalled = connection.stalled.min(now);
        }
    }

    /// Closes one end. `true`: it was open.
    pub fn close(&mut self, id: ConnectionId, side: Side) -> bool {
        let Some(connection) = self.get_mut(id) else { return false };
        let end = match side {
            Side::Client => &mut connection.client_open,
            Side::Broker => &mut connection.broker_open,
        };
        let was_open = std::mem::replace(end, false);
        if !connection.client_open && !connection.broker_open {
            // Its number is never given again, so what is still on the way to it finds nobody.
            connection.serial = 0;
            connection.pending.clear();
            self.free.push(id.slot);
        }
        was_open
    }

    /// The connections whose broker's end is open, in the order of their slots.
    pub fn of_broker(&self, broker: usize) -> Vec<ConnectionId> {
        self.open_ends(|connection| connection.broker_open && connection.broker == broker)
    }

    /// The connections both of whose ends are open.
    pub fn whole(&self) -> Vec<ConnectionId> {
        self.open_ends(|connection| connection.broker_open && connection.client_open)
    }

    fn open_ends(&self, is_wanted: impl Fn(&Connection) -> bool) -> Vec<ConnectionId> {
        let numbered = (0_u32..).zip(&self.connections);
        let wanted = numbered.filter(|(_, connection)| connection.serial != 0 && is_wanted(connection));
        wanted.map(|(slot, connection)| ConnectionId { slot, serial: connection.serial }).collect()
    }
}

impl ConnectionId {
    /// A number for the transcript.
    pub fn number(self) -> u64 {
        u64::from(self.serial)
    }
}
