//! What every connection knows of this server: who it is, its topics, its shards, its limits.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::apis::{Client, Measured};
use crate::connection::RequestMemory;
use crate::histories::Histories;
use crate::producer_ids::ProducerIds;
use crate::settings::{HostPort, Settings};
use crate::shard::Shards;
use crate::testing::Testing;
use crate::topics::TopicCatalog;

/// This server, as the broker that its clients see.
#[derive(Debug)]
pub(crate) struct Node {
    /// `node.id`.
    pub(crate) id: i32,
    /// The same for as long as the store lives.
    pub(crate) cluster_id: String,
    /// `--advertise`; `None`: where each client reached us.
    pub(crate) advertise: Option<HostPort>,
    pub(crate) catalog: Arc<TopicCatalog>,
    pub(crate) shards: Shards,
    pub(crate) histories: Histories,
    pub(crate) limits: Limits,
    /// What all connections together may hold of requests.
    pub(crate) request_memory: Arc<RequestMemory>,
    /// `auto.create.topics.enable`.
    pub(crate) auto_create: bool,
    /// `num.partitions`.
    pub(crate) default_partitions: i32,
    pub(crate) measured: Measured,
    pub(crate) producer_ids: ProducerIds,
    /// On a server for tests: its clock.
    pub(crate) testing: Option<Arc<Testing>>,
}

/// What one connection may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// `socket.request.max.bytes`.
    pub(crate) request_bytes: usize,
    /// `connections.max.idle.ms`.
    pub(crate) idle: Option<std::time::Duration>,
    /// `offset.metadata.max.bytes`.
    pub(crate) note_bytes: usize,
}

impl Node {
    /// A node as `settings` describe it.
    pub(crate) fn new(
        settings: &Settings,
        cluster_id: String,
        catalog: TopicCatalog,
        producer_ids: ProducerIds,
        shards: Shards,
        histories: Histories,
        testing: Option<Arc<Testing>>,
    ) -> Self {
        Self {
            id: settings.node_id,
            cluster_id,
            advertise: settings.advertise.clone(),
            catalog: Arc::new(catalog),
            shards,
            histories,
            limits: Limits {
                request_bytes: settings.socket_request_max_bytes,
                idle: settings.connections_max_idle,
                note_bytes: settings.offset_metadata_max_bytes,
            },
            request_memory: Arc::new(RequestMemory::new(
                settings.queued_max_request_bytes,
                settings.socket_request_max_bytes,
            )),
            auto_create: settings.auto_create_topics_enable,
            default_partitions: settings.num_partitions,
            measured: Measured::new(),
            producer_ids,
            testing,
        }
    }

    /// The host and port that `client` is told to connect to.
    pub(crate) fn address_for(&self, client: &Client) -> (String, i32) {
        match &self.advertise {
            Some(HostPort { host, port }) => (host.clone(), i32::from(*port)),
            None => address(client.reached),
        }
    }

    /// Changes the catalog: it waits for the disk, which a task must not.
    ///
    /// # Panics
    ///
    /// If `change` does.
    pub(crate) async fn change_topics<T: Send + 'static>(
        &self,
        change: impl FnOnce(&TopicCatalog) -> T + Send + 'static,
    ) -> T {
        let catalog = Arc::clone(&self.catalog);
        let changed = tokio::task::spawn_blocking(move || change(&catalog)).await;
        changed.expect("invariant: a change of the catalog does not panic, and is not cancelled")
    }
}

fn address(reached: SocketAddr) -> (String, i32) {
    (reached.ip().to_canonical().to_string(), i32::from(reached.port()))
}
