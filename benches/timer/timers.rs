//! What every timer structure is asked to do, and our own two: the wheel and the purgatory.

use purgatory::{OperationId, Purgatory, TimerId, Timestamp, TimingWheel};

/// Timers with `u32` values that the caller knows them by. Time starts at 0, and deadlines are ahead.
pub(crate) trait Timers {
    const NAME: &'static str;
    /// The crate it comes from; empty for what is written here.
    const CRATE: &'static str = "";
    /// What it is, and how it is driven, in a sentence.
    const ABOUT: &'static str;
    /// The longest delay that it keeps to the tick.
    const REACH: u64 = u64::MAX;
    /// Whether it says when the next timer is due.
    const SAYS_NEXT: bool = true;
    /// Whether anything expires: a yardstick does part of the work only.
    const EXPIRES: bool = true;
    /// Bytes of what was given it to hold.
    #[allow(dead_code, reason = "it is asked for where memory is measured, in timer_memory.rs")]
    const PAYLOAD: usize = size_of::<u32>();
    /// How the structure knows a timer.
    type Id;

    /// For values below `count`.
    fn new(count: u32) -> Self;
    fn insert(&mut self, deadline: u64, value: u32) -> Self::Id;
    fn remove(&mut self, id: Self::Id);
    fn rearm(&mut self, id: &mut Self::Id, deadline: u64, value: u32);
    /// Moves the clock, and appends the values of all that are due.
    fn expire(&mut self, now: u64, due: &mut Vec<u32>);
    /// The timer of this id has expired.
    fn expired(&mut self, _id: Self::Id) {}
    /// A time at which nothing that waits is overdue; where `SAYS_NEXT`.
    fn next_deadline(&mut self) -> Option<u64> {
        None
    }
}

impl Timers for TimingWheel<u32> {
    const NAME: &'static str = "TimingWheel";
    const ABOUT: &'static str = "ours: chunked slots, lazy re-arm";
    type Id = TimerId;

    fn new(_count: u32) -> Self {
        Self::new(Timestamp::ZERO)
    }

    fn insert(&mut self, deadline: u64, value: u32) -> TimerId {
        self.insert(Timestamp::from_ticks(deadline), value)
    }

    fn remove(&mut self, id: TimerId) {
        self.remove(id);
    }

    fn rearm(&mut self, id: &mut TimerId, deadline: u64, _value: u32) {
        self.rearm(*id, Timestamp::from_ticks(deadline));
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        while let Some(expired) = self.expire_next(Timestamp::from_ticks(now)) {
            due.push(expired.value);
        }
    }

    fn next_deadline(&mut self) -> Option<u64> {
        Self::next_deadline(self).map(Timestamp::ticks)
    }
}

impl Timers for Purgatory<u32, u32> {
    const NAME: &'static str = "Purgatory, no keys";
    const ABOUT: &'static str = "ours: the wheel below a purgatory whose operations watch nothing but time";
    type Id = OperationId;

    fn new(_count: u32) -> Self {
        Self::new(Timestamp::ZERO)
    }

    fn insert(&mut self, deadline: u64, value: u32) -> OperationId {
        self.watch(value, [], Timestamp::from_ticks(deadline))
    }

    fn remove(&mut self, id: OperationId) {
        self.cancel(id);
    }

    fn rearm(&mut self, id: &mut OperationId, deadline: u64, _value: u32) {
        self.extend(*id, Timestamp::from_ticks(deadline));
    }

    fn expire(&mut self, now: u64, due: &mut Vec<u32>) {
        while let Some(value) = self.expire_next(Timestamp::from_ticks(now)) {
            due.push(value);
        }
    }

    fn next_deadline(&mut self) -> Option<u64> {
        Self::next_deadline(self).map(Timestamp::ticks)
    }
}
