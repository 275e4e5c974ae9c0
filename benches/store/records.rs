//! Records of a realistic size, and how sizes are printed.

use coordinator::ids::TopicPartition;
use coordinator::messages::{OffsetRecord, Record};

/// Offsets partitions of a server.
pub(crate) const PARTITIONS: i32 = 50;

/// One group's offset.
pub(crate) fn record(group: u32, partition: i32, offset: i64) -> Record {
    Record::Offset(OffsetRecord {
        group: format!("payments-service-{group:06}").as_str().into(),
        partition: TopicPartition { topic: "orders.europe.v2".into(), partition },
        offset: 1_000_000_000 + offset,
        leader_epoch: 17,
        metadata: "".into(),
        commit_timestamp_ms: 1_790_000_000_000 + offset,
        expire_timestamp_ms: None,
    })
}

#[expect(clippy::cast_precision_loss, reason = "figures to print")]
pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "figures to print")]
pub(crate) fn ratio(bytes: u64, of: u64) -> f64 {
    bytes as f64 / of as f64
}
