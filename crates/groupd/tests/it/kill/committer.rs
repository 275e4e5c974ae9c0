//! A client that commits offsets from outside any group, several requests at a time.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;

use kafka_wire::offset_commit::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_wire::offset_delete::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use kafka_wire::offset_fetch::OffsetFetchRequestGroup;
use kafka_wire::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetDeleteRequest, OffsetDeleteResponse, OffsetFetchRequest,
    OffsetFetchResponse,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::account::Account;
use super::connection::{Connection, Life, wrong};
use super::ledger::{Change, Ledger, Offsets, Settled};
use super::process::{PARTITIONS, TOPIC};
use crate::serve::read;

pub(super) const COMMIT: i16 = 9;
pub(super) const DELETE: i16 = 0;
const FETCH: i16 = 9;
const COORDINATOR_LOAD_IN_PROGRESS: i16 = 14;

/// How a client commits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habits {
    /// Requests in flight.
    pub(super) window: usize,
    /// Partitions that it chooses from: few are overwritten again and again, many show each commit apart.
    pub(super) partitions: i32,
    /// The most of them in one request.
    pub(super) at_once: usize,
    /// Bytes of metadata with each offset: much makes logs full.
    pub(super) padding: usize,
    /// Leaves a request without its last byte.
    pub(super) torn: bool,
}

pub(super) struct Committer {
    group: String,
    habits: Habits,
    rng: ChaCha8Rng,
    ledger: Ledger,
    number: i64,
}

impl Committer {
    pub(super) fn new(group: String, habits: Habits, rng: ChaCha8Rng) -> Self {
        Self { group, habits, rng, ledger: Ledger::default(), number: 0 }
    }

    fn send(&mut self, connection: &mut Connection) -> Life<()> {
        let count = self.rng.random_range(1..=self.habits.at_once);
        let partitions: BTreeSet<_> =
            (0..count).map(|_| self.rng.random_range(0..self.habits.partitions)).collect();
        if self.rng.random_range(0..8) == 0 {
            self.ledger.begin(Change::Delete(partitions.clone()));
            connection.send(DELETE, &self.delete(&partitions))
        } else {
            self.number += 1;
            self.ledger.begin(Change::Commit(self.number, partitions.clone()));
            let text = self.metadata(self.number);
            let mut request = self.commit(self.number, &partitions);
            for partition in &mut request.topics[0].partitions {
                partition.committed_metadata = Some(&text);
            }
            connection.send(COMMIT, &request)
        }
    }

    fn metadata(&self, number: i64) -> String {
        format!("{number:0width$}", width = self.habits.padding)
    }

    fn commit(&self, number: i64, partitions: &BTreeSet<i32>) -> OffsetCommitRequest<'_> {
        commit(&self.group, number, partitions)
    }

    fn delete(&self, partitions: &BTreeSet<i32>) -> OffsetDeleteRequest<'_> {
        let partitions = partitions
            .iter()
            .map(|&partition_index| OffsetDeleteRequestPartition { partition_index })
            .collect();
        OffsetDeleteRequest {
            group_id: &self.group,
            topics: vec![OffsetDeleteRequestTopic { name: TOPIC, partitions }],
        }
    }

    fn receive(&mut self, connection: &mut Connection) -> Life<()> {
        match self.ledger.next() {
            Some(Change::Commit(..)) => {
                let body = connection.receive::<OffsetCommitRequest<'_>>(COMMIT)?;
                let response: OffsetCommitResponse<'_> = read(COMMIT, &body);
                let codes: BTreeSet<_> =
                    response.topics[0].partitions.iter().map(|partition| partition.error_code).collect();
                if codes != [0].into() {
                    return wrong(format!("{}: a commit was answered {codes:?}", self.group));
                }
                self.ledger.acknowledge();
            }
            Some(Change::Delete(_)) => {
                let body = connection.receive::<OffsetDeleteRequest<'_>>(DELETE)?;
                let response: OffsetDeleteResponse<'_> = read(DELETE, &body);
                // A group without offsets is none.
                match response.error_code {
                    0 | 69 => self.ledger.acknowledge(),
                    code => return wrong(format!("{}: a deletion was answered {code}", self.group)),
                }
            }
            // All that was sent is torn: only the end of the connection ends this.
            None => drop(connection.receive::<OffsetCommitRequest<'_>>(COMMIT)?),
        }
        Ok(())
    }
}

impl Account for Committer {
    fn kind(&self) -> &'static str {
        "commits and deletions"
    }

    fn run(&mut self, address: SocketAddr, answers: &Sender<()>, most: u64) -> Life<()> {
        let mut connection = Connection::open(address)?;
        let mut left = most;
        while left > 0 || self.ledger.waiting() > 0 {
            while self.ledger.waiting() < self.habits.window && left > 0 {
                left -= 1;
                self.send(&mut connection)?;
            }
            if self.habits.torn {
                connection.send_torn(COMMIT, &self.commit(i64::MAX, &[0].into()))?;
            }
            self.receive(&mut connection)?;
            // Whoever counts may have stopped.
            let _ = answers.send(());
        }
        Ok(())
    }

    fn settle(&mut self, connection: &mut Connection) -> Life<Settled> {
        let found = fetch(connection, &self.group, |number| self.metadata(number))?;
        self.ledger.settle(&found).or_else(|what| wrong(format!("{}: {what}", self.group)))
    }
}

/// A commit of the same number for these partitions.
pub(super) fn commit<'a>(group: &'a str, number: i64, partitions: &BTreeSet<i32>) -> OffsetCommitRequest<'a> {
    let partitions = partitions
        .iter()
        .map(|&partition_index| OffsetCommitRequestPartition {
            partition_index,
            committed_offset: number,
            ..Default::default()
        })
        .collect();
    OffsetCommitRequest {
        group_id: group,
        topics: vec![OffsetCommitRequestTopic { name: TOPIC, partitions, ..Default::default() }],
        ..Default::default()
    }
}

/// All offsets of a group, once it is loaded. Each must have the metadata it was committed with.
pub(super) fn fetch(
    connection: &mut Connection,
    group: &str,
    metadata: impl Fn(i64) -> String,
) -> Life<Offsets> {
    loop {
        let asked = OffsetFetchRequestGroup { group_id: group, topics: None, ..Default::default() };
        let body =
            connection.ask(FETCH, &OffsetFetchRequest { groups: vec![asked], ..Default::default() })?;
        let response: OffsetFetchResponse<'_> = read(FETCH, &body);
        match response.groups[0].error_code {
            0 => {}
            COORDINATOR_LOAD_IN_PROGRESS => continue,
            code => return wrong(format!("{group}: a fetch was answered {code}")),
        }
        let mut offsets = Offsets::new();
        for partition in response.groups[0].topics.iter().flat_map(|topic| &topic.partitions) {
            let number = partition.committed_offset;
            if partition.metadata != Some(metadata(number).as_str()) {
                return wrong(format!("{group}: {number} came back with {:?}", partition.metadata));
            }
            assert!((0..PARTITIONS).contains(&partition.partition_index));
            offsets.insert(partition.partition_index, number);
        }
        return Ok(offsets);
    }
}
