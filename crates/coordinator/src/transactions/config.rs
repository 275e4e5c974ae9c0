//! What a transaction coordinator can be told to do differently.

use crate::Partitioner;

/// The settings of a [`TransactionCoordinator`](super::TransactionCoordinator). Times are milliseconds; names and
/// defaults are Kafka's broker settings'.
#[derive(Clone, Debug)]
pub struct TransactionConfig {
    /// `transaction.max.timeout.ms`: longer transaction timeouts are refused. Default 15 min.
    pub transaction_max_timeout_ms: i32,
    /// `transactional.id.expiration.ms`: an id that is not used for so long is forgotten. Default 7 days.
    pub transactional_id_expiration_ms: u64,
    /// How many ids may be known at once: further ones are told POLICY_VIOLATION, which clients do not try again.
    /// Each has one open transaction at most. Kafka has no such limit. Default 1,000,000.
    pub max_transactional_ids: usize,
    /// How long a write, or the markers of an ended transaction, may take before who waits for it is answered. Default
    /// 5 s.
    pub store_timeout_ms: u32,
    /// After how long a failed write that nobody asked for, or a failed marker, is tried again. Default 1 s.
    pub retry_ms: u32,
    /// Which partition a group belongs to: as the group coordinator's.
    pub partitioner: Partitioner,
    /// The wall clock, ms since the Unix epoch, at [`Timestamp::ZERO`](purgatory::Timestamp::ZERO).
    pub unix_ms_at_zero: i64,
}

impl Default for TransactionConfig {
    fn default() -> Self {
        Self {
            transaction_max_timeout_ms: 900_000,
            transactional_id_expiration_ms: 7 * 24 * 60 * 60 * 1_000,
            max_transactional_ids: 1_000_000,
            store_timeout_ms: 5_000,
            retry_ms: 1_000,
            partitioner: Partitioner::default(),
            unix_ms_at_zero: 0,
        }
    }
}
