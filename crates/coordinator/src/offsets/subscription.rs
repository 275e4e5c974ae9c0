//! Which topics a group reads, as far as the consumer protocol's metadata says.

use std::collections::BTreeSet;

use crate::ids::{Blob, TopicName};

/// The topics the members of a generation read.
#[derive(Debug, Default)]
pub(crate) enum Subscription {
    /// Not a consumer group, before its first generation, or metadata that cannot be read: any topic may be.
    #[default]
    Unknown,
    /// These.
    Topics(BTreeSet<TopicName>),
}

impl Subscription {
    /// Of a consumer group without members.
    pub(crate) fn none() -> Self {
        Self::Topics(BTreeSet::new())
    }

    /// Of the members with this metadata.
    pub(crate) fn of<'m>(_metadata: impl Iterator<Item = &'m Blob>) -> Self {
        Self::Unknown
    }
}
