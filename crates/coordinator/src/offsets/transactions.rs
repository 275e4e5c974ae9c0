//! Which groups have open transactions of which producers, and what their end means to them.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::coordinator::Coordinator;
use crate::groups::GroupIndex;
use crate::hasher::Hasher;
use crate::ids::{OffsetsPartition, ProducerId};
use crate::messages::TransactionOutcome;

/// The groups in which a producer's transaction may be open, so that its end need not look at all groups.
#[derive(Debug)]
pub(crate) struct OpenTransactions {
    groups: HashMap<ProducerId, BTreeSet<(OffsetsPartition, GroupIndex)>, Hasher>,
}

impl OpenTransactions {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self { groups: HashMap::with_hasher(hasher) }
    }

    /// The producer commits offsets in the group.
    pub(crate) fn add(&mut self, producer: ProducerId, partition: OffsetsPartition, group: GroupIndex) {
        self.groups.entry(producer).or_default().insert((partition, group));
    }

    /// The group, of that partition, is gone.
    pub(crate) fn remove(&mut self, producer: ProducerId, partition: OffsetsPartition, group: GroupIndex) {
        let Entry::Occupied(mut groups) = self.groups.entry(producer) else { return };
        groups.get_mut().remove(&(partition, group));
        if groups.get().is_empty() {
            groups.remove();
        }
    }

    /// The groups of `partitions` in which the producer may have a transaction open. They are forgotten.
    fn take(&mut self, producer: ProducerId, partitions: &[OffsetsPartition]) -> Vec<GroupIndex> {
        let Entry::Occupied(mut groups) = self.groups.entry(producer) else { return Vec::new() };
        let ended = |(partition, _): &(OffsetsPartition, GroupIndex)| partitions.contains(partition);
        let taken = groups.get_mut().extract_if(.., ended).map(|(_, group)| group).collect();
        if groups.get().is_empty() {
            groups.remove();
        }
        taken
    }
}

/// The transaction of `producer` ended in `partitions`.
pub(crate) fn end(
    coordinator: &mut Coordinator,
    producer: ProducerId,
    partitions: &[OffsetsPartition],
    outcome: TransactionOutcome,
) {
    for index in coordinator.open_transactions.take(producer, partitions) {
        if let Some(group) = coordinator.groups.get_mut(index) {
            group.offsets.end_transaction(producer, outcome);
        }
    }
}
