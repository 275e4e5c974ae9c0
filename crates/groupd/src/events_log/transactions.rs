//! What happened to transactional ids, as log lines and counters.

use coordinator::messages::TransactionOutcome;
use coordinator::transactions::TransactionEvent;
use metrics::{counter, histogram};
use tracing::{debug, info, warn};

use super::seconds;
use crate::shown::Shown;
use crate::telemetry::name;

/// Logs and counts `event`.
pub(crate) fn record_transaction(event: &TransactionEvent) {
    match event {
        TransactionEvent::Started(id) => {
            counter!(name::TRANSACTIONS_STARTED).increment(1);
            debug!(transactional_id = %Shown(id.as_str()), "transaction began");
        }
        TransactionEvent::TimedOut(id, producer) => {
            counter!(name::TRANSACTIONS_TIMED_OUT).increment(1);
            let (id, producer, epoch) = (Shown(id.as_str()), producer.producer.0, producer.epoch);
            warn!(transactional_id = %id, producer, epoch, "transaction was left open and is aborted at its timeout");
        }
        TransactionEvent::Fenced(id, producer) => {
            counter!(name::TRANSACTIONS_FENCED).increment(1);
            let (id, producer, epoch) = (Shown(id.as_str()), producer.producer.0, producer.epoch);
            info!(transactional_id = %id, producer, epoch, "transaction is aborted, its id was initialised anew");
        }
        TransactionEvent::Ended { transactional_id, outcome, took_ms } => {
            let outcome = match outcome {
                TransactionOutcome::Commit => "commit",
                TransactionOutcome::Abort => "abort",
            };
            counter!(name::TRANSACTIONS_ENDED, "outcome" => outcome).increment(1);
            histogram!(name::TRANSACTION_SECONDS).record(seconds(*took_ms));
            debug!(transactional_id = %Shown(transactional_id.as_str()), outcome, took_ms, "transaction ended");
        }
        TransactionEvent::Expired(id) => {
            counter!(name::TRANSACTIONAL_IDS_EXPIRED).increment(1);
            info!(transactional_id = %Shown(id.as_str()), "transactional id was not used for long and is forgotten");
        }
    }
}
