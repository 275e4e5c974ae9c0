//! EndTxn, versions 0 to 4.

use coordinator::ids::ProducerId;
use coordinator::messages::TransactionOutcome;
use coordinator::transactions::{EndTxn, ProducerEpoch, TransactionError, TransactionalId};
use kafka_wire::{EndTxnRequest, EndTxnResponse, WireError};

use super::code;

/// From here on a client knows `PRODUCER_FENCED`.
const FENCED: i16 = 2;

pub(super) fn decode(version: i16, body: &[u8]) -> Result<EndTxn, WireError> {
    let request = EndTxnRequest::decode(version, body)?;
    let producer = ProducerId(request.producer_id);
    Ok(EndTxn {
        transactional_id: TransactionalId::new(request.transactional_id),
        producer: ProducerEpoch { producer, epoch: request.producer_epoch },
        outcome: if request.committed { TransactionOutcome::Commit } else { TransactionOutcome::Abort },
    })
}

pub(super) fn encode(
    answer: Result<(), TransactionError>,
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let error_code = code(answer, version, FENCED);
    EndTxnResponse { error_code, ..Default::default() }.encode(version, out)
}
