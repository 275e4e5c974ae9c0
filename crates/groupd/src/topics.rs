//! The virtual topics: a name, an id and a partition count each, so that consumers have something to divide.
//!
//! They hold no records. The catalog lives in the store beside group state ([`CATALOG_PARTITION`]): a change is
//! durable before it is seen or acknowledged. Reading costs one lock held for the copy of a pointer; changing
//! waits for the disk, one changer at a time, so it is not for a task (use a blocking thread).
//!
//! ```
//! use std::sync::Arc;
//! use groupd::store::{CATALOG_PARTITION, CommitSettings, CommitThread, MemoryStore};
//! use groupd::topics::{NewTopic, TopicCatalog, TopicIds};
//!
//! let thread = CommitThread::start(Box::new(MemoryStore::new()), CommitSettings::default())?;
//! let epoch = thread.client().acquire(&[CATALOG_PARTITION])?[0];
//! let catalog = TopicCatalog::load(thread.client(), epoch, TopicIds::seeded([1, 2]))?;
//! catalog.create(&[NewTopic::new("orders", 12)]);
//! assert_eq!(catalog.topics().get("orders").map(|topic| topic.partitions), Some(12));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalog;
mod ids;
mod layout;
mod name;
mod snapshot;

use coordinator::ids::TopicName;
use coordinator::messages::StoreError;

pub use crate::store::CATALOG_PARTITION;
pub use catalog::TopicCatalog;
pub use ids::{TopicId, TopicIds};
pub use layout::{decode_topic, encode_topic};
pub use name::{MAX_NAME, NameError, check_name};
pub use snapshot::Topics;

/// The most partitions one topic may have.
pub const MAX_PARTITIONS: i32 = 10_000;
/// The most partitions all topics together may have.
pub const MAX_TOTAL_PARTITIONS: i64 = 200_000;

/// A topic as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: TopicName,
    /// Its id: stays through restarts, ends with it.
    pub id: TopicId,
    /// How many partitions it has: 1 to [`MAX_PARTITIONS`].
    pub partitions: i32,
}

/// A topic that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name, unchecked.
    pub name: TopicName,
    /// How many partitions, unchecked.
    pub partitions: i32,
}

impl NewTopic {
    /// A topic of this name and count.
    pub fn new(name: &str, partitions: i32) -> Self {
        Self { name: name.into(), partitions }
    }
}

/// Why a topic could not be created, changed or deleted. Named as Kafka names them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopicError {
    /// The name is not one (`INVALID_TOPIC_EXCEPTION`).
    #[error("{0}")]
    InvalidTopic(#[from] NameError),
    /// `INVALID_TOPIC_EXCEPTION`: metric names have no '.', so such names would be one there.
    #[error("topic '{0}' collides with existing topic '{1}': they differ only in '.' and '_'")]
    Collision(TopicName, TopicName),
    /// `TOPIC_ALREADY_EXISTS`, also if asked for twice in one request.
    #[error("topic '{0}' already exists")]
    TopicAlreadyExists(TopicName),
    /// `UNKNOWN_TOPIC_OR_PARTITION`.
    #[error("there is no topic '{0}'")]
    UnknownTopicOrPartition(TopicName),
    /// `INVALID_PARTITIONS`.
    #[error("a topic has 1 to {MAX_PARTITIONS} partitions, not {0}")]
    InvalidPartitions(i32),
    /// `INVALID_PARTITIONS`: a topic only grows.
    #[error("topic '{name}' has {current} partitions already; it can only grow, not become {asked}")]
    NotMore {
        /// Which topic.
        name: TopicName,
        /// What it has.
        current: i32,
        /// What was asked for.
        asked: i32,
    },
    /// `POLICY_VIOLATION`.
    #[error("all topics together may have {MAX_TOTAL_PARTITIONS} partitions")]
    TooManyPartitions,
    /// The change could not be made durable.
    #[error("the change could not be made durable: {0:?}")]
    Store(StoreError),
}
