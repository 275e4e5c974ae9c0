//! Transactions that commit offsets, byte by byte: from InitProducerId to what readers see.

mod ends;
mod epochs;
mod markers;
mod refusals;
mod restarts;

use groupd::server::Server;
use kafka_wire::add_partitions_to_txn::AddPartitionsToTxnTopic;
use kafka_wire::offset_fetch::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_wire::txn_offset_commit::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use kafka_wire::{
    AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse,
    EndTxnRequest, EndTxnResponse, InitProducerIdRequest, InitProducerIdResponse, OffsetFetchRequest,
    OffsetFetchResponse, TxnOffsetCommitRequest, TxnOffsetCommitResponse,
};

use super::{Client, Sent, read, settings, start};

pub(super) const INIT: i16 = 5;
const ADD_PARTITIONS: i16 = 3;
const ADD_OFFSETS: i16 = 4;
const END: i16 = 4;
const COMMIT: i16 = 4;

const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const COORDINATOR_LOAD_IN_PROGRESS: i16 = 14;
const INVALID_REQUEST: i16 = 42;
const POLICY_VIOLATION: i16 = 44;
const INVALID_PRODUCER_EPOCH: i16 = 47;
const INVALID_TXN_STATE: i16 = 48;
const INVALID_PRODUCER_ID_MAPPING: i16 = 49;
const INVALID_TRANSACTION_TIMEOUT: i16 = 50;
const CONCURRENT_TRANSACTIONS: i16 = 51;
const UNSTABLE_OFFSET_COMMIT: i16 = 88;
const PRODUCER_FENCED: i16 = 90;
const TRANSACTION_ABORTABLE: i16 = 120;

/// A producer of the transactional id `id`.
struct Producer {
    client: Client,
    id: &'static str,
    number: i64,
    epoch: i16,
}

impl Producer {
    /// Connects, initialises the id, and waits for what the one before left to be aborted.
    fn new(server: &Server, id: &'static str) -> Self {
        let mut this = Self::connect(server, id);
        assert_eq!(this.init_until_free(60_000), 0);
        this
    }

    /// Connects, as nobody yet.
    fn connect(server: &Server, id: &'static str) -> Self {
        Self { client: Client::connect(server.address()), id, number: -1, epoch: -1 }
    }

    /// The same producer, on another connection.
    fn again(&self, server: &Server) -> Self {
        Self { client: Client::connect(server.address()), ..*self }
    }

    fn init(&mut self, timeout_ms: i32) -> i16 {
        let (id, producer_id, producer_epoch) = (Some(self.id), self.number, self.epoch);
        self.init_as(&InitProducerIdRequest {
            transactional_id: id,
            transaction_timeout_ms: timeout_ms,
            producer_id,
            producer_epoch,
            ..Default::default()
        })
    }

    fn init_as(&mut self, request: &InitProducerIdRequest<'_>) -> i16 {
        let body = self.client.ask(INIT, request);
        let response: InitProducerIdResponse = read(INIT, &body);
        if response.error_code == 0 {
            (self.number, self.epoch) = (response.producer_id, response.producer_epoch);
        } else {
            assert_eq!((response.producer_id, response.producer_epoch), (-1, -1));
        }
        response.error_code
    }

    fn init_until_free(&mut self, timeout_ms: i32) -> i16 {
        loop {
            match self.init(timeout_ms) {
                CONCURRENT_TRANSACTIONS | COORDINATOR_LOAD_IN_PROGRESS => {}
                error => return error,
            }
        }
    }

    fn add(&mut self, group: &str) -> i16 {
        let request = AddOffsetsToTxnRequest {
            transactional_id: self.id,
            producer_id: self.number,
            producer_epoch: self.epoch,
            group_id: group,
        };
        let body = self.client.ask(ADD_OFFSETS, &request);
        read::<AddOffsetsToTxnResponse>(ADD_OFFSETS, &body).error_code
    }

