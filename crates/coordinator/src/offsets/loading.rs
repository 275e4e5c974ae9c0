//! The offsets of a partition while it loads: its records in their order, transactions resolved by their markers.

use hashbrown::{HashMap, HashSet};

use super::{GroupOffsets, Position, TopicNames};
use crate::hasher::Hasher;
use crate::ids::{GroupId, ProducerId};
use crate::messages::{Record, TransactionOutcome};

/// What has been read so far. As large as what is left of it: records that others replaced take no room.
#[derive(Debug)]
pub(crate) struct LoadedOffsets {
    groups: HashMap<GroupId, GroupOffsets, Hasher>,
    /// In which groups a producer's transaction is open.
    open: HashMap<ProducerId, HashSet<GroupId, Hasher>, Hasher>,
    names: TopicNames,
    records: u64,
}

impl LoadedOffsets {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self {
            groups: HashMap::with_hasher(hasher),
            open: HashMap::with_hasher(hasher),
            names: TopicNames::new(hasher),
            records: 0,
        }
    }

    /// Takes in the next record. Those of groups say nothing about offsets.
    pub(crate) fn apply(&mut self, record: Record) {
        self.records += 1;
        let position = Position::loaded(self.records);
        match record {
            Record::Offset(record) => {
                let offsets = self.groups.entry_ref(&record.group).or_default();
                offsets.load(position, &record, &mut self.names);
            }
            Record::OffsetTombstone(group, partition) => {
                if let Some(offsets) = self.groups.get_mut(&group) {
                    offsets.remove(position, &[partition]);
                    if offsets.is_empty() {
                        self.groups.remove(&group);
                    }
                }
            }
            Record::TxnOffset(producer, record) => {
                let hasher = *self.open.hasher();
                let groups = self.open.entry(producer).or_insert_with(|| HashSet::with_hasher(hasher));
                groups.insert(record.group.clone());
                let offsets = self.groups.entry_ref(&record.group).or_default();
                offsets.load_transactional(position, producer, &record, &mut self.names);
            }
            Record::TxnMarker(producer, outcome) => self.end_transaction(producer, outcome),
            Record::Group(_) | Record::GroupTombstone(_) => {}
        }
    }

    fn end_transaction(&mut self, producer: ProducerId, outcome: TransactionOutcome) {
        for group in self.open.remove(&producer).into_iter().flatten() {
            if let Some(offsets) = self.groups.get_mut(&group) {
                offsets.end_transaction(producer, outcome);
                if offsets.is_empty() {
                    self.groups.remove(&group);
                }
            }
        }
    }

    /// All groups that have offsets, committed or pending, in order of name.
    pub(crate) fn into_groups(self) -> Vec<(GroupId, GroupOffsets)> {
        let mut groups: Vec<_> = self.groups.into_iter().collect();
        groups.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        groups
    }
}
