//! Peers that are wheels.

use std::rc::Rc;
use std::time::Instant;

use hierarchical_hash_wheel_timer::wheels::Skip;
use hierarchical_hash_wheel_timer::wheels::cancellable::{CancellableTimerEntry, QuadWheelWithOverflow};
use kestrel_timer::config::{BatchConfig, WheelConfig};
use kestrel_timer::task::TimerTaskWithCompletionNotifier;
use kestrel_timer::{TaskId, TimerTask};

use super::millis;
use crate::timers::Timers;

/// tm-wheel: nodes in a slab, linked lists, generation handles.
pub(crate) struct TmWheel(tm_wheel::TimerDriver<u32, 6, 64>);

impl Timers for TmWheel {
    const NAME: &'static str = "tm-wheel";
    const CRATE: &'static str = "tm-wheel";
    const ABOUT: &'static str = "6 levels of 64 slots, doubly linked nodes in a slab";
    // Its `nearest_wakeup` looks at slots of the present turn alone and panics on timers further ahead.
    const SAYS_NEXT: bool = false;
    type Id = Option<tm_wheel::TimerHandle>;

    fn new(_count: u32) -> Self {
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

/// nexus-timer: a hierarchical wheel over raw slots.
pub(crate) struct NexusWheel {
    wheel: nexus_timer::Wheel<u32>,
    start: Instant,
}

#[expect(
    clippy::disallowed_methods,
    reason = "crates that take no other time; it is read once and then added to"
)]
fn an_instant() -> Instant {
    Instant::now()
}

fn ticks_since(start: Instant, instant: Instant) -> Option<u64> {
    u64::try_from(instant.duration_since(start).as_millis()).ok()
}

impl Timers for NexusWheel {
    const NAME: &'static str = "nexus-timer";
    const CRATE: &'static str = "nexus-timer";
    const ABOUT: &'static str = "a hierarchical wheel without cascades, intrusive nodes";
    type Id = Option<nexus_timer::TimerHandle<u32>>;

    fn new(_count: u32) -> Self {
        let start = an_instant();
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

    fn next_deadline(&mut self) -> Option<u64> {
        ticks_since(self.start, self.wheel.next_deadline()?)
    }
}

/// slab-wheel: slots hold indices into a slab.
pub(crate) struct SlabWheel {
    wheel: slab_wheel::TimingWheel<u32, slab_wheel::Millis>,
    due: Vec<(slab_wheel::Key, u32)>,
    start: Instant,
}

impl Timers for SlabWheel {
    const NAME: &'static str = "slab-wheel";
    const CRATE: &'static str = "slab-wheel";
    const ABOUT: &'static str =
        "4 levels, slots of indices into a slab; re-arming is a removal and an insertion";
    type Id = slab_wheel::Key;

    fn new(_count: u32) -> Self {
        let start = an_instant();
        Self { wheel: slab_wheel::TimingWheel::starting_at(start), due: Vec::new(), start }
    }

    fn insert(&mut self, deadline: u64, value: u32) -> Self::Id {
        self.wheel.insert(self.start + millis(deadline), value)
    }

    fn remove(&mut self, id: Self::Id) {
        self.wheel.remove(id);
    }

    fn rearm(&mut self, id: &mut Self::Id, deadline: u64, value: u32) {
        self.wheel.remove(*id);
        *id = self.insert(deadline, value);
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        self.wheel.advance_to(self.start + millis(now));
        self.wheel.drain_expired_into(&mut self.due);
        due.extend(self.due.drain(..).map(|(_, value)| value));
    }

    fn next_deadline(&mut self) -> Option<u64> {
        ticks_since(self.start, self.wheel.next_expiry()?)
    }
}

/// kestrel-timer's wheel without its service: no clock and no task of its own.
pub(crate) struct Kestrel {
    wheel: kestrel_timer::wheel::Wheel,
    now: u64,
    /// By the place that an id names: it hands out ids, not what was inserted.
    values: Vec<u32>,
}

impl Kestrel {
    fn place(id: TaskId) -> usize {
        usize::try_from(id.raw() & u64::from(u32::MAX)).expect("an index")
    }
}

impl Timers for Kestrel {
    const NAME: &'static str = "kestrel-timer";
    const CRATE: &'static str = "kestrel-timer";
    const ABOUT: &'static str = "its `wheel::Wheel`, advanced by hand; 65,536 slots of 1 ms, because what is filed on \
         its second level expires late by up to a slot of that; each timer allocates a notifier";
    const REACH: u64 = 65_536;
    const SAYS_NEXT: bool = false;
    type Id = TaskId;

    fn new(_count: u32) -> Self {
        let builder = WheelConfig::builder().l0_tick_duration(millis(1)).l0_slot_count(1 << 16);
        let builder = builder.l1_tick_duration(millis(1 << 16)).l1_slot_count(64);
        let config = builder.build().expect("powers of two");
        let wheel =
            kestrel_timer::wheel::Wheel::new(config, BatchConfig::default()).expect("a right configuration");
        Self { wheel, now: 0, values: Vec::new() }
    }

    fn insert(&mut self, deadline: u64, value: u32) -> TaskId {
        let task = TimerTask::new_oneshot(millis(deadline - self.now), None);
        let (task, _completion) = TimerTaskWithCompletionNotifier::from_timer_task(task);
        let handle = self.wheel.allocate_handle();
        let id = handle.task_id();
        self.wheel.insert(handle, task).expect("its own handle");
        let place = Self::place(id);
        if place >= self.values.len() {
            self.values.resize(place + 1, 0);
        }
        self.values[place] = value;
        id
    }

    fn remove(&mut self, id: TaskId) {
        assert!(self.wheel.cancel(id).expect("its own id"), "a timer that waits");
    }

    fn rearm(&mut self, id: &mut TaskId, deadline: u64, _value: u32) {
        let delay = millis(deadline - self.now);
        assert!(self.wheel.postpone(*id, delay, None).expect("its own id"), "a timer that waits");
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        while self.now < now {
            self.now += 1;
            due.extend(self.wheel.advance().iter().map(|expired| self.values[Self::place(expired.id)]));
        }
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
    const NAME: &'static str = "hierarchical_hash_wheel";
    const CRATE: &'static str = "hierarchical_hash_wheel_timer";
    const ABOUT: &'static str = "its cancellable wheel, which finds timers in a hash map and goes tick by tick; \
         re-arming is a removal and an insertion";
    type Id = u32;

    fn new(_count: u32) -> Self {
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

    fn next_deadline(&mut self) -> Option<u64> {
        match self.wheel.can_skip() {
            Skip::Empty => None,
            Skip::Millis(ticks) => Some(self.now + u64::from(ticks) + 1),
            Skip::None => Some(self.now + 1),
        }
    }
}
