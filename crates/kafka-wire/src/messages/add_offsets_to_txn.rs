//! The `AddOffsetsToTxn` API: a transaction is going to commit offsets of a group.

use crate::structure::structures;

structures! {
    /// Adds a group to a transaction.
    AddOffsetsToTxnRequest<'a> {
        transactional_id: &'a str => 0..;
        producer_id: i64 => 0..;
        producer_epoch: i16 => 0..;
        group_id: &'a str => 0..;
    }

    /// Whether it was added.
    AddOffsetsToTxnResponse {
        throttle_time_ms: i32 => 0..;
        error_code: i16 => 0..;
    }
}
