//! The store at work: when commits end, what is reported and when, its ends and starts.

use coordinator::messages::{Input, StoreError};
use groupd::store::StoreFailure;

use super::outsiders::MARKERS;
use super::{Event, World};
use crate::agenda::{MS, SECOND};
use crate::broker::Message;
use crate::checkers::Rule;
use crate::faults::Fault;
use crate::store::{Outcome, Sabotage, Write};

/// The errors with which a write is refused, or said to be.
const ERRORS: [StoreError; 7] = [
    StoreError::NotEnoughReplicas,
    StoreError::NotEnoughReplicasAfterAppend,
    StoreError::RequestTimedOut,
    StoreError::KafkaStorageError,
    StoreError::NetworkException,
    StoreError::UnknownServerError,
    StoreError::NotLeaderOrFollower,
];

impl World {
    /// Whether a write is to be reported as failed, and how.
    pub(super) fn sabotage(&mut self) -> Option<Sabotage> {
        if !self.random.chance(self.faults.in_a_million(Fault::StoreFail)) {
            return None;
        }
        let error = *self.random.pick(&ERRORS);
        Some(if self.random.below(2) == 0 { Sabotage::Refused(error) } else { Sabotage::Lied(error) })
    }

    pub(super) fn push_write(&mut self, write: Write) {
        if !self.store.is_up() {
            let (broker, life, id) = (write.broker, write.life, write.id);
            let result = Err(StoreError::KafkaStorageError);
            return self.report_outcomes(vec![Outcome { broker, life, id, result }]);
        }
        if self.store.push(write) {
            self.begin_commit();
        }
    }

    fn begin_commit(&mut self) {
        self.store.busy = true;
        let usual = 200 + self.random.below(2 * MS);
        // A commit holds up many writes: few are slow.
        let is_slow = self.random.chance(self.faults.in_a_million(Fault::StoreSlow) / 5);
        let slow = if is_slow { self.random.wait(SECOND) } else { 0 };
        let at = self.now().after(usual + slow);
        self.agenda.enter(at, Event::Commit(self.store.life));
    }

    pub(super) fn commit(&mut self, life: u32) {
        if self.store.life != life || !self.store.busy {
            return;
        }
        let outcomes = self.store.commit();
        self.report_outcomes(outcomes);
        if !self.store.is_up() {
            self.store_failed();
        } else if self.store.has_work() {
            self.begin_commit();
        }
    }

    /// The reports of a broker's writes come in order, but for those that are late or come again.
    fn report_outcomes(&mut self, outcomes: Vec<Outcome>) {
        let now = self.now();
        for outcome in outcomes {
            let in_order = now.after(self.network.latency()).max(self.reported[outcome.broker]);
            self.reported[outcome.broker] = in_order;
            if !self.random.chance(self.faults.in_a_million(Fault::StoreTwice)) {
                self.agenda.enter(in_order, Event::Stored(outcome));
                continue;
            }
            let late = in_order.after(self.random.wait(3 * SECOND));
            self.agenda.enter(late, Event::Stored(outcome));
            if self.random.below(2) == 0 {
                let again = late.after(self.random.wait(SECOND));
                self.agenda.enter(again, Event::Stored(outcome));
            }
        }
    }

    pub(super) fn hear_stored(&mut self, outcome: Outcome) {
        let now = self.now();
        if self.brokers[outcome.broker].life != outcome.life {
            return;
        }
        self.transcript.note(
            now,
            "stored",
            [outcome.broker as u64, outcome.id.0, u64::from(outcome.result.is_ok())],
            || format!("broker {} write {} {:?}", outcome.broker, outcome.id.0, outcome.result),
        );
        let message = if outcome.id.0 >= MARKERS {
            Message::Marked(outcome.id, outcome.result)
        } else {
            Message::News(Input::Stored(outcome.id, outcome.result))
        };
        self.tell(outcome.broker, message);
    }

    /// The store stopped by itself: it is started again.
    pub(super) fn store_failed(&mut self) {
        if self.store.is_up() {
            return;
        }
        let outcomes = self.store.kill();
        self.store_restarts(outcomes, "fails");
    }

    pub(super) fn store_loses_power(&mut self) {
        if self.store.is_up() {
            let seed = self.random.any();
            let outcomes = self.store.lose_power(seed);
            self.store_restarts(outcomes, "loses power");
        }
    }

    fn store_restarts(&mut self, outcomes: Vec<Outcome>, why: &'static str) {
        let now = self.now();
        let at = now.after(self.random.wait(2 * SECOND));
        let life = self.store.life;
        self.transcript.note(now, "store", [life.into(), outcomes.len() as u64, at.0], || {
            format!("the store {why}, {} writes are lost on; it starts at {at}", outcomes.len())
        });
        self.report_outcomes(outcomes);
        self.agenda.enter(at, Event::StoreStart(life));
    }

    pub(super) fn start_store(&mut self, life: u32) {
        if self.store.life != life || self.store.is_up() {
            return;
        }
        let now = self.now();
        match self.store.start() {
            Ok(()) => {}
            // The disk fails while it starts: it is tried again.
            Err(StoreFailure::Io(_) | StoreFailure::DiskFull | StoreFailure::Poisoned) => self.store_failed(),
            Err(failure) => self.findings.broken(Rule::StoreStopped, now, || failure.to_string()),
        }
        self.transcript.note(now, "store", [life.into(), 0, 0], || "the store starts".to_owned());
    }
}
