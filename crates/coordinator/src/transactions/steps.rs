//! The steps of a transaction coordinator's turns: requests, and what follows from writes, markers and deadlines.

use purgatory::Timestamp;

use super::messages::{
    AddOffsetsToTxn, AddPartitionsToTxn, EndTxn, InitProducerId, ProducerEpoch, TransactionError,
    TransactionEvent, TransactionOutput, TransactionPhase, TransactionRecord, TransactionRequest,
    TransactionResponse, TransactionState, TransactionalId,
};
use super::state::Next;
use super::{Delayed, Serving, Transaction, TransactionCoordinator, Waiting, Write};
use crate::ids::{GroupId, OffsetsPartition};
use crate::messages::{StoreError, StoreId, Token};

type Answer = Result<(), TransactionError>;

impl TransactionCoordinator {
    pub(super) fn request(&mut self, token: Token, request: TransactionRequest) {
        match request {
            TransactionRequest::InitProducerId(request) => self.init(token, &request),
            TransactionRequest::AddPartitionsToTxn(request) => self.begin(token, &request),
            TransactionRequest::AddOffsetsToTxn(request) => self.add(&request, Waiting::Add(token)),
            TransactionRequest::AddAndVerifyOffsets(request) => self.add(&request, Waiting::Verify(token)),
            TransactionRequest::VerifyOffsets(request) => {
                let answer = self.verify(&request);
                self.respond(token, TransactionResponse::VerifyOffsets(answer));
            }
            TransactionRequest::EndTxn(request) => self.end(token, &request),
            TransactionRequest::WriteTxnMarkers(request) => self.outside_marker(token, request),
        }
    }

    fn init(&mut self, token: Token, request: &InitProducerId) {
        let refusal = |error| TransactionResponse::InitProducerId(Err(error));
        if let Err(error) = self.check_init(request) {
            return self.respond(token, refusal(error));
        }
        let id = &request.transactional_id;
        let transaction = self
            .transactions
            .entry(id.clone())
            .or_insert_with(|| Transaction::new(TransactionState::new(request)));
        if transaction.writing.is_some() {
            return self.respond(token, refusal(TransactionError::ConcurrentTransactions));
        }
        match transaction.state.init(request) {
            Err(error) => self.respond(token, refusal(error)),
            Ok(Next::Already) => {
                let producer = transaction.state.producer;
                self.respond(token, TransactionResponse::InitProducerId(Ok(producer)));
            }
            Ok(Next::Write(next)) => {
                if transaction.state.phase == TransactionPhase::Ongoing {
                    let event = TransactionEvent::Fenced(id.clone(), transaction.state.producer);
                    self.outputs.push_back(TransactionOutput::Event(event));
                }
                self.write(next, Some(Waiting::Init(token)));
            }
        }
    }

    fn check_init(&self, request: &InitProducerId) -> Answer {
        if !(1..=TransactionalId::MAX).contains(&request.transactional_id.as_str().len()) {
            return Err(TransactionError::InvalidRequest);
        }
        if !(1..=self.config.transaction_max_timeout_ms).contains(&request.transaction_timeout_ms) {
            return Err(TransactionError::InvalidTransactionTimeout);
        }
        self.check_serving()?;
        let is_known = self.transactions.contains_key(&request.transactional_id);
        if !is_known && self.transactions.len() >= self.config.max_transactional_ids {
            return Err(TransactionError::PolicyViolation);
        }
        Ok(())
    }

    fn begin(&mut self, token: Token, request: &AddPartitionsToTxn) {
        let unix_ms = self.unix_ms();
        let next = self
            .idle(&request.transactional_id, request.producer)
            .and_then(|transaction| transaction.state.begin(request, unix_ms));
        match next {
            Ok(Next::Already) => self.respond(token, TransactionResponse::AddPartitionsToTxn(Ok(()))),
            Ok(Next::Write(next)) => self.write(next, Some(Waiting::Begin(token))),
            Err(error) => self.respond(token, TransactionResponse::AddPartitionsToTxn(Err(error))),
        }
    }

