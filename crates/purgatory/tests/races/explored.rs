//! Schedules drawn at random, and by PCT: thousands of each scenario.

use purgatory::{Fault, plant};

use crate::scenarios;

/// Schedules of each kind for each scenario.
const SCHEDULES: usize = 2_000;
/// Schedules of each kind that a search for a planted fault may take. It ends with the first that finds it.
const SEARCHED: usize = 200_000;

fn random(scenario: fn(), schedules: usize) {
    shuttle::check_random(scenario, schedules);
}

fn pct(scenario: fn(), schedules: usize) {
    shuttle::check_pct(scenario, schedules, 3);
}

fn explore(scenario: fn()) {
    random(scenario, SCHEDULES);
    pct(scenario, SCHEDULES);
}

#[test]
fn triggers() {
    explore(scenarios::no_trigger_is_lost);
    explore(scenarios::no_trigger_is_lost_to_an_examination);
}

#[test]
fn thresholds() {
    explore(scenarios::no_reached_threshold_is_lost);
}

#[test]
fn exits() {
    explore(scenarios::it_leaves_once);
    explore(scenarios::every_exit_is_handed_over);
}

#[test]
fn wake_ups() {
    explore(scenarios::no_wake_up_is_lost);
    explore(scenarios::no_earlier_deadline_is_lost);
}

#[test]
fn waits() {
    explore(scenarios::a_dropped_wait_leaves_nothing_behind);
}

#[test]
fn shutdowns() {
    explore(scenarios::shutdown_forgets_nobody);
}

/// Both kinds of schedules fail with the fault in the library.
fn assert_caught(fault: Fault, scenario: fn()) {
    plant(Some(fault));
    for (name, search) in [("random", random as fn(fn(), usize)), ("PCT", pct)] {
        let survived = std::panic::catch_unwind(|| search(scenario, SEARCHED)).is_ok();
        assert!(!survived, "{fault:?} is not found by {name} schedules");
    }
}

#[test]
fn a_planted_double_completion_is_caught() {
    assert_caught(Fault::DoubleCompletion, scenarios::it_leaves_once);
}

#[test]
fn a_planted_lost_trigger_is_caught() {
    assert_caught(Fault::LostTrigger, scenarios::no_trigger_is_lost);
    assert_caught(Fault::LostTrigger, scenarios::no_trigger_is_lost_to_an_examination);
    assert_caught(Fault::LostTrigger, scenarios::no_reached_threshold_is_lost);
}

#[test]
fn a_planted_lost_wake_up_is_caught() {
    assert_caught(Fault::LostWakeUp, scenarios::no_earlier_deadline_is_lost);
}
