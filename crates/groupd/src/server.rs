//! A server from start to stop: store, shards, listener, and the order in which they come and go.
//!
//! Start: the store is opened, its partitions acquired, the shards begin to load them, and the listener accepts:
//! clients of a partition that still loads are told so. Stop: nothing new is read, each shard answers what it has
//! parked once its writes are durable, connections write their last answers, and the store is closed.

mod listener;
mod shards;
mod signals;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::transactions::TransactionConfig;
use coordinator::{Config, Partitioner};
use purgatory::{Clock, SystemClock};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};

use crate::clock::ServerClock;
use crate::histories::Histories;
use crate::node::Node;
use crate::producer_ids::ProducerIds;
use crate::settings::{Settings, StoreKind};
use crate::shard::{Message, Owned, shard_of};
use crate::store::{
    CATALOG_PARTITION, CommitSettings, CommitThread, EmbeddedSettings, EmbeddedStore, MemoryStore,
    PRODUCER_IDS_PARTITION, Store, StoreClient, StoreStatus, SystemFiles, cluster_id,
};
use crate::telemetry::{self, Health, Metrics, Readiness};
use crate::testing::{self, StandingClock, Testing};
use crate::topics::{NewTopic, TopicCatalog, TopicIds};
use shards::ShardThreads;
pub use signals::StopSignals;

/// How long connections may take to write their last answers.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// A running server. Dropped without [`Server::stop`] it leaves what is parked unanswered; nothing acknowledged is
/// lost.
#[derive(Debug)]
pub struct Server {
    runtime: Runtime,
    node: Arc<Node>,
    address: SocketAddr,
    http: Option<SocketAddr>,
    closing: watch::Sender<bool>,
    /// One for each connection that may still be opened.
    places: Arc<Semaphore>,
    max_connections: usize,
    shards: ShardThreads,
    commits: CommitThread,
    health: Health,
}

/// A store that is open.
pub struct Opened {
    /// The store.
    pub store: Box<dyn Store>,
    /// The id of the cluster whose state it keeps.
    pub cluster_id: String,
}

/// Why a server stops.
#[derive(Debug)]
pub enum StopCause {
    /// SIGTERM or SIGINT.
    Signal(&'static str),
    /// It cannot go on.
    Failed(anyhow::Error),
}

impl Server {
    /// Starts a server as `settings` say. It serves when this returns, though some partitions may still load.
    ///
    /// # Errors
    ///
    /// What is in the way, in words for whoever started it.
    pub fn start(settings: &Settings) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        Self::start_on(runtime, settings)
    }

    /// The same, on a runtime that the caller has made.
    ///
    /// # Errors
    ///
    /// As [`Server::start`].
    pub fn start_on(runtime: Runtime, settings: &Settings) -> anyhow::Result<Self> {
        Self::start_with(runtime, settings, || open_store(settings))
    }

    /// The same, on a store that the caller opens. (`settings` still name a store, for others to read.)
    ///
    /// # Errors
    ///
    /// As [`Server::start`], or what `open` says.
    pub fn start_with(
        runtime: Runtime,
        settings: &Settings,
        open: impl FnOnce() -> anyhow::Result<Opened>,
    ) -> anyhow::Result<Self> {
        let health = Health::default();
        // Ports come first: who cannot have them should not have touched the data.
        let listener = runtime.block_on(listener::listen(&settings.listen))?;
        let address = listener.local_addr()?;
        let histories = Histories::new(settings.shards);
        let commands = Arc::default();
        let http = runtime.block_on(serve_http(settings, &health, &histories, &commands))?;

        let standing = standing_clock(settings)?;
        let clock = match &standing {
            Some(standing) => ServerClock::simulated(standing.reader()),
            None => ServerClock::system(),
        };
        let Opened { store, cluster_id } = open()?;
        let commits = CommitThread::start(store, CommitSettings::default())
            .context("cannot start the store's thread")?;
        runtime.spawn(watch_store(Arc::clone(commits.status()), health.clone()));
        let kept = acquire(&commits, settings)?;
        let time = (&clock, standing.as_ref().map(StandingClock::faults));
        let config = (&coordinator_config(settings), &transaction_config(settings));
        let (shards, routes) = ShardThreads::start(kept.owned, config, &commits, time, &histories)?;
        let testing = standing.map(|standing| Testing::new(standing, routes.clone(), commits.client()));
        if let Some(testing) = &testing {
            commands.get_or_init(|| Arc::clone(testing));
        }
        let node =
            Node::new(settings, cluster_id, kept.catalog, kept.producer_ids, routes, histories, testing);
        let node = Arc::new(node);

        let (closing, closed) = watch::channel(false);
        let places = Arc::new(Semaphore::new(settings.max_connections.min(Semaphore::MAX_PERMITS)));
        let max_connections = places.available_permits();
        runtime.spawn(listener::accept(listener, Arc::clone(&node), Arc::clone(&places), closed));
        Ok(Self { runtime, node, address, http, closing, places, max_connections, shards, commits, health })
    }

