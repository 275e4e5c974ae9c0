//! What a shared purgatory can be told when it is made, what it counts, and how it refuses.

use crate::Cause;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// How a [`SharedPurgatory`](super::SharedPurgatory) is made.
///
/// ```
/// use purgatory::Options;
/// let options = Options { max_pending: 10_000, ..Options::default() };
/// assert_eq!(options.shards, 16);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The label `purgatory` of its metrics.
    pub name: String,
    /// How many locks to spread keys over: 1 to 4,096, rounded up to a power of two.
    pub shards: usize,
    /// How many operations may wait, or wait to be taken from the channel. One more is refused.
    pub max_pending: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { name: "default".to_owned(), shards: 16, max_pending: 1 << 24 }
    }
}

/// Counts since the purgatory was made, each exact by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedStats {
    /// Operations taken in, those that were ready at once included.
    pub submitted: u64,
    /// Operations that left with [`Cause::Satisfied`].
    pub satisfied: u64,
    /// Operations that left with [`Cause::Expired`].
    pub expired: u64,
    /// Operations that left with [`Cause::Cancelled`].
    pub cancelled: u64,
    /// Operations that left with [`Cause::Shutdown`].
    pub shut_down: u64,
    /// Operations that left with [`Cause::Panicked`].
    pub panicked: u64,
    /// The latest that an operation expired after its deadline, in ticks.
    pub worst_lateness: u64,
}

/// The counts, and their way out through `metrics`.
pub(crate) struct Counts {
    pub(crate) pending: AtomicUsize,
    submitted: AtomicU64,
    left: [AtomicU64; 5],
    worst_lateness: AtomicU64,
    gauge: metrics::Gauge,
    counters: [metrics::Counter; 5],
    lateness: metrics::Histogram,
}

impl Counts {
    pub(crate) fn new(name: &str) -> Self {
        let name = name.to_owned();
        let counter = |cause: &'static str| metrics::counter!("purgatory_exits_total", "purgatory" => name.clone(), "cause" => cause);
        Self {
            pending: AtomicUsize::new(0),
            submitted: AtomicU64::new(0),
            left: std::array::from_fn(|_| AtomicU64::new(0)),
            worst_lateness: AtomicU64::new(0),
            counters: ["satisfied", "expired", "cancelled", "shutdown", "panicked"].map(counter),
            gauge: metrics::gauge!("purgatory_pending", "purgatory" => name.clone()),
            lateness: metrics::histogram!("purgatory_lateness_ticks", "purgatory" => name),
        }
    }

    pub(crate) fn entered(&self) {
        self.submitted.fetch_add(1, Ordering::Relaxed);
        self.pending.fetch_add(1, Ordering::AcqRel);
        self.gauge.increment(1.0);
    }

    /// It was ready before it had to wait.
    pub(crate) fn passed(&self) {
        self.submitted.fetch_add(1, Ordering::Relaxed);
        self.count(Cause::Satisfied);
    }

    pub(crate) fn left(&self, cause: Cause) {
        self.count(cause);
        self.gauge.decrement(1.0);
        // Last: who sees that nothing waits also sees all that was counted.
        self.pending.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn late(&self, ticks: u64) {
        self.worst_lateness.fetch_max(ticks, Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "a histogram's buckets are coarser")]
        self.lateness.record(ticks as f64);
    }

    pub(crate) fn snapshot(&self) -> SharedStats {
        let left = |cause| self.left[place(cause)].load(Ordering::Relaxed);
        SharedStats {
            submitted: self.submitted.load(Ordering::Relaxed),
            satisfied: left(Cause::Satisfied),
            expired: left(Cause::Expired),
            cancelled: left(Cause::Cancelled),
            shut_down: left(Cause::Shutdown),
            panicked: left(Cause::Panicked),
            worst_lateness: self.worst_lateness.load(Ordering::Relaxed),
        }
    }

    fn count(&self, cause: Cause) {
        self.left[place(cause)].fetch_add(1, Ordering::Relaxed);
        self.counters[place(cause)].increment(1);
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
