//! InitProducerId, versions 0 to 6: any producer gets an id, which is all that an idempotent one needs to be told
//! by Produce that no records are kept here.

use kafka_wire::{InitProducerIdRequest, InitProducerIdResponse, WireError};

use crate::node::Node;

pub(super) fn answer(node: &Node, version: i16, body: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    InitProducerIdRequest::decode(version, body)?;
    let producer_id = node.next_producer_id();
    InitProducerIdResponse {
        producer_id,
        producer_epoch: 0,
        ongoing_txn_producer_id: -1,
        ..Default::default()
    }
    .encode(version, out)
}
