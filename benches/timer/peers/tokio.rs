//! Timers of tokio, in a runtime of one thread whose clock stands still until it is told to move.
//!
//! Moving the clock is a turn of the runtime: some hundred ns a tick that are not the structure's own, and that show
//! where a tick holds few timers.

use std::cell::RefCell;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use tokio::runtime::{EnterGuard, Runtime};
use tokio::time::{Instant, Sleep};
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;

use super::millis;
use crate::timers::Timers;

/// A runtime that this thread is in, as a task would be.
struct Clock {
    // It stays: a guard that is kept borrows it.
    runtime: &'static Runtime,
    _inside: EnterGuard<'static>,
    start: Instant,
    now: u64,
}

impl Clock {
    fn new() -> Self {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().expect("a runtime");
        let runtime: &'static Runtime = Box::leak(Box::new(runtime));
        let start = runtime.block_on(async { Instant::now() });
        Self { runtime, _inside: runtime.enter(), start, now: 0 }
    }

    fn at(&self, ticks: u64) -> Instant {
        self.start + millis(ticks)
    }

    fn advance(&mut self, now: u64, then: impl Future<Output = ()>) {
        let step = millis(now - self.now);
        self.now = now;
        self.runtime.block_on(async {
            tokio::time::advance(step).await;
            then.await;
        });
    }
}

/// tokio-util's `DelayQueue`.
pub(crate) struct TokioDelayQueue {
    queue: DelayQueue<u32>,
    clock: Clock,
}

impl Timers for TokioDelayQueue {
    const NAME: &'static str = "tokio-util DelayQueue";
    const CRATE: &'static str = "tokio-util";
    const ABOUT: &'static str = "polled after each move of a paused clock, on which it was made";
    type Id = Key;

    fn new(_count: u32) -> Self {
        let clock = Clock::new();
        Self { queue: DelayQueue::new(), clock }
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Key {
        self.queue.insert_at(value, self.clock.at(deadline))
    }

    fn remove(&mut self, id: Key) {
        self.queue.remove(&id);
    }

    fn rearm(&mut self, id: &mut Key, deadline: u64, _value: u32) {
        self.queue.reset_at(id, self.clock.at(deadline));
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        let queue = &mut self.queue;
        // Without this the runtime's fairness would end the pass after 128 timers.
        let pass = tokio::task::coop::unconstrained(std::future::poll_fn(|context| {
            while let Poll::Ready(Some(expired)) = queue.poll_expired(context) {
                due.push(expired.into_inner());
            }
            Poll::Ready(())
        }));
        self.clock.advance(now, pass);
    }

    fn next_deadline(&mut self) -> Option<u64> {
        let next = self.queue.deadline(&self.queue.peek()?) - self.clock.start;
        u64::try_from(next.as_millis()).ok()
    }
}

thread_local! {
    static WOKEN: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// Says who was woken, as a task's waker does. One for each value, made beforehand, as a task has its own.
struct Woken(u32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        WOKEN.with_borrow_mut(|woken| woken.push(self.0));
    }
}

/// tokio's own sleeps: boxed, polled once so that they are registered, re-armed by `reset`, cancelled by dropping.
pub(crate) struct Sleeps {
    wakers: Vec<Waker>,
    clock: Clock,
}

impl Timers for Sleeps {
    const NAME: &'static str = "tokio sleeps";
    const CRATE: &'static str = "tokio";
    const ABOUT: &'static str = "a pinned box each, polled once to be registered, re-armed by `reset`, cancelled by \
         dropping; a runtime of one thread with a paused clock; a waker each, made beforehand, not counted";
    const SAYS_NEXT: bool = false;
    /// The waker and what it points to.
    const PAYLOAD: usize = size_of::<Waker>() + 3 * size_of::<usize>();
    type Id = Pin<Box<Sleep>>;

    fn new(count: u32) -> Self {
        WOKEN.take();
        let wakers = (0..count).map(|value| Arc::new(Woken(value)).into()).collect();
        Self { wakers, clock: Clock::new() }
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Self::Id {
        let mut sleep = Box::pin(tokio::time::sleep_until(self.clock.at(deadline)));
        let polled = sleep.as_mut().poll(&mut Context::from_waker(&self.wakers[value as usize]));
        assert!(polled.is_pending(), "a deadline ahead");
        sleep
    }

    fn remove(&mut self, id: Self::Id) {
        drop(id);
    }

    fn rearm(&mut self, id: &mut Self::Id, deadline: u64, _value: u32) {
        id.as_mut().reset(self.clock.at(deadline));
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        self.clock.advance(now, async {});
        WOKEN.with_borrow_mut(|woken| due.append(woken));
    }

    fn expired(&mut self, id: Self::Id) {
        debug_assert!(id.is_elapsed(), "whoever is woken is due");
        drop(id);
    }
}