    /// Where Kafka clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether clients are served, and why not.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Where metrics and health are served.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Where the clock stands, as a date, where it is simulated.
    pub fn simulated_clock(&self) -> Option<String> {
        self.node.testing.as_ref().map(|testing| testing::date(testing.now()))
    }

    /// The topics there are, each with its number of partitions.
    pub fn topics(&self) -> Vec<(String, i32)> {
        self.node.catalog.topics().iter().map(|topic| (topic.name.to_string(), topic.partitions)).collect()
    }

    /// Waits until a signal comes, or the server cannot go on.
    pub fn wait(&mut self, signals: &mut StopSignals) -> StopCause {
        let Self { runtime, shards, health, .. } = self;
        runtime.block_on(async {
            tokio::select! {
                name = signals.next() => StopCause::Signal(name),
                why = shards.fail(health) => StopCause::Failed(why),
            }
        })
    }

    /// Waits until everything kept is loaded.
    ///
    /// # Errors
    ///
    /// What kept it from that.
    pub fn wait_until_loaded(&mut self) -> anyhow::Result<()> {
        self.runtime.block_on(self.shards.loaded(&self.health))
    }

    /// Stops: answers what is parked, makes durable what is being written, closes the store.
    pub fn stop(self) {
        self.health.set(Readiness::Draining);
        // Nobody listens if no connection is open.
        let _ = self.closing.send(true);
        self.node.shards.tell_all(|| Message::Stop);
        self.shards.join();
        let all = u32::try_from(self.max_connections).unwrap_or(u32::MAX);
        let last_answers =
            async { tokio::time::timeout(LAST_ANSWERS, self.places.acquire_many(all)).await.is_ok() };
        if !self.runtime.block_on(last_answers) {
            tracing::warn!("some clients did not take their last answers");
        }
        self.runtime.shutdown_timeout(Duration::from_secs(1));
        self.commits.shutdown();
    }
}

/// What a store has kept for a server.
struct Kept {
    owned: Vec<Vec<Owned>>,
    catalog: TopicCatalog,
    producer_ids: ProducerIds,
}

fn open_store(settings: &Settings) -> anyhow::Result<Opened> {
    let fresh = TopicIds::seeded([random()?, random()?]).next_id().to_string();
    match settings.store {
        StoreKind::Memory => Ok(Opened { store: Box::new(MemoryStore::new()), cluster_id: fresh }),
        StoreKind::Embedded => {
            let directory = &settings.data_dir;
            let store = EmbeddedStore::open_directory(directory, EmbeddedSettings::default(), random()?)?;
            let partitions = settings.offsets_topic_num_partitions;
            let cluster_id = cluster_id(&SystemFiles, directory, partitions, &fresh)?;
            Ok(Opened { store: Box::new(store), cluster_id })
        }
    }
}

/// Takes ownership of everything, and deals the offsets partitions out to the shards.
fn acquire(commits: &CommitThread, settings: &Settings) -> anyhow::Result<Kept> {
    let store = commits.client();
    let mut wanted = vec![CATALOG_PARTITION, PRODUCER_IDS_PARTITION];
    wanted.extend((0..settings.offsets_topic_num_partitions).map(OffsetsPartition));
    let epochs = store.acquire(&wanted)?;
    let &[catalog_epoch, producer_ids_epoch, ref epochs @ ..] = epochs.as_slice() else {
        unreachable!("invariant: each partition has an epoch")
    };
    let mut owned: Vec<Vec<Owned>> = (0..settings.shards).map(|_| Vec::new()).collect();
    for (partition, &epoch) in wanted.into_iter().skip(2).zip(epochs) {
        let records = store.load(partition, epoch)?;
        owned[shard_of(partition, settings.shards)].push(Owned { partition, epoch, records });
    }
    let producer_ids = ProducerIds::load(store.clone(), producer_ids_epoch)?;
    Ok(Kept { owned, catalog: load_catalog(store, catalog_epoch, settings)?, producer_ids })
}