    fn add(&mut self, request: &AddOffsetsToTxn, waiting: Waiting) {
        let (partition, unix_ms) = (self.partition(&request.group), self.unix_ms());
        let next = self
            .idle(&request.transactional_id, request.producer)
            .and_then(|transaction| transaction.state.add(request, partition, unix_ms));
        match next {
            Ok(Next::Already) => self.added(waiting),
            Ok(Next::Write(next)) => self.write(next, Some(waiting)),
            Err(error) => self.refuse(waiting, error),
        }
    }

    fn added(&mut self, waiting: Waiting) {
        match waiting {
            Waiting::Add(token) => self.respond(token, TransactionResponse::AddOffsetsToTxn(Ok(()))),
            Waiting::Verify(token) => self.respond(token, TransactionResponse::VerifyOffsets(Ok(()))),
            Waiting::Init(_) | Waiting::Begin(_) | Waiting::End(_) | Waiting::Marker(_) => {
                unreachable!("these add nothing")
            }
        }
    }

    fn verify(&self, request: &AddOffsetsToTxn) -> Answer {
        let partition = self.partition(&request.group);
        self.known(&request.transactional_id)?.state.verify(request, partition)
    }

    fn end(&mut self, token: Token, request: &EndTxn) {
        let next = self
            .idle_for_end(request)
            .and_then(|transaction| Ok((transaction.state.producer, transaction.state.end(request)?)));
        match next {
            Ok((producer, Next::Already)) => {
                self.respond(token, TransactionResponse::EndTxn(Ok(producer)));
            }
            Ok((_, Next::Write(next))) => self.write(next, Some(Waiting::End(token))),
            Err(error) => self.respond(token, TransactionResponse::EndTxn(Err(error))),
        }
    }

    /// Asks for a write of what the transaction is to be next.
    pub(super) fn write(&mut self, mut next: TransactionState, waiting: Option<Waiting>) {
        next.updated_ms = self.unix_ms();
        let id = StoreId(self.next_store);
        self.next_store += 1;
        self.outputs.push_back(TransactionOutput::Store(id, TransactionRecord::State(next.clone())));
        let name = next.transactional_id.clone();
        let deadline = self.after_ms(self.config.store_timeout_ms);
        let operation = Delayed::Write(Box::new(Write { id, next, waiting }));
        let operation = self.purgatory.watch(operation, [id], deadline);
        if let Some(transaction) = self.transactions.get_mut(&name) {
            transaction.writing = Some(operation);
        }
    }

    /// The outcome is not known in time: who waits is told to come again, but it still decides.
    pub(super) fn write_takes_long(&mut self, mut write: Write) {
        if let Some(waiting) = write.waiting.take() {
            self.refuse(waiting, TransactionError::CoordinatorNotAvailable);
        }
        let (id, name) = (write.id, write.next.transactional_id.clone());
        let operation = self.purgatory.watch(Delayed::Write(Box::new(write)), [id], Timestamp::MAX);
        if let Some(transaction) = self.transactions.get_mut(&name) {
            transaction.writing = Some(operation);
        }
    }

    pub(super) fn written(&mut self, write: Write, outcome: Result<(), StoreError>) {
        let name = write.next.transactional_id.clone();
        let Some(transaction) = self.transactions.get_mut(&name) else { return };
        transaction.writing = None;
        match outcome {
            Ok(()) => {
                let before = std::mem::replace(&mut transaction.state, write.next);
                self.by_producer.remove(&before.producer.producer);
                self.by_producer.insert(transaction.state.producer.producer, name.clone());
                self.tell(&name, &before);
                self.applied(&name, write.waiting);
            }
            Err(error) => {
                if let Some(waiting) = write.waiting {
                    self.refuse(waiting, write_error(error));
                }
                self.write_failed(&name);
            }
        }
    }

