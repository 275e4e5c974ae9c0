//! The names of things: groups, members, instances, generations, partitions. One newtype each.

use std::fmt;
use std::sync::Arc;

/// An opaque run of bytes (member metadata, an assignment). Cheap to clone, never interpreted unless a rule
/// of the consumer protocol says so.
pub type Blob = Arc<[u8]>;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps `text`.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether the text is empty.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// The name of a consumer group.
    GroupId
}
text_id! {
    /// The id of a member; empty in the request of a client that has none yet.
    MemberId
}
text_id! {
    /// `group.instance.id`: what a static member keeps over restarts (KIP-345).
    InstanceId
}
text_id! {
    /// The name of a topic.
    TopicName
}

impl TopicName {
    /// Whether somebody else holds the same text in the same place.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

/// A round of a group's rebalancing. Starts at 0 (never rebalanced); -1 in a request means "none".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Generation(pub i32);

impl Generation {
    /// What a request carries that belongs to no generation.
    pub const NONE: Self = Self(-1);
}

/// A partition of a topic. `topic:index` when printed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TopicPartition {
    /// The topic.
    pub topic: TopicName,
    /// The partition's index in it.
    pub partition: i32,
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.topic, self.partition)
    }
}

/// One of the partitions that groups are spread over (`__consumer_offsets` in Kafka): what a coordinator
/// owns, loads and unloads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OffsetsPartition(pub i32);

/// The epoch of an ownership: a coordinator that owns a partition under a lower one is fenced.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct OwnerEpoch(pub i32);

/// A producer's id, as transactions use it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProducerId(pub i64);
