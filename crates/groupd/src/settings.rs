//! What a user can set: one table of settings, read from flags, environment, a TOML file and defaults.
//!
//! Names are Kafka's where Kafka has the setting, with Kafka's defaults. The first source that has a value
//! wins: flag, environment, file, default. Nothing is guessed: a name nobody knows, a value that cannot be
//! and a pair of values that contradict each other are all reported at once, each with where it came from.

mod check;
mod layers;
mod report;
mod table;
mod values;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use layers::{Raw, Source};
pub use report::SettingsReport;
pub use table::{SETTINGS, Setting};
pub use values::{HostPort, HttpListen, LogFormat, MAX_PARTITIONS_PER_TOPIC, StoreKind, TopicSetting};

use crate::cli::ServeArgs;
use check::Reader;

/// All that `groupd serve` can be told. Made by [`Settings::load`], which has checked every value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where Kafka clients connect. Port 0 takes any free port.
    pub listen: HostPort,
    /// What clients are told to connect to. `None`: the address each of them reached us by.
    pub advertise: Option<HostPort>,
    /// Where metrics and health are served. `None`: nowhere.
    pub http: Option<HostPort>,
    /// Where group state is kept.
    pub store: StoreKind,
    /// The embedded store's directory.
    pub data_dir: PathBuf,
    /// Topics that exist from the start, each name once.
    pub topics: Vec<TopicSetting>,
    /// How many threads own groups, at least 1.
    pub shards: usize,
    /// `simulated.clock`: for tests, coordinators' time stands still and moves by command.
    pub simulated_clock: bool,
    /// What is logged: a `tracing` filter such as `info` or `groupd=debug`.
    pub log: String,
    /// How it is logged.
    pub log_format: LogFormat,
    /// The id of this node in Metadata, at least 0.
    pub node_id: i32,
    /// `group.initial.rebalance.delay.ms`: how long the first join of an empty group waits for others.
    pub group_initial_rebalance_delay: Duration,
    /// `group.min.session.timeout.ms`: the shortest session timeout a member may ask for.
    pub group_min_session_timeout: Duration,
    /// `group.max.session.timeout.ms`: the longest; never below the shortest.
    pub group_max_session_timeout: Duration,
    /// `group.max.size`: members of one group, at least 1.
    pub group_max_size: usize,
    /// `offsets.retention.minutes`: how long a group without members keeps its offsets.
    pub offsets_retention: Duration,
    /// `offsets.retention.check.interval.ms`: how often expired offsets are looked for.
    pub offsets_retention_check_interval: Duration,
    /// `offset.metadata.max.bytes`: the longest note a commit may carry, bytes.
    pub offset_metadata_max_bytes: usize,
    /// `offsets.commit.timeout.ms`: how long a commit or an assignment waits for the store.
    pub offsets_commit_timeout: Duration,
    /// `offsets.topic.num.partitions`: over how many partitions groups are hashed. Fixed for the life of a data
    /// directory.
    pub offsets_topic_num_partitions: i32,
    /// `transaction.max.timeout.ms`: the longest a transaction may ask to stay open.
    pub transaction_max_timeout: Duration,
    /// `transactional.id.expiration.ms`: an id this long unused is forgotten.
    pub transactional_id_expiration: Duration,
    /// `max.transactional.ids`: how many are known at once; each has one open transaction at most.
    pub max_transactional_ids: usize,
    /// `auto.create.topics.enable`: whether asking for a topic makes it.
    pub auto_create_topics_enable: bool,
    /// `num.partitions`: of a topic made by asking for it.
    pub num_partitions: i32,
    /// `socket.request.max.bytes`: the largest request frame, bytes.
    pub socket_request_max_bytes: usize,
    /// `queued.max.request.bytes`: the most bytes that the requests of all connections take before their groups have
    /// them.
    pub queued_max_request_bytes: usize,
    /// `max.connections`: how many clients at once.
    pub max_connections: usize,
    /// `connections.max.idle.ms`: a connection this long without a request is closed. `None`: never.
    pub connections_max_idle: Option<Duration>,
}

impl Settings {
    /// Reads flags, this process' environment and the file that one of the two names.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, at once.
    pub fn load(args: &ServeArgs) -> Result<Self, SettingsError> {
        Ok(Self::explain(args)?.0)
    }

    /// The same, with where each value came from.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, at once.
    pub fn explain(args: &ServeArgs) -> Result<(Self, SettingsReport), SettingsError> {
        Self::explain_in(args, layers::process_environment())
    }

    /// The same in another environment than this process'.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, at once.
    pub fn explain_in(
        args: &ServeArgs,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(Self, SettingsReport), SettingsError> {
        let raw = Raw::gather(args, environment)?;
        let settings = Self::check(&raw)?;
        let report = SettingsReport::new(&settings, &raw);
        Ok((settings, report))
    }

    fn check(raw: &Raw) -> Result<Self, SettingsError> {
        let mut read = Reader::new(raw);
        let listen: HostPort = read.value("listen");
        let settings = Self {
            advertise: read.reachable("advertise"),
            http: read.value::<HttpListen>("http").resolve(&listen),
            listen,
            store: read.value("store"),
            data_dir: PathBuf::from(read.text("data.dir")),
            topics: read.topics("topic"),
            shards: read.shards("shards"),
            simulated_clock: read.switch("simulated.clock"),
            log: read.log_filter("log.filter"),
            log_format: read.value("log.format"),
            node_id: read.integer("node.id"),
            group_initial_rebalance_delay: read.millis("group.initial.rebalance.delay.ms"),
            group_min_session_timeout: read.millis("group.min.session.timeout.ms"),
            group_max_session_timeout: read.millis("group.max.session.timeout.ms"),
            group_max_size: read.count("group.max.size"),
            offsets_retention: read.minutes("offsets.retention.minutes"),
            offsets_retention_check_interval: read.millis("offsets.retention.check.interval.ms"),
            offset_metadata_max_bytes: read.count("offset.metadata.max.bytes"),
            offsets_commit_timeout: read.millis("offsets.commit.timeout.ms"),
            offsets_topic_num_partitions: read.integer("offsets.topic.num.partitions"),
            transaction_max_timeout: read.millis("transaction.max.timeout.ms"),
            transactional_id_expiration: read.millis("transactional.id.expiration.ms"),
            max_transactional_ids: read.count("max.transactional.ids"),
            auto_create_topics_enable: read.switch("auto.create.topics.enable"),
            num_partitions: read.integer("num.partitions"),
            socket_request_max_bytes: read.count("socket.request.max.bytes"),
            queued_max_request_bytes: read.count("queued.max.request.bytes"),
            max_connections: read.count("max.connections"),
            connections_max_idle: read.optional_millis("connections.max.idle.ms"),
        };
        read.not_above("group.min.session.timeout.ms", "group.max.session.timeout.ms");
        read.moved_over_http(&settings);
        read.not_above("socket.request.max.bytes", "queued.max.request.bytes");
        read.finish(settings)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::check(&Raw::default()).expect("invariant: the defaults are possible (a test checks them)")
    }
}

/// What is wrong with the settings given: one sentence a problem, never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    problems: Vec<String>,
}

impl SettingsError {
    fn one(problem: String) -> Self {
        Self { problems: vec![problem] }
    }

    /// The sentences.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("\n"))
    }
}

impl std::error::Error for SettingsError {}
