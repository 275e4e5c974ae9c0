//! Every sequence of a few calls, against models too simple to be wrong. Each test prints how many sequences there were.

use purgatory::{Cause, OperationId, Purgatory, TimerId, Timestamp, TimingWheel};

fn t(ticks: u64) -> Timestamp {
    Timestamp::from_ticks(ticks)
}

/// Runs `one` on every sequence of that length over the alphabet, and returns how many there are.
fn all_sequences<C: Copy>(alphabet: &[C], length: usize, mut one: impl FnMut(&[C])) -> usize {
    let mut digits = vec![0; length];
    let mut count = 0;
    loop {
        let sequence: Vec<_> = digits.iter().map(|&digit| alphabet[digit]).collect();
        one(&sequence);
        count += 1;
        let Some(at) = digits.iter().rposition(|&digit| digit + 1 < alphabet.len()) else { return count };
        digits[at] += 1;
        digits[at + 1..].fill(0);
    }
}

#[derive(Clone, Copy, Debug)]
enum WheelCall {
    Insert(u64),
    RearmOldest(u64),
    RearmNewest(u64),
    RemoveOldest,
    ExpireOne,
    Advance(u64),
}

/// Distances at which a slot, a level or a lap begins or ends.
const WHEEL_CALLS: [WheelCall; 12] = [
    WheelCall::Insert(0),
    WheelCall::Insert(1),
    WheelCall::Insert(255),
    WheelCall::Insert(256),
    WheelCall::Insert(65_536),
    WheelCall::RearmOldest(257),
    WheelCall::RearmNewest(1),
    WheelCall::RemoveOldest,
    WheelCall::ExpireOne,
    WheelCall::Advance(1),
    WheelCall::Advance(255),
    WheelCall::Advance(65_280),
];

/// A timer that waits: when it counts as due, and the deadline it was given.
struct Timer {
    id: TimerId,
    deadline: u64,
    due: u64,
}

struct WheelRun<'a> {
    calls: &'a [WheelCall],
    wheel: TimingWheel<()>,
    timers: Vec<Timer>,
    now: u64,
}

impl WheelRun<'_> {
    fn call(&mut self, call: WheelCall) {
        match call {
            WheelCall::Insert(distance) => {
                let due = self.now.saturating_add(distance);
                let id = self.wheel.insert(t(due), ());
                self.timers.push(Timer { id, deadline: due, due });
            }
            WheelCall::RearmOldest(distance) => self.rearm(0, distance),
            WheelCall::RearmNewest(distance) => self.rearm(self.timers.len().wrapping_sub(1), distance),
            WheelCall::RemoveOldest if self.timers.is_empty() => {}
            WheelCall::RemoveOldest => {
                let timer = self.timers.remove(0);
                assert_eq!(self.wheel.remove(timer.id), Some(()), "{:?}", self.calls);
                assert_eq!(self.wheel.remove(timer.id), None, "{:?}", self.calls);
            }
            WheelCall::ExpireOne => {
                self.expire(self.now);
            }
            WheelCall::Advance(distance) => {
                let now = self.now.saturating_add(distance);
                while self.expire(now) {}
                self.now = now;
            }
        }
        let earliest =
            self.timers.iter().filter(|timer| timer.deadline < u64::MAX).map(|timer| timer.due).min();
        let next = self.wheel.next_deadline();
        assert_eq!(self.wheel.len(), self.timers.len(), "{:?}", self.calls);
        assert!(
            earliest.is_none_or(|due| next.is_some_and(|next| next <= t(due))),
            "{:?}: {next:?}",
            self.calls
        );
    }

    fn rearm(&mut self, at: usize, distance: u64) {
        let Some(timer) = self.timers.get_mut(at) else { return };
        timer.deadline = self.now.saturating_add(distance);
        timer.due = timer.deadline;
        assert!(self.wheel.rearm(timer.id, t(timer.due)), "{:?}", self.calls);
    }

    fn expire(&mut self, now: u64) -> bool {
        let due = self.timers.iter().filter(|timer| timer.due <= now && timer.deadline < u64::MAX);
        let earliest = due.map(|timer| timer.due).min();
        let expired = self.wheel.expire_next(t(now));
        assert_eq!(expired.is_some(), earliest.is_some(), "{:?} at {now}", self.calls);
        let Some(expired) = expired else { return false };
        let at = self.timers.iter().position(|timer| timer.id == expired.id).expect("it waited");
        let timer = self.timers.remove(at);
        assert_eq!((Some(timer.due), t(timer.deadline)), (earliest, expired.deadline), "{:?}", self.calls);
        true
    }
}

#[test]
fn every_sequence_of_calls_of_a_wheel() {
    let length = if cfg!(debug_assertions) { 4 } else { 5 };
    let mut count = 0;
    for start in [0, 255, (1 << 32) - 1, u64::MAX - 65_537] {
        count += all_sequences(&WHEEL_CALLS, length, |calls| {
            let mut run =
                WheelRun { calls, wheel: TimingWheel::new(t(start)), timers: Vec::new(), now: start };
            for &call in calls {
                run.call(call);
            }
            while run.expire(u64::MAX) {}
            assert!(run.timers.iter().all(|timer| timer.deadline == u64::MAX), "{calls:?}");
        });
    }
    println!("{count} sequences of {length} calls");
    assert_eq!(count, 4 * WHEEL_CALLS.len().pow(length.try_into().expect("a short length")));
}

#[derive(Clone, Copy, Debug)]
enum Call {
    /// Under key 1, due in one tick.
    WatchOne,
    /// Under keys 1 and 2, due in two ticks.
    WatchBoth,
    /// Until key 2 has reached 1, due in one tick.
    WatchThreshold,
    Complete(u8),
    /// The operations of an even number, in one pass.
    SweepEven(u8),
    Reach,
    CompleteAll(u8),
    CancelOldest,
    ExtendOldest,
    ExpireOne,
    Tick,
}

