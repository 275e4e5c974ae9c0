//! The `InitProducerId` API: an identity for an idempotent or transactional producer.
//!
//! Version 6 is Kafka's first with two-phase commit (KIP-939).

use crate::structure::structures;

structures! {
    /// Asks for a producer id, or a new epoch of one.
    InitProducerIdRequest<'a> {
        transactional_id: Option<&'a str> = Some("") => 0.., nullable 0..;
        transaction_timeout_ms: i32 => 0..;
        producer_id: i64 = -1 => 3..;
        producer_epoch: i16 = -1 => 3..;
        enable_2_pc: bool => 6..;
        keep_prepared_txn: bool => 6..;
    }

    /// The id and its epoch.
    InitProducerIdResponse {
        throttle_time_ms: i32 => 0.., ignorable;
        error_code: i16 => 0..;
        producer_id: i64 = -1 => 0..;
        producer_epoch: i16 => 0..;
        ongoing_txn_producer_id: i64 = -1 => 6..;
        ongoing_txn_producer_epoch: i16 = -1 => 6..;
    }
}
