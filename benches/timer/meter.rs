//! Two ways to look at the same work: as a whole, or call by call.

use benches::measure::{cpu_nanos, wall_nanos};

/// What surrounds each call of a workload that counts.
pub(crate) trait Meter {
    /// Whether the work is followed to its end, so that its sum says when each timer expired.
    const CHECKS: bool;

    fn call<R>(&mut self, work: impl FnOnce() -> R) -> R;
}

/// Calls are not timed one by one.
#[derive(Clone, Copy)]
pub(crate) struct Whole;

impl Meter for Whole {
    const CHECKS: bool = false;

    #[inline]
    fn call<R>(&mut self, work: impl FnOnce() -> R) -> R {
        work()
    }
}

/// The time of each call by the clock; of the same call in several runs the shortest.
///
/// The runs do the same calls in the same order, so what one of them was interrupted in, another was not: what is
/// left is the call's own.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    nanos: Vec<u32>,
    next: usize,
}

impl Calls {
    /// The next run begins.
    pub(crate) fn again(&mut self) {
        self.next = 0;
    }

    pub(crate) fn worst(&self) -> Option<u64> {
        self.nanos.iter().max().map(|&nanos| nanos.into())
    }
}

impl Meter for &mut Calls {
    const CHECKS: bool = true;

    fn call<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let begun = wall_nanos();
        let result = work();
        let nanos = u32::try_from(wall_nanos() - begun).unwrap_or(u32::MAX);
        match self.nanos.get_mut(self.next) {
            Some(before) => *before = nanos.min(*before),
            None => self.nanos.push(nanos),
        }
        self.next += 1;
        result
    }
}

/// Time of this thread and time by the clock, since it was started.
pub(crate) struct Stopwatch {
    cpu: u64,
    wall: u64,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { wall: wall_nanos(), cpu: cpu_nanos() }
    }

    /// CPU time and time by the clock, in ns.
    pub(crate) fn read(&self) -> (u64, u64) {
        (cpu_nanos() - self.cpu, wall_nanos() - self.wall)
    }
}