    /// Counts, and tells whoever wants to know, what has changed.
    fn tell(&mut self, name: &TransactionalId, before: &TransactionState) {
        let Some(transaction) = self.transactions.get(name) else { return };
        let (was, is) = (before.phase, transaction.state.phase);
        self.open = self.open + usize::from(is.is_open()) - usize::from(was.is_open());
        let event = match (was, is) {
            (TransactionPhase::Prepare(_), TransactionPhase::Complete(outcome)) => {
                let took_ms = self.unix_ms().saturating_sub(before.started_ms);
                TransactionEvent::Ended {
                    transactional_id: name.clone(),
                    outcome,
                    took_ms: u64::try_from(took_ms).unwrap_or(0),
                }
            }
            (TransactionPhase::Empty | TransactionPhase::Complete(_), TransactionPhase::Ongoing) => {
                TransactionEvent::Started(name.clone())
            }
            (
                TransactionPhase::Empty
                | TransactionPhase::Ongoing
                | TransactionPhase::Prepare(_)
                | TransactionPhase::Complete(_),
                _,
            ) => return,
        };
        self.outputs.push_back(TransactionOutput::Event(event));
    }

    /// The transaction stands at what was written. What follows?
    fn applied(&mut self, name: &TransactionalId, waiting: Option<Waiting>) {
        let Some(transaction) = self.transactions.get(name) else { return };
        let (producer, phase) = (transaction.state.producer, transaction.state.phase);
        self.set_timer(name);
        match (waiting, phase) {
            // The predecessor's transaction had to be aborted first: the client comes again.
            (Some(Waiting::Init(token)), TransactionPhase::Prepare(_)) => {
                let error = TransactionError::ConcurrentTransactions;
                self.respond(token, TransactionResponse::InitProducerId(Err(error)));
            }
            (Some(Waiting::Init(token)), _) => {
                self.respond(token, TransactionResponse::InitProducerId(Ok(producer)));
            }
            (Some(Waiting::Begin(token)), _) => {
                self.respond(token, TransactionResponse::AddPartitionsToTxn(Ok(())));
            }
            (Some(waiting @ (Waiting::Add(_) | Waiting::Verify(_))), _) => self.added(waiting),
            // Nothing was open: there is nothing to wait for.
            (Some(Waiting::End(token)), TransactionPhase::Complete(_)) => {
                self.respond(token, TransactionResponse::EndTxn(Ok(producer)));
            }
            (Some(waiting @ (Waiting::End(_) | Waiting::Marker(_))), _) => {
                self.wait_for_markers(name, waiting);
            }
            // Its offsets can be read, and the next one may begin.
            (None, TransactionPhase::Complete(_)) => self.answer_ending(name),
            (None, _) => {}
        }
        self.mark_all(name);
    }

    fn write_failed(&mut self, name: &TransactionalId) {
        let Some(transaction) = self.transactions.get(name) else { return };
        if transaction.state.is_new() {
            // Nothing was ever stored of it.
            self.transactions.remove(name);
            return;
        }
        let is_completing = matches!(transaction.state.phase, TransactionPhase::Prepare(_));
        if is_completing {
            let deadline = self.after_ms(self.config.retry_ms);
            self.purgatory.watch(Delayed::TryAgain(name.clone()), [], deadline);
        } else {
            self.set_timer(name);
        }
    }

    /// Arms the one timer of an id: the transaction's timeout while one is open, else the id's expiration.
    fn set_timer(&mut self, name: &TransactionalId) {
        let (unix_ms, retry) = (self.unix_ms(), u64::from(self.config.retry_ms));
        let Some(transaction) = self.transactions.get_mut(name) else { return };
        if let Some(timer) = transaction.timer.take() {
            drop(self.purgatory.cancel(timer));
        }
        let state = &transaction.state;
        let (from_ms, length_ms) = match state.phase {
            TransactionPhase::Ongoing => (state.started_ms, u64::try_from(state.timeout_ms).unwrap_or(0)),
            TransactionPhase::Empty | TransactionPhase::Complete(_) => {
                (state.updated_ms, self.config.transactional_id_expiration_ms)
            }
            TransactionPhase::Prepare(_) => return,
        };
        let elapsed_ms = u64::try_from(unix_ms.saturating_sub(from_ms)).unwrap_or(0);
        // What is overdue, since a write failed or the coordinator was away, is not tried in every turn.
        let left_ms = if elapsed_ms < length_ms { length_ms - elapsed_ms } else { retry };
        let deadline = self.now.saturating_add(left_ms);
        let timer = self.purgatory.watch(Delayed::TooOld(name.clone()), [], deadline);
        transaction.timer = Some(timer);
    }

