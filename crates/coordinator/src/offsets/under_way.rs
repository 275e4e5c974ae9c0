//! What is under way to a group's offsets beyond plain commits: open transactions, and writes overtaken by a deletion.

use std::collections::BTreeMap;

use super::layer::Layer;
use super::slot::{Position, Value};
use super::{GroupOffsets, TopicNames};
use crate::ids::{ProducerId, TopicPartition};
use crate::messages::{CommitOffset, OffsetRecord, TransactionOutcome};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    /// By producer and the position of the first commit. Of one producer only the last can be open; earlier ones have
    /// ended while a write of theirs was in flight.
    transactions: BTreeMap<(ProducerId, Position), Transaction>,
    /// In the order of the deletions.
    voids: BTreeMap<TopicPartition, Vec<Void>>,
}

#[derive(Debug, Default)]
struct Transaction {
    /// Once its marker is written: how it ended. It is kept for its writes in flight alone.
    ended: Option<TransactionOutcome>,
    /// What it commits: a slot per partition, `committed` meaning stored.
    offsets: Layer,
}

/// Writes that were in flight to a partition when it was deleted: they bring nothing.
#[derive(Debug)]
struct Void {
    /// Where the tombstone stands.
    before: Position,
    writes: u32,
}

impl GroupOffsets {
    /// A transactional commit was asked to be stored at `position`: its partitions are unstable until the transaction
    /// has ended.
    pub(crate) fn begin_transactional_commit(
        &mut self,
        position: Position,
        producer: ProducerId,
        offsets: &[CommitOffset],
        names: &mut TopicNames,
    ) {
        let under_way = self.under_way.get_or_insert_default();
        let transaction = under_way.open_or_new(producer, position);
        for offset in offsets {
            let (slot, is_new) = transaction.offsets.slot_or_new(&offset.partition, names);
            slot.begin_write();
            if is_new {
                self.committed.slot_or_new(&offset.partition, names).0.begin_transaction();
            }
        }
    }

    /// The store of a transactional commit ended. `stored`: the offsets wait for the end of the transaction, or do as
    /// it did if it has ended meanwhile.
    pub(crate) fn end_transactional_commit(
        &mut self,
        position: Position,
        producer: ProducerId,
        offsets: &[CommitOffset],
        stored: bool,
    ) {
        for offset in offsets {
            if !UnderWay::take_void(&mut self.under_way, &offset.partition, position) {
                self.end_transactional_write(position, producer, offset, stored);
            }
        }
        self.tidy_transactions(producer);
    }

    fn end_transactional_write(
        &mut self,
        position: Position,
        producer: ProducerId,
        offset: &CommitOffset,
        stored: bool,
    ) {
        let transaction = self
            .under_way
            .as_mut()
            .and_then(|under_way| under_way.of_write(producer, position))
            .expect("invariant: a transaction outlives its writes");
        let slot = transaction.offsets.slot_mut(&offset.partition).expect("invariant: a slot per write");
        slot.end_write();
        let value = Value::of_commit(offset, None);
        match transaction.ended {
            None if stored => slot.store(position, value),
            Some(TransactionOutcome::Commit) if stored => {
                let target = self.committed.slot_mut(&offset.partition);
                target.expect("invariant: a slot per open transaction").store(position, value);
            }
            None | Some(TransactionOutcome::Commit | TransactionOutcome::Abort) => {}
        }
        if slot.is_vacant() {
            transaction.offsets.remove(&offset.partition);
            leave(&mut self.committed, &offset.partition);
        }
    }

    /// A transactional offset was read from the log, where it stands at `position`.
    pub(crate) fn load_transactional(
        &mut self,
        position: Position,
        producer: ProducerId,
        record: &OffsetRecord,
        names: &mut TopicNames,
    ) {
        let under_way = self.under_way.get_or_insert_default();
        let transaction = under_way.open_or_new(producer, position);
        let (slot, is_new) = transaction.offsets.slot_or_new(&record.partition, names);
        slot.store(position, Value::of_record(record));
        if is_new {
            self.committed.slot_or_new(&record.partition, names).0.begin_transaction();
        }
    }

    /// The producer's transaction ended: its marker is written. What it stored counts from its own records' positions
    /// on, or never did. Nothing happens if it has none here.
    pub(crate) fn end_transaction(&mut self, producer: ProducerId, outcome: TransactionOutcome) {
        let Some(transaction) = self.under_way.as_mut().and_then(|u| u.open_mut(producer)) else { return };
        transaction.ended = Some(outcome);
        let committed = &mut self.committed;
        transaction.offsets.retain(|topic, slot| {
            let partition = TopicPartition { topic: topic.clone(), partition: slot.partition() };
            let target = committed.slot_mut(&partition).expect("invariant: a slot per open transaction");
            if let (TransactionOutcome::Commit, Some(stored)) = (outcome, slot.committed()) {
                target.store(slot.position(), stored);
            }
            slot.clear();
            if slot.is_vacant() {
                leave(committed, &partition);
            }
            !slot.is_vacant()
        });
        self.tidy_transactions(producer);
    }

