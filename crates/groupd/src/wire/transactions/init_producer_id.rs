//! InitProducerId, versions 0 to 6: with a transactional id its producer, without one any that is new.

use coordinator::ids::ProducerId;
use coordinator::transactions::{InitProducerId, ProducerEpoch, TransactionError, TransactionalId};
use kafka_wire::{InitProducerIdRequest, InitProducerIdResponse, WireError};

use super::{code, errors};

/// From here on a client knows `PRODUCER_FENCED`.
const FENCED: i16 = 4;

/// What a producer wants.
#[derive(Debug)]
pub(crate) enum InitAsked {
    /// An id, for idempotence.
    Id,
    /// To be the producer of a transactional id; the fresh id is still to be put in.
    Transactional(InitProducerId),
    /// What is not to be had.
    Refused(i16),
}

pub(super) fn decode(version: i16, body: &[u8]) -> Result<InitAsked, WireError> {
    let request = InitProducerIdRequest::decode(version, body)?;
    let Some(transactional_id) = request.transactional_id else { return Ok(InitAsked::Id) };
    // Two-phase commit (KIP-939) lets a transaction stay open for ever: as where Kafka's broker does not enable it.
    if request.enable_2_pc || request.keep_prepared_txn {
        return Ok(InitAsked::Refused(errors::TRANSACTIONAL_ID_AUTHORIZATION_FAILED));
    }
    let current = match (request.producer_id, request.producer_epoch) {
        (-1, -1) => None,
        (-1, _) | (_, -1) => return Ok(InitAsked::Refused(errors::INVALID_REQUEST)),
        (producer, epoch) => Some(ProducerEpoch { producer: ProducerId(producer), epoch }),
    };
    Ok(InitAsked::Transactional(InitProducerId {
        transactional_id: TransactionalId::new(transactional_id),
        transaction_timeout_ms: request.transaction_timeout_ms,
        current,
        fresh: ProducerEpoch::NONE.producer,
    }))
}

pub(super) fn encode(
    answer: Result<ProducerEpoch, TransactionError>,
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let ProducerEpoch { producer, epoch } = answer.unwrap_or(ProducerEpoch::NONE);
    write(code(answer.map(drop), version, FENCED), producer, epoch, version, out)
}

/// Writes the body of a refusal to `out`.
///
/// # Errors
///
/// What cannot be said in this version.
pub(crate) fn refused(error_code: i16, version: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
    let ProducerEpoch { producer, epoch } = ProducerEpoch::NONE;
    write(error_code, producer, epoch, version, out)
}

fn write(
    error_code: i16,
    ProducerId(producer_id): ProducerId,
    producer_epoch: i16,
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let response = InitProducerIdResponse { error_code, producer_id, producer_epoch, ..Default::default() };
    response.encode(version, out)
}
