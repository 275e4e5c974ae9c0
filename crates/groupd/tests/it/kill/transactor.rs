//! A producer that commits offsets of two groups in transactions: wholly or not at all, whenever the kill comes.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;

use kafka_wire::offset_fetch::OffsetFetchRequestGroup;
use kafka_wire::txn_offset_commit::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use kafka_wire::{
    AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, EndTxnRequest, EndTxnResponse, InitProducerIdRequest,
    InitProducerIdResponse, OffsetFetchRequest, OffsetFetchResponse, TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::account::Account;
use super::connection::{Connection, Life, wrong};
use super::ledger::{Change, Ledger, Offsets, Settled};
use super::process::TOPIC;
use crate::serve::read;

const INIT: i16 = 5;
const ADD_OFFSETS: i16 = 4;
const COMMIT: i16 = 4;
const END: i16 = 4;
const FETCH: i16 = 9;

const COORDINATOR_LOAD_IN_PROGRESS: i16 = 14;
const CONCURRENT_TRANSACTIONS: i16 = 51;
const UNSTABLE_OFFSET_COMMIT: i16 = 88;

/// The groups of one transaction: so many, in offsets partitions of their own.
const GROUPS: i32 = 2;
/// Partitions that are committed to, in each.
const PARTITIONS: i32 = 4;
/// Nobody is missed within a test.
const TIMEOUT_MS: i32 = 60_000;

/// Its account counts the partitions of the second group on from those of the first.
pub(super) struct Transactor {
    id: String,
    rng: ChaCha8Rng,
    ledger: Ledger,
    number: i64,
    /// As it was handed out last.
    producer: (i64, i16),
}

impl Transactor {
    pub(super) fn new(id: String, rng: ChaCha8Rng) -> Self {
        Self { id, rng, ledger: Ledger::default(), number: 0, producer: (-1, -1) }
    }

    fn group(&self, index: i32) -> String {
        format!("{}-{index}", self.id)
    }

    /// Takes the id over: what the one before left open is aborted, what was decided is carried out.
    fn init(&mut self, connection: &mut Connection) -> Life<()> {
        let request = InitProducerIdRequest {
            transactional_id: Some(&self.id),
            transaction_timeout_ms: TIMEOUT_MS,
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        };
        let code = until_free(|| {
            let body = connection.ask(INIT, &request)?;
            let response: InitProducerIdResponse = read(INIT, &body);
            let before =
                std::mem::replace(&mut self.producer, (response.producer_id, response.producer_epoch));
            if response.error_code == 0 && self.producer <= before {
                return wrong(format!("{:?} was handed out after {before:?}", self.producer));
            }
            if response.error_code != 0 {
                self.producer = before;
            }
            Ok(response.error_code)
        })?;
        expect(code, "InitProducerId")
    }

    /// One transaction. Told of its end.
    fn transact(&mut self, connection: &mut Connection) -> Life<()> {
        self.number += 1;
        let mut changed = BTreeSet::new();
        for index in 0..GROUPS {
            let (group, first) = (self.group(index), index * PARTITIONS);
            let count = self.rng.random_range(1..=PARTITIONS);
            let partitions: BTreeSet<_> = (0..count).map(|_| self.rng.random_range(0..PARTITIONS)).collect();
            self.add(connection, &group)?;
            self.commit(connection, &group, &partitions)?;
            changed.extend(partitions.iter().map(|partition| first + partition));
        }
        // Before it is asked for, nothing of it may ever be seen; and of an abort never.
        let committed = self.rng.random_range(0..4) != 0;
        if committed {
            self.ledger.begin(Change::Commit(self.number, changed));
        }
        let (producer_id, producer_epoch) = self.producer;
        let request = EndTxnRequest { transactional_id: &self.id, producer_id, producer_epoch, committed };
        let code = until_free(|| {
            let body = connection.ask(END, &request)?;
            Ok(read::<EndTxnResponse>(END, &body).error_code)
        })?;
        expect(code, "EndTxn")?;
        if committed {
            self.ledger.acknowledge();
        }
        Ok(())
    }

    fn add(&self, connection: &mut Connection, group: &str) -> Life<()> {
        let (producer_id, producer_epoch) = self.producer;
        let request = AddOffsetsToTxnRequest {
            transactional_id: &self.id,
            producer_id,
            producer_epoch,
            group_id: group,
        };
        let code = until_free(|| {
            let body = connection.ask(ADD_OFFSETS, &request)?;
            Ok(read::<AddOffsetsToTxnResponse>(ADD_OFFSETS, &body).error_code)
        })?;
        expect(code, "AddOffsetsToTxn")
    }

    fn commit(&self, connection: &mut Connection, group: &str, partitions: &BTreeSet<i32>) -> Life<()> {
        let partition = |&partition_index| TxnOffsetCommitRequestPartition {
            partition_index,
            committed_offset: self.number,
            ..Default::default()
        };
        let partitions: Vec<_> = partitions.iter().map(partition).collect();
        let (producer_id, producer_epoch) = self.producer;
        let request = TxnOffsetCommitRequest {
            transactional_id: &self.id,
            group_id: group,
            producer_id,
            producer_epoch,
            topics: vec![TxnOffsetCommitRequestTopic { name: TOPIC, partitions }],
            ..Default::default()
        };
        let body = connection.ask(COMMIT, &request)?;
        let response: TxnOffsetCommitResponse<'_> = read(COMMIT, &body);
        let mut codes = response.topics[0].partitions.iter().map(|partition| partition.error_code);
        expect(codes.find(|&code| code != 0).unwrap_or(0), "TxnOffsetCommit")
    }
}

impl Account for Transactor {
    fn kind(&self) -> &'static str {
        "transactions"
    }

    fn run(&mut self, address: SocketAddr, answers: &Sender<()>, most: u64) -> Life<()> {
        let mut connection = Connection::open(address)?;
        for _ in 0..most {
            // Now and then the application itself starts again.
            if self.producer.0 == -1 || self.rng.random_range(0..8) == 0 {
                self.init(&mut connection)?;
            }
            self.transact(&mut connection)?;
            let _ = answers.send(());
        }
        Ok(())
    }

    fn settle(&mut self, connection: &mut Connection) -> Life<Settled> {
        self.init(connection)?;
        let mut found = Offsets::new();
        for index in 0..GROUPS {
            let (group, first) = (self.group(index), index * PARTITIONS);
            found.extend(fetch(connection, &group)?.into_iter().map(|(partition, n)| (first + partition, n)));
        }
        self.ledger.settle(&found).or_else(|what| wrong(format!("{}: {what}", self.id)))
    }
}

