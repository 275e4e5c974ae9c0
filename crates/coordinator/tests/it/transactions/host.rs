//! Both coordinators behind one host, as a server would wire them, with a log and markers that do as they are told.

use std::collections::BTreeMap;

use coordinator::ids::{
    Generation, GroupId, MemberId, OffsetsPartition, OwnerEpoch, ProducerId, TopicPartition,
};
use coordinator::messages::{
    CommitOffset, GroupError, Input, OffsetCommit, OffsetFetch, Output, Request, Response, StoreError,
    StoreId, Token, TransactionOutcome, TxnOffsetCommit,
};
use coordinator::transactions::{
    AddOffsetsToTxn, EndTxn, InitProducerId, NextEpoch, ProducerEpoch, TransactionConfig,
    TransactionCoordinator, TransactionError, TransactionEvent, TransactionInput, TransactionOutput,
    TransactionPhase, TransactionRecord, TransactionRequest, TransactionResponse, TransactionalId,
};
use coordinator::{Config, Coordinator, Partitioner, Timestamp};

pub(super) const TIMEOUT_MS: u64 = 60_000;
pub(super) const START_MS: u64 = 1_000_000_000;

/// What the host does with writes and markers when they are asked for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Then {
    /// Done and reported at once.
    Succeed,
    /// Reported as failed at once.
    Fail,
    /// Kept in `waiting`.
    Wait,
}

pub(super) struct Host {
    pub(super) groups: Coordinator,
    pub(super) transactions: TransactionCoordinator,
    pub(super) now: Timestamp,
    pub(super) tokens: u64,
    pub(super) answers: BTreeMap<u64, TransactionResponse>,
    pub(super) group_answers: BTreeMap<u64, Response>,
    pub(super) log: Vec<TransactionRecord>,
    pub(super) writes: Then,
    pub(super) markers: Then,
    pub(super) waiting: Vec<(StoreId, TransactionRecord)>,
    pub(super) waiting_markers: Vec<(TransactionalId, ProducerEpoch, OffsetsPartition, TransactionOutcome)>,
    pub(super) events: Vec<TransactionEvent>,
    /// Markers that were written, in order.
    pub(super) marked: Vec<(OffsetsPartition, TransactionOutcome)>,
}

impl Host {
    pub(super) fn new() -> Self {
        let partitioner = Partitioner::Kafka { partitions: 4 };
        let now = Timestamp::from_ticks(START_MS);
        let config = Config { partitioner, ..Config::default() };
        let mut host = Self {
            groups: Coordinator::new(config, 3, now),
            transactions: new_transactions(now),
            now,
            tokens: 0,
            answers: BTreeMap::new(),
            group_answers: BTreeMap::new(),
            log: Vec::new(),
            writes: Then::Succeed,
            markers: Then::Succeed,
            waiting: Vec::new(),
            waiting_markers: Vec::new(),
            events: Vec::new(),
            marked: Vec::new(),
        };
        for partition in (0..4).map(OffsetsPartition) {
            host.group_turn(Input::BeginLoad(partition, OwnerEpoch(1)));
            host.group_turn(Input::FinishLoad(partition));
        }
        host.turn(TransactionInput::FinishLoad);
        host
    }

    /// The same, with a producer to which so many epochs can still be given, its own among them.
    pub(super) fn with_epochs_left(epochs: i16) -> (Self, ProducerEpoch) {
        let mut host = Self::new();
        host.init(None).expect("new");
        let Some(TransactionRecord::State(mut state)) = host.log.pop() else { panic!("the first write") };
        state.producer.epoch = i16::MAX - epochs;
        let producer = state.producer;
        host.log = vec![TransactionRecord::State(state)];
        host.restart();
        (host, producer)
    }

    pub(super) fn turn(&mut self, input: TransactionInput) {
        self.transactions.expire(self.now);
        self.transactions.handle(self.now, input);
        self.drain();
    }

