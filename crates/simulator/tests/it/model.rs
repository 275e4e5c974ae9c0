//! The small model of the group protocol: nothing is found in it, and what is planted is.

use simulator::model::{Bounds, Plant, explore};

/// Small enough for an unoptimised test.
fn small() -> Bounds {
    Bounds { states: 1_000, ..Bounds::default() }
}

fn caught(bounds: Bounds, plant: Plant, expected: &str) {
    let why = explore(bounds, plant).expect_err("it was planted");
    assert!(why.why.contains(expected), "{plant:?}:\n{why}");
    assert!(!why.steps.is_empty());
}

#[test]
fn nothing_is_found_with_all_faults() {
    let explored = explore(small(), Plant::Nothing).unwrap_or_else(|why| panic!("{why}"));
    assert!(explored.states >= 1_000 && explored.transitions > explored.states, "{explored:?}");
}

#[test]
fn what_is_small_is_explored_to_its_end() {
    let bounds = Bounds { clients: 1, generations: 1, store_faults: 0, moves: 0, ..small() };
    let explored = explore(bounds, Plant::Nothing).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(explored.unexplored, 0, "{explored:?}");
    assert_eq!(explore(bounds, Plant::Nothing).ok(), Some(explored));
}

#[test]
fn a_store_that_does_not_fence_is_caught() {
    let bounds = Bounds { clients: 2, crashes: 0, leaves: 0, store_faults: 0, ..small() };
    caught(bounds, Plant::UnfencedStore, "generation");
}

#[test]
fn deadlines_that_are_not_handled_are_caught() {
    caught(small(), Plant::NoExpiry, "past its deadline");
}

#[test]
fn an_answer_that_is_lost_is_caught() {
    let bounds = Bounds { clients: 2, ..small() };
    caught(bounds, Plant::LostAnswer, "the group is stuck");
}

#[test]
fn a_write_that_is_lost_after_its_report_is_caught() {
    let bounds = Bounds { clients: 1, crashes: 0, leaves: 0, store_faults: 0, ..small() };
    caught(bounds, Plant::LostWrite, "generation");
}

#[test]
fn an_answer_that_comes_twice_is_caught() {
    caught(Bounds { clients: 1, ..small() }, Plant::AnsweredTwice, "an answer to nothing it asked");
}
