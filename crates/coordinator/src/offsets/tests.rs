//! The table against its log: after any mix of changes it is what a replay of the stored records builds.

use std::collections::{BTreeMap, BTreeSet};

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::slot::Slot;
use super::*;
use crate::hasher::Hasher;
use crate::messages::{StoreId, TransactionOutcome};
use crate::secret::Secret;

/// A [`Value`] that lies in the model.
#[derive(Debug, PartialEq)]
struct Owned {
    offset: i64,
    leader_epoch: i32,
    metadata: String,
    commit_timestamp_ms: i64,
    expire_timestamp_ms: Option<i64>,
}

impl Owned {
    fn of(value: Value<'_>) -> Self {
        Self {
            offset: value.offset,
            leader_epoch: value.leader_epoch,
            metadata: value.metadata().to_string(),
            commit_timestamp_ms: value.commit_timestamp_ms,
            expire_timestamp_ms: value.expire_timestamp_ms,
        }
    }
}

/// The log and its naive reading. Everything is computed anew from the whole list each time it is asked for.
#[derive(Default)]
struct Model {
    log: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    kind: Kind,
    state: State,
}

#[derive(Clone)]
enum Kind {
    Commit(Vec<CommitOffset>, Option<i64>),
    Transactional(ProducerId, Vec<CommitOffset>),
    Tombstone(TopicPartition),
    Marker(ProducerId, TransactionOutcome),
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    InFlight,
    Stored,
    Failed,
}

impl Model {
    fn append(&mut self, kind: Kind, state: State) -> Position {
        self.log.push(Entry { kind, state });
        place(self.log.len() - 1)
    }

    /// What is committed after a replay of what is stored.
    fn committed(&self) -> BTreeMap<TopicPartition, Owned> {
        let mut committed: BTreeMap<TopicPartition, (usize, Owned)> = BTreeMap::new();
        let mut open: BTreeMap<ProducerId, BTreeMap<TopicPartition, (usize, Owned)>> = BTreeMap::new();
        for (at, entry) in self.log.iter().enumerate().filter(|(_, entry)| entry.state == State::Stored) {
            match &entry.kind {
                Kind::Commit(offsets, expire) => {
                    for offset in offsets {
                        committed.insert(
                            offset.partition.clone(),
                            (at, Owned::of(Value::of_commit(offset, *expire))),
                        );
                    }
                }
                Kind::Transactional(producer, offsets) => {
                    let open = open.entry(*producer).or_default();
                    for offset in offsets {
                        open.insert(
                            offset.partition.clone(),
                            (at, Owned::of(Value::of_commit(offset, None))),
                        );
                    }
                }
                Kind::Tombstone(partition) => {
                    committed.remove(partition);
                    for open in open.values_mut() {
                        open.remove(partition);
                    }
                }
                Kind::Marker(producer, outcome) => {
                    for (partition, (position, offset)) in open.remove(producer).unwrap_or_default() {
                        let newer = committed.get(&partition).is_none_or(|(other, _)| *other < position);
                        if newer && *outcome == TransactionOutcome::Commit {
                            committed.insert(partition, (position, offset));
                        }
                    }
                }
            }
        }
        committed.into_iter().map(|(partition, (_, offset))| (partition, offset)).collect()
    }

    /// The partitions whose offset may still change: see the match.
    fn unstable(&self) -> BTreeSet<TopicPartition> {
        let mut unstable = BTreeSet::new();
        for (at, entry) in self.log.iter().enumerate() {
            let later = &self.log[at + 1..];
            let (offsets, is_open) = match &entry.kind {
                Kind::Commit(offsets, _) => (offsets, false),
                Kind::Transactional(producer, offsets) => {
                    let ended = later.iter().any(|e| matches!(&e.kind, Kind::Marker(p, _) if p == producer));
                    (offsets, entry.state == State::Stored && !ended)
                }
                Kind::Tombstone(_) | Kind::Marker(..) => continue,
            };
            if is_open || entry.state == State::InFlight {
                unstable.extend(offsets.iter().map(|offset| offset.partition.clone()).filter(|partition| {
                    !later.iter().any(|e| matches!(&e.kind, Kind::Tombstone(deleted) if deleted == partition))
                }));
            }
        }
        unstable
    }