    fn group_turn(&mut self, input: Input) {
        self.groups.expire(self.now);
        self.groups.handle(self.now, input);
        while let Some(output) = self.groups.poll_output() {
            match output {
                Output::Respond(token, response) => drop(self.group_answers.insert(token.number(), response)),
                Output::Store(store) => self.groups.handle(self.now, Input::Stored(store.id, Ok(()))),
                Output::Superseded(_) | Output::Event(_) => {}
            }
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.transactions.poll_output() {
            match output {
                TransactionOutput::Respond(token, response) => {
                    let before = self.answers.insert(token.number(), response);
                    assert!(before.is_none(), "answered twice");
                }
                TransactionOutput::Event(event) => self.events.push(event),
                TransactionOutput::Store(id, record) => match self.writes {
                    Then::Succeed => self.stored(id, record),
                    Then::Fail => self.turn(TransactionInput::Stored(id, Err(StoreError::NotEnoughReplicas))),
                    Then::Wait => self.waiting.push((id, record)),
                },
                TransactionOutput::WriteMarker { transactional_id, producer, partition, outcome } => {
                    match self.markers {
                        Then::Succeed => self.mark(transactional_id, producer, partition, outcome),
                        Then::Fail => {
                            let error = Err(StoreError::NotEnoughReplicas);
                            self.turn(TransactionInput::MarkerWritten(transactional_id, partition, error));
                        }
                        Then::Wait => {
                            self.waiting_markers.push((transactional_id, producer, partition, outcome));
                        }
                    }
                }
            }
        }
    }

    pub(super) fn stored(&mut self, id: StoreId, record: TransactionRecord) {
        self.log.push(record);
        self.turn(TransactionInput::Stored(id, Ok(())));
    }

    pub(super) fn mark(
        &mut self,
        id: TransactionalId,
        producer: ProducerEpoch,
        partition: OffsetsPartition,
        outcome: TransactionOutcome,
    ) {
        self.marked.push((partition, outcome));
        let partitions = vec![partition];
        self.group_turn(Input::EndTransaction { producer: producer.producer, partitions, outcome });
        self.turn(TransactionInput::MarkerWritten(id, partition, Ok(())));
    }

    pub(super) fn advance(&mut self, ms: u64) {
        let end = self.now.saturating_add(ms);
        while let Some(deadline) = self.transactions.next_deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.transactions.expire(self.now);
            self.drain();
        }
        self.now = end;
    }

    /// The process ends, with all that is in flight, and another starts with the log.
    pub(super) fn restart(&mut self) {
        self.waiting.clear();
        self.waiting_markers.clear();
        self.transactions = new_transactions(self.now);
        for record in self.log.clone() {
            self.turn(TransactionInput::Load(record));
        }
        self.turn(TransactionInput::FinishLoad);
    }

    pub(super) fn ask(&mut self, request: TransactionRequest) -> u64 {
        self.tokens += 1;
        self.turn(TransactionInput::Request(Token::new(self.tokens), request));
        self.tokens
    }