    pub(super) fn too_old(&mut self, name: &TransactionalId) {
        let Some(transaction) = self.transactions.get_mut(name) else { return };
        transaction.timer = None;
        if transaction.writing.is_some() {
            // Whatever it brings sets the timer anew, should the transaction still be open then.
            return;
        }
        match transaction.state.phase {
            TransactionPhase::Ongoing => {
                let event = TransactionEvent::TimedOut(name.clone(), transaction.state.producer);
                let next = transaction.state.aborted_by_fencing(true);
                self.outputs.push_back(TransactionOutput::Event(event));
                self.write(next, None);
            }
            TransactionPhase::Empty | TransactionPhase::Complete(_) => {
                self.by_producer.remove(&transaction.state.producer.producer);
                self.transactions.remove(name);
                let id = StoreId(self.next_store);
                self.next_store += 1;
                let tombstone = TransactionRecord::Tombstone(name.clone());
                self.outputs.push_back(TransactionOutput::Store(id, tombstone));
                self.outputs.push_back(TransactionOutput::Event(TransactionEvent::Expired(name.clone())));
            }
            TransactionPhase::Prepare(_) => {}
        }
    }

    pub(super) fn load(&mut self, record: TransactionRecord) {
        if self.serving != Serving::Loading {
            return;
        }
        match record {
            TransactionRecord::State(state) => {
                self.transactions.insert(state.transactional_id.clone(), Transaction::new(state));
            }
            TransactionRecord::Tombstone(id) => {
                self.transactions.remove(&id);
            }
        }
    }

    pub(super) fn finish_load(&mut self) {
        if self.serving != Serving::Loading {
            return;
        }
        self.serving = Serving::Yes;
        self.open = self.transactions.values().filter(|t| t.state.phase.is_open()).count();
        let known = self.transactions.iter().map(|(name, t)| (t.state.producer.producer, name.clone()));
        self.by_producer.extend(known);
        for name in self.names() {
            self.set_timer(&name);
            self.mark_all(&name);
        }
    }

    pub(super) fn unload(&mut self) {
        self.serving = Serving::Unloaded;
        self.open = 0;
        self.by_producer.clear();
        for name in self.names() {
            let Some(transaction) = self.transactions.remove(&name) else { continue };
            let writing = transaction.writing.and_then(|operation| self.purgatory.cancel(operation));
            if let Some(Delayed::Write(write)) = writing
                && let Some(waiting) = write.waiting
            {
                self.refuse(waiting, TransactionError::NotCoordinator);
            }
            if let Some(ending) = transaction.ending {
                drop(self.purgatory.cancel(ending.deadline));
                self.refuse(ending.waiting, TransactionError::NotCoordinator);
            }
            if let Some(timer) = transaction.timer {
                drop(self.purgatory.cancel(timer));
            }
        }
    }

    /// In order: it can be seen from outside.
    fn names(&self) -> Vec<TransactionalId> {
        let mut names: Vec<_> = self.transactions.keys().cloned().collect();
        names.sort_unstable();
        names
    }

    fn known(&self, id: &TransactionalId) -> Result<&Transaction, TransactionError> {
        if id.as_str().is_empty() {
            return Err(TransactionError::InvalidRequest);
        }
        self.check_serving()?;
        self.transactions.get(id).ok_or(TransactionError::InvalidProducerIdMapping)
    }

