//! What transactional producers ask and are told, one file per API, but for TxnOffsetCommit: that is a group's.

mod add_offsets_to_txn;
mod add_partitions_to_txn;
mod end_txn;
mod init_producer_id;

use coordinator::transactions::{TransactionError, TransactionRequest, TransactionResponse};
use kafka_wire::WireError;

use super::errors;
use super::limits::Unreadable;
use crate::topics::Topics;

pub(crate) use init_producer_id::{InitAsked, refused as init_refused};

/// The APIs that a transaction coordinator answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "Kafka's own names")]
pub(crate) enum TransactionApi {
    AddPartitionsToTxn,
    AddOffsetsToTxn,
    EndTxn,
}

/// What the answer needs from the request.
#[derive(Debug)]
pub(crate) enum Asked {
    InitProducerId,
    AddPartitionsToTxn(add_partitions_to_txn::Asked),
    AddOffsetsToTxn,
    EndTxn,
}

/// Reads the body of a request. No question: the wire has the answer.
///
/// # Errors
///
/// What is wrong with the bytes.
pub(crate) fn decode(
    api: TransactionApi,
    version: i16,
    body: &[u8],
    topics: &Topics,
) -> Result<(Option<TransactionRequest>, Asked), Unreadable> {
    match api {
        TransactionApi::AddPartitionsToTxn => {
            let (question, asked) = add_partitions_to_txn::decode(version, body, topics)?;
            let question = question.map(TransactionRequest::AddPartitionsToTxn);
            Ok((question, Asked::AddPartitionsToTxn(asked)))
        }
        TransactionApi::AddOffsetsToTxn => {
            let question = add_offsets_to_txn::decode(version, body)?;
            Ok((Some(TransactionRequest::AddOffsetsToTxn(question)), Asked::AddOffsetsToTxn))
        }
        TransactionApi::EndTxn => {
            let question = end_txn::decode(version, body)?;
            Ok((Some(TransactionRequest::EndTxn(question)), Asked::EndTxn))
        }
    }
}

/// Reads the body of InitProducerId, which needs an id that nobody has had before it can be asked.
///
/// # Errors
///
/// What is wrong with the bytes.
pub(crate) fn decode_init(version: i16, body: &[u8]) -> Result<InitAsked, Unreadable> {
    Ok(init_producer_id::decode(version, body)?)
}

impl Asked {
    /// Writes the body of the response to `out`. `response` is `None` where nothing was asked of the coordinator.
    ///
    /// # Errors
    ///
    /// What cannot be said in this version.
    ///
    /// # Panics
    ///
    /// If `response` is not that to the question.
    pub(crate) fn encode(
        &self,
        response: Option<TransactionResponse>,
        version: i16,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        match (self, response) {
            (Self::InitProducerId, Some(TransactionResponse::InitProducerId(answer))) => {
                init_producer_id::encode(answer, version, out)
            }
            (Self::AddPartitionsToTxn(asked), None) => {
                add_partitions_to_txn::encode(asked, Ok(()), version, out)
            }
            (Self::AddPartitionsToTxn(asked), Some(TransactionResponse::AddPartitionsToTxn(answer))) => {
                add_partitions_to_txn::encode(asked, answer, version, out)
            }
            (Self::AddOffsetsToTxn, Some(TransactionResponse::AddOffsetsToTxn(answer))) => {
                add_offsets_to_txn::encode(answer, version, out)
            }
            (Self::EndTxn, Some(TransactionResponse::EndTxn(answer))) => {
                end_txn::encode(answer, version, out)
            }
            (asked, response) => unreachable!("invariant: {response:?} is no answer to {asked:?}"),
        }
    }
}

/// The code of an outcome. `fenced_from` is the first version whose clients know `PRODUCER_FENCED`: older ones know
/// the same as `INVALID_PRODUCER_EPOCH`.
fn code(answer: Result<(), TransactionError>, version: i16, fenced_from: i16) -> i16 {
    match answer {
        Ok(()) => errors::NONE,
        Err(TransactionError::ProducerFenced) if version < fenced_from => errors::INVALID_PRODUCER_EPOCH,
        Err(error) => errors::transaction_error(error),
    }
}