    pub(super) fn init(&mut self, current: Option<ProducerEpoch>) -> Result<ProducerEpoch, TransactionError> {
        let token = self.ask_init(current);
        match self.answers.get(&token) {
            Some(TransactionResponse::InitProducerId(answer)) => *answer,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn ask_init(&mut self, current: Option<ProducerEpoch>) -> u64 {
        let fresh = ProducerId(1_000 + self.tokens.cast_signed());
        self.ask(TransactionRequest::InitProducerId(InitProducerId {
            transactional_id: id(),
            transaction_timeout_ms: i32::try_from(TIMEOUT_MS).expect("small"),
            current,
            fresh,
        }))
    }

    pub(super) fn add(&mut self, producer: ProducerEpoch, group: &str) -> Result<(), TransactionError> {
        let token = self.ask(TransactionRequest::AddOffsetsToTxn(offsets_of(producer, group)));
        self.outcome(token).expect("answered")
    }

    pub(super) fn end(&mut self, producer: ProducerEpoch, outcome: TransactionOutcome) -> u64 {
        self.end_as(producer, outcome, NextEpoch::Same)
    }

    pub(super) fn end_as(
        &mut self,
        producer: ProducerEpoch,
        outcome: TransactionOutcome,
        next_epoch: NextEpoch,
    ) -> u64 {
        let request = EndTxn { transactional_id: id(), producer, outcome, next_epoch };
        self.ask(TransactionRequest::EndTxn(request))
    }

    /// EndTxn of a producer that has an epoch for each transaction: who it is next.
    pub(super) fn end_and_go_on(
        &mut self,
        producer: ProducerEpoch,
        outcome: TransactionOutcome,
    ) -> Result<ProducerEpoch, TransactionError> {
        let fresh = producer.is_last().then(|| ProducerId(9_000 + self.tokens.cast_signed()));
        let token = self.end_as(producer, outcome, NextEpoch::Raised { fresh });
        self.successor(token).expect("answered")
    }

    /// Who the producer is after this EndTxn.
    pub(super) fn successor(&self, token: u64) -> Option<Result<ProducerEpoch, TransactionError>> {
        match self.answers.get(&token)? {
            TransactionResponse::EndTxn(answer) => Some(*answer),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn end_now(
        &mut self,
        producer: ProducerEpoch,
        outcome: TransactionOutcome,
    ) -> Result<(), TransactionError> {
        let token = self.end(producer, outcome);
        self.outcome(token).expect("answered")
    }

    pub(super) fn outcome(&self, token: u64) -> Option<Result<(), TransactionError>> {
        match self.answers.get(&token)? {
            TransactionResponse::AddPartitionsToTxn(answer)
            | TransactionResponse::AddOffsetsToTxn(answer)
            | TransactionResponse::VerifyOffsets(answer) => Some(*answer),
            TransactionResponse::InitProducerId(answer) | TransactionResponse::EndTxn(answer) => {
                Some(answer.map(drop))
            }
            TransactionResponse::WriteTxnMarkers(answer) => *answer,
        }
    }

    /// TxnOffsetCommit as a server carries it out: asks first, then hands on.
    pub(super) fn commit(&mut self, producer: ProducerEpoch, group: &str, offset: i64) -> Option<GroupError> {
        self.commit_as(
            TransactionRequest::VerifyOffsets(offsets_of(producer, group)),
            producer,
            group,
            offset,
        )
    }

    /// TxnOffsetCommit that adds its group by itself.
    pub(super) fn add_and_commit(
        &mut self,
        producer: ProducerEpoch,
        group: &str,
        offset: i64,
    ) -> Option<GroupError> {
        let question = TransactionRequest::AddAndVerifyOffsets(offsets_of(producer, group));
        self.commit_as(question, producer, group, offset)
    }

    fn commit_as(
        &mut self,
        question: TransactionRequest,
        producer: ProducerEpoch,
        group: &str,
        offset: i64,
    ) -> Option<GroupError> {
        let token = self.ask(question);
        let verification = self.outcome(token).expect("within the turn").map_err(GroupError::from);
        self.tokens += 1;
        let commit = OffsetCommit {
            group: group.into(),
            generation: Generation::NONE,
            member: MemberId::default(),
            instance: None,
            retention_time_ms: -1,
            offsets: vec![CommitOffset {
                partition: partition(),
                offset,
                leader_epoch: -1,
                metadata: "".into(),
                commit_timestamp_ms: -1,
            }],
        };
        let request = TxnOffsetCommit {
            commit,
            producer: producer.producer,
            producer_epoch: producer.epoch,
            verification,
        };
        self.group_turn(Input::Request(Token::new(self.tokens), Request::TxnOffsetCommit(request)));
        match self.group_answers.remove(&self.tokens) {
            Some(Response::TxnOffsetCommit(response)) => response.results[0].1,
            other => panic!("{other:?}"),
        }
    }

    /// What a reader of committed offsets is served.
    pub(super) fn fetch(&mut self, group: &str) -> Result<i64, GroupError> {
        self.tokens += 1;
        let partitions = Some(vec![partition()]);
        let request = OffsetFetch { group: group.into(), partitions, require_stable: true };
        self.group_turn(Input::Request(Token::new(self.tokens), Request::OffsetFetch(request)));
        match self.group_answers.remove(&self.tokens) {
            Some(Response::OffsetFetch(response)) => match response.offsets[0].error {
                None => Ok(response.offsets[0].offset),
                Some(error) => Err(error),
            },
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn phase(&self) -> TransactionPhase {
        self.transactions.state(&id()).expect("known").phase
    }
}

pub(super) fn new_transactions(now: Timestamp) -> TransactionCoordinator {
    let partitioner = Partitioner::Kafka { partitions: 4 };
    TransactionCoordinator::new(TransactionConfig { partitioner, ..TransactionConfig::default() }, 3, now)
}

pub(super) fn id() -> TransactionalId {
    TransactionalId::new("billing")
}

pub(super) fn partition() -> TopicPartition {
    TopicPartition { topic: "t".into(), partition: 0 }
}

pub(super) fn offsets_of(producer: ProducerEpoch, group: &str) -> AddOffsetsToTxn {
    AddOffsetsToTxn { transactional_id: id(), producer, group: GroupId::from(group) }
}
