//! Clients, a log and markers without manners, from seeds.

use std::collections::BTreeSet;

use coordinator::ids::ProducerId;
use coordinator::messages::GroupError;
use coordinator::messages::TransactionOutcome::{Abort, Commit};
use coordinator::transactions::{
    NextEpoch, ProducerEpoch, TransactionInput, TransactionRequest, TransactionResponse,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::host::{Host, TIMEOUT_MS, Then, id, offsets_of};

/// Clients that do as they like, a log and markers that fail and dawdle, restarts. In the end everyone was answered
/// once, epochs never went back, and nothing is left open.
#[test]
fn everything_ends() {
    for seed in 0..150 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // Some run out of epochs on their way.
        let mut host = if seed % 3 == 0 { Host::with_epochs_left(3).0 } else { Host::new() };
        let mut run =
            Run { latest: ProducerEpoch::NONE, asked: BTreeSet::new(), highest: (ProducerId(-1), -1) };
        for _ in 0..150 {
            run.step(&mut host, &mut random);
        }
        host.writes = Then::Succeed;
        host.markers = Then::Succeed;
        for (id, record) in std::mem::take(&mut host.waiting) {
            host.stored(id, record);
        }
        for (id, producer, partition, outcome) in std::mem::take(&mut host.waiting_markers) {
            host.mark(id, producer, partition, outcome);
        }
        host.advance(2 * TIMEOUT_MS);
        for group in ["g", "h"] {
            assert_ne!(host.fetch(group), Err(GroupError::UnstableOffsetCommit), "seed {seed}");
        }
        assert!(run.asked.iter().all(|token| host.answers.contains_key(token)), "seed {seed}");
    }
}

struct Run {
    latest: ProducerEpoch,
    asked: BTreeSet<u64>,
    highest: (ProducerId, i16),
}

impl Run {
    fn step(&mut self, host: &mut Host, random: &mut ChaCha8Rng) {
        let group = if random.random_bool(0.5) { "g" } else { "h" };
        match random.random_range(0..16) {
            0 => drop(self.asked.insert(host.ask_init(None))),
            1 => drop(self.asked.insert(host.ask_init(Some(self.latest)))),
            2..=4 => {
                let request = TransactionRequest::AddOffsetsToTxn(offsets_of(self.latest, group));
                self.asked.insert(host.ask(request));
            }
            5..=6 => drop(host.commit(self.latest, group, random.random_range(0..100))),
            7..=8 => {
                let outcome = if random.random_bool(0.6) { Commit } else { Abort };
                self.asked.insert(host.end(self.latest, outcome));
            }
            9 => host.writes = any_then(random),
            10 => host.markers = any_then(random),
            11 => {
                if !host.waiting.is_empty() {
                    let (id, record) = host.waiting.remove(0);
                    host.stored(id, record);
                }
                if !host.waiting_markers.is_empty() {
                    let (id, producer, partition, outcome) = host.waiting_markers.remove(0);
                    host.mark(id, producer, partition, outcome);
                }
            }
            12 => drop(self.asked.insert(host.ask(add_by_itself(self.latest, group)))),
            13 => {
                let outcome = if random.random_bool(0.6) { Commit } else { Abort };
                let fresh = random.random_bool(0.9).then(|| ProducerId(10_000 + host.tokens.cast_signed()));
                self.asked.insert(host.end_as(self.latest, outcome, NextEpoch::Raised { fresh }));
            }
            14 => host.advance(random.random_range(1..20_000)),
            _ => {
                host.turn(TransactionInput::Unload);
                host.restart();
            }
        }
        for token in &self.asked {
            if let Some(
                TransactionResponse::InitProducerId(Ok(producer)) | TransactionResponse::EndTxn(Ok(producer)),
            ) = host.answers.get(token)
            {
                self.latest = *producer;
            }
        }
        if let Some(state) = host.transactions.state(&id()) {
            let now = (state.producer.producer, state.producer.epoch);
            assert!(now.0 != self.highest.0 || now.1 >= self.highest.1, "an epoch went back");
            self.highest = now;
        }
    }
}

fn add_by_itself(producer: ProducerEpoch, group: &str) -> TransactionRequest {
    TransactionRequest::AddAndVerifyOffsets(offsets_of(producer, group))
}

fn any_then(random: &mut ChaCha8Rng) -> Then {
    [Then::Succeed, Then::Succeed, Then::Fail, Then::Wait][random.random_range(0..4)]
}