/// Asks again for as long as something is under way.
fn until_free(mut ask: impl FnMut() -> Life<i16>) -> Life<i16> {
    loop {
        match ask()? {
            COORDINATOR_LOAD_IN_PROGRESS | CONCURRENT_TRANSACTIONS => {}
            code => return Ok(code),
        }
    }
}

fn expect(code: i16, what: &str) -> Life<()> {
    if code == 0 { Ok(()) } else { wrong(format!("{what} was answered {code}")) }
}

/// All offsets of a group, once no transaction is in the way of any.
fn fetch(connection: &mut Connection, group: &str) -> Life<Offsets> {
    loop {
        let asked = OffsetFetchRequestGroup { group_id: group, topics: None, ..Default::default() };
        let request = OffsetFetchRequest { groups: vec![asked], require_stable: true, ..Default::default() };
        let body = connection.ask(FETCH, &request)?;
        let response: OffsetFetchResponse<'_> = read(FETCH, &body);
        match response.groups[0].error_code {
            0 => {}
            COORDINATOR_LOAD_IN_PROGRESS => continue,
            code => return wrong(format!("{group}: a fetch was answered {code}")),
        }
        let partitions = || response.groups[0].topics.iter().flat_map(|topic| &topic.partitions);
        if partitions().any(|partition| partition.error_code == UNSTABLE_OFFSET_COMMIT) {
            continue;
        }
        let there = partitions().filter(|partition| partition.committed_offset >= 0);
        return Ok(there.map(|partition| (partition.partition_index, partition.committed_offset)).collect());
    }
}