/// The topics that are kept, and those of the settings.
fn load_catalog(store: StoreClient, epoch: OwnerEpoch, settings: &Settings) -> anyhow::Result<TopicCatalog> {
    let catalog = TopicCatalog::load(store, epoch, TopicIds::seeded([random()?, random()?]))?;
    let wanted: Vec<_> =
        settings.topics.iter().map(|topic| NewTopic::new(&topic.name, topic.partitions)).collect();
    for (outcome, topic) in catalog.ensure(&wanted).into_iter().zip(&settings.topics) {
        outcome.with_context(|| format!("--topic {topic}"))?;
    }
    Ok(catalog)
}

/// The operating system's randomness.
fn random() -> anyhow::Result<u64> {
    getrandom::u64().context("the system has no randomness to give")
}

fn coordinator_config(settings: &Settings) -> Config {
    let millis = |duration: Duration| i32::try_from(duration.as_millis()).unwrap_or(i32::MAX);
    let unsigned = |duration: Duration| u32::try_from(duration.as_millis()).unwrap_or(u32::MAX);
    Config {
        group_min_session_timeout_ms: millis(settings.group_min_session_timeout),
        group_max_session_timeout_ms: millis(settings.group_max_session_timeout),
        group_initial_rebalance_delay_ms: unsigned(settings.group_initial_rebalance_delay),
        group_max_size: settings.group_max_size,
        store_timeout_ms: Some(unsigned(settings.offsets_commit_timeout)),
        offset_metadata_max_size: settings.offset_metadata_max_bytes,
        offsets_retention_ms: i64::try_from(settings.offsets_retention.as_millis()).unwrap_or(i64::MAX),
        offsets_retention_check_interval_ms: Some(unsigned(settings.offsets_retention_check_interval)),
        partitioner: Partitioner::Kafka { partitions: settings.offsets_topic_num_partitions },
        ..Config::default()
    }
}

fn transaction_config(settings: &Settings) -> TransactionConfig {
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    TransactionConfig {
        transaction_max_timeout_ms: i32::try_from(settings.transaction_max_timeout.as_millis())
            .unwrap_or(i32::MAX),
        transactional_id_expiration_ms: millis(settings.transactional_id_expiration),
        // Names are spread evenly, or nearly so, over the shards.
        max_transactional_ids: settings.max_transactional_ids.div_ceil(settings.shards.max(1)),
        store_timeout_ms: u32::try_from(millis(settings.offsets_commit_timeout)).unwrap_or(u32::MAX),
        partitioner: Partitioner::Kafka { partitions: settings.offsets_topic_num_partitions },
        ..TransactionConfig::default()
    }
}

/// The commands that a server for tests takes, once it is up.
pub(crate) type Commands = Arc<OnceLock<Arc<Testing>>>;

/// The clock of a server for tests.
fn standing_clock(settings: &Settings) -> anyhow::Result<Option<StandingClock>> {
    if !settings.simulated_clock {
        testing::warn_of_simulated_past(settings);
        return Ok(None);
    }
    let standing = StandingClock::begin(settings, SystemClock::unix_millis().now())?;
    tracing::warn!(
        "--simulated-clock: time stands still at {}, for all groups and transactions, and moves only by \
         `groupd clock advance`; this server is for tests",
        testing::date(standing.reader().now())
    );
    let everywhere = settings.http.as_ref().filter(|http| !http.is_loopback());
    if let Some(http) = everywhere {
        tracing::warn!("whoever reaches http://{http} can move the clock of this server");
    }
    Ok(Some(standing))
}

/// Serves metrics and health, if they are wanted, and commands, if this is a server for tests.
async fn serve_http(
    settings: &Settings,
    health: &Health,
    histories: &Histories,
    commands: &Commands,
) -> anyhow::Result<Option<SocketAddr>> {
    let Some(address) = &settings.http else { return Ok(None) };
    let listener = telemetry::bind(address).await?;
    let address = listener.local_addr()?;
    let (histories, testing) = (histories.clone(), Arc::clone(commands));
    let metrics = Metrics::install().with(move |text| {
        histories.render(text);
        testing.get().into_iter().for_each(|testing| testing.render(text));
    });
    let commands = settings.simulated_clock.then(|| Arc::clone(commands));
    tokio::spawn(telemetry::serve_with(listener, health.clone(), metrics, commands));
    Ok(Some(address))
}

/// Tells the health checks when the store has failed: then nothing more is acknowledged, and only a restart helps.
async fn watch_store(status: Arc<StoreStatus>, health: Health) {
    let reason = status.stopped().await;
    health.set(Readiness::Poisoned(reason.into()));
}
