//! What a shard holds, published for whoever watches: at most once a second, and not by a shard where nothing happens.

use coordinator::Coordinator;
use coordinator::transactions::TransactionCoordinator;
use metrics::{Gauge, gauge};
use purgatory::Timestamp;

use super::fetches::Fetches;
use crate::telemetry::name;

/// Ms from the first change to its publication.
const DELAY_MS: u64 = 1_000;

pub(super) struct Gauges {
    groups: Gauge,
    members: Gauge,
    delayed: Gauge,
    transactional_ids: Gauge,
    transactions_open: Gauge,
    due: Option<Timestamp>,
}

impl Gauges {
    /// Those of shard number `shard`.
    pub(super) fn new(shard: usize) -> Self {
        let shard = shard.to_string();
        Self {
            groups: gauge!(name::GROUPS, "shard" => shard.clone()),
            members: gauge!(name::MEMBERS, "shard" => shard.clone()),
            delayed: gauge!(name::DELAYED, "shard" => shard.clone()),
            transactional_ids: gauge!(name::TRANSACTIONAL_IDS, "shard" => shard.clone()),
            transactions_open: gauge!(name::TRANSACTIONS_OPEN, "shard" => shard),
            due: None,
        }
    }

    /// Something happened: it is published before long.
    pub(super) fn touch(&mut self, now: Timestamp) {
        self.due.get_or_insert(now.saturating_add(DELAY_MS));
    }

    /// When [`Gauges::publish`] has something to do.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.due
    }

    /// Publishes, if it is due.
    pub(super) fn publish(
        &mut self,
        now: Timestamp,
        coordinator: &Coordinator,
        transactions: &TransactionCoordinator,
        fetches: &Fetches,
    ) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        self.due = None;
        let stats = coordinator.stats();
        self.groups.set(value(stats.groups));
        self.members.set(value(stats.members));
        self.delayed.set(value(stats.operations + transactions.pending() + fetches.parked()));
        self.transactional_ids.set(value(transactions.len()));
        self.transactions_open.set(value(transactions.open()));
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 of anything do not fit into memory")]
fn value(count: usize) -> f64 {
    count as f64
}
