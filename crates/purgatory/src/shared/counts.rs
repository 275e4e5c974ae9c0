//! What a shared purgatory counts: a stripe per shard, and the way out through `metrics`.

use super::SharedStats;
use crate::Cause;
use crate::sync::{AtomicU64, Ordering};

/// The counts that are kept apart for each shard, so that threads at different shards do not meet.
#[derive(Debug, Default)]
pub(crate) struct ShardCounts {
    /// Operations that came in here; written under the shard's lock.
    entered: AtomicU64,
    /// Those that left here, by cause. They may have come in elsewhere: only sums mean anything.
    left: [AtomicU64; 5],
    worst_lateness: AtomicU64,
}

/// How many leave together, by cause.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Departures([u64; 5]);

impl Departures {
    pub(crate) fn one(cause: Cause) -> Self {
        let mut departures = Self::default();
        departures.add(cause);
        departures
    }

    pub(crate) fn add(&mut self, cause: Cause) {
        self.0[place(cause)] += 1;
    }
}

impl ShardCounts {
    /// The caller holds the shard's lock.
    fn entered(&self) {
        self.entered.store(self.entered.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn left(&self, place: usize, count: u64) {
        // Release: who sees that nothing waits also sees that it is gone from all keys.
        self.left[place].fetch_add(count, Ordering::Release);
    }

    fn has_left(&self, cause: Cause) -> u64 {
        self.left[place(cause)].load(Ordering::Acquire)
    }

    fn all_left(&self) -> u64 {
        self.left.iter().map(|left| left.load(Ordering::Acquire)).sum()
    }
}

/// The counts of all shards together.
pub(crate) struct Counts {
    /// Operations that were ready before they had to wait.
    passed: AtomicU64,
    gauge: metrics::Gauge,
    counters: [metrics::Counter; 5],
    lateness: metrics::Histogram,
}

impl Counts {
    pub(crate) fn new(name: &str) -> Self {
        let name = name.to_owned();
        let counter = |cause: &'static str| metrics::counter!("purgatory_exits_total", "purgatory" => name.clone(), "cause" => cause);
        Self {
            passed: AtomicU64::new(0),
            counters: ["satisfied", "expired", "cancelled", "shutdown", "panicked"].map(counter),
            gauge: metrics::gauge!("purgatory_pending", "purgatory" => name.clone()),
            lateness: metrics::histogram!("purgatory_lateness_ticks", "purgatory" => name),
        }
    }

    /// One came in; the caller holds the shard's lock.
    pub(crate) fn entered(&self, shard: &ShardCounts) {
        shard.entered();
        self.gauge.increment(1.0);
    }

    /// It was ready before it had to wait.
    pub(crate) fn passed(&self) {
        self.passed.fetch_add(1, Ordering::Relaxed);
        self.counters[place(Cause::Satisfied)].increment(1);
    }

    pub(crate) fn left(&self, shard: &ShardCounts, departures: Departures) {
        for (place, count) in departures.0.into_iter().enumerate().filter(|&(_, count)| count > 0) {
            self.counters[place].increment(count);
            #[expect(clippy::cast_precision_loss, reason = "a batch is small")]
            self.gauge.decrement(count as f64);
            shard.left(place, count);
        }
    }

    /// Several expired so many ticks after their deadlines.
    pub(crate) fn late(&self, shard: &ShardCounts, ticks: impl Iterator<Item = u64>) {
        let mut worst = 0;
        for ticks in ticks {
            worst = worst.max(ticks);
            #[expect(clippy::cast_precision_loss, reason = "a histogram's buckets are coarser")]
            self.lateness.record(ticks as f64);
        }
        shard.worst_lateness.fetch_max(worst, Ordering::Relaxed);
    }

    /// How many wait: those that left are counted before those that came, so none is missed.
    pub(crate) fn pending<'a>(shards: impl Iterator<Item = &'a ShardCounts> + Clone) -> usize {
        let left: u64 = shards.clone().map(ShardCounts::all_left).sum();
        let entered: u64 = shards.map(|shard| shard.entered.load(Ordering::Relaxed)).sum();
        usize::try_from(entered - left).expect("invariant: at most `max_pending`")
    }

    pub(crate) fn snapshot<'a>(
        &self,
        shards: &(impl Iterator<Item = &'a ShardCounts> + Clone),
    ) -> SharedStats {
        let passed = self.passed.load(Ordering::Relaxed);
        let left = |cause| shards.clone().map(|shard| shard.has_left(cause)).sum::<u64>();
        let worst = shards.clone().map(|shard| shard.worst_lateness.load(Ordering::Relaxed)).max();
        SharedStats {
            satisfied: passed + left(Cause::Satisfied),
            expired: left(Cause::Expired),
            cancelled: left(Cause::Cancelled),
            shut_down: left(Cause::Shutdown),
            panicked: left(Cause::Panicked),
            worst_lateness: worst.unwrap_or_default(),
            // Last, so that no more seem to have left than came.
            submitted: passed
                + shards.clone().map(|shard| shard.entered.load(Ordering::Relaxed)).sum::<u64>(),
        }
    }
}

fn place(cause: Cause) -> usize {
    match cause {
        Cause::Satisfied => 0,
        Cause::Expired => 1,
        Cause::Cancelled => 2,
        Cause::Shutdown => 3,
        Cause::Panicked => 4,
    }
}