const CALLS: [Call; 12] = [
    Call::WatchOne,
    Call::WatchBoth,
    Call::WatchThreshold,
    Call::Complete(1),
    Call::Complete(2),
    Call::SweepEven(1),
    Call::Reach,
    Call::CompleteAll(2),
    Call::CancelOldest,
    Call::ExtendOldest,
    Call::ExpireOne,
    Call::Tick,
];

/// An operation that waits.
struct Waiting {
    id: OperationId,
    name: u32,
    keys: &'static [u8],
    waits_for_threshold: bool,
    due: u64,
}

struct Run<'a> {
    calls: &'a [Call],
    purgatory: Purgatory<u8, u32>,
    /// In watch order.
    waiting: Vec<Waiting>,
    now: u64,
    next_name: u32,
}

impl Run<'_> {
    fn watch(&mut self, keys: &'static [u8], waits_for_threshold: bool, ticks: u64) {
        let (name, due) = (self.next_name, self.now + ticks);
        self.next_name += 1;
        let id = if waits_for_threshold {
            self.purgatory.watch_thresholds(name, [(2, 1)], t(due)).expect("there is no limit")
        } else {
            self.purgatory.watch(name, keys.iter().copied(), t(due))
        };
        self.waiting.push(Waiting { id, name, keys, waits_for_threshold, due });
    }

    /// The first that is so leaves, by the door that was used.
    fn leaves(&mut self, got: Option<u32>, is_next: impl Fn(&Waiting) -> bool) -> bool {
        let at = self.waiting.iter().position(is_next);
        assert_eq!(got, at.map(|at| self.waiting.remove(at).name), "{:?}", self.calls);
        got.is_some()
    }

    fn expire(&mut self, now: u64) -> bool {
        let earliest = self.waiting.iter().map(|waiting| waiting.due).min().filter(|&due| due <= now);
        let got = self.purgatory.expire_next(t(now));
        self.leaves(got, |waiting| Some(waiting.due) == earliest)
    }

    fn complete_all(&mut self, key: u8) {
        let mut left = self.purgatory.complete_all(&key, Cause::Cancelled).into_iter();
        while self.waiting.iter().any(|waiting| waiting.keys.contains(&key)) {
            let next = left.next();
            self.leaves(next, |waiting| waiting.keys.contains(&key));
        }
        while key == 2 && self.waiting.iter().any(|waiting| waiting.waits_for_threshold) {
            let next = left.next();
            self.leaves(next, |waiting| waiting.waits_for_threshold);
        }
        assert_eq!(left.next(), None, "{:?}", self.calls);
    }

    fn call(&mut self, call: Call) {
        match call {
            Call::WatchOne => self.watch(&[1], false, 1),
            Call::WatchBoth => self.watch(&[1, 2], false, 2),
            Call::WatchThreshold => self.watch(&[], true, 1),
            Call::Complete(key) => {
                let got = self.purgatory.complete_next(&key, |_| true);
                self.leaves(got, |waiting| waiting.keys.contains(&key));
            }
            Call::SweepEven(key) => {
                let mut sweep = self.purgatory.sweep(key);
                loop {
                    let got = self.purgatory.sweep_next(&mut sweep, |name| name % 2 == 0);
                    if !self.leaves(got, |waiting| waiting.keys.contains(&key) && waiting.name % 2 == 0) {
                        break;
                    }
                }
            }
            Call::Reach => {
                let got = self.purgatory.reach_next(&2, 1);
                self.leaves(got, |waiting| waiting.waits_for_threshold);
            }
            Call::CompleteAll(key) => self.complete_all(key),
            Call::CancelOldest => {
                let got = self.waiting.first().and_then(|oldest| self.purgatory.cancel(oldest.id));
                self.leaves(got, |_| true);
            }
            Call::ExtendOldest => {
                if let Some(oldest) = self.waiting.first_mut() {
                    oldest.due = self.now + 2;
                    assert!(self.purgatory.extend(oldest.id, t(oldest.due)), "{:?}", self.calls);
                }
            }
            Call::ExpireOne => {
                self.expire(self.now);
            }
            Call::Tick => {
                while self.expire(self.now + 1) {}
                self.now += 1;
            }
        }
        self.compare();
    }

    fn compare(&self) {
        let watches = |key: u8| {
            let threshold = |waiting: &Waiting| key == 2 && waiting.waits_for_threshold;
            self.waiting.iter().filter(|waiting| waiting.keys.contains(&key) || threshold(waiting)).count()
        };
        let expected = (self.waiting.len(), watches(1) + watches(2), watches(1), watches(2));
        let purgatory = &self.purgatory;
        let found =
            (purgatory.pending(), purgatory.watched(), purgatory.watched_by(&1), purgatory.watched_by(&2));
        assert_eq!(found, expected, "{:?}", self.calls);
    }
}

#[test]
fn every_sequence_of_calls_of_a_purgatory() {
    let length = if cfg!(debug_assertions) { 4 } else { 5 };
    let count = all_sequences(&CALLS, length, |calls| {
        let (purgatory, waiting) = (Purgatory::new(t(0)), Vec::new());
        let mut run = Run { calls, purgatory, waiting, now: 0, next_name: 0 };
        for &call in calls {
            run.call(call);
        }
        let names: Vec<_> = run.waiting.iter().map(|waiting| waiting.name).collect();
        assert_eq!(run.purgatory.shutdown(), names, "{calls:?}");
    });
    println!("{count} sequences of {length} calls");
    assert_eq!(count, CALLS.len().pow(length.try_into().expect("a short length")));
}
