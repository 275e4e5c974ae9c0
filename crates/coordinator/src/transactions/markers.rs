//! How a decided end is carried out: a marker for each partition, and then the transaction is complete. And what becomes
//! of markers that somebody else brings.

use super::messages::{
    TransactionError, TransactionEvent, TransactionOutput, TransactionPhase, TransactionResponse,
    TransactionalId, WriteTxnMarkers,
};
use super::{Delayed, Ending, TransactionCoordinator, Waiting};
use crate::ids::OffsetsPartition;
use crate::messages::{Token, TransactionOutcome};

impl TransactionCoordinator {
    /// A marker from outside is not written here and there: the whole transaction ends, or nothing does.
    pub(super) fn outside_marker(&mut self, token: Token, request: WriteTxnMarkers) {
        let answer = match self.judge(request) {
            Ok(Some(name)) => return self.abort_from_outside(&name, token),
            Ok(None) => Some(Ok(())),
            Err(None) => None,
            Err(Some(error)) => Some(Err(error)),
        };
        self.respond(token, TransactionResponse::WriteTxnMarkers(answer));
    }

    /// The transaction that is to be aborted; `None` where nothing is left to do. No error: nobody here is that
    /// producer.
    fn judge(&self, request: WriteTxnMarkers) -> Result<Option<TransactionalId>, Option<TransactionError>> {
        self.check_serving().map_err(Some)?;
        let name = self.by_producer.get(&request.producer.producer).ok_or(None)?;
        let transaction = self.transactions.get(name).ok_or(None)?;
        if request.producer.epoch != transaction.state.producer.epoch {
            return Err(Some(TransactionError::ProducerFenced));
        }
        match (transaction.state.phase, request.outcome) {
            _ if transaction.writing.is_some() => Err(Some(TransactionError::ConcurrentTransactions)),
            (TransactionPhase::Ongoing, TransactionOutcome::Abort) => Ok(Some(name.clone())),
            (TransactionPhase::Prepare(decided), asked) if decided == asked => {
                Err(Some(TransactionError::ConcurrentTransactions))
            }
            (TransactionPhase::Complete(ended), asked) if ended == asked => Ok(None),
            (TransactionPhase::Empty, TransactionOutcome::Abort) => Ok(None),
            (
                TransactionPhase::Empty
                | TransactionPhase::Ongoing
                | TransactionPhase::Prepare(_)
                | TransactionPhase::Complete(_),
                TransactionOutcome::Commit | TransactionOutcome::Abort,
            ) => Err(Some(TransactionError::InvalidTxnState)),
        }
    }

    /// As at its timeout: its producer is fenced until it initialises its id anew.
    fn abort_from_outside(&mut self, name: &TransactionalId, token: Token) {
        let Some(transaction) = self.transactions.get(name) else { return };
        let event = TransactionEvent::Fenced(name.clone(), transaction.state.producer);
        let next = transaction.state.aborted_by_fencing(true);
        self.outputs.push_back(TransactionOutput::Event(event));
        self.write(next, Some(Waiting::Marker(token)));
    }

    /// Asks for the markers of a transaction whose end is decided.
    pub(super) fn mark_all(&mut self, name: &TransactionalId) {
        let Some(transaction) = self.transactions.get_mut(name) else { return };
        if !matches!(transaction.state.phase, TransactionPhase::Prepare(_)) {
            return;
        }
        let partitions = transaction.state.partitions.clone();
        transaction.unmarked = partitions.iter().copied().collect();
        for partition in partitions {
            self.mark(name, partition);
        }
        self.go_on(name);
    }

    /// Asks for one marker, if it is still missing.
    pub(super) fn mark(&mut self, name: &TransactionalId, partition: OffsetsPartition) {
        let Some(transaction) = self.transactions.get(name) else { return };
        let TransactionPhase::Prepare(outcome) = transaction.state.phase else { return };
        if transaction.unmarked.contains(&partition) {
            self.outputs.push_back(TransactionOutput::WriteMarker {
                transactional_id: name.clone(),
                producer: transaction.state.producer,
                partition,
                outcome,
            });
        }
    }

    pub(super) fn marked(&mut self, name: &TransactionalId, partition: OffsetsPartition, written: bool) {
        let Some(transaction) = self.transactions.get_mut(name) else { return };
        if !transaction.unmarked.contains(&partition) {
            return;
        }
        if written {
            transaction.unmarked.remove(&partition);
            self.go_on(name);
        } else {
            let deadline = self.after_ms(self.config.retry_ms);
            self.purgatory.watch(Delayed::MarkAgain(name.clone(), partition), [], deadline);
        }
    }

    /// Completes the transaction if its end is decided and all its markers are written.
    pub(super) fn go_on(&mut self, name: &TransactionalId) {
        let Some(transaction) = self.transactions.get(name) else { return };
        let TransactionPhase::Prepare(outcome) = transaction.state.phase else { return };
        if transaction.unmarked.is_empty() && transaction.writing.is_none() {
            let next = transaction.state.completed(outcome);
            self.write(next, None);
        }
    }

    /// Whoever ended the transaction is answered when it is complete, or when that takes too long.
    pub(super) fn wait_for_markers(&mut self, name: &TransactionalId, waiting: Waiting) {
        let deadline = self.after_ms(self.config.store_timeout_ms);
        let deadline = self.purgatory.watch(Delayed::Ending(name.clone()), [], deadline);
        if let Some(transaction) = self.transactions.get_mut(name) {
            transaction.ending = Some(Ending { waiting, deadline });
        }
    }

    /// Tells whoever ended the transaction that it has ended: the decision is stored, and the markers are written or
    /// will be.
    pub(super) fn answer_ending(&mut self, name: &TransactionalId) {
        let Some(transaction) = self.transactions.get_mut(name) else { return };
        let Some(ending) = transaction.ending.take() else { return };
        let producer = match transaction.state.next_producer {
            // Who it is next is only so when all is complete: it is to ask again.
            Some(_) => Err(TransactionError::ConcurrentTransactions),
            None => Ok(transaction.state.producer),
        };
        drop(self.purgatory.cancel(ending.deadline));
        match ending.waiting {
            Waiting::Marker(token) => {
                self.respond(token, TransactionResponse::WriteTxnMarkers(Some(Ok(()))));
            }
            Waiting::End(token) => self.respond(token, TransactionResponse::EndTxn(producer)),
            Waiting::Init(_) | Waiting::Begin(_) | Waiting::Add(_) | Waiting::Verify(_) => {
                unreachable!("these are answered when their write ends")
            }
        }
    }
}
