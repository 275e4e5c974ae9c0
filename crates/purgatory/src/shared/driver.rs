//! Who lets time pass for any number of purgatories: one thread that sleeps to the next deadline, or a test.
//!
//! Each shard of each purgatory has a seat, and an atomic lower bound of its next deadline (`armed`). Whoever lowers
//! the bound says so by [`Driver::rearm`], which reads the bound anew *under the driver's lock*: the last to come sees
//! the latest bound, so no earlier deadline is lost, and the driver is woken only for one before it would wake anyway.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use slab::Slab;

use crate::sync::{Condvar, Fault, Mutex, MutexGuard, be_interrupted, planted};
use crate::{Clock, SystemClock, TimerId, Timestamp, TimingWheel};

/// At most this many due shards are taken per turn of the driver's lock.
const SEATS_A_TURN: usize = 64;

/// What the driver drives.
pub(crate) trait Driven: Send + Sync {
    /// The lower bound of the shard's next deadline.
    fn armed(&self, shard: usize) -> Timestamp;
    /// Lets a bounded batch of the shard's operations expire.
    fn expire(&self, shard: usize, now: Timestamp);
}

/// Lets time pass for the purgatories made with it. Clones are handles to the same driver; its thread ends when the
/// last handle, those inside purgatories included, is gone.
///
/// ```
/// use purgatory::{Driver, SimulatedClock, Timestamp};
/// let clock = SimulatedClock::new(Timestamp::ZERO);
/// let driver = Driver::manual(clock.clone());
/// clock.advance(1_000);
/// assert_eq!(driver.turn(), None); // nothing waits
/// ```
#[derive(Clone, Debug)]
pub struct Driver(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    inner: Arc<Inner>,
    thread: Option<JoinHandle<()>>,
}

struct Inner {
    clock: Arc<dyn Clock + Send + Sync>,
    state: Mutex<State>,
    woken: Condvar,
}

struct State {
    seats: Slab<Seat>,
    /// Seats by the bound last read.
    due: TimingWheel<usize>,
    /// The driver's thread sleeps until then; a bound before it wakes the thread.
    sleeps_until: Option<Timestamp>,
    stopped: bool,
}

struct Seat {
    who: Weak<dyn Driven>,
    shard: usize,
    timer: Option<TimerId>,
}

impl Driver {
    /// A driver with a thread of its own, which sleeps exactly to the next deadline and not at all while none waits.
    ///
    /// # Panics
    ///
    /// If the operating system gives no thread.
    #[expect(clippy::disallowed_methods, reason = "the driver's thread is the front door of expiry")]
    pub fn spawn(clock: SystemClock) -> Self {
        let inner = Inner::new(Arc::new(clock));
        let runner = Arc::clone(&inner);
        let builder = std::thread::Builder::new().name("purgatory-driver".into());
        let thread = builder.spawn(move || runner.run(&clock)).expect("a thread for the driver");
        Self(Arc::new(Handle { inner, thread: Some(thread) }))
    }

    /// A driver without a thread: time passes in [`Driver::turn`], for simulations and for event loops.
    pub fn manual(clock: impl Clock + Send + Sync + 'static) -> Self {
        Self(Arc::new(Handle { inner: Inner::new(Arc::new(clock)), thread: None }))
    }

    /// Expires all that is due now, and returns when to call again: `None` while nothing will ever expire.
    ///
    /// The returned time is never later than the next deadline; it may be earlier. Deadlines submitted afterwards
    /// can be earlier too.
    pub fn turn(&self) -> Option<Timestamp> {
        self.0.inner.turn()
    }

    /// The time of the driver's clock.
    pub fn now(&self) -> Timestamp {
        self.0.inner.clock.now()
    }

    /// Runs on the calling thread until `stop` is called on another handle: what `spawn` does, for explored schedules.
    #[cfg(any(shuttle, loom))]
    pub fn run(&self) {
        self.0.inner.run(&SystemClock::new());
    }

    /// Ends [`Driver::run`].
    #[cfg(any(shuttle, loom))]
    pub fn stop(&self) {
        self.0.inner.stop();
    }

