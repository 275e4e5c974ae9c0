//! What a structure for several threads is asked to do, and those that need no crate but our own.

use std::sync::{Mutex, MutexGuard, PoisonError};

use purgatory::{
    Cancellation, DelayedOperation, Driver, Exits, Options, SharedId, SharedPurgatory, SimulatedClock,
    Submission, Timestamp, TimingWheel,
};

use crate::plain::LazyHeap;
use crate::timers::Timers;

/// Timers with `u32` values, for any thread. Time starts at 0.
pub(crate) trait SharedTimers: Sync + Sized {
    const NAME: &'static str;
    const CRATE: &'static str = "";
    const ABOUT: &'static str;
    /// Whether `expire` moves its clock; otherwise that goes by itself.
    const MOVES_CLOCK: bool = true;
    type Id: Send;

    fn new(count: u32) -> Self;
    fn insert(&self, deadline: u64, value: u32) -> Self::Id;
    fn remove(&self, id: Self::Id);
    fn rearm(&self, id: &mut Self::Id, deadline: u64, value: u32);
    /// Moves the clock, or waits for it, and appends the values of all that are due.
    fn expire(&self, now: u64, due: &mut Vec<u32>);
    /// Does the work where the structure can be used.
    fn inside<R>(&self, work: impl FnOnce() -> R) -> R {
        work()
    }
    /// Returns at that time, where the clock goes by itself; `false` if it has passed.
    fn wait_until(&self, _now: u64) -> bool {
        true
    }
    /// The deadline of a timer that waits, where the clock goes by itself.
    fn deadline(&self, _id: &Self::Id) -> u64 {
        unreachable!("asked of nobody whose clock is moved")
    }
}

/// A structure for one thread, behind one lock, which is held while a step expires all that are due.
pub(crate) struct Locked<T>(Mutex<T>);

impl<T> Locked<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A name for what is locked: constants cannot be joined.
pub(crate) trait Lockable: Timers + Send {
    const LOCKED: &'static str;
}

impl Lockable for TimingWheel<u32> {
    const LOCKED: &'static str = "Mutex of TimingWheel";
}

impl Lockable for LazyHeap {
    const LOCKED: &'static str = "Mutex of BinaryHeap";
}

impl<T: Lockable> SharedTimers for Locked<T>
where
    T::Id: Send,
{
    const NAME: &'static str = T::LOCKED;
    const ABOUT: &'static str = "behind std's mutex, which is held while a step expires all that are due";
    type Id = T::Id;

    fn new(count: u32) -> Self {
        Self(Mutex::new(T::new(count)))
    }

    fn insert(&self, deadline: u64, value: u32) -> T::Id {
        self.lock().insert(deadline, value)
    }

    fn remove(&self, id: T::Id) {
        self.lock().remove(id);
    }

    fn rearm(&self, id: &mut T::Id, deadline: u64, value: u32) {
        self.lock().rearm(id, deadline, value);
    }

    fn expire(&self, now: u64, due: &mut Vec<u32>) {
        self.lock().expire(now, due);
    }
}

/// An operation that waits for nothing but its deadline.
#[derive(Clone)]
pub(crate) struct Patient(u32);

impl DelayedOperation for Patient {
    fn is_ready(&mut self) -> bool {
        false
    }
}

/// Our purgatory for many threads, on a clock that is moved by hand; what expires comes through its channel.
pub(crate) struct Parked {
    clock: SimulatedClock,
    driver: Driver,
    waiting: SharedPurgatory<u32, Patient>,
    exits: Mutex<Exits<Patient>>,
}

impl SharedTimers for Parked {
    const NAME: &'static str = "SharedPurgatory";
    const ABOUT: &'static str =
        "ours: operations that watch no key, a driver turned by hand, exits taken from the channel";
    type Id = SharedId;

    fn new(_count: u32) -> Self {
        let clock = SimulatedClock::new(Timestamp::ZERO);
        let driver = Driver::manual(clock.clone());
        let (waiting, exits) = SharedPurgatory::with_channel(&driver, &Options::default());
        Self { clock, driver, waiting, exits: Mutex::new(exits) }
    }

    fn insert(&self, deadline: u64, value: u32) -> SharedId {
        match self.waiting.try_complete_else_watch(Patient(value), [], Timestamp::from_ticks(deadline)) {
            Ok(Submission::Watched(id)) => id,
            _ => unreachable!("it is not ready, and there is room"),
        }
    }

    fn remove(&self, id: SharedId) {
        let Cancellation::Taken(_) = self.waiting.cancel(id) else {
            unreachable!("nobody examines what watches nothing")
        };
    }

    fn rearm(&self, id: &mut SharedId, deadline: u64, _value: u32) {
        self.waiting.extend(*id, Timestamp::from_ticks(deadline));
    }

    fn expire(&self, now: u64, due: &mut Vec<u32>) {
        self.clock.set(Timestamp::from_ticks(now));
        self.driver.turn();
        let mut exits = self.exits.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(exit) = exits.try_next() {
            due.push(exit.operation.0);
        }
    }
}