    /// AddPartitionsToTxn for partitions of `orders`.
    fn add_partitions(&mut self, partitions: &[i32]) -> Vec<i16> {
        let request = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: self.id,
            v3_and_below_producer_id: self.number,
            v3_and_below_producer_epoch: self.epoch,
            v3_and_below_topics: vec![AddPartitionsToTxnTopic {
                name: "orders",
                partitions: partitions.to_vec(),
            }],
            ..Default::default()
        };
        let body = self.client.ask(ADD_PARTITIONS, &request);
        let response: AddPartitionsToTxnResponse<'_> = read(ADD_PARTITIONS, &body);
        let results = &response.results_by_topic_v3_and_below[0].results_by_partition;
        results.iter().map(|result| result.partition_error_code).collect()
    }

    fn send_commit(&mut self, group: &str, offset: i64) -> Sent {
        self.send_commit_as(COMMIT, group, offset)
    }

    fn send_commit_as(&mut self, version: i16, group: &str, offset: i64) -> Sent {
        let partition = TxnOffsetCommitRequestPartition {
            partition_index: 2,
            committed_offset: offset,
            ..Default::default()
        };
        let request = TxnOffsetCommitRequest {
            transactional_id: self.id,
            group_id: group,
            producer_id: self.number,
            producer_epoch: self.epoch,
            topics: vec![TxnOffsetCommitRequestTopic { name: "orders", partitions: vec![partition] }],
            ..Default::default()
        };
        self.client.send(version, &request)
    }

    fn committed(&mut self, sent: Sent) -> i16 {
        let body = self.client.receive(sent);
        read::<TxnOffsetCommitResponse<'_>>(COMMIT, &body).topics[0].partitions[0].error_code
    }

    /// Commits an offset of partition 2.
    fn commit(&mut self, group: &str, offset: i64) -> i16 {
        let sent = self.send_commit(group, offset);
        self.committed(sent)
    }

    fn send_end(&mut self, committed: bool) -> Sent {
        self.send_end_as(END, committed)
    }

    fn send_end_as(&mut self, version: i16, committed: bool) -> Sent {
        let request = EndTxnRequest {
            transactional_id: self.id,
            producer_id: self.number,
            producer_epoch: self.epoch,
            committed,
        };
        self.client.send(version, &request)
    }

    fn ended(&mut self, sent: Sent) -> i16 {
        let body = self.client.receive(sent);
        read::<EndTxnResponse>(END, &body).error_code
    }

    fn end(&mut self, committed: bool) -> i16 {
        let sent = self.send_end(committed);
        self.ended(sent)
    }

    /// As a client does it: again and again while the same end is under way.
    fn end_until_done(&mut self, committed: bool) -> i16 {
        loop {
            match self.end(committed) {
                CONCURRENT_TRANSACTIONS | COORDINATOR_LOAD_IN_PROGRESS => {}
                error => return error,
            }
        }
    }
}

/// What a reader of the committed offset of partition 2 sees who waits for transactions.
fn fetch(client: &mut Client, group: &str) -> Result<i64, i16> {
    let topic = OffsetFetchRequestTopics { name: "orders", partition_indexes: vec![2], ..Default::default() };
    let group = OffsetFetchRequestGroup { group_id: group, topics: Some(vec![topic]), ..Default::default() };
    let request = OffsetFetchRequest { groups: vec![group], require_stable: true, ..Default::default() };
    let body = client.ask(9, &request);
    let response: OffsetFetchResponse<'_> = read(9, &body);
    if response.groups[0].error_code != 0 {
        return Err(response.groups[0].error_code);
    }
    let partition = &response.groups[0].topics[0].partitions[0];
    if partition.error_code == 0 { Ok(partition.committed_offset) } else { Err(partition.error_code) }
}

/// Reads until no transaction is in the way any more.
fn fetch_stable(client: &mut Client, group: &str) -> i64 {
    loop {
        match fetch(client, group) {
            Ok(offset) => return offset,
            Err(UNSTABLE_OFFSET_COMMIT | COORDINATOR_LOAD_IN_PROGRESS) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// A transaction that is left open, with an offset of `group` in it, for 60 s at most.
pub(super) struct Left {
    _producer: Producer,
    reader: Client,
    group: &'static str,
}

impl Left {
    pub(super) fn open(server: &Server, id: &'static str, group: &'static str) -> Self {
        let mut producer = Producer::new(server, id);
        assert_eq!((producer.add(group), producer.commit(group, 7)), (0, 0));
        Self { _producer: producer, reader: Client::connect(server.address()), group }
    }

    /// Whether readers still wait for it; else nothing of it is seen.
    pub(super) fn is_open(&mut self) -> bool {
        match fetch(&mut self.reader, self.group) {
            Err(UNSTABLE_OFFSET_COMMIT) => true,
            seen => {
                assert_eq!(seen, Ok(-1));
                false
            }
        }
    }
}