    /// A table built from what is stored.
    fn reloaded(&self) -> GroupOffsets {
        let mut table = GroupOffsets::default();
        let names = &mut TopicNames::new(Hasher::new(Secret::new(1)));
        for (at, entry) in self.log.iter().enumerate().filter(|(_, entry)| entry.state == State::Stored) {
            let position = place(at);
            match &entry.kind {
                Kind::Commit(offsets, expire) => {
                    for offset in offsets {
                        table.load(position, &record(offset, *expire), names);
                    }
                }
                Kind::Transactional(producer, offsets) => offsets.iter().for_each(|offset| {
                    table.load_transactional(position, *producer, &record(offset, None), names);
                }),
                Kind::Tombstone(partition) => drop(table.remove(position, std::slice::from_ref(partition))),
                Kind::Marker(producer, outcome) => table.end_transaction(*producer, *outcome),
            }
        }
        table
    }
}

fn place(at: usize) -> Position {
    Position::stored(StoreId(at as u64))
}

fn standing(table: &GroupOffsets, partition: &TopicPartition) -> (Option<Owned>, bool) {
    let mut standing = None;
    table.find_each(vec![partition.clone()], |_, found| {
        standing = Some((found.committed.map(Owned::of), found.is_stable));
    });
    standing.expect("told of each")
}

fn record(offset: &CommitOffset, expire_timestamp_ms: Option<i64>) -> OffsetRecord {
    OffsetRecord {
        group: "g".into(),
        partition: offset.partition.clone(),
        offset: offset.offset,
        leader_epoch: offset.leader_epoch,
        metadata: offset.metadata.clone(),
        commit_timestamp_ms: offset.commit_timestamp_ms,
        expire_timestamp_ms,
    }
}

fn committed(table: &GroupOffsets) -> BTreeMap<TopicPartition, Owned> {
    let partition = |topic: &TopicName, partition| TopicPartition { topic: topic.clone(), partition };
    let all = table
        .iter_after(None)
        .filter_map(|(topic, p, found)| Some((partition(topic, p), Owned::of(found.committed?))));
    let all: Vec<_> = all.collect();
    assert!(all.is_sorted_by(|a, b| a.0 < b.0), "sorted, and each partition once");
    all.into_iter().collect()
}

fn any_partition(random: &mut ChaCha8Rng) -> TopicPartition {
    let topic = ["a", "b", "c"].choose(random).expect("not empty");
    TopicPartition { topic: (*topic).into(), partition: random.random_range(0..3) }
}

/// May name a partition twice: then the later entry counts.
fn any_offsets(random: &mut ChaCha8Rng) -> Vec<CommitOffset> {
    let one = |random: &mut ChaCha8Rng| CommitOffset {
        partition: any_partition(random),
        offset: random.random_range(0..1_000),
        leader_epoch: random.random_range(-1..5),
        metadata: ["", "", "m", "metadata"].choose(random).copied().expect("not empty").into(),
        commit_timestamp_ms: random.random_range(0..10_000),
    };
    (0..random.random_range(1..4)).map(|_| one(random)).collect()
}

struct Run {
    random: ChaCha8Rng,
    model: Model,
    table: GroupOffsets,
    names: TopicNames,
    in_flight: Vec<Position>,
}

impl Run {
    fn step(&mut self) {
        let producer = ProducerId(self.random.random_range(0..3));
        match self.random.random_range(0..20) {
            0..=4 => {
                let offsets = any_offsets(&mut self.random);
                self.table.begin_commit(&offsets, &mut self.names);
                let expire = self.random.random_bool(0.2).then(|| self.random.random_range(0..10_000));
                self.in_flight.push(self.model.append(Kind::Commit(offsets, expire), State::InFlight));
            }
            5..=8 => {
                let offsets = any_offsets(&mut self.random);
                let position =
                    self.model.append(Kind::Transactional(producer, offsets.clone()), State::InFlight);
                self.table.begin_transactional_commit(position, producer, &offsets, &mut self.names);
                self.in_flight.push(position);
            }
            9..=14 => self.finish(),
            15..=16 => {
                let commits = self.random.random_bool(0.6);
                let outcome = if commits { TransactionOutcome::Commit } else { TransactionOutcome::Abort };
                self.model.append(Kind::Marker(producer, outcome), State::Stored);
                self.table.end_transaction(producer, outcome);
            }
            17 => {
                // All tombstones of one deletion stand in one write; here each has a place of its own.
                let mut partitions: Vec<_> =
                    any_offsets(&mut self.random).into_iter().map(|offset| offset.partition).collect();
                partitions.sort_unstable();
                let position = place(self.model.log.len());
                for partition in self.table.remove(position, &partitions) {
                    self.model.append(Kind::Tombstone(partition), State::Stored);
                }
            }
            18 => self.expire(),
            _ => {
                while !self.in_flight.is_empty() {
                    self.finish();
                }
            }
        }
    }

