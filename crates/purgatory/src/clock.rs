//! Who drives time: the operating system's monotonic clock, or a test. The only place that reads a clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Timestamp;

/// A source of `now`.
///
/// ```
/// # use purgatory::{Clock, Timestamp};
/// /// Frames of a game as time.
/// struct Frames(u64);
/// impl Clock for Frames {
///     fn now(&self) -> Timestamp {
///         Timestamp::from_ticks(self.0)
///     }
/// }
/// assert_eq!(Frames(60).now().saturating_add(30), Timestamp::from_ticks(90));
/// ```
pub trait Clock {
    /// The current time. Never less than what it returned before, as seen by one thread.
    fn now(&self) -> Timestamp;
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}

/// The operating system's monotonic clock, in ticks of one millisecond or of a chosen length.
///
/// `now` counts *whole* ticks, so a deadline of `now + n` may come up to one tick early, measured from this very
/// instant. [`SystemClock::deadline_after`] rounds the other way and is never early.
///
/// ```
/// use std::time::Duration;
/// use purgatory::{Clock, SystemClock};
///
/// let clock = SystemClock::with_tick(Duration::from_micros(1));
/// let deadline = clock.deadline_after(Duration::from_millis(20));
/// assert!(deadline.ticks_since(clock.now()) > 19_000 || clock.now() >= deadline);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    anchor: Instant,
    /// Nanoseconds between the origin and `anchor`.
    offset: u128,
    /// Nanoseconds, at least 1.
    tick: u128,
}

impl SystemClock {
    /// Milliseconds since this call.
    ///
    /// ```
    /// # use purgatory::{Clock, SystemClock, Timestamp};
    /// let clock = SystemClock::new();
    /// let earlier = clock.now();
    /// assert!(clock.now() >= earlier);
    /// ```
    pub fn new() -> Self {
        Self::with_tick(Duration::from_millis(1))
    }

    /// Ticks of the given length since this call.
    ///
    /// # Panics
    ///
    /// If `tick` is shorter than a microsecond: finer than any operating system wakes a thread.
    ///
    /// ```
    /// # use purgatory::{SystemClock, Timestamp};
    /// # use std::time::Duration;
    /// let clock = SystemClock::with_tick(Duration::from_secs(1));
    /// assert_eq!(clock.deadline_after(Duration::from_hours(1)), Timestamp::from_ticks(3_601));
    /// ```
    pub fn with_tick(tick: Duration) -> Self {
        assert!(tick >= Duration::from_micros(1), "a tick is at least 1 us, not {tick:?}");
        Self { anchor: monotonic(), offset: 0, tick: tick.as_nanos() }
    }

    /// Unix milliseconds. The wall clock is read once, here; from then on time passes as the monotonic clock says,
    /// so it never goes back and ignores later corrections of the wall clock.
    ///
    /// ```
    /// # use purgatory::{Clock, SystemClock, Timestamp};
    /// // For deadlines that are stored, and read again after a restart.
    /// let year_2020 = Timestamp::from_ticks(1_577_836_800_000);
    /// assert!(SystemClock::unix_millis().now() > year_2020);
    /// ```
    pub fn unix_millis() -> Self {
        let offset = wall_clock().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Self { anchor: monotonic(), offset, tick: Duration::from_millis(1).as_nanos() }
    }

    /// The first tick at or after `delay` from now: a deadline that is never early, not by a fraction of a tick.
    /// [`Timestamp::MAX`] where that cannot be represented.
    ///
    /// ```
    /// # use purgatory::{SystemClock, Timestamp};
    /// # use std::time::Duration;
    /// let clock = SystemClock::new();
    /// assert!(clock.deadline_after(Duration::from_millis(30)) > Timestamp::from_ticks(29));
    /// assert_eq!(clock.deadline_after(Duration::MAX), Timestamp::MAX);
    /// ```
    pub fn deadline_after(&self, delay: Duration) -> Timestamp {
        let nanos = self.nanos().saturating_add(delay.as_nanos());
        u64::try_from(nanos.div_ceil(self.tick)).map_or(Timestamp::MAX, Timestamp::from_ticks)
    }

    /// How long it is until `deadline`; zero if it has come.
    ///
    /// ```
    /// # use purgatory::{SystemClock, Timestamp};
    /// # use std::time::Duration;
    /// let clock = SystemClock::new();
    /// assert!(clock.until(clock.deadline_after(Duration::from_secs(60))) > Duration::from_secs(50));
    /// assert_eq!(clock.until(Timestamp::ZERO), Duration::ZERO);
    /// ```
    pub fn until(&self, deadline: Timestamp) -> Duration {
        let nanos = (u128::from(deadline.ticks()) * self.tick).saturating_sub(self.nanos());
        u64::try_from(nanos).map_or(Duration::MAX, Duration::from_nanos)
    }

    fn nanos(&self) -> u128 {
        self.offset + monotonic().duration_since(self.anchor).as_nanos()
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        u64::try_from(self.nanos() / self.tick).map_or(Timestamp::MAX, Timestamp::from_ticks)
    }
}

#[expect(clippy::disallowed_methods, reason = "SystemClock is the front door through which time comes in")]
fn monotonic() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "SystemClock is the front door through which time comes in")]
fn wall_clock() -> SystemTime {
    SystemTime::now()
}

/// A clock that moves only when told to. Clones share the time.
///
/// ```
/// use purgatory::{Clock, SimulatedClock, Timestamp};
/// let clock = SimulatedClock::new(Timestamp::ZERO);
/// let handle = clock.clone();
/// handle.advance(1_500);
/// assert_eq!(clock.now(), Timestamp::from_ticks(1_500));
/// ```
#[derive(Clone, Debug, Default)]
pub struct SimulatedClock {
    ticks: Arc<AtomicU64>,
}

impl SimulatedClock {
    /// A clock that shows `start`.
    ///
    /// ```
    /// # use purgatory::{Clock, SimulatedClock, Timestamp};
    /// let clock = SimulatedClock::new(Timestamp::from_ticks(1_000));
    /// assert_eq!(clock.now(), Timestamp::from_ticks(1_000));
    /// ```
    pub fn new(start: Timestamp) -> Self {
        Self { ticks: Arc::new(AtomicU64::new(start.ticks())) }
    }

    /// Moves the clock forward, no further than [`Timestamp::MAX`], and returns the new time.
    ///
    /// ```
    /// # use purgatory::{SimulatedClock, Timestamp};
    /// let clock = SimulatedClock::new(Timestamp::ZERO);
    /// assert_eq!(clock.advance(45_000), Timestamp::from_ticks(45_000));
    /// assert_eq!(clock.advance(u64::MAX), Timestamp::MAX);
    /// ```
    pub fn advance(&self, ticks: u64) -> Timestamp {
        let advance = |now: u64| Some(now.saturating_add(ticks));
        let before = self.ticks.fetch_update(Ordering::AcqRel, Ordering::Acquire, advance);
        Timestamp::from_ticks(before.unwrap_or_else(|now| now).saturating_add(ticks))
    }

    /// Moves the clock to `now`. Moving it back is allowed, to test those who must stand it.
    ///
    /// ```
    /// # use purgatory::{Clock, SimulatedClock, Timestamp};
    /// let clock = SimulatedClock::new(Timestamp::from_ticks(500));
    /// clock.set(Timestamp::from_ticks(400));
    /// assert_eq!(clock.now(), Timestamp::from_ticks(400));
    /// ```
    pub fn set(&self, now: Timestamp) {
        self.ticks.store(now.ticks(), Ordering::Release);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ticks(self.ticks.load(Ordering::Acquire))
    }
}
