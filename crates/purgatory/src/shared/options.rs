//! What a shared purgatory can be told when it is made, and what it tells about itself.

#[cfg(doc)]
use crate::Cause;

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

impl Options {
    /// How many shards there will be.
    pub(crate) fn locks(&self) -> usize {
        assert!((1..=4_096).contains(&self.shards), "1 to 4,096 shards, not {}", self.shards);
        self.shards.next_power_of_two()
    }
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