    /// Takes partitions, sorted, out of all transactions: a tombstone of each stands at `position`.
    pub(super) fn remove_from_transactions(&mut self, position: Position, partitions: &[TopicPartition]) {
        let Some(under_way) = &mut self.under_way else { return };
        let mut writes: Vec<(TopicPartition, u32)> = Vec::new();
        under_way.transactions.retain(|_, transaction| {
            // One look at each slot, however many transactions and partitions there are.
            transaction.offsets.retain(|topic, slot| {
                let key = (topic, slot.partition());
                let found = partitions.binary_search_by(|other| (&other.topic, other.partition).cmp(&key));
                if let (Ok(at), 1..) = (found, slot.in_flight()) {
                    writes.push((partitions[at].clone(), slot.in_flight()));
                }
                found.is_err()
            });
            !transaction.offsets.is_empty()
        });
        for (partition, writes) in writes {
            UnderWay::add_void(&mut self.under_way, partition, position, writes);
        }
        self.tidy_under_way();
    }

    fn tidy_transactions(&mut self, producer: ProducerId) {
        if let Some(under_way) = &mut self.under_way {
            let all = (producer, Position::FIRST)..=(producer, Position::LAST);
            let empty: Vec<_> = under_way
                .transactions
                .range(all)
                .filter(|(_, transaction)| transaction.offsets.is_empty())
                .map(|(key, _)| *key)
                .collect();
            for key in empty {
                under_way.transactions.remove(&key);
            }
        }
        self.tidy_under_way();
    }

    fn tidy_under_way(&mut self) {
        if self.under_way.as_ref().is_some_and(|u| u.transactions.is_empty() && u.voids.is_empty()) {
            self.under_way = None;
        }
    }
}

/// A transaction no longer touches the partition.
fn leave(committed: &mut Layer, partition: &TopicPartition) {
    let slot = committed.slot_mut(partition).expect("invariant: a slot per open transaction");
    slot.end_transaction();
    if slot.is_vacant() {
        committed.remove(partition);
    }
}

impl UnderWay {
    pub(super) fn open_producers(&self) -> impl Iterator<Item = ProducerId> {
        self.transactions
            .iter()
            .filter(|(_, transaction)| transaction.ended.is_none())
            .map(|((producer, _), _)| *producer)
    }

    fn open(&self, producer: ProducerId) -> Option<&Transaction> {
        let all = (producer, Position::FIRST)..=(producer, Position::LAST);
        let (_, last) = self.transactions.range(all).next_back()?;
        last.ended.is_none().then_some(last)
    }

    fn open_mut(&mut self, producer: ProducerId) -> Option<&mut Transaction> {
        let all = (producer, Position::FIRST)..=(producer, Position::LAST);
        let (_, last) = self.transactions.range_mut(all).next_back()?;
        last.ended.is_none().then_some(last)
    }

    fn open_or_new(&mut self, producer: ProducerId, position: Position) -> &mut Transaction {
        if self.open(producer).is_none() {
            self.transactions.insert((producer, position), Transaction::default());
        }
        self.open_mut(producer).expect("invariant: it was open or is new")
    }

    /// The transaction that the write at `position` belongs to: the last that had begun by then.
    fn of_write(&mut self, producer: ProducerId, position: Position) -> Option<&mut Transaction> {
        let begun = (producer, Position::FIRST)..=(producer, position);
        self.transactions.range_mut(begun).next_back().map(|(_, transaction)| transaction)
    }

    pub(super) fn add_void(
        under_way: &mut Option<Box<Self>>,
        partition: TopicPartition,
        before: Position,
        writes: u32,
    ) {
        let voids = under_way.get_or_insert_default().voids.entry(partition).or_default();
        match voids.last_mut().filter(|void| void.before == before) {
            Some(void) => void.writes += writes,
            None => voids.push(Void { before, writes }),
        }
    }

    /// Whether the write at `position` to the partition was overtaken by a deletion. Such a write asks once.
    pub(super) fn take_void(
        under_way: &mut Option<Box<Self>>,
        partition: &TopicPartition,
        position: Position,
    ) -> bool {
        let Some(here) = under_way.as_mut().filter(|here| !here.voids.is_empty()) else { return false };
        let Some(voids) = here.voids.get_mut(partition) else { return false };
        // The first deletion after the write is the one that overtook it.
        let Some(at) = voids.iter().position(|void| position < void.before) else { return false };
        voids[at].writes -= 1;
        if voids[at].writes == 0 {
            voids.remove(at);
        }
        if voids.is_empty() {
            here.voids.remove(partition);
        }
        if here.voids.is_empty() && here.transactions.is_empty() {
            *under_way = None;
        }
        true
    }
}
