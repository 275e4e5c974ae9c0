//! A scenario that breaks a rule is made smaller, and breaks it still.

use simulator::agenda::MINUTE;
use simulator::minimize::minimize;
use simulator::{Fault, FaultMix, Plant, Rule, Scenario, Transcript, run};

#[test]
fn a_smaller_scenario_breaks_the_same_rule() {
    let mut scenario = Scenario::from_seed(3);
    scenario.faults = FaultMix::none();
    scenario.faults.set(Fault::Cut, 2);
    scenario.faults.set(Fault::ClientCrash, 1);
    scenario.chaos = MINUTE;
    scenario.rounds = 2;
    scenario.groups.truncate(2);
    scenario.plant = Plant::AnswerTwice;
    let mut steps = 0;
    let smaller = minimize(&scenario, Rule::AnsweredOnce, &mut |_| steps += 1);
    let violation = run(&smaller, Transcript::default()).violation.expect("it breaks the rule");
    assert_eq!(violation.rule, Rule::AnsweredOnce);
    // The plant needs a client and nothing else.
    assert_eq!((smaller.groups.len(), smaller.clients().count(), smaller.rounds), (1, 1, 1));
    assert_eq!(smaller.faults, FaultMix::none());
    assert!(steps > 3 && smaller.chaos < scenario.chaos);
}
