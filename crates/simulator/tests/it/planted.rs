//! Each checker is shown to catch a fault planted between the simulation and the code it runs.

use simulator::agenda::MINUTE;
use simulator::{Fault, FaultMix, Plant, Rule, Scenario, Transcript, run};

/// The rules that a planted fault breaks within a few seeds, given these faults besides.
fn caught(plant: Plant, faults: &[(Fault, u8)], wanted: &[Rule]) {
    let mut mix = FaultMix::none();
    for (fault, level) in faults {
        mix.set(*fault, *level);
    }
    let mut broken = Vec::new();
    for seed in 1..=20 {
        let mut scenario = Scenario::from_seed(seed);
        scenario.faults = mix.clone();
        scenario.brokers = 2;
        scenario.rounds = 1;
        scenario.chaos = 5 * MINUTE;
        scenario.groups.truncate(3);
        for group in &mut scenario.groups {
            group.clients.truncate(5);
        }
        scenario.retention_ms = (plant == Plant::EarlyExpiry).then_some(60_000);
        let sound = run(&scenario, Transcript::default());
        if let Some(violation) = sound.violation {
            panic!("seed {seed} without a plant: {violation}");
        }
        scenario.plant = plant;
        if let Some(violation) = run(&scenario, Transcript::default()).violation {
            if wanted.contains(&violation.rule) {
                return;
            }
            broken.push(violation.to_string());
        }
    }
    panic!("{plant:?} is not caught as {wanted:?}, but as {broken:?}");
}

#[test]
fn a_lost_answer() {
    caught(Plant::DropAnswer, &[], &[Rule::Deadline]);
}

#[test]
fn a_second_answer() {
    caught(Plant::AnswerTwice, &[], &[Rule::AnsweredOnce]);
}

#[test]
fn two_leaders() {
    caught(Plant::TwoLeaders, &[(Fault::ClientCrash, 2)], &[Rule::Generation]);
}

#[test]
fn a_generation_that_goes_back() {
    caught(Plant::OldGeneration, &[(Fault::ClientLeave, 2)], &[Rule::Generation]);
}

#[test]
fn an_assignment_that_is_not_the_leaders() {
    caught(Plant::OtherAssignment, &[], &[Rule::Assignment]);
}

#[test]
fn a_commit_that_is_acknowledged_and_not_written() {
    caught(Plant::AcknowledgedUnwritten, &[(Fault::Crash, 2)], &[Rule::Linearizable]);
}

#[test]
fn a_disk_that_lies() {
    // What was said to be kept is gone: a commit, a generation, or the store's own beginning.
    let rules = [Rule::Linearizable, Rule::Generation, Rule::StoreStopped];
    caught(Plant::LyingDisk, &[(Fault::StoreCrash, 3), (Fault::Crash, 3)], &rules);
}

#[test]
fn a_record_that_is_not_loaded() {
    caught(Plant::StaleLoad, &[(Fault::Crash, 2)], &[Rule::Linearizable]);
}

#[test]
fn a_former_owner_that_is_not_fenced() {
    caught(Plant::NoFencing, &[(Fault::Move, 3)], &[Rule::Linearizable]);
}

#[test]
fn a_heartbeat_that_is_not_heard() {
    caught(Plant::UnheardHeartbeats, &[], &[Rule::EvictedAlive]);
}

#[test]
fn a_session_that_does_not_end() {
    caught(Plant::LateDeadlines, &[(Fault::ClientCrash, 3)], &[Rule::SilentKept]);
}

#[test]
fn a_group_that_never_settles() {
    caught(Plant::NeverSynced, &[], &[Rule::Stuck]);
}

#[test]
fn a_member_that_stays() {
    caught(Plant::Ghost, &[], &[Rule::Leak]);
}

#[test]
fn offsets_of_a_transaction_that_was_aborted() {
    caught(Plant::AbortCommits, &[(Fault::Outsiders, 3)], &[Rule::Linearizable]);
}

#[test]
fn a_transaction_whose_end_is_lost() {
    caught(Plant::LostMarker, &[(Fault::Outsiders, 3)], &[Rule::Linearizable]);
}

#[test]
fn offsets_of_a_transaction_that_goes_on() {
    caught(Plant::EarlyEnd, &[(Fault::Outsiders, 3)], &[Rule::Linearizable]);
}

#[test]
fn offsets_of_a_transaction_that_is_over() {
    caught(
        Plant::Zombie,
        &[(Fault::Outsiders, 3), (Fault::Suspend, 3), (Fault::Stall, 3)],
        &[Rule::Linearizable],
    );
}

#[test]
fn an_offset_that_is_deleted_and_stays() {
    caught(Plant::DeletedStays, &[(Fault::Outsiders, 3)], &[Rule::Linearizable]);
}

#[test]
fn an_offset_that_expires_too_early() {
    caught(Plant::EarlyExpiry, &[(Fault::Outsiders, 3)], &[Rule::Linearizable]);
}

#[test]
fn a_panic() {
    caught(Plant::Panic, &[], &[Rule::Panicked]);
}
