//! AddPartitionsToTxn, versions 0 to 3: later ones are for brokers among themselves.
//!
//! No records are kept here, so that nothing is added: a transaction begins, and Produce will refuse the records. All
//! partitions are added or none, as in Kafka.

use coordinator::ids::ProducerId;
use coordinator::transactions::{AddPartitionsToTxn, ProducerEpoch, TransactionError, TransactionalId};
use kafka_wire::add_partitions_to_txn::{AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult};
use kafka_wire::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, WireError};

use super::{code, errors};
use crate::topics::Topics;
use crate::wire::limits::{self, Unreadable, at_most};

/// From here on a client knows `PRODUCER_FENCED`.
const FENCED: i16 = 2;

/// What was asked, topic by topic, for the answer.
#[derive(Debug)]
pub(crate) struct Asked {
    topics: Vec<AskedTopic>,
    /// Some do not exist, so that none is added.
    refused: bool,
}

#[derive(Debug)]
struct AskedTopic {
    name: String,
    /// Each with whether it exists.
    partitions: Vec<(i32, bool)>,
}

pub(super) fn decode(
    version: i16,
    body: &[u8],
    topics: &Topics,
) -> Result<(Option<AddPartitionsToTxn>, Asked), Unreadable> {
    let request = AddPartitionsToTxnRequest::decode(version, body)?;
    let named = &request.v3_and_below_topics;
    at_most(limits::PARTITIONS, "partitions", named.iter().map(|topic| topic.partitions.len()).sum())?;
    let asked_topics = named.iter().map(|topic| {
        let count = topics.get(topic.name).map_or(0, |known| known.partitions);
        let partitions = topic.partitions.iter().map(|index| (*index, (0..count).contains(index)));
        AskedTopic { name: topic.name.to_owned(), partitions: partitions.collect() }
    });
    let asked_topics: Vec<AskedTopic> = asked_topics.collect();
    let mut all = asked_topics.iter().flat_map(|topic| &topic.partitions);
    let refused = !all.all(|(_, exists)| *exists);
    let producer = ProducerId(request.v3_and_below_producer_id);
    let question = AddPartitionsToTxn {
        transactional_id: TransactionalId::new(request.v3_and_below_transactional_id),
        producer: ProducerEpoch { producer, epoch: request.v3_and_below_producer_epoch },
    };
    let question = (!refused && !asked_topics.is_empty()).then_some(question);
    Ok((question, Asked { topics: asked_topics, refused }))
}

pub(super) fn encode(
    asked: &Asked,
    answer: Result<(), TransactionError>,
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let answer = code(answer, version, FENCED);
    let partition = |(partition_index, exists): &(i32, bool)| {
        let partition_error_code = match (asked.refused, exists) {
            (false, _) => answer,
            (true, true) => errors::OPERATION_NOT_ATTEMPTED,
            (true, false) => errors::UNKNOWN_TOPIC_OR_PARTITION,
        };
        AddPartitionsToTxnPartitionResult { partition_index: *partition_index, partition_error_code }
    };
    let topics = asked.topics.iter().map(|topic| AddPartitionsToTxnTopicResult {
        name: &topic.name,
        results_by_partition: topic.partitions.iter().map(partition).collect(),
    });
    let results_by_topic_v3_and_below = topics.collect();
    AddPartitionsToTxnResponse { results_by_topic_v3_and_below, ..Default::default() }.encode(version, out)
}
