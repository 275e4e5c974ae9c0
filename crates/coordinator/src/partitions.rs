//! Which offsets partitions are owned, loading or lost, under which epoch.
//!
//! News of ownership may arrive out of order: what is older than what is known changes nothing.

use hashbrown::HashMap;

use crate::hasher::Hasher;
use crate::ids::{GroupId, OffsetsPartition, OwnerEpoch};
use crate::messages::{GroupError, GroupRecord, Record};
use crate::offsets::LoadedOffsets;

#[derive(Debug)]
pub(crate) struct Partitions {
    known: HashMap<OffsetsPartition, Ownership, Hasher>,
    /// How many are loading.
    loading: usize,
}

#[derive(Debug)]
struct Ownership {
    epoch: OwnerEpoch,
    state: State,
}

#[derive(Debug)]
enum State {
    Lost,
    Loading(Box<Loading>),
    Owned,
}

/// What has been read of a partition so far: the last record of each key.
#[derive(Debug)]
pub(crate) struct Loading {
    pub(crate) groups: HashMap<GroupId, GroupRecord, Hasher>,
    pub(crate) offsets: LoadedOffsets,
}

/// What news of ownership means for the groups that are here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum News {
    /// Nothing: it is old, or known.
    Stale,
    /// The groups of the partition, if any are here, are no longer good.
    DropGroups,
}

impl Partitions {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self { known: HashMap::with_hasher(hasher), loading: 0 }
    }

    /// The epoch under which the partition is served.
    pub(crate) fn serving(&self, partition: OffsetsPartition) -> Result<OwnerEpoch, GroupError> {
        match self.known.get(&partition) {
            Some(Ownership { epoch, state: State::Owned }) => Ok(*epoch),
            Some(Ownership { state: State::Loading(_), .. }) => Err(GroupError::CoordinatorLoadInProgress),
            Some(Ownership { state: State::Lost, .. }) | None => Err(GroupError::NotCoordinator),
        }
    }

    pub(crate) fn is_any_loading(&self) -> bool {
        self.loading > 0
    }

    /// The partition is ours from `epoch` on.
    pub(crate) fn begin_load(&mut self, partition: OffsetsPartition, epoch: OwnerEpoch) -> News {
        if let Some(known) = self.known.get(&partition) {
            let is_here = matches!(known.state, State::Owned | State::Loading(_));
            // The same epoch again is a repetition while we own it. If we lost it, its loss was the later news.
            if epoch < known.epoch || (epoch == known.epoch && is_here) {
                return News::Stale;
            }
        }
        let hasher = *self.known.hasher();
        let loading = Loading { groups: HashMap::with_hasher(hasher), offsets: LoadedOffsets::new(hasher) };
        self.set(partition, epoch, State::Loading(Box::new(loading)));
        // Owned under an older epoch, and somebody else may have been the owner in between.
        News::DropGroups
    }

    /// Takes in a record of a partition that loads.
    pub(crate) fn load(&mut self, partition: OffsetsPartition, record: Record) {
        let Some(Ownership { state: State::Loading(loading), .. }) = self.known.get_mut(&partition) else {
            return;
        };
        match record {
            Record::Group(group) => {
                loading.groups.insert(group.group.clone(), group);
            }
            Record::GroupTombstone(group) => {
                loading.groups.remove(&group);
            }
            Record::Offset(_)
            | Record::OffsetTombstone(..)
            | Record::TxnOffset(..)
            | Record::TxnMarker(..) => {
                loading.offsets.apply(record);
            }
        }
    }

    /// The partition is loaded: hands back what was read, with the epoch. `None` if it was not loading.
    pub(crate) fn finish_load(&mut self, partition: OffsetsPartition) -> Option<(OwnerEpoch, Loading)> {
        let ownership = self.known.get_mut(&partition)?;
        match std::mem::replace(&mut ownership.state, State::Owned) {
            State::Loading(loading) => {
                self.loading -= 1;
                Some((ownership.epoch, *loading))
            }
            other @ (State::Lost | State::Owned) => {
                ownership.state = other;
                None
            }
        }
    }

    /// Somebody else owns the partition from `epoch` on.
    pub(crate) fn unload(&mut self, partition: OffsetsPartition, epoch: OwnerEpoch) -> News {
        if self.known.get(&partition).is_some_and(|known| epoch < known.epoch) {
            return News::Stale;
        }
        self.set(partition, epoch, State::Lost);
        News::DropGroups
    }

    fn set(&mut self, partition: OffsetsPartition, epoch: OwnerEpoch, state: State) {
        let is_loading = matches!(state, State::Loading(_));
        let before = self.known.insert(partition, Ownership { epoch, state });
        self.loading += usize::from(is_loading);
        self.loading -= usize::from(matches!(before, Some(Ownership { state: State::Loading(_), .. })));
    }
}
