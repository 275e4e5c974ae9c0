//! WriteTxnMarkers, versions 1 and 2: an operator ends a transaction (`kafka-transactions --abort`).
//!
//! A marker is not put into one partition of a transaction that is known here: the coordinator of the transaction aborts
//! all of it, or refuses. What waits for a producer that nobody here knows (from an import, perhaps) is ended where the
//! marker says. Committing is for producers.

use coordinator::Partitioner;
use coordinator::ids::{OffsetsPartition, ProducerId};
use coordinator::messages::TransactionOutcome;
use coordinator::transactions::{
    ProducerEpoch, TransactionError, TransactionRequest, TransactionResponse, WriteTxnMarkers,
};
use kafka_wire::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerPartitionResult, WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
};
use kafka_wire::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};

use super::head::{Head, respond};
use super::{Client, Refused, unreadable};
use crate::node::Node;
use crate::wire::errors;
use crate::wire::limits::{self, Unreadable, at_most};

/// The topic whose partitions hold offsets.
const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// What a marker came to.
#[derive(Clone, Copy)]
enum Verdict {
    /// The coordinator of its transaction has this to say.
    Known(i16),
    /// There is no such transaction here.
    Unknown,
}

pub(super) async fn answer(
    node: &Node,
    client: &mut Client,
    head: Head,
    body: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let decoded = WriteTxnMarkersRequest::decode(head.version, body).map_err(Unreadable::from);
    let request = decoded.and_then(bounded).map_err(unreadable(head))?;
    let mut markers = Vec::with_capacity(request.markers.len());
    for marker in &request.markers {
        markers.push(end(node, client, marker).await);
    }
    respond(head, out, |out| WriteTxnMarkersResponse { markers }.encode(head.version, out))
        .map_err(unreadable(head))
}

fn bounded(request: WriteTxnMarkersRequest<'_>) -> Result<WriteTxnMarkersRequest<'_>, Unreadable> {
    at_most(limits::MARKERS, "markers", request.markers.len())?;
    let topics = request.markers.iter().flat_map(|marker| &marker.topics);
    at_most(limits::PARTITIONS, "partitions", topics.map(|topic| topic.partition_indexes.len()).sum())?;
    Ok(request)
}

async fn end<'a>(
    node: &Node,
    client: &mut Client,
    marker: &WritableTxnMarker<'a>,
) -> WritableTxnMarkerResult<'a> {
    let producer = ProducerEpoch { producer: ProducerId(marker.producer_id), epoch: marker.producer_epoch };
    let outcome =
        if marker.transaction_result { TransactionOutcome::Commit } else { TransactionOutcome::Abort };
    let concerns_offsets = marker.topics.iter().any(|topic| topic.name == OFFSETS_TOPIC);
    let request = WriteTxnMarkers { producer, outcome };
    let verdict =
        if concerns_offsets { judge(node, client, request).await } else { Verdict::Known(errors::NONE) };
    let mut topics = Vec::with_capacity(marker.topics.len());
    for topic in &marker.topics {
        let mut partitions = Vec::with_capacity(topic.partition_indexes.len());
        for &partition_index in &topic.partition_indexes {
            let error_code = if topic.name == OFFSETS_TOPIC {
                end_offsets(node, request, verdict, partition_index).await
            } else {
                // No records are kept, so that none wait.
                let known = node.catalog.topics().get(topic.name).map_or(0, |topic| topic.partitions);
                if (0..known).contains(&partition_index) {
                    errors::NONE
                } else {
                    errors::UNKNOWN_TOPIC_OR_PARTITION
                }
            };
            partitions.push(WritableTxnMarkerPartitionResult { partition_index, error_code });
        }
        topics.push(WritableTxnMarkerTopicResult { name: topic.name, partitions });
    }
    WritableTxnMarkerResult { producer_id: marker.producer_id, topics }
}

/// Asks every shard: only one can know the producer.
async fn judge(node: &Node, client: &mut Client, request: WriteTxnMarkers) -> Verdict {
    for shard in node.shards.all() {
        let question = TransactionRequest::WriteTxnMarkers(request);
        let answer = shard.ask_transactions(client.next_number(), question).await.await;
        match answer {
            Ok(TransactionResponse::WriteTxnMarkers(None)) => {}
            Ok(TransactionResponse::WriteTxnMarkers(Some(answer))) => {
                return Verdict::Known(answer.map_or_else(code, |()| errors::NONE));
            }
            Ok(other) => unreachable!("invariant: {other:?} is no answer to WriteTxnMarkers"),
            Err(_) => return Verdict::Known(errors::transaction_error(TransactionError::NotCoordinator)),
        }
    }
    Verdict::Unknown
}

async fn end_offsets(node: &Node, request: WriteTxnMarkers, verdict: Verdict, partition: i32) -> i16 {
    let Partitioner::Kafka { partitions } = node.shards.partitioner() else {
        unreachable!("invariant: a server spreads groups as Kafka does")
    };
    if !(0..*partitions).contains(&partition) {
        return errors::UNKNOWN_TOPIC_OR_PARTITION;
    }
    match (verdict, request.outcome) {
        (Verdict::Known(code), _) => code,
        (Verdict::Unknown, TransactionOutcome::Commit) => {
            errors::transaction_error(TransactionError::InvalidTxnState)
        }
        (Verdict::Unknown, TransactionOutcome::Abort) => {
            match node.shards.mark(request, OffsetsPartition(partition)).await {
                Ok(()) => errors::NONE,
                Err(error) => errors::store_error(error),
            }
        }
    }
}

/// A marker knows a stale epoch as `INVALID_PRODUCER_EPOCH`, whatever its version.
fn code(error: TransactionError) -> i16 {
    match error {
        TransactionError::ProducerFenced => errors::INVALID_PRODUCER_EPOCH,
        error => errors::transaction_error(error),
    }
}