    pub(crate) fn take_seat(&self, who: Weak<dyn Driven>, shard: usize) -> usize {
        self.0.inner.state.lock().seats.insert(Seat { who, shard, timer: None })
    }

    pub(crate) fn leave_seat(&self, seat: usize) {
        let mut state = self.0.inner.state.lock();
        if let Some(timer) = state.seats.remove(seat).timer {
            state.due.remove(timer);
        }
    }

    /// The bound of this seat's shard has changed.
    pub(crate) fn rearm(&self, seat: usize, driven: &dyn Driven) {
        self.0.inner.rearm(seat, driven);
    }
}

impl Inner {
    fn new(clock: Arc<dyn Clock + Send + Sync>) -> Arc<Self> {
        let due = TimingWheel::new(clock.now());
        let state = State { seats: Slab::new(), due, sleeps_until: None, stopped: false };
        Arc::new(Self { clock, state: Mutex::new(state), woken: Condvar::new() })
    }

    fn rearm(&self, seat: usize, driven: &dyn Driven) {
        let early = planted(Fault::LostWakeUp).then(|| driven.armed(self.shard_of(seat)));
        if early.is_some() {
            be_interrupted();
        }
        let mut state = self.state.lock();
        let state = &mut *state;
        // A purgatory that is being dropped has given its seats back.
        let Some(taken) = state.seats.get_mut(seat) else { return };
        let bound = early.unwrap_or_else(|| driven.armed(taken.shard));
        if !taken.timer.is_some_and(|timer| state.due.rearm(timer, bound)) {
            taken.timer = Some(state.due.insert(bound, seat));
        }
        if state.sleeps_until.is_some_and(|until| bound < until) {
            state.sleeps_until = None;
            self.woken.notify_one();
        }
    }

    fn shard_of(&self, seat: usize) -> usize {
        self.state.lock().seats.get(seat).map_or(0, |seat| seat.shard)
    }

    fn turn(&self) -> Option<Timestamp> {
        loop {
            let mut state = self.state.lock();
            let now = self.clock.now();
            let due = state.take_due(now);
            if due.is_empty() {
                return state.due.next_deadline();
            }
            drop(state);
            self.expire(due, now);
        }
    }

    fn run(&self, clock: &SystemClock) {
        loop {
            self.turn();
            let mut state = self.state.lock();
            if state.stopped {
                return;
            }
            // Asked anew: between the turn and this lock an earlier deadline may have come.
            let next = state.due.next_deadline();
            if next.is_some_and(|next| next <= self.clock.now()) {
                continue;
            }
            state.sleeps_until = Some(next.unwrap_or(Timestamp::MAX));
            self.sleep(&mut state, clock, next);
            state.sleeps_until = None;
        }
    }

    fn sleep(&self, state: &mut MutexGuard<'_, State>, clock: &SystemClock, until: Option<Timestamp>) {
        match until {
            None => self.woken.wait(state),
            Some(deadline) => {
                let _ = self.woken.wait_for(state, clock.until(deadline));
            }
        }
    }

    fn expire(&self, due: Vec<(usize, Arc<dyn Driven>, usize)>, now: Timestamp) {
        for (seat, who, shard) in due {
            // What the drop of an operation that nobody takes does is no affair of the others, nor of this thread.
            let _ = catch_unwind(AssertUnwindSafe(|| who.expire(shard, now)));
            self.rearm(seat, &*who);
        }
    }

    fn stop(&self) {
        self.state.lock().stopped = true;
        self.woken.notify_one();
    }
}

impl State {
    fn take_due(&mut self, now: Timestamp) -> Vec<(usize, Arc<dyn Driven>, usize)> {
        let mut taken = Vec::new();
        while taken.len() < SEATS_A_TURN {
            let Some(due) = self.due.expire_next(now) else { break };
            let Some(seat) = self.seats.get_mut(due.value) else { continue };
            seat.timer = None;
            if let Some(who) = seat.who.upgrade() {
                taken.push((due.value, who, seat.shard));
            }
        }
        taken
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.inner.stop();
        let Some(thread) = self.thread.take() else { return };
        // The last handle can go away inside an operation that the driver itself has just let expire.
        if thread.thread().id() != std::thread::current().id() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}
