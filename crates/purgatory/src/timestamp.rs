//! A point in time as opaque ticks. What a tick is, is the caller's choice; a coordinator's is a millisecond.

use alloc::format;
use core::fmt;

/// A point in time: ticks since an origin the caller chose. [`Timestamp::MAX`] is "never".
///
/// ```
/// use purgatory::Timestamp;
/// let now = Timestamp::from_ticks(1_000);
/// assert_eq!(now.saturating_add(500).ticks(), 1_500);
/// assert_eq!(now.saturating_add(u64::MAX), Timestamp::MAX);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The origin.
    pub const ZERO: Self = Self(0);
    /// Never: a deadline that no clock reaches.
    pub const MAX: Self = Self(u64::MAX);

    /// The point `ticks` after the origin.
    ///
    /// ```
    /// # use purgatory::Timestamp;
    /// assert_eq!(Timestamp::from_ticks(0), Timestamp::ZERO);
    /// assert!(Timestamp::from_ticks(2) > Timestamp::from_ticks(1));
    /// ```
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// Ticks since the origin.
    ///
    /// ```
    /// # use purgatory::Timestamp;
    /// assert_eq!(Timestamp::from_ticks(45_000).ticks(), 45_000);
    /// ```
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// `ticks` later; [`Timestamp::MAX`] where that cannot be represented.
    ///
    /// ```
    /// # use purgatory::Timestamp;
    /// let now = Timestamp::from_ticks(1_000);
    /// assert_eq!(now.saturating_add(45_000), Timestamp::from_ticks(46_000));
    /// assert_eq!(now.saturating_add(u64::MAX), Timestamp::MAX);
    /// ```
    #[must_use = "returns the later time and leaves this one as it is"]
    pub const fn saturating_add(self, ticks: u64) -> Self {
        Self(self.0.saturating_add(ticks))
    }

    /// Ticks from `earlier` to here; 0 if `earlier` is later.
    ///
    /// ```
    /// # use purgatory::Timestamp;
    /// let (start, end) = (Timestamp::from_ticks(1_000), Timestamp::from_ticks(1_030));
    /// assert_eq!((end.ticks_since(start), start.ticks_since(end)), (30, 0));
    /// ```
    pub const fn ticks_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::MAX { f.pad("never") } else { f.pad(&format!("{}t", self.0)) }
    }
}
