//! Clocks: what a tick is, and that no deadline is early.

use std::time::Duration;

use purgatory::{Clock, SimulatedClock, SystemClock, Timestamp};

#[test]
fn a_deadline_is_never_early_by_a_fraction_of_a_tick() {
    let clock = SystemClock::with_tick(Duration::from_hours(1));
    assert_eq!(clock.now(), Timestamp::ZERO);
    assert_eq!(clock.deadline_after(Duration::from_nanos(1)).ticks(), 1);
    assert_eq!(clock.deadline_after(Duration::from_hours(1)).ticks(), 2);
    assert!(clock.until(Timestamp::from_ticks(1)) > Duration::from_secs(3500));
    assert_eq!(clock.until(Timestamp::ZERO), Duration::ZERO);
}

#[test]
fn what_cannot_be_represented_is_never() {
    let clock = SystemClock::with_tick(Duration::from_micros(1));
    assert_eq!(clock.deadline_after(Duration::MAX), Timestamp::MAX);
    assert!(clock.until(Timestamp::MAX) > Duration::from_secs(1 << 40));
}

#[test]
#[should_panic(expected = "a tick is at least 1 us")]
fn a_tick_of_nothing_is_refused() {
    let _ = SystemClock::with_tick(Duration::ZERO);
}

#[test]
fn unix_milliseconds_are_of_this_century_and_do_not_go_back() {
    let clock = SystemClock::unix_millis();
    let first = clock.now();
    assert!(first > Timestamp::from_ticks(1_577_836_800_000));
    assert!(clock.now() >= first);
}

#[test]
fn a_simulated_clock_is_shared_by_its_clones_and_stops_at_never() {
    let clock = SimulatedClock::new(Timestamp::from_ticks(7));
    let other = clock.clone();
    assert_eq!(other.advance(3), Timestamp::from_ticks(10));
    assert_eq!(clock.now(), Timestamp::from_ticks(10));
    assert_eq!(clock.advance(u64::MAX), Timestamp::MAX);
    clock.set(Timestamp::ZERO);
    assert_eq!(other.now(), Timestamp::ZERO);
}
