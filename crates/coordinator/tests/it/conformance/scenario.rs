//! What a scenario file says, as types. Unknown fields and steps are errors: nothing is skipped in silence.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// One scenario. Its steps stay JSON until they are executed: they may name variables bound on the way.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    pub(crate) id: String,
    pub(crate) title: String,
    #[expect(dead_code, reason = "part of the format")]
    origin: String,
    #[serde(default)]
    #[expect(dead_code, reason = "part of the format; deviations are listed by id")]
    applies_to: Option<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "part of the format; deviations are listed by id")]
    tags: Vec<String>,
    #[serde(default)]
    pub(crate) note: Option<String>,
    pub(crate) config: ScenarioConfig,
    pub(crate) steps: Vec<Value>,
}

/// What differs from the defaults of the format.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ScenarioConfig {
    pub(crate) group_min_session_timeout_ms: i32,
    pub(crate) group_max_session_timeout_ms: i32,
    pub(crate) group_initial_rebalance_delay_ms: u32,
    pub(crate) group_max_size: usize,
    pub(crate) offsets_retention_ms: i64,
    pub(crate) offset_metadata_max_size: usize,
    pub(crate) new_member_join_timeout_ms: u32,
    pub(crate) store_mode: StoreMode,
    pub(crate) group_partitions: BTreeMap<String, i32>,
    pub(crate) owned_partitions: Vec<i32>,
}