    /// As [`TransactionCoordinator::known`], with no write under way. Who was fenced is told so first, as in Kafka: to come
    /// again would not help it.
    fn idle(&self, id: &TransactionalId, producer: ProducerEpoch) -> Result<&Transaction, TransactionError> {
        let transaction = self.known(id)?;
        transaction.state.check(producer)?;
        transaction.idle()
    }

    /// The same for an end: who repeats one is not fenced by it.
    fn idle_for_end(&self, request: &EndTxn) -> Result<&Transaction, TransactionError> {
        let transaction = self.known(&request.transactional_id)?;
        if !transaction.state.has_ended(request.producer) {
            transaction.state.check(request.producer)?;
        }
        transaction.idle()
    }

    pub(super) fn check_serving(&self) -> Answer {
        match self.serving {
            Serving::Loading => Err(TransactionError::CoordinatorLoadInProgress),
            Serving::Unloaded => Err(TransactionError::NotCoordinator),
            Serving::Yes => Ok(()),
        }
    }

    fn refuse(&mut self, waiting: Waiting, error: TransactionError) {
        match waiting {
            Waiting::Init(token) => self.respond(token, TransactionResponse::InitProducerId(Err(error))),
            Waiting::Begin(token) => {
                self.respond(token, TransactionResponse::AddPartitionsToTxn(Err(error)));
            }
            Waiting::Add(token) => self.respond(token, TransactionResponse::AddOffsetsToTxn(Err(error))),
            Waiting::Verify(token) => self.respond(token, TransactionResponse::VerifyOffsets(Err(error))),
            Waiting::End(token) => self.respond(token, TransactionResponse::EndTxn(Err(error))),
            Waiting::Marker(token) => {
                self.respond(token, TransactionResponse::WriteTxnMarkers(Some(Err(error))));
            }
        }
    }

    pub(super) fn respond(&mut self, token: Token, response: TransactionResponse) {
        self.outputs.push_back(TransactionOutput::Respond(token, response));
    }

    fn partition(&self, group: &GroupId) -> OffsetsPartition {
        self.config.partitioner.partition(group)
    }

    pub(super) fn after_ms(&self, ms: u32) -> Timestamp {
        self.now.saturating_add(u64::from(ms))
    }

    fn unix_ms(&self) -> i64 {
        let since_zero = i64::try_from(self.now.ticks()).unwrap_or(i64::MAX);
        self.config.unix_ms_at_zero.saturating_add(since_zero)
    }
}

impl Transaction {
    fn new(state: TransactionState) -> Self {
        Self { state, writing: None, timer: None, unmarked: std::collections::BTreeSet::new(), ending: None }
    }

    /// Itself, if no write is under way.
    fn idle(&self) -> Result<&Self, TransactionError> {
        match self.writing {
            Some(_) => Err(TransactionError::ConcurrentTransactions),
            None => Ok(self),
        }
    }
}

/// What a client is told of a failed write.
fn write_error(error: StoreError) -> TransactionError {
    match error {
        StoreError::UnknownTopicOrPartition
        | StoreError::NotEnoughReplicas
        | StoreError::NotEnoughReplicasAfterAppend
        | StoreError::RequestTimedOut => TransactionError::CoordinatorNotAvailable,
        StoreError::NotLeaderOrFollower | StoreError::KafkaStorageError | StoreError::NotCoordinator => {
            TransactionError::NotCoordinator
        }
        StoreError::UnknownServerError
        | StoreError::MessageTooLarge
        | StoreError::RecordListTooLarge
        | StoreError::InvalidFetchSize
        | StoreError::CorruptMessage
        | StoreError::InvalidRequiredAcks
        | StoreError::NetworkException
        | StoreError::CoordinatorNotAvailable
        | StoreError::InvalidProducerEpoch
        | StoreError::ProducerFenced
        | StoreError::InvalidTxnState
        | StoreError::ClusterAuthorizationFailed
        | StoreError::InvalidRecord => TransactionError::UnknownServerError,
    }
}
