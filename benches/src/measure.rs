//! One way to time: CPU time, so that a busy machine disturbs caches but does not count as our work, and the clock beside.

use std::fmt;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of CPU that this thread has used.
///
/// # Panics
///
/// If the clock is before its own origin.
pub fn cpu_nanos() -> u64 {
    nanos_of(ClockId::ThreadCPUTime)
}

/// Nanoseconds of CPU that all threads of this process have used.
///
/// # Panics
///
/// If the clock is before its own origin.
pub fn process_cpu_nanos() -> u64 {
    nanos_of(ClockId::ProcessCPUTime)
}

/// Nanoseconds of a clock that only goes forward, since some moment in the past.
///
/// # Panics
///
/// If the clock is before its own origin.
#[inline]
pub fn wall_nanos() -> u64 {
    nanos_of(ClockId::Monotonic)
}

#[inline]
fn nanos_of(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let part = |value: i64| u64::try_from(value).expect("CPU time is not negative");
    part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec)
}

/// The smallest, the middle and the largest of several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The best run.
    pub min: f64,
    /// The middle run.
    pub median: f64,
    /// The worst run.
    pub max: f64,
}

impl Spread {
    /// Of `runs`, in any order.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn of(mut runs: Vec<f64>) -> Self {
        runs.sort_by(f64::total_cmp);
        let last = runs.len().checked_sub(1).expect("at least one run");
        Self { min: runs[0], median: runs[last / 2], max: runs[last] }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = usize::from(self.median < 100.0);
        write!(f, "{:.digits$} / {:.digits$} / {:.digits$}", self.min, self.median, self.max)
    }
}

/// Small, fast and repeatable numbers: the same work for everyone who is measured.
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Any 64 bits.
    #[inline]
    pub fn any(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Below `bound`, which is below 2^32.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((self.any() >> 32) * bound) >> 32
    }

    /// 0 to `count - 1`, in an order without pattern.
    ///
    /// # Panics
    ///
    /// Where an index has fewer than 32 bits.
    pub fn shuffled(&mut self, count: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count).collect();
        for at in (1..order.len()).rev() {
            let other = usize::try_from(self.below(at as u64 + 1)).expect("an index");
            order.swap(at, other);
        }
        order
    }
}
