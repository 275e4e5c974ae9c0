//! No seed of a fixed set breaks a rule. More of them: `cargo run --release -p simulator -- --seeds 1..1000`.

use simulator::agenda::MINUTE;
use simulator::{Scenario, Transcript, run};

#[test]
fn every_rule_holds_for_each_seed() {
    for seed in 1..=12 {
        let mut scenario = Scenario::from_seed(seed);
        scenario.chaos = scenario.chaos.min(4 * MINUTE);
        scenario.groups.truncate(3);
        let report = run(&scenario, Transcript::default());
        if let Some(violation) = report.violation {
            panic!("seed {seed}, faults {}: {violation}", scenario.faults);
        }
        assert!(report.counts.generations > 0 && report.client_time > 0, "seed {seed} does something");
    }
}
