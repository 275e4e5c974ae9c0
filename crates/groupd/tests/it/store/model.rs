//! Records made from seeds, and the map that a store must equal.

use std::collections::BTreeMap;

use coordinator::ids::{
    Generation, GroupId, InstanceId, MemberId, OffsetsPartition, OwnerEpoch, ProducerId, TopicPartition,
};
use coordinator::messages::{GroupRecord, MemberRecord, OffsetRecord, Record, TransactionOutcome};
use groupd::store::Store;
use rand::{Rng, RngExt};

/// A committed offset of group `g`, topic `t`.
pub(super) fn offset(group: &str, partition: i32, offset: i64) -> Record {
    Record::Offset(offset_record(group, partition, offset))
}

pub(super) fn offset_record(group: &str, partition: i32, offset: i64) -> OffsetRecord {
    OffsetRecord {
        group: group.into(),
        partition: TopicPartition { topic: "t".into(), partition },
        offset,
        leader_epoch: -1,
        metadata: "".into(),
        commit_timestamp_ms: 1_700_000_000_000,
        expire_timestamp_ms: None,
    }
}

pub(super) fn group(group: &str, generation: i32, members: usize) -> Record {
    let member = |index: usize| MemberRecord {
        member: MemberId::new(format!("m{index}")),
        instance: (index.is_multiple_of(2)).then(|| InstanceId::new(format!("i{index}"))),
        client_id: "client".into(),
        client_host: "/127.0.0.1".into(),
        session_timeout_ms: 45_000,
        rebalance_timeout_ms: 300_000,
        subscription: vec![1; index].into(),
        assignment: vec![2; index * 3].into(),
    };
    Record::Group(GroupRecord {
        group: group.into(),
        generation: Generation(generation),
        protocol_type: "consumer".into(),
        protocol: (members > 0).then(|| "range".into()),
        leader: (members > 0).then(|| "m0".into()),
        state_timestamp_ms: -1,
        members: (0..members).map(member).collect(),
    })
}

/// Any record over few keys, so that they collide.
pub(super) fn any_record(rng: &mut impl Rng) -> Record {
    let name = ["a", "b", "ü", ""][rng.random_range(0..4)];
    // Two that share a row, and one of the next.
    let partition = [0, 15, 16][rng.random_range(0..3)];
    let number = rng.random_range(i64::MIN..i64::MAX);
    let producer = ProducerId(rng.random_range(-1..2));
    match rng.random_range(0..8) {
        0 => group(name, rng.random_range(-1..9), rng.random_range(0..4)),
        1 => Record::GroupTombstone(GroupId::new(name)),
        2 | 3 => offset(name, partition, number),
        4 => Record::OffsetTombstone(name.into(), TopicPartition { topic: "t".into(), partition }),
        5 | 6 => Record::TxnOffset(producer, offset_record(name, partition, number)),
        _ => Record::TxnMarker(
            producer,
            if rng.random() { TransactionOutcome::Commit } else { TransactionOutcome::Abort },
        ),
    }
}

/// What a coordinator knows after records: the oracle, written as the rules are told, not as rows are folded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Model {
    groups: BTreeMap<GroupId, GroupRecord>,
    /// With the position in the log at which each was written.
    offsets: BTreeMap<(GroupId, TopicPartition), (u64, OffsetRecord)>,
    pending: BTreeMap<(ProducerId, GroupId, TopicPartition), (u64, OffsetRecord)>,
    position: u64,
}

impl Model {
    pub(super) fn apply(&mut self, record: &Record) {
        self.position += 1;
        let position = self.position;
        match record {
            Record::Group(group) => {
                self.groups.insert(group.group.clone(), group.clone());
            }
            Record::GroupTombstone(group) => {
                self.groups.remove(group);
            }
            Record::Offset(offset) => {
                let key = (offset.group.clone(), offset.partition.clone());
                self.offsets.insert(key, (position, offset.clone()));
            }
            Record::OffsetTombstone(group, partition) => {
                self.offsets.remove(&(group.clone(), partition.clone()));
                self.pending.retain(|(_, g, p), _| (g, p) != (group, partition));
            }
            Record::TxnOffset(producer, offset) => {
                let key = (*producer, offset.group.clone(), offset.partition.clone());
                self.pending.insert(key, (position, offset.clone()));
            }
            Record::TxnMarker(producer, outcome) => self.end(*producer, *outcome),
        }
    }

    fn end(&mut self, producer: ProducerId, outcome: TransactionOutcome) {
        let ended: Vec<_> = self.pending.keys().filter(|key| key.0 == producer).cloned().collect();
        for key in ended {
            let (position, offset) = self.pending.remove(&key).expect("just found");
            let key = (key.1, key.2);
            let newer = self.offsets.get(&key).is_none_or(|(committed, _)| position > *committed);
            if newer && outcome == TransactionOutcome::Commit {
                self.offsets.insert(key, (position, offset));
            }
        }
    }

    /// What can be seen of it: positions only order, so they are left out; of pending offsets it matters
    /// whether they would win.
    pub(super) fn view(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let offsets: Vec<_> = self.offsets.values().map(|(_, offset)| offset.clone()).collect();
        let wins = |key: &(ProducerId, GroupId, TopicPartition), position: u64| {
            self.offsets.get(&(key.1.clone(), key.2.clone())).is_none_or(|(at, _)| position > *at)
        };
        let pending: Vec<_> =
            self.pending.iter().map(|(key, (at, o))| (key.0, o.clone(), wins(key, *at))).collect();
        (self.groups.clone(), offsets, pending)
    }
}

/// What a store gives back for a partition.
pub(super) fn loaded(store: &mut dyn Store, partition: OffsetsPartition, epoch: OwnerEpoch) -> Model {
    let mut model = Model::default();
    for chunk in store.load(partition, epoch).unwrap() {
        for record in chunk.unwrap() {
            model.apply(&record);
        }
    }
    model
}
