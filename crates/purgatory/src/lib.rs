//! Delayed operations: a hierarchical timing wheel plus watch keys; an operation leaves exactly once.
//!
//! A request that must wait is an *operation*. [`Purgatory::watch`] parks it under any number of keys and one
//! deadline; it leaves **by move**, for exactly one [`Cause`]: a trigger on one of its keys found it ready, its
//! deadline came, or its owner cancelled it. At that moment it is gone from every key and from the wheel.
//!
//! ```
//! use purgatory::{Purgatory, Timestamp};
//!
//! let start = Timestamp::ZERO;
//! let mut purgatory: Purgatory<&str, &str> = Purgatory::new(start);
//! purgatory.watch("fetch", ["orders-0", "orders-1"], start.saturating_add(500));
//!
//! // Data arrives on one of the partitions: the fetch leaves, and the other key forgets it too.
//! assert_eq!(purgatory.complete_next("orders-1", |_| true), Some("fetch"));
//! assert_eq!(purgatory.watched_by("orders-0"), 0);
//! assert_eq!(purgatory.expire_next(start.saturating_add(500)), None);
//! ```
//!
//! Nothing here reads a clock, but for [`SystemClock`]: time arrives as `now`, so the same calls give the same
//! exits in the same order, and a day passes in a simulation in no time.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(all(doctest, feature = "shared"))]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(feature = "std")]
mod clock;
mod keys;
mod purgatory;
#[cfg(feature = "shared")]
mod shared;
#[cfg(feature = "shared")]
mod sync;
mod thresholds;
mod timestamp;
mod watchers;
mod wheel;

#[cfg(feature = "std")]
pub use clock::{Clock, SimulatedClock, SystemClock};
pub use purgatory::{Cause, OperationId, Purgatory, Refused, Stats, Submission, Sweep};
#[cfg(feature = "shared")]
pub use shared::{
    Cancellation, DelayedOperation, Driver, Exit, Exits, Options, SharedId, SharedPurgatory, SharedStats,
    Wait,
};
#[cfg(all(feature = "shared", faults))]
pub use sync::{Fault, plant};
pub use timestamp::Timestamp;
pub use wheel::{Expired, TimerId, TimingWheel};

/// The hasher of a [`Purgatory`] that was not given one: fast and fixed, so that runs repeat exactly.
///
/// It does not resist chosen keys. Where strangers choose keys, give [`Purgatory::with_hasher`] a hasher seeded
/// at random; no behaviour depends on it, since no map is ever iterated.
///
/// ```
/// # use purgatory::{DefaultHashBuilder, Purgatory, Timestamp};
/// # use std::hash::RandomState;
/// let trusted: Purgatory<u64, ()> = Purgatory::with_hasher(Timestamp::ZERO, DefaultHashBuilder::default());
/// let exposed: Purgatory<u64, (), RandomState> = Purgatory::with_hasher(Timestamp::ZERO, RandomState::new());
/// # assert_eq!((trusted.pending(), exposed.pending()), (0, 0));
/// ```
pub type DefaultHashBuilder = foldhash::fast::FixedState;