    /// Ends a write in flight, mostly the oldest, one in five times with an error.
    fn finish(&mut self) {
        if self.in_flight.is_empty() {
            return;
        }
        let oldest = self.random.random_bool(0.8);
        let at = if oldest { 0 } else { self.random.random_range(0..self.in_flight.len()) };
        let position = self.in_flight.remove(at);
        let stored = self.random.random_bool(0.8);
        let at = usize::try_from(position.store_id().0).expect("small");
        let entry = &mut self.model.log[at];
        entry.state = if stored { State::Stored } else { State::Failed };
        match &entry.kind {
            Kind::Commit(offsets, expire) => self.table.end_commit(position, offsets, *expire, stored),
            Kind::Transactional(producer, offsets) => {
                self.table.end_transactional_commit(position, *producer, offsets, stored);
            }
            Kind::Tombstone(_) | Kind::Marker(..) => unreachable!("they are not in flight"),
        }
    }

    fn expire(&mut self) {
        let subscribed: [TopicName; 1] = ["b".into()];
        let rules = [Retention::KeepAll, Retention::SinceEmpty(5_000), Retention::SinceCommit(&subscribed)];
        let rule = *rules.choose(&mut self.random).expect("not empty");
        let (now, retention) = (self.random.random_range(5_000..12_000), self.random.random_range(1..8_000));
        let unstable = self.model.unstable();
        let mut expected = self.model.committed();
        expected.retain(|partition, offset| {
            let base = match rule {
                Retention::KeepAll => return false,
                Retention::SinceEmpty(since) => since,
                Retention::SinceCommit(_) if partition.topic.as_str() == "b" => return false,
                Retention::SinceCommit(_) => offset.commit_timestamp_ms,
            };
            let due = offset.expire_timestamp_ms.unwrap_or(base + retention);
            due <= now && !unstable.contains(partition)
        });
        let count = self.random.random_range(1..8);
        let (mut expired, mut after) = (Vec::new(), None);
        loop {
            let slice = self.table.expire(now, retention, rule, (after.as_ref(), count));
            assert!(slice.looked_at <= count);
            expired.extend(slice.partitions);
            after = slice.last;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(expired, expected.into_keys().collect::<Vec<_>>());
        for partition in expired {
            self.model.append(Kind::Tombstone(partition), State::Stored);
        }
    }

    fn check(&self) {
        let unstable = self.model.unstable();
        let expected = self.model.committed();
        assert_eq!(committed(&self.table), expected);
        for topic in ["a", "b", "c"] {
            for partition in 0..3 {
                let partition = TopicPartition { topic: topic.into(), partition };
                let (offset, is_stable) = standing(&self.table, &partition);
                assert_eq!(is_stable, !unstable.contains(&partition), "{partition}");
                assert_eq!(offset.as_ref(), expected.get(&partition), "{partition}");
            }
        }
        let named: BTreeSet<_> = expected.into_keys().chain(unstable).collect();
        assert_eq!(self.table.partitions().collect::<BTreeSet<_>>(), named);
        assert_eq!(self.table.is_empty(), named.is_empty());
    }

    /// What is stored, loaded elsewhere, stands as here but for what is in flight here.
    fn check_reload(&self) {
        let reloaded = self.model.reloaded();
        assert_eq!(committed(&reloaded), committed(&self.table));
        if self.in_flight.is_empty() {
            let producers = |table: &GroupOffsets| table.producers().collect::<BTreeSet<_>>();
            assert_eq!(producers(&reloaded), producers(&self.table));
            let stable = |table: &GroupOffsets, of: &GroupOffsets| -> Vec<bool> {
                of.partitions().map(|partition| standing(table, &partition).1).collect()
            };
            assert_eq!(stable(&self.table, &self.table), stable(&reloaded, &self.table));
            assert_eq!(self.table.under_way.is_none(), reloaded.under_way.is_none());
        }
    }
}

#[test]
fn the_table_is_what_a_replay_of_its_log_builds() {
    for seed in 0..120 {
        let mut run = Run {
            random: ChaCha8Rng::seed_from_u64(seed),
            model: Model::default(),
            table: GroupOffsets::default(),
            names: TopicNames::new(Hasher::new(Secret::new(seed))),
            in_flight: Vec::new(),
        };
        for _ in 0..150 {
            run.step();
            run.check();
        }
        run.check_reload();
        while !run.in_flight.is_empty() {
            run.finish();
            run.check();
        }
        run.check_reload();
    }
}

#[test]
fn a_slot_stays_small() {
    assert_eq!(size_of::<Slot>(), 48);
    assert_eq!(size_of::<GroupOffsets>(), 32);
}
