//! EndTxn, versions 0 to 5: from 5 on the producer goes on under another epoch (`transaction.version` 2, KIP-890).

use coordinator::ids::ProducerId;
use coordinator::messages::TransactionOutcome;
use coordinator::transactions::{EndTxn, NextEpoch, ProducerEpoch, TransactionError, TransactionalId};
use kafka_wire::{EndTxnRequest, EndTxnResponse, WireError};

use super::code;

/// From here on a client knows `PRODUCER_FENCED`.
const FENCED: i16 = 2;
/// From here on each transaction has its own epoch.
const RAISED: i16 = 5;

pub(super) fn decode(version: i16, body: &[u8]) -> Result<EndTxn, WireError> {
    let request = EndTxnRequest::decode(version, body)?;
    let producer = ProducerId(request.producer_id);
    Ok(EndTxn {
        transactional_id: TransactionalId::new(request.transactional_id),
        producer: ProducerEpoch { producer, epoch: request.producer_epoch },
        outcome: if request.committed { TransactionOutcome::Commit } else { TransactionOutcome::Abort },
        // The fresh id is still to be put in, if one is needed.
        next_epoch: if version >= RAISED { NextEpoch::Raised { fresh: None } } else { NextEpoch::Same },
    })
}

pub(super) fn encode(
    answer: Result<ProducerEpoch, TransactionError>,
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let error_code = code(answer.map(drop), version, FENCED);
    let ProducerEpoch { producer: ProducerId(producer_id), epoch: producer_epoch } =
        answer.unwrap_or(ProducerEpoch::NONE);
    EndTxnResponse { error_code, producer_id, producer_epoch, ..Default::default() }.encode(version, out)
}
