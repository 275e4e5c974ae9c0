//! What a coordinator can be told to do differently. Names and defaults are Kafka's broker settings'.

use hashbrown::HashMap;

use crate::ids::{GroupId, OffsetsPartition};

/// The settings of a [`Coordinator`](crate::Coordinator). Times are milliseconds.
///
/// ```
/// let config = coordinator::Config { group_max_size: 500, ..coordinator::Config::default() };
/// assert_eq!(config.group_initial_rebalance_delay_ms, 3_000);
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// `group.min.session.timeout.ms`: shorter session timeouts are refused. Default 6 s.
    pub group_min_session_timeout_ms: i32,
    /// `group.max.session.timeout.ms`: longer session timeouts are refused. Default 30 min.
    pub group_max_session_timeout_ms: i32,
    /// `group.initial.rebalance.delay.ms`: how long the first rebalance of an empty group waits for more
    /// members, and by how much each newcomer extends that. Default 3 s.
    pub group_initial_rebalance_delay_ms: u32,
    /// `group.max.size`: members of one group. Default: no limit.
    pub group_max_size: usize,
    /// How many member ids of one group may be handed out with MEMBER_ID_REQUIRED and not yet used. Further
    /// clients are told COORDINATOR_NOT_AVAILABLE, which they retry. Kafka has no such limit. Default 10,000.
    pub group_max_pending_members: usize,
    /// How long the JoinGroup of a member that has not yet been told its id may wait. 5 min in Kafka, where
    /// it cannot be changed.
    pub new_member_join_timeout_ms: u32,
    /// `offsets.commit.timeout.ms`: how long a write may take before those who wait for it are told
    /// REQUEST_TIMED_OUT. Default 5 s; `None`: for ever.
    pub store_timeout_ms: Option<u32>,
    /// `offset.metadata.max.bytes`: the longest metadata of one committed offset, in characters as Kafka
    /// counts them. Default 4,096.
    pub offset_metadata_max_size: usize,
    /// `offsets.retention.minutes`, here in ms: how long the offsets of a group without members are kept.
    /// Default 7 days.
    pub offsets_retention_ms: i64,
    /// `offsets.retention.check.interval.ms`. Default 10 min; `None`: only when told
    /// ([`Input::CleanUp`](crate::messages::Input::CleanUp)).
    pub offsets_retention_check_interval_ms: Option<u32>,
    /// Which partition a group belongs to.
    pub partitioner: Partitioner,
    /// The wall clock, ms since the Unix epoch, at [`Timestamp::ZERO`](purgatory::Timestamp::ZERO): what is
    /// stored carries wall-clock times, made of this and the turn's `now`. 0 if the host's timestamps are
    /// such times already.
    pub unix_ms_at_zero: i64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            group_min_session_timeout_ms: 6_000,
            group_max_session_timeout_ms: 1_800_000,
            group_initial_rebalance_delay_ms: 3_000,
            group_max_size: usize::MAX,
            group_max_pending_members: 10_000,
            new_member_join_timeout_ms: 300_000,
            store_timeout_ms: Some(5_000),
            offset_metadata_max_size: 4_096,
            offsets_retention_ms: 7 * 24 * 60 * 60 * 1_000,
            offsets_retention_check_interval_ms: Some(600_000),
            partitioner: Partitioner::default(),
            unix_ms_at_zero: 0,
        }
    }
}

/// How groups are spread over the offsets partitions.
#[derive(Clone, Debug)]
pub enum Partitioner {
    /// As Kafka does: the hash of the name (as Java computes it) modulo the number of partitions.
    Kafka {
        /// `offsets.topic.num.partitions`; at least 1.
        partitions: i32,
    },
    /// By name; who is not named belongs to `otherwise`.
    Table {
        /// The named ones.
        groups: HashMap<GroupId, OffsetsPartition, foldhash::fast::FixedState>,
        /// All others.
        otherwise: OffsetsPartition,
    },
}

impl Default for Partitioner {
    fn default() -> Self {
        Self::Kafka { partitions: 50 }
    }
}

impl Partitioner {
    /// The partition of `group`.
    ///
    /// ```
    /// use coordinator::{Partitioner, ids::{GroupId, OffsetsPartition}};
    /// assert_eq!(Partitioner::default().partition(&GroupId::new("test")), OffsetsPartition(48));
    /// ```
    pub fn partition(&self, group: &GroupId) -> OffsetsPartition {
        self.partition_of(group.as_str())
    }

    /// The partition of whatever has this name: a group, or a transactional id, which Kafka spreads alike.
    pub fn partition_of(&self, name: &str) -> OffsetsPartition {
        match self {
            Self::Kafka { partitions } => {
                let hash = name
                    .encode_utf16()
                    .fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
                // Kafka's `Utils.abs`: the sign bit is dropped from i32::MIN, which has no absolute value.
                let positive = if hash == i32::MIN { 0 } else { hash.abs() };
                OffsetsPartition(positive % (*partitions).max(1))
            }
            Self::Table { groups, otherwise } => groups.get(name).copied().unwrap_or(*otherwise),
        }
    }
}
