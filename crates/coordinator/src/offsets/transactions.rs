//! The end of a transaction, for the offsets committed in it.

use crate::coordinator::Coordinator;
use crate::ids::{OffsetsPartition, ProducerId};
use crate::messages::TransactionOutcome;

/// The transaction of `producer` ended in `partitions`.
pub(crate) fn end(
    _coordinator: &mut Coordinator,
    _producer: ProducerId,
    _partitions: &[OffsetsPartition],
    _outcome: TransactionOutcome,
) {
}
