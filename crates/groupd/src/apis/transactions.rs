//! InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn: each asks the coordinator of its transactional id.

use coordinator::messages::StoreError;
use coordinator::transactions::{
    InitProducerId, NextEpoch, ProducerEpoch, TransactionRequest, TransactionResponse, TransactionalId,
};
use kafka_wire::WireError;

use super::head::{Head, respond};
use super::{Client, Refused, unreadable};
use crate::connection::Pending;
use crate::node::Node;
use crate::wire::errors;
use crate::wire::transactions::{self, Asked, InitAsked, TransactionApi};

/// Begins InitProducerId.
pub(super) async fn init(
    node: &Node,
    client: &mut Client,
    head: Head,
    body: &[u8],
) -> Result<Pending, Refused> {
    let asked = transactions::decode_init(head.version, body).map_err(unreadable(head))?;
    let refused = match asked {
        InitAsked::Refused(error_code) => error_code,
        InitAsked::Id => match node.producer_ids.next().await {
            Ok(producer) => {
                let answer = TransactionResponse::InitProducerId(Ok(ProducerEpoch { producer, epoch: 0 }));
                return ready(head, &Asked::InitProducerId, Some(answer));
            }
            Err(error) => no_producer_id(error),
        },
        InitAsked::Transactional(request) => match node.producer_ids.next().await {
            Ok(fresh) => {
                let request = TransactionRequest::InitProducerId(InitProducerId { fresh, ..request });
                return Ok(ask(node, client, head, request, Asked::InitProducerId).await);
            }
            Err(error) => no_producer_id(error),
        },
    };
    let mut out = Vec::new();
    let written: Result<(), WireError> =
        respond(head, &mut out, |out| transactions::init_refused(refused, head.version, out));
    written.map_err(unreadable(head))?;
    Ok(Pending::ready(head, out))
}

/// Begins one of the others.
pub(super) async fn begin(
    node: &Node,
    client: &mut Client,
    head: Head,
    api: TransactionApi,
    body: &[u8],
) -> Result<Pending, Refused> {
    let decoded = transactions::decode(api, head.version, body, &node.catalog.topics());
    match decoded.map_err(unreadable(head))? {
        (Some(TransactionRequest::EndTxn(mut request)), asked) => {
            if let NextEpoch::Raised { fresh } = &mut request.next_epoch
                && request.producer.is_last()
            {
                // None: the store gives none now, and the client is told to come again.
                *fresh = node.producer_ids.next().await.inspect_err(|error| log_no_producer_id(*error)).ok();
            }
            Ok(ask(node, client, head, TransactionRequest::EndTxn(request), asked).await)
        }
        (Some(question), asked) => Ok(ask(node, client, head, question, asked).await),
        (None, asked) => ready(head, &asked, None),
    }
}

async fn ask(
    node: &Node,
    client: &mut Client,
    head: Head,
    question: TransactionRequest,
    asked: Asked,
) -> Pending {
    let shard = node.shards.of_transactions(transactional_id(&question));
    Pending::transaction(head, shard.ask_transactions(client.next_number(), question).await, asked)
}

fn ready(head: Head, asked: &Asked, answer: Option<TransactionResponse>) -> Result<Pending, Refused> {
    let mut out = Vec::new();
    respond_transaction(head, asked, answer, &mut out).map_err(unreadable(head))?;
    Ok(Pending::ready(head, out))
}

/// Writes the answer of the coordinator to `out`.
///
/// # Errors
///
/// What cannot be said in this version.
pub(crate) fn respond_transaction(
    head: Head,
    asked: &Asked,
    answer: Option<TransactionResponse>,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    respond(head, out, |out| asked.encode(answer, head.version, out))
}

fn transactional_id(question: &TransactionRequest) -> &TransactionalId {
    match question {
        TransactionRequest::InitProducerId(request) => &request.transactional_id,
        TransactionRequest::AddPartitionsToTxn(request) => &request.transactional_id,
        TransactionRequest::AddOffsetsToTxn(request)
        | TransactionRequest::VerifyOffsets(request)
        | TransactionRequest::AddAndVerifyOffsets(request) => &request.transactional_id,
        TransactionRequest::EndTxn(request) => &request.transactional_id,
        TransactionRequest::WriteTxnMarkers(_) => unreachable!("every shard is asked about a marker"),
    }
}

/// None could be taken from the store: the client asks again, as where Kafka's controller cannot be reached.
fn no_producer_id(error: StoreError) -> i16 {
    log_no_producer_id(error);
    errors::COORDINATOR_LOAD_IN_PROGRESS
}

fn log_no_producer_id(error: StoreError) {
    tracing::warn!(?error, "no producer ids could be taken from the store");
}
