//! The same seed gives the same transcript, byte for byte, on whichever thread and beside however many others.

use simulator::agenda::MINUTE;
use simulator::{Plant, Scenario, Transcript, run};

fn scenario(seed: u64) -> Scenario {
    let mut scenario = Scenario::from_seed(seed);
    scenario.chaos = 2 * MINUTE;
    scenario.rounds = 1;
    scenario.groups.truncate(2);
    for group in &mut scenario.groups {
        group.clients.truncate(6);
    }
    scenario
}

fn transcripts(scenario: &Scenario, threads: usize) -> Vec<(u64, String)> {
    std::thread::scope(|scope| {
        let record = || {
            let report = run(scenario, Transcript::recording());
            (report.fingerprint, report.transcript)
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(record)).collect();
        running.into_iter().map(|thread| thread.join().expect("no run panics")).collect()
    })
}

#[test]
fn the_same_seed_gives_the_same_transcript() {
    for seed in 20..26 {
        let scenario = scenario(seed);
        let alone = transcripts(&scenario, 1).remove(0);
        for other in transcripts(&scenario, 3) {
            assert!(alone == other, "seed {seed} does not repeat");
        }
        assert!(alone.1.lines().count() > 100);
    }
}

#[test]
fn another_seed_gives_another_transcript() {
    let fingerprint = |seed| run(&scenario(seed), Transcript::default()).fingerprint;
    assert_ne!(fingerprint(20), fingerprint(21));
}

#[test]
fn recording_changes_nothing() {
    let scenario = scenario(27);
    let unread = run(&scenario, Transcript::default());
    assert_eq!(unread.fingerprint, run(&scenario, Transcript::recording()).fingerprint);
    assert_eq!(unread.transcript, "");
}

#[test]
fn what_depends_on_more_than_the_seed_is_noticed() {
    let mut scenario = scenario(28);
    scenario.plant = Plant::Chance;
    let first = run(&scenario, Transcript::default()).fingerprint;
    assert_ne!(first, run(&scenario, Transcript::default()).fingerprint);
}
