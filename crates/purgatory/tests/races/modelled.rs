//! Every schedule of a few small models, and every value that their atomics may show.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use loom::model::Builder;
use purgatory::{Fault, plant};

use crate::scenarios;

/// Explores every schedule in which threads are interrupted at most so often: without a limit, every schedule there is.
fn check(interruptions: Option<usize>, scenario: fn()) {
    let mut builder = Builder::new();
    builder.preemption_bound = interruptions;
    builder.max_branches = 10_000;
    let schedules = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&schedules);
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        scenario();
    });
    println!("{} schedules", schedules.load(Relaxed));
}

#[test]
fn triggers() {
    check(None, scenarios::no_trigger_is_lost);
}

#[test]
fn triggers_during_an_examination() {
    check(None, scenarios::no_trigger_is_lost_to_an_examination);
}

#[test]
fn deadlines() {
    check(None, scenarios::no_earlier_deadline_is_lost);
}

#[test]
fn shutdowns() {
    check(None, scenarios::shutdown_forgets_nobody);
}

/// Four threads: with no limit it takes hours.
#[test]
fn exits() {
    check(Some(3), scenarios::it_leaves_once);
}

#[test]
fn waits() {
    check(Some(3), scenarios::a_dropped_wait_leaves_nothing_behind);
}

/// Four threads, one of which sleeps until it is woken.
#[test]
fn wake_ups() {
    check(Some(2), scenarios::no_wake_up_is_lost);
}

fn assert_caught(fault: Fault, scenario: fn()) {
    plant(Some(fault));
    let survived = std::panic::catch_unwind(|| check(Some(3), scenario)).is_ok();
    assert!(!survived, "{fault:?} is not found");
}

#[test]
fn a_planted_double_completion_is_caught() {
    assert_caught(Fault::DoubleCompletion, scenarios::it_leaves_once);
}

#[test]
fn a_planted_lost_trigger_is_caught() {
    assert_caught(Fault::LostTrigger, scenarios::no_trigger_is_lost);
}

#[test]
fn a_planted_lost_wake_up_is_caught() {
    assert_caught(Fault::LostWakeUp, scenarios::no_earlier_deadline_is_lost);
}
