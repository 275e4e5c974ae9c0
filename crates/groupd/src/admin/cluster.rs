//! Whom to ask what: finds coordinators, brokers and the controller, and asks again while they move.

use std::time::{Duration, Instant};

use kafka_wire::ApiKey;
use kafka_wire::find_coordinator::FindCoordinatorRequest;
use kafka_wire::metadata::MetadataRequest;

use super::connection::Connection;
use super::error::AdminError;
use crate::settings::HostPort;

/// Between two tries of a question whose answer was "not now".
const PAUSE: Duration = Duration::from_millis(100);

/// The servers that were named, and those they named.
#[derive(Debug)]
pub(super) struct Cluster {
    bootstrap: Vec<HostPort>,
    patience: Duration,
    connections: Vec<Connection>,
}

/// A topic as Metadata tells it.
#[derive(Debug)]
pub(super) struct Topic {
    pub(super) name: String,
    /// All zeros if the server gives none.
    pub(super) id: [u8; 16],
    pub(super) internal: bool,
    pub(super) partitions: usize,
    pub(super) code: i16,
}

impl Cluster {
    pub(super) fn new(bootstrap: Vec<HostPort>, patience: Duration) -> Self {
        Self { bootstrap, patience, connections: Vec::new() }
    }

    /// Asks the coordinator of `group`, again while it is loading or moving.
    pub(super) fn ask_coordinator<T>(
        &mut self,
        group: &str,
        mut ask: impl FnMut(&mut Connection) -> Result<T, AdminError>,
    ) -> Result<T, AdminError> {
        self.retry(|cluster| {
            let coordinator = cluster.find_coordinator(group)?;
            ask(cluster.connect(&coordinator)?)
        })
    }

    /// Asks every broker, by its id, as each knows only what it coordinates.
    pub(super) fn ask_all<T>(
        &mut self,
        mut ask: impl FnMut(i32, &mut Connection) -> Result<T, AdminError>,
    ) -> Result<Vec<T>, AdminError> {
        let brokers = self.retry(|cluster| Ok(cluster.metadata(Topics::None)?.brokers))?;
        let each = brokers.iter();
        each.map(|(id, broker)| self.retry(|cluster| ask(*id, cluster.connect(broker)?))).collect()
    }

    /// Asks the controller, who makes and deletes topics.
    pub(super) fn ask_controller<T>(
        &mut self,
        mut ask: impl FnMut(&mut Connection) -> Result<T, AdminError>,
    ) -> Result<T, AdminError> {
        self.retry(|cluster| {
            let controller = cluster.metadata(Topics::None)?.controller;
            match controller {
                Some(controller) => ask(cluster.connect(&controller)?),
                None => ask(cluster.any()?),
            }
        })
    }

    /// All topics.
    pub(super) fn topics(&mut self) -> Result<Vec<Topic>, AdminError> {
        self.retry(|cluster| Ok(cluster.metadata(Topics::All)?.topics))
    }

    fn retry<T>(&mut self, mut ask: impl FnMut(&mut Self) -> Result<T, AdminError>) -> Result<T, AdminError> {
        let deadline = Instant::now() + self.patience;
        loop {
            let error = match ask(self) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if !error.is_refusal() {
                // An answer may still be on its way: the next question needs a connection without one.
                self.connections.clear();
            }
            if !error.passes() || self.is_hopeless(&error) || Instant::now() + PAUSE >= deadline {
                return Err(error);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Nobody at the address that the user named: trying again would only delay the bad news.
    fn is_hopeless(&self, error: &AdminError) -> bool {
        matches!(error, AdminError::Unreachable { server, .. } if self.bootstrap.contains(server))
    }

    fn find_coordinator(&mut self, group: &str) -> Result<HostPort, AdminError> {
        let connection = self.any()?;
        let version = connection.version(ApiKey::FindCoordinator, 6)?;
        let request = if version >= 4 {
            FindCoordinatorRequest { coordinator_keys: vec![group], ..Default::default() }
        } else {
            FindCoordinatorRequest { key: group, ..Default::default() }
        };
        let found = connection.ask(version, &request, |answer| {
            if version < 4 {
                return Some((answer.error_code, answer.host.to_owned(), answer.port));
            }
            let first = answer.coordinators.first()?;
            Some((first.error_code, first.host.to_owned(), first.port))
        })?;
        let server = connection.server().clone();
        let garbled = |why: &str| AdminError::Garbled { server: server.clone(), why: why.into() };
        let (code, host, port) = found.ok_or_else(|| garbled("no coordinator in the answer"))?;
        AdminError::check(code, format!("group {group}"))?;
        address(host, port).ok_or_else(|| garbled("a coordinator without an address"))
    }

    fn metadata(&mut self, topics: Topics) -> Result<Metadata, AdminError> {
        let connection = self.any()?;
        let version = connection.version(ApiKey::Metadata, 12)?;
        let topics = match topics {
            Topics::All => None,
            Topics::None => Some(Vec::new()),
        };
        let request = MetadataRequest { topics, ..Default::default() };
        connection.ask(version, &request, |answer| Metadata {
            brokers: answer
                .brokers
                .iter()
                .filter_map(|broker| Some((broker.node_id, address(broker.host.to_owned(), broker.port)?)))
                .collect(),
            controller: answer
                .brokers
                .iter()
                .find(|broker| broker.node_id == answer.controller_id)
                .and_then(|broker| address(broker.host.to_owned(), broker.port)),
            topics: answer
                .topics
                .iter()
                .map(|topic| Topic {
                    name: topic.name.unwrap_or_default().to_owned(),
                    id: topic.topic_id.0,
                    internal: topic.is_internal,
                    partitions: topic.partitions.len(),
                    code: topic.error_code,
                })
                .collect(),
        })
    }

    /// A connection to one of the servers that the user named: the first that takes it.
    fn any(&mut self) -> Result<&mut Connection, AdminError> {
        let named = |connection: &Connection| self.bootstrap.contains(connection.server());
        if let Some(at) = self.connections.iter().position(named) {
            return Ok(&mut self.connections[at]);
        }
        let mut last = AdminError::Usage("--server names nobody".into());
        for server in self.bootstrap.clone() {
            match Connection::open(&server, self.patience) {
                Ok(connection) => {
                    self.connections.push(connection);
                    return Ok(self.connections.last_mut().expect("invariant: one was just pushed"));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn connect(&mut self, server: &HostPort) -> Result<&mut Connection, AdminError> {
        let known = self.connections.iter().position(|connection| connection.server() == server);
        let at = known.unwrap_or(self.connections.len());
        if known.is_none() {
            self.connections.push(Connection::open(server, self.patience)?);
        }
        Ok(&mut self.connections[at])
    }
}

/// Which topics Metadata is to tell about.
#[derive(Clone, Copy)]
enum Topics {
    All,
    None,
}

struct Metadata {
    brokers: Vec<(i32, HostPort)>,
    controller: Option<HostPort>,
    topics: Vec<Topic>,
}

fn address(host: String, port: i32) -> Option<HostPort> {
    let port = u16::try_from(port).ok().filter(|port| *port > 0)?;
    (!host.is_empty()).then_some(HostPort { host, port })
}
