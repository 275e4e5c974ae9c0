//! The table of metrics, and the recorder that collects them. Whoever counts uses the names in [`name`].

use std::sync::Arc;

use metrics::{Label, counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use super::process;

/// The names, for `metrics::counter!(name::...)` and its like.
pub mod name {
    /// Connections open now.
    pub const CONNECTIONS: &str = "groupd_connections";
    /// Connections ever accepted.
    pub const CONNECTIONS_TOTAL: &str = "groupd_connections_total";
    /// Connections closed by us; label `reason`.
    pub const CONNECTIONS_CLOSED: &str = "groupd_connections_closed_total";
    /// Times a connection was not read on, since the requests of all took what they may.
    pub const REQUEST_MEMORY_WAITS: &str = "groupd_request_memory_waits_total";
    /// Requests answered; label `api`.
    pub const REQUESTS: &str = "groupd_requests_total";
    /// From a decoded request to its answer, parked time included; label `api`.
    pub const REQUEST_SECONDS: &str = "groupd_request_seconds";
    /// Groups now; label `shard`.
    pub const GROUPS: &str = "groupd_groups";
    /// Members now; label `shard`.
    pub const MEMBERS: &str = "groupd_members";
    /// Requests and timers parked in the purgatory; label `shard`.
    pub const DELAYED: &str = "groupd_delayed_operations";
    /// Rounds of rebalancing that began.
    pub const REBALANCES_STARTED: &str = "groupd_rebalances_started_total";
    /// Rounds whose assignment became durable.
    pub const REBALANCES_COMPLETED: &str = "groupd_rebalances_completed_total";
    /// From the start of a round to its durable assignment.
    pub const REBALANCE_SECONDS: &str = "groupd_rebalance_seconds";
    /// How much of it was waiting for members to join.
    pub const REBALANCE_JOIN_SECONDS: &str = "groupd_rebalance_join_seconds";
    /// Members dropped because a round waited for them in vain.
    pub const MEMBERS_DROPPED: &str = "groupd_members_dropped_total";
    /// Members that fell silent for their session timeout.
    pub const SESSIONS_EXPIRED: &str = "groupd_sessions_expired_total";
    /// Members that did not send `SyncGroup` in time.
    pub const SYNCS_EXPIRED: &str = "groupd_syncs_expired_total";
    /// Members that left or were made to.
    pub const MEMBERS_LEFT: &str = "groupd_members_left_total";
    /// Static members that came back under a new id.
    pub const STATIC_REPLACED: &str = "groupd_static_members_replaced_total";
    /// Assignments that could not be stored.
    pub const ASSIGNMENTS_FAILED: &str = "groupd_assignment_store_failures_total";
    /// Offsets that reached their retention.
    pub const OFFSETS_EXPIRED: &str = "groupd_offsets_expired_total";
    /// Offsets deleted by request or with their topic.
    pub const OFFSETS_DELETED: &str = "groupd_offsets_deleted_total";
    /// Groups that are gone.
    pub const GROUPS_REMOVED: &str = "groupd_groups_removed_total";
    /// Events in a group's history, by kind; labels `group` and `event`.
    pub const GROUP_EVENTS: &str = "groupd_group_events_total";
    /// When a group's last event was, and what; labels `group`, `generation`, `event` and `about`.
    pub const GROUP_LAST_EVENT: &str = "groupd_group_last_event_timestamp_seconds";
    /// Transactional ids now; label `shard`.
    pub const TRANSACTIONAL_IDS: &str = "groupd_transactional_ids";
    /// Transactions open now; label `shard`.
    pub const TRANSACTIONS_OPEN: &str = "groupd_transactions_open";
    /// Transactions that began.
    pub const TRANSACTIONS_STARTED: &str = "groupd_transactions_started_total";
    /// Transactions that ended; label `outcome`: commit, abort.
    pub const TRANSACTIONS_ENDED: &str = "groupd_transactions_ended_total";
    /// From the beginning of a transaction to its last marker.
    pub const TRANSACTION_SECONDS: &str = "groupd_transaction_seconds";
    /// Transactions aborted at their timeout.
    pub const TRANSACTIONS_TIMED_OUT: &str = "groupd_transactions_timed_out_total";
    /// Transactions aborted since their id was initialised anew.
    pub const TRANSACTIONS_FENCED: &str = "groupd_transactions_fenced_total";
    /// Transactional ids that were not used for long.
    pub const TRANSACTIONAL_IDS_EXPIRED: &str = "groupd_transactional_ids_expired_total";
    /// 1 where the clock is simulated; else absent.
    pub const SIMULATED_CLOCK: &str = "groupd_simulated_clock";
    /// Where a simulated clock stands.
    pub const SIMULATED_CLOCK_TIMESTAMP: &str = "groupd_simulated_clock_timestamp_seconds";
    /// Faults that are set on a server for tests.
    pub const FAULTS: &str = "groupd_faults";
    /// From a write handed to the store to its sync.
    pub const STORE_SECONDS: &str = "groupd_store_commit_seconds";
    /// Writes per group commit.
    pub const STORE_BATCH: &str = "groupd_store_batch_writes";
    /// Writes waiting for the next group commit.
    pub const STORE_QUEUE: &str = "groupd_store_queue_writes";
    /// Bytes of the writes waiting for it.
    pub const STORE_QUEUE_BYTES: &str = "groupd_store_queue_bytes";
    /// Writes that failed.
    pub const STORE_FAILURES: &str = "groupd_store_failures_total";
    /// Bytes of records made durable.
    pub const STORE_BYTES: &str = "groupd_store_bytes_total";
    /// One step of the store's housekeeping.
    pub const STORE_UPKEEP_SECONDS: &str = "groupd_store_upkeep_seconds";
}

/// One metric.
#[derive(Debug)]
pub struct Metric {
    /// As Prometheus knows it.
    pub name: &'static str,
    /// What kind.
    pub kind: MetricKind,
    /// One line.
    pub help: &'static str,
    /// Which series it has before anything happens.
    pub series: Series,
}

/// The series of a metric that stand at 0 from the start: one that appears with its first event hides that event from
/// whoever computes a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// One, without labels.
    One,
    /// One for each of these values of this label.
    Each(&'static str, &'static [&'static str]),
    /// Whoever counts begins them when it starts: one a shard, or an API.
    OfItsOwner,
    /// One for each group that anything happened to: none at first.
    OfGroups,
    /// None on an ordinary server; one on a server for tests.
    OfTestServers,
}

/// What kind of metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricKind {
    /// Only rises.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts values by size, in these buckets.
    Histogram(&'static [f64]),
}

impl MetricKind {
    /// As Prometheus writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

const COUNTER: MetricKind = MetricKind::Counter;
const GAUGE: MetricKind = MetricKind::Gauge;
/// From a heartbeat (microseconds) to a parked join (minutes).
const SECONDS: MetricKind = MetricKind::Histogram(&[
    0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0,
]);
const COUNTS: MetricKind =
    MetricKind::Histogram(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0]);

const fn metric(name: &'static str, kind: MetricKind, help: &'static str) -> Metric {
    Metric { name, kind, help, series: Series::One }
}

impl Metric {
    const fn by(self, series: Series) -> Self {
        Self { series, ..self }
    }
}

/// All metrics of our own. (Those of the process are in `process.rs`.)
pub const METRICS: &[Metric] = &[
    metric(name::CONNECTIONS, GAUGE, "Client connections open now."),
    metric(name::CONNECTIONS_TOTAL, COUNTER, "Client connections ever accepted."),
    metric(
        name::CONNECTIONS_CLOSED,
        COUNTER,
        "Client connections closed by the server, by reason: idle, slow (half a large request), frame (bad bytes), unanswered (no answer came).",
    )
    .by(Series::Each("reason", &["idle", "slow", "frame", "unanswered"])),
    metric(
        name::REQUEST_MEMORY_WAITS,
        COUNTER,
        "Times that a connection was not read on, since queued.max.request.bytes were taken.",
    ),
    metric(name::REQUESTS, COUNTER, "Requests answered, by api.").by(Series::OfItsOwner),
    metric(
        name::REQUEST_SECONDS,
        SECONDS,
        "From a decoded request to its answer, parked time included, by api.",
    )
    .by(Series::OfItsOwner),
    metric(name::GROUPS, GAUGE, "Groups, by shard.").by(Series::OfItsOwner),
    metric(name::MEMBERS, GAUGE, "Members, by shard.").by(Series::OfItsOwner),
    metric(name::DELAYED, GAUGE, "Operations waiting in the purgatory, by shard.").by(Series::OfItsOwner),
    metric(name::REBALANCES_STARTED, COUNTER, "Rounds of rebalancing that began."),
    metric(name::REBALANCES_COMPLETED, COUNTER, "Rounds of rebalancing whose assignment became durable."),
    metric(name::REBALANCE_SECONDS, SECONDS, "From the start of a round to its durable assignment."),
    metric(name::REBALANCE_JOIN_SECONDS, SECONDS, "How long a round waited for members to join."),
    metric(name::MEMBERS_DROPPED, COUNTER, "Members removed because a round waited for their join in vain."),
    metric(name::SESSIONS_EXPIRED, COUNTER, "Members removed because they fell silent."),
    metric(name::SYNCS_EXPIRED, COUNTER, "Members removed because they did not send SyncGroup in time."),
    metric(name::MEMBERS_LEFT, COUNTER, "Members that left or were evicted."),
    metric(
        name::STATIC_REPLACED,
        COUNTER,
        "Static members that came back under a new id, fencing the old one.",
    ),
    metric(name::ASSIGNMENTS_FAILED, COUNTER, "Assignments that could not be stored; their groups re-form."),
    metric(name::OFFSETS_EXPIRED, COUNTER, "Offsets removed at the end of their retention."),
    metric(name::OFFSETS_DELETED, COUNTER, "Offsets deleted by request or with their topic."),
    metric(name::GROUPS_REMOVED, COUNTER, "Groups removed."),
    metric(
        name::GROUP_EVENTS,
        COUNTER,
        "Events of each kind, of the 100 groups a shard that had the latest ones.",
    )
    .by(Series::OfGroups),
    metric(
        name::GROUP_LAST_EVENT,
        GAUGE,
        "When the last event of such a group was, Unix seconds; what it was is in the labels.",
    )
    .by(Series::OfGroups),
    metric(name::TRANSACTIONAL_IDS, GAUGE, "Transactional ids, by shard.").by(Series::OfItsOwner),
    metric(name::TRANSACTIONS_OPEN, GAUGE, "Transactions that are open or being ended, by shard.")
        .by(Series::OfItsOwner),
    metric(name::TRANSACTIONS_STARTED, COUNTER, "Transactions that began."),
    metric(name::TRANSACTIONS_ENDED, COUNTER, "Transactions that ended, by outcome: commit, abort.")
        .by(Series::Each("outcome", &["commit", "abort"])),
    metric(name::TRANSACTION_SECONDS, SECONDS, "From the beginning of a transaction to its last marker."),
    metric(name::TRANSACTIONS_TIMED_OUT, COUNTER, "Transactions left open and aborted at their timeout."),
    metric(name::TRANSACTIONS_FENCED, COUNTER, "Transactions aborted since their id was initialised anew."),
    metric(name::TRANSACTIONAL_IDS_EXPIRED, COUNTER, "Transactional ids forgotten, unused for long."),
    metric(
        name::SIMULATED_CLOCK,
        GAUGE,
        "Only of a server for tests: 1, its clock is simulated and moves by command.",
    )
    .by(Series::OfTestServers),
    metric(name::SIMULATED_CLOCK_TIMESTAMP, GAUGE, "Where that clock stands, Unix seconds.")
        .by(Series::OfTestServers),
    metric(name::FAULTS, GAUGE, "Faults that are set on a server for tests.").by(Series::OfTestServers),
    metric(name::STORE_SECONDS, SECONDS, "From a write handed to the store to the end of its sync."),
    metric(name::STORE_BATCH, COUNTS, "Writes that shared one sync."),
    metric(name::STORE_QUEUE, GAUGE, "Writes that wait for the next sync."),
    metric(name::STORE_QUEUE_BYTES, GAUGE, "Bytes of the writes that wait for the next sync."),
    metric(name::STORE_FAILURES, COUNTER, "Writes the store refused or lost."),
    metric(name::STORE_BYTES, COUNTER, "Bytes of records made durable."),
    metric(name::STORE_UPKEEP_SECONDS, SECONDS, "One step of the store's housekeeping."),
];

/// Collects what the process counts. Without one, counting costs next to nothing and goes nowhere.
#[derive(Clone)]
pub struct Metrics {
    handle: PrometheusHandle,
    more: Arc<dyn Fn(&mut String) + Send + Sync>,
}

impl Metrics {
    /// Makes this the process' recorder. Once a process: a second call gets a recorder that nobody counts
    /// into, as happens where tests run servers side by side.
    pub fn install() -> Self {
        let recorder = recorder();
        let handle = recorder.handle();
        if metrics::set_global_recorder(recorder).is_ok() {
            describe();
            begin();
        }
        Self { handle, more: Arc::new(|_| {}) }
    }

    /// The same, and what `more` appends at each scrape: of the table's names too, and none that is counted as well.
    #[must_use]
    pub fn with(self, more: impl Fn(&mut String) + Send + Sync + 'static) -> Self {
        Self { more: Arc::new(more), ..self }
    }

    /// All of it as Prometheus reads it, with the process' own figures.
    pub fn render(&self) -> String {
        let mut text = self.handle.render();
        (self.more)(&mut text);
        process::render(&mut text);
        text
    }

    /// Folds samples into their histograms. Must be called every few seconds: nothing else bounds what is
    /// kept between two scrapes.
    pub fn upkeep(&self) {
        self.handle.run_upkeep();
    }
}

fn recorder() -> PrometheusRecorder {
    let with_buckets = |builder: PrometheusBuilder, metric: &Metric| match metric.kind {
        MetricKind::Counter | MetricKind::Gauge => builder,
        MetricKind::Histogram(buckets) => builder
            .set_buckets_for_metric(Matcher::Full(metric.name.into()), buckets)
            .expect("invariant: no metric has an empty list of buckets"),
    };
    METRICS.iter().fold(PrometheusBuilder::new(), with_buckets).build_recorder()
}

fn describe() {
    for metric in METRICS {
        match metric.kind {
            MetricKind::Counter => {
                metrics::describe_counter!(metric.name, metric.help);
            }
            MetricKind::Gauge => {
                metrics::describe_gauge!(metric.name, metric.help);
            }
            MetricKind::Histogram(_) => {
                metrics::describe_histogram!(metric.name, metric.help);
            }
        }
    }
}

/// All series that are known from the start.
fn begin() {
    for metric in METRICS {
        match metric.series {
            Series::One => register(metric, Vec::new()),
            Series::Each(label, values) => {
                for value in values {
                    register(metric, vec![Label::from_static_parts(label, value)]);
                }
            }
            Series::OfItsOwner | Series::OfGroups | Series::OfTestServers => {}
        }
    }
}

fn register(metric: &Metric, labels: Vec<Label>) {
    match metric.kind {
        MetricKind::Counter => drop(counter!(metric.name, labels)),
        MetricKind::Gauge => drop(gauge!(metric.name, labels)),
        MetricKind::Histogram(_) => drop(histogram!(metric.name, labels)),
    }
}
