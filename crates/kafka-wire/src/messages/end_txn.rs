//! The `EndTxn` API: commit or abort.

use crate::structure::structures;

structures! {
    /// Ends a transaction.
    EndTxnRequest<'a> {
        transactional_id: &'a str => 0..;
        producer_id: i64 => 0..;
        producer_epoch: i16 => 0..;
        committed: bool => 0..;
    }

    /// Whether it has ended; from version 5 on with the epoch to go on with (KIP-890).
    EndTxnResponse {
        throttle_time_ms: i32 => 0..;
        error_code: i16 => 0..;
        producer_id: i64 = -1 => 5.., ignorable;
        producer_epoch: i16 = -1 => 5.., ignorable;
    }
}