impl Default for ScenarioConfig {
    fn default() -> Self {
        Self {
            group_min_session_timeout_ms: 6_000,
            group_max_session_timeout_ms: 1_800_000,
            group_initial_rebalance_delay_ms: 3_000,
            group_max_size: i32::MAX as usize,
            offsets_retention_ms: 604_800_000,
            offset_metadata_max_size: 4_096,
            new_member_join_timeout_ms: 300_000,
            store_mode: StoreMode::Auto,
            group_partitions: BTreeMap::new(),
            owned_partitions: vec![0],
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoreMode {
    Auto,
    Manual,
}

/// A step that does something.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Action {
    Join(Join),
    Sync(Sync),
    Heartbeat(Heartbeat),
    Leave(Leave),
    OffsetCommit(Commit),
    TxnOffsetCommit(TxnCommit),
    OffsetFetch(Fetch),
    OffsetDelete(Delete),
    Describe(Describe),
    List(List),
    DeleteGroups(DeleteGroups),
    Advance { ms: u64 },
    StoreMode { mode: StoreMode },
    Store { result: String, kind: Option<StoreKind> },
    EndTxn(EndTxn),
    Cleanup,
    DeleteTopicPartitions { partitions: Vec<String> },
    BeginLoad { partition: i32 },
    FinishLoad { partition: i32, log: Log },
    Unload { partition: i32 },
    ForceState { group: String, state: String },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Join {
    #[serde(rename = "as")]
    pub(crate) handle: String,
    pub(crate) group: String,
    #[serde(default)]
    pub(crate) member: String,
    #[serde(default)]
    pub(crate) instance: Option<String>,
    #[serde(default = "client")]
    pub(crate) client_id: String,
    #[serde(default = "localhost")]
    pub(crate) client_host: String,
    #[serde(default = "consumer")]
    pub(crate) protocol_type: String,
    #[serde(default = "range")]
    pub(crate) protocols: Vec<(String, String)>,
    #[serde(default = "ten_seconds")]
    pub(crate) session_timeout_ms: i32,
    #[serde(default = "thirty_seconds")]
    pub(crate) rebalance_timeout_ms: i32,
    #[serde(default)]
    pub(crate) require_known_member_id: bool,
    #[serde(default)]
    pub(crate) supports_skipping_assignment: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sync {
    #[serde(rename = "as")]
    pub(crate) handle: String,
    pub(crate) group: String,
    pub(crate) generation: i32,
    pub(crate) member: String,
    #[serde(default)]
    pub(crate) instance: Option<String>,
    #[serde(default)]
    pub(crate) protocol_type: Option<String>,
    #[serde(default)]
    pub(crate) protocol: Option<String>,
    #[serde(default)]
    pub(crate) assignments: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Heartbeat {
    #[serde(rename = "as")]
    pub(crate) handle: String,
    pub(crate) group: String,
    pub(crate) generation: i32,
    pub(crate) member: String,
    #[serde(default)]
    pub(crate) instance: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Leave {
    #[serde(rename = "as")]
    pub(crate) handle: String,
    pub(crate) group: String,
    pub(crate) members: Vec<Leaver>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Leaver {
    #[serde(default)]
    pub(crate) member: String,
    #[serde(default)]
    pub(crate) instance: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Commit {
    #[serde(rename = "as")]
    pub(crate) handle: String,
    pub(crate) group: String,
    #[serde(default = "none")]
    pub(crate) generation: i32,
    #[serde(default)]
    pub(crate) member: String,
    #[serde(default)]
    pub(crate) instance: Option<String>,
    #[serde(default = "none_ms")]
    pub(crate) retention_time_ms: i64,
    pub(crate) offsets: BTreeMap<String, CommittedOffset>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TxnCommit {
    #[serde(rename = "as")]
    pub(crate) handle: String,
    pub(crate) group: String,
    #[serde(default = "none")]
    pub(crate) generation: i32,
    #[serde(default)]
    pub(crate) member: String,
    #[serde(default)]
    pub(crate) instance: Option<String>,
    pub(crate) producer_id: i64,
    #[serde(default)]
    pub(crate) producer_epoch: i16,
    #[serde(default)]
    pub(crate) verification: Option<String>,
    pub(crate) offsets: BTreeMap<String, CommittedOffset>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommittedOffset {
    pub(crate) offset: i64,
    #[serde(default = "none")]
    pub(crate) leader_epoch: i32,
    #[serde(default)]
    pub(crate) metadata: Option<String>,
    #[serde(default)]
    pub(crate) metadata_repeat: Option<usize>,
    #[serde(default = "none_ms")]
    pub(crate) commit_timestamp_ms: i64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fetch {
    #[serde(rename = "as")]
    pub(crate) handle: String,
    pub(crate) group: String,
    pub(crate) partitions: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) require_stable: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Delete {
    #[serde(rename = "as")]
    pub(crate) handle: String,
    pub(crate) group: String,
    pub(crate) partitions: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Describe {
    #[serde(rename = "as")]
    pub(crate) handle: String,
    pub(crate) group: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    #[serde(rename = "as")]
    pub(crate) handle: String,
    #[serde(default)]
    pub(crate) states: Vec<String>,
    #[serde(default)]
    pub(crate) types: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteGroups {
    #[serde(rename = "as")]
    pub(crate) handle: String,
    pub(crate) groups: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndTxn {
    pub(crate) producer_id: i64,
    #[serde(default)]
    #[expect(dead_code, reason = "part of the format; the coordinator is told of no epochs")]
    pub(crate) producer_epoch: i16,
    pub(crate) result: MarkerResult,
    #[serde(default = "first_partition")]
    pub(crate) offsets_partitions: Vec<i32>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum MarkerResult {
    Commit,
    Abort,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoreKind {
    Group,
    Offsets,
    TxnOffsets,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Log {
    Word(String),
    Records(Vec<LogRecord>),
}

/// A record of an explicit log.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum LogRecord {
    Group(LogGroup),
    GroupTombstone { group: String },
    Offset(LogOffset),
    TxnOffset(LogOffset),
    OffsetTombstone { group: String, partition: String },
    Marker { producer_id: i64, result: MarkerResult },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogGroup {
    pub(crate) group: String,
    pub(crate) generation: i32,
    #[serde(default)]
    pub(crate) protocol_type: String,
    #[serde(default)]
    pub(crate) protocol: Option<String>,
    #[serde(default)]
    pub(crate) leader: Option<String>,
    #[serde(default = "none_ms")]
    pub(crate) state_timestamp_ms: i64,
    #[serde(default = "newest_version")]
    pub(crate) value_version: u8,
    pub(crate) members: Vec<LogMember>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogMember {
    pub(crate) member: String,
    #[serde(default)]
    pub(crate) instance: Option<String>,
    #[serde(default = "client")]
    pub(crate) client_id: String,
    #[serde(default = "localhost")]
    pub(crate) client_host: String,
    #[serde(default = "ten_seconds")]
    pub(crate) session_timeout_ms: i32,
    #[serde(default = "thirty_seconds")]
    pub(crate) rebalance_timeout_ms: i32,
    #[serde(default = "unreadable")]
    pub(crate) subscription: String,
    #[serde(default)]
    pub(crate) assignment: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogOffset {
    pub(crate) group: String,
    pub(crate) partition: String,
    pub(crate) offset: i64,
    #[serde(default = "none")]
    pub(crate) leader_epoch: i32,
    #[serde(default)]
    pub(crate) metadata: String,
    #[serde(default)]
    pub(crate) commit_timestamp_ms: Option<i64>,
    #[serde(default)]
    pub(crate) expire_timestamp_ms: Option<i64>,
    #[serde(default)]
    pub(crate) producer_id: Option<i64>,
}

fn client() -> String {
    "client".to_owned()
}

fn localhost() -> String {
    "/127.0.0.1".to_owned()
}

fn consumer() -> String {
    "consumer".to_owned()
}

fn range() -> Vec<(String, String)> {
    vec![("range".to_owned(), unreadable())]
}

fn unreadable() -> String {
    "0a".to_owned()
}

fn ten_seconds() -> i32 {
    10_000
}

fn thirty_seconds() -> i32 {
    30_000
}

fn none() -> i32 {
    -1
}

fn none_ms() -> i64 {
    -1
}

fn newest_version() -> u8 {
    3
}

fn first_partition() -> Vec<i32> {
    vec![0]
}
