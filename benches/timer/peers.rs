//! Timer structures from other crates, behind the same door.

use std::rc::Rc;
use std::time::{Duration, Instant};

use hierarchical_hash_wheel_timer::wheels::cancellable::{CancellableTimerEntry, QuadWheelWithOverflow};
use tokio::runtime::Runtime;
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;

use crate::timers::Timers;

fn millis(ticks: u64) -> Duration {
    Duration::from_millis(ticks)
}

/// tokio-util's `DelayQueue`, in a runtime whose clock stands still until it is told to move.
///
/// It rounds up and so fires a tick late; it is asked for a tick earlier, and does the same work as the others.
///
/// Moving the clock is a turn of the runtime: some microseconds a tick that are not the queue's own, and that shows
/// where a tick holds few timers.
pub(crate) struct TokioDelayQueue {
    runtime: Runtime,
    queue: DelayQueue<u32>,
    start: tokio::time::Instant,
    now: u64,
}

impl Timers for TokioDelayQueue {
    const NAME: &'static str = "tokio-util DelayQueue";
    type Id = Key;

    fn new() -> Self {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().expect("a runtime");
        let start = runtime.block_on(async { tokio::time::Instant::now() });
        Self { runtime, queue: DelayQueue::new(), start, now: 0 }
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Key {
        let _context = self.runtime.enter();
        self.queue.insert_at(value, self.start + millis(deadline - 1))
    }

    fn remove(&mut self, id: Key) {
        let _context = self.runtime.enter();
        self.queue.remove(&id);
    }

    fn rearm(&mut self, id: &mut Key, deadline: u64, _value: u32) {
        let _context = self.runtime.enter();
        self.queue.reset_at(id, self.start + millis(deadline - 1));
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        let step = millis(now - self.now);
        self.now = now;
        let queue = &mut self.queue;
        self.runtime.block_on(async {
            tokio::time::advance(step).await;
            // Without this the runtime's fairness would end the pass after 128 timers.
            tokio::task::coop::unconstrained(std::future::poll_fn(|context| {
                while let std::task::Poll::Ready(Some(expired)) = queue.poll_expired(context) {
                    due.push(expired.into_inner());
                }
                std::task::Poll::Ready(())
            }))
            .await;
        });
    }
}

/// tm-wheel: nodes in a slab, linked lists, generation handles.
pub(crate) struct TmWheel(tm_wheel::TimerDriver<u32, 6, 64>);

impl Timers for TmWheel {
    const NAME: &'static str = "tm-wheel";
    type Id = Option<tm_wheel::TimerHandle>;

    fn new() -> Self {
        Self(tm_wheel::TimerDriver::default())
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Self::Id {
        Some(self.0.insert(value, deadline))
    }

    fn remove(&mut self, id: Self::Id) {
        self.0.remove(id.expect("a handle"));
    }

    fn rearm(&mut self, id: &mut Self::Id, deadline: u64, value: u32) {
        self.remove(id.take());
        *id = self.insert(deadline, value);
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        due.extend(self.0.advance_to(now));
    }
}

/// timer-queue: a radix heap with re-arm in place.
pub(crate) struct TimerQueue(timer_queue::TimerQueue<u32>);

impl Timers for TimerQueue {
    const NAME: &'static str = "timer-queue";
    type Id = timer_queue::Timer;

    fn new() -> Self {
        Self(timer_queue::TimerQueue::new())
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Self::Id {
        self.0.insert(deadline, value)
    }

    fn remove(&mut self, id: Self::Id) {
        self.0.remove(id);
    }

    fn rearm(&mut self, id: &mut Self::Id, deadline: u64, _value: u32) {
        self.0.reset(*id, deadline);
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        while let Some(value) = self.0.poll(now) {
            due.push(value);
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        self.0.next_timeout()
    }
}

/// nexus-timer: a hierarchical wheel over raw slots.
pub(crate) struct NexusWheel {
    wheel: nexus_timer::Wheel<u32>,
    start: Instant,
}

impl Timers for NexusWheel {
    const NAME: &'static str = "nexus-timer";
    type Id = Option<nexus_timer::TimerHandle<u32>>;

    fn new() -> Self {
        #[expect(clippy::disallowed_methods, reason = "the crate takes no other time")]
        let start = Instant::now();
        Self { wheel: nexus_timer::Wheel::unbounded(4096, start), start }
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Self::Id {
        Some(self.wheel.schedule(self.start + millis(deadline), value))
    }

    fn remove(&mut self, id: Self::Id) {
        if let Some(id) = id {
            self.wheel.cancel(id);
        }
    }

    fn rearm(&mut self, id: &mut Self::Id, deadline: u64, _value: u32) {
        let before = id.take().expect("a handle");
        *id = Some(self.wheel.reschedule(before, self.start + millis(deadline)));
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        self.wheel.poll_and_rebalance(self.start + millis(now), due);
    }

    fn expired(&mut self, id: Self::Id) {
        if let Some(id) = id {
            self.wheel.free(id);
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        let next = self.wheel.next_deadline()?.duration_since(self.start).as_millis();
        u64::try_from(next).ok()
    }
}

/// The cancellable wheel of `hierarchical_hash_wheel_timer`, which goes tick by tick.
pub(crate) struct HashWheel {
    wheel: QuadWheelWithOverflow<HashEntry>,
    now: u64,
}

#[derive(Debug)]
pub(crate) struct HashEntry(u32);

impl CancellableTimerEntry for HashEntry {
    type Id = u32;

    fn id(&self) -> &u32 {
        &self.0
    }
}

impl Timers for HashWheel {
    const NAME: &'static str = "hierarchical_hash_wheel_timer";
    type Id = u32;

    fn new() -> Self {
        Self { wheel: QuadWheelWithOverflow::new(), now: 0 }
    }

    fn insert(&mut self, deadline: u64, value: u32) -> u32 {
        let delay = millis(deadline - self.now);
        self.wheel.insert_ref_with_delay(Rc::new(HashEntry(value)), delay).expect("a deadline ahead");
        value
    }

    fn remove(&mut self, id: u32) {
        self.wheel.cancel(&id).expect("a timer that waits");
    }

    fn rearm(&mut self, id: &mut u32, deadline: u64, value: u32) {
        self.remove(*id);
        *id = self.insert(deadline, value);
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        while self.now < now {
            self.now += 1;
            due.extend(self.wheel.tick().iter().map(|entry| entry.0));
        }
    }
}
