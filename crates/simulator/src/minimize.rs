//! Shrinks a scenario that breaks a rule to one that still breaks it: fewer faults, groups, clients and brokers, less time.

use crate::agenda::SECOND;
use crate::checkers::Rule;
use crate::faults::Fault;
use crate::scenario::Scenario;
use crate::transcript::Transcript;
use crate::world;

/// Runs at most.
const RUNS: u32 = 400;

/// Finds a smaller scenario that breaks the same rule. `tell` hears of each step.
pub fn minimize(scenario: &Scenario, rule: Rule, tell: &mut dyn FnMut(&Scenario)) -> Scenario {
    let mut search = Search { best: scenario.clone(), rule, runs: 0 };
    loop {
        let before = search.runs;
        let mut smaller = false;
        for candidate in candidates(&search.best) {
            // A candidate may be out of date by now: each is a change to what was best when it was made.
            if search.attempt(candidate) {
                tell(&search.best);
                smaller = true;
                break;
            }
        }
        if !smaller || search.runs >= RUNS || search.runs == before {
            return search.best;
        }
    }
}

struct Search {
    best: Scenario,
    rule: Rule,
    runs: u32,
}

impl Search {
    fn attempt(&mut self, candidate: Scenario) -> bool {
        if self.runs >= RUNS {
            return false;
        }
        self.runs += 1;
        let report = world::run(&candidate, Transcript::default());
        let breaks = report.violation.is_some_and(|violation| violation.rule == self.rule);
        if breaks {
            self.best = candidate;
        }
        breaks
    }
}

/// Smaller scenarios, those that leave out most first.
fn candidates(scenario: &Scenario) -> Vec<Scenario> {
    let mut smaller = Vec::new();
    let mut with = |change: &dyn Fn(&mut Scenario)| {
        let mut candidate = scenario.clone();
        change(&mut candidate);
        smaller.push(candidate);
    };
    if scenario.groups.len() > 1 {
        for group in 0..scenario.groups.len() {
            with(&|one| {
                one.groups.remove(group);
            });
        }
        with(&|one| one.groups.truncate(one.groups.len() / 2));
    }
    for fault in Fault::ALL.into_iter().filter(|fault| scenario.faults.level(*fault) > 0) {
        with(&|one| one.faults.set(fault, 0));
    }
    if scenario.rounds > 1 {
        with(&|one| {
            one.chaos /= u64::from(one.rounds);
            one.rounds = 1;
        });
    }
    if scenario.chaos > 4 * SECOND {
        with(&|one| one.chaos /= 2);
        with(&|one| one.chaos = one.chaos / 8 * 7);
    }
    if scenario.brokers > 1 {
        with(&|one| one.brokers -= 1);
    }
    for group in 0..scenario.groups.len() {
        let clients = scenario.groups[group].clients.len();
        if clients > 1 {
            with(&|one| one.groups[group].clients.truncate(clients / 2));
            for client in 0..clients.min(12) {
                with(&|one| {
                    one.groups[group].clients.remove(client);
                });
            }
        }
    }
    for fault in Fault::ALL.into_iter().filter(|fault| scenario.faults.level(*fault) > 1) {
        with(&|one| one.faults.set(fault, 1));
    }
    smaller.retain(|one| size(one) < size(scenario));
    smaller
}

/// What is made smaller.
fn size(scenario: &Scenario) -> u64 {
    let clients = scenario.clients().count() as u64;
    let levels: u64 = Fault::ALL.iter().map(|fault| u64::from(scenario.faults.level(*fault))).sum();
    let parts = scenario.groups.len() + scenario.brokers;
    clients + levels + parts as u64 + u64::from(scenario.rounds) + scenario.chaos / SECOND
}
