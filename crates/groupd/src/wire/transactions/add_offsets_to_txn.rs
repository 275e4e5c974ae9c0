//! AddOffsetsToTxn, versions 0 to 4.

use coordinator::ids::{GroupId, ProducerId};
use coordinator::transactions::{AddOffsetsToTxn, ProducerEpoch, TransactionError, TransactionalId};
use kafka_wire::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, WireError};

use super::code;

/// From here on a client knows `PRODUCER_FENCED`.
const FENCED: i16 = 2;

pub(super) fn decode(version: i16, body: &[u8]) -> Result<AddOffsetsToTxn, WireError> {
    let request = AddOffsetsToTxnRequest::decode(version, body)?;
    let producer = ProducerId(request.producer_id);
    Ok(AddOffsetsToTxn {
        transactional_id: TransactionalId::new(request.transactional_id),
        producer: ProducerEpoch { producer, epoch: request.producer_epoch },
        group: GroupId::new(request.group_id),
    })
}

pub(super) fn encode(
    answer: Result<(), TransactionError>,
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let error_code = code(answer, version, FENCED);
    AddOffsetsToTxnResponse { error_code, ..Default::default() }.encode(version, out)
}
