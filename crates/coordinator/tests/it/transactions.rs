//! Transactions from the first InitProducerId to what readers of committed offsets see.

mod epochs;
mod host;
mod seeds;

use coordinator::ids::{OffsetsPartition, ProducerId};
use coordinator::messages::GroupError;
use coordinator::messages::TransactionOutcome::{Abort, Commit};
use coordinator::transactions::{
    InitProducerId, ProducerEpoch, TransactionConfig, TransactionCoordinator, TransactionError,
    TransactionInput, TransactionPhase, TransactionRecord, TransactionRequest, TransactionResponse,
    TransactionState, TransactionalId, WriteTxnMarkers,
};

use self::host::{Host, START_MS, TIMEOUT_MS, Then, id, new_transactions, offsets_of};

#[test]
fn a_committed_transaction_is_read_when_its_end_is_answered() {
    let mut host = Host::new();
    let producer = host.init(None).expect("new");
    assert_eq!(producer, ProducerEpoch { producer: ProducerId(1_000), epoch: 0 });
    // Two groups on different partitions; adding again changes nothing.
    for group in ["g", "h", "g"] {
        assert_eq!(host.add(producer, group), Ok(()));
        assert_eq!(host.commit(producer, group, 7), None);
        assert_eq!(host.fetch(group), Err(GroupError::UnstableOffsetCommit));
    }
    host.markers = Then::Wait;
    let end = host.end(producer, Commit);
    assert_eq!(host.outcome(end), None, "decided, but not to be read yet");
    for (id, producer, partition, outcome) in std::mem::take(&mut host.waiting_markers) {
        host.mark(id, producer, partition, outcome);
    }
    assert_eq!(host.outcome(end), Some(Ok(())));
    assert_eq!((host.fetch("g"), host.fetch("h")), (Ok(7), Ok(7)));
    assert_eq!(host.phase(), TransactionPhase::Complete(Commit));
    assert_eq!(host.marked.len(), 2);
    // The same again, by a client that missed the answer; and the opposite.
    assert_eq!(host.end_now(producer, Commit), Ok(()));
    assert_eq!(host.end_now(producer, Abort), Err(TransactionError::InvalidTxnState));
    assert_eq!(host.marked.len(), 2);
}

#[test]
fn an_aborted_transaction_leaves_what_was() {
    let mut host = Host::new();
    let producer = host.init(None).expect("new");
    for (offset, outcome) in [(3, Commit), (9, Abort)] {
        assert_eq!(host.add(producer, "g"), Ok(()));
        assert_eq!(host.commit(producer, "g", offset), None);
        assert_eq!(host.end_now(producer, outcome), Ok(()));
    }
    assert_eq!(host.fetch("g"), Ok(3));
}

#[test]
fn offsets_outside_an_open_transaction_are_refused() {
    let mut host = Host::new();
    let producer = host.init(None).expect("new");
    assert_eq!(host.commit(producer, "g", 1), Some(GroupError::InvalidTxnState), "nothing added");
    assert_eq!(host.add(producer, "g"), Ok(()));
    assert_eq!(host.commit(producer, "h", 1), Some(GroupError::InvalidTxnState), "another partition");
    assert_eq!(host.end_now(producer, Commit), Ok(()));
    assert_eq!(host.commit(producer, "g", 1), Some(GroupError::InvalidTxnState), "it has ended");
    let other = ProducerEpoch { producer: ProducerId(5), epoch: 0 };
    assert_eq!(host.commit(other, "g", 1), Some(GroupError::InvalidProducerIdMapping));
    let old = ProducerEpoch { epoch: -1, ..producer };
    assert_eq!(host.commit(old, "g", 1), Some(GroupError::InvalidProducerEpoch));
    assert_eq!(host.fetch("g"), Ok(-1));
}

#[test]
fn a_transaction_left_open_is_aborted_at_its_timeout() {
    let mut host = Host::new();
    let producer = host.init(None).expect("new");
    assert_eq!(host.add(producer, "g"), Ok(()));
    host.advance(TIMEOUT_MS - 1);
    // What is added later does not give it more time.
    assert_eq!(host.add(producer, "h"), Ok(()));
    assert_eq!(host.commit(producer, "g", 7), None);
    assert_eq!(host.fetch("g"), Err(GroupError::UnstableOffsetCommit));
    host.advance(1);
    assert_eq!(host.fetch("g"), Ok(-1));
    assert_eq!(host.phase(), TransactionPhase::Complete(Abort));
    // The late producer is told, and may go on once it has initialised its id anew.
    assert_eq!(host.end_now(producer, Commit), Err(TransactionError::ProducerFenced));
    assert_eq!(host.commit(producer, "g", 7), Some(GroupError::InvalidProducerEpoch));
    let raised = host.init(Some(producer)).expect("it was merely late");
    assert_eq!(raised, ProducerEpoch { epoch: 1, ..producer });
    assert_eq!(host.add(raised, "g"), Ok(()));
    assert_eq!(host.end_now(raised, Commit), Ok(()));
}

#[test]
fn a_new_instance_fences_the_old_one_and_aborts_what_it_left() {
    let mut host = Host::new();
    let old = host.init(None).expect("new");
    assert_eq!(host.add(old, "g"), Ok(()));
    assert_eq!(host.commit(old, "g", 7), None);
    assert_eq!(host.init(None), Err(TransactionError::ConcurrentTransactions), "the abort comes first");
    assert_eq!(host.fetch("g"), Ok(-1));
    let new = host.init(None).expect("aborted meanwhile");
    assert_eq!(new, ProducerEpoch { epoch: 2, ..old });
    assert_eq!(host.add(old, "g"), Err(TransactionError::ProducerFenced));
    assert_eq!(host.end_now(old, Commit), Err(TransactionError::ProducerFenced));
    assert_eq!(host.init(Some(old)), Err(TransactionError::ProducerFenced), "for good");
    assert_eq!(host.add(new, "g"), Ok(()));
}

#[test]
fn an_instance_that_goes_on_raises_its_epoch_once() {
    let mut host = Host::new();
    let first = host.init(None).expect("new");
    let second = host.init(Some(first)).expect("goes on");
    assert_eq!(second, ProducerEpoch { epoch: 1, ..first });
    assert_eq!(host.init(Some(first)), Ok(second), "the same request again");
    let third = host.init(Some(second)).expect("goes on");
    assert_eq!(host.init(Some(first)), Err(TransactionError::ProducerFenced));
    let stranger = ProducerEpoch { producer: ProducerId(5), epoch: third.epoch };
    assert_eq!(host.init(Some(stranger)), Err(TransactionError::ProducerFenced));
}

#[test]
fn an_exhausted_epoch_gives_a_new_id() {
    let mut host = Host::new();
    host.log = vec![TransactionRecord::State(TransactionState {
        transactional_id: id(),
        producer: ProducerEpoch { producer: ProducerId(9), epoch: i16::MAX - 1 },
        last_epoch: -1,
        ended_by: None,
        next_producer: None,
        timeout_ms: 60_000,
        phase: TransactionPhase::Ongoing,
        partitions: vec![OffsetsPartition(0)],
        started_ms: START_MS.cast_signed(),
        updated_ms: START_MS.cast_signed(),
    })];
    host.restart();
    assert_eq!(host.init(None), Err(TransactionError::ConcurrentTransactions));
    let new = host.init(None).expect("aborted meanwhile");
    assert_eq!(new.epoch, 0);
    assert_ne!(new.producer, ProducerId(9));
}

#[test]
fn what_cannot_be_is_refused() {
    let mut host = Host::new();
    let init = |id: &str, timeout| {
        TransactionRequest::InitProducerId(InitProducerId {
            transactional_id: TransactionalId::new(id),
            transaction_timeout_ms: timeout,
            current: None,
            fresh: ProducerId(1),
        })
    };
    for (request, error) in [
        (init("", 1), TransactionError::InvalidRequest),
        (init("a", 0), TransactionError::InvalidTransactionTimeout),
        (init("a", 900_001), TransactionError::InvalidTransactionTimeout),
    ] {
        let token = host.ask(request);
        assert_eq!(host.outcome(token), Some(Err(error)));
    }
    let nobody = ProducerEpoch { producer: ProducerId(1), epoch: 0 };
    assert_eq!(host.add(nobody, "g"), Err(TransactionError::InvalidProducerIdMapping));
    assert_eq!(host.end_now(nobody, Commit), Err(TransactionError::InvalidProducerIdMapping));
    let producer = host.init(None).expect("new");
    assert_eq!(host.end_now(producer, Commit), Err(TransactionError::InvalidTxnState), "none is open");
    host.transactions = new_transactions(host.now);
    assert_eq!(host.add(producer, "g"), Err(TransactionError::CoordinatorLoadInProgress));
    host.turn(TransactionInput::Unload);
    assert_eq!(host.init(None), Err(TransactionError::NotCoordinator));
}

#[test]
fn while_a_write_is_under_way_nothing_else_begins() {
    let mut host = Host::new();
    let producer = host.init(None).expect("new");
    host.writes = Then::Wait;
    let add = host.ask(TransactionRequest::AddOffsetsToTxn(offsets_of(producer, "g")));
    assert_eq!(host.outcome(add), None);
    assert_eq!(host.add(producer, "h"), Err(TransactionError::ConcurrentTransactions));
    assert_eq!(host.end_now(producer, Commit), Err(TransactionError::ConcurrentTransactions));
    assert_eq!(host.init(None), Err(TransactionError::ConcurrentTransactions));
    let old = ProducerEpoch { epoch: producer.epoch - 1, ..producer };
    assert_eq!(host.add(old, "h"), Err(TransactionError::ProducerFenced), "to come again would not help it");
    assert_eq!(host.end_now(old, Commit), Err(TransactionError::ProducerFenced));
    let stranger = ProducerEpoch { producer: ProducerId(77), ..producer };
    assert_eq!(host.end_now(stranger, Commit), Err(TransactionError::InvalidProducerIdMapping));
    assert_eq!(host.commit(producer, "g", 1), Some(GroupError::InvalidTxnState), "not added yet");
    let (id, record) = host.waiting.pop().expect("one write");
    host.stored(id, record);
    assert_eq!(host.outcome(add), Some(Ok(())));
    assert_eq!(host.commit(producer, "g", 1), None);
}

#[test]
fn a_late_write_is_answered_in_time_and_still_decides() {
    let mut host = Host::new();
    host.writes = Then::Wait;
    let init = host.ask_init(None);
    host.advance(5_000);
    assert_eq!(host.outcome(init), Some(Err(TransactionError::CoordinatorNotAvailable)));
    assert_eq!(host.init(None), Err(TransactionError::ConcurrentTransactions));
    let (id, record) = host.waiting.pop().expect("one write");
    host.stored(id, record);
    host.writes = Then::Succeed;
    let producer = host.init(None).expect("known by now");
    assert_eq!(producer.epoch, 1, "nobody was told of epoch 0");
}

#[test]
fn a_failed_write_leaves_what_was() {
    let mut host = Host::new();
    host.writes = Then::Fail;
    assert_eq!(host.init(None), Err(TransactionError::CoordinatorNotAvailable));
    assert!(host.transactions.is_empty());
    host.writes = Then::Succeed;
    let producer = host.init(None).expect("new");
    assert_eq!(host.add(producer, "g"), Ok(()));
    assert_eq!(host.commit(producer, "g", 7), None);
    host.writes = Then::Fail;
    assert_eq!(host.add(producer, "h"), Err(TransactionError::CoordinatorNotAvailable));
    assert_eq!(host.end_now(producer, Commit), Err(TransactionError::CoordinatorNotAvailable));
    assert_eq!(host.phase(), TransactionPhase::Ongoing);
    // The timeout's own write fails too: it is tried again until it is stored.
    host.advance(2 * TIMEOUT_MS);
    assert_eq!(host.phase(), TransactionPhase::Ongoing);
    assert_eq!(host.marked, []);
    host.writes = Then::Succeed;
    host.advance(1_000);
    assert_eq!(host.phase(), TransactionPhase::Complete(Abort));
    assert_eq!(host.fetch("g"), Ok(-1));
}

#[test]
fn a_decision_survives_and_is_carried_out() {
    let mut host = Host::new();
    let producer = host.init(None).expect("new");
    assert_eq!(host.add(producer, "g"), Ok(()));
    assert_eq!(host.commit(producer, "g", 7), None);
    host.markers = Then::Fail;
    let end = host.end(producer, Commit);
    host.advance(3_000);
    assert_eq!(host.fetch("g"), Err(GroupError::UnstableOffsetCommit));
    assert_eq!(host.end_now(producer, Commit), Err(TransactionError::ConcurrentTransactions));
    assert_eq!(host.end_now(producer, Abort), Err(TransactionError::InvalidTxnState));
    // Decided is decided: who waits is answered in time although the marker is not written.
    host.advance(2_000);
    assert_eq!(host.outcome(end), Some(Ok(())));
    host.markers = Then::Succeed;
    host.restart();
    assert_eq!(host.fetch("g"), Ok(7));
    assert_eq!(host.phase(), TransactionPhase::Complete(Commit));
    assert_eq!(host.marked.len(), 1);
}

#[test]
fn a_failed_marker_is_written_again_once() {
    let mut host = Host::new();
    let producer = host.init(None).expect("new");
    assert_eq!(host.add(producer, "g"), Ok(()));
    assert_eq!(host.add(producer, "h"), Ok(()));
    host.markers = Then::Fail;
    let end = host.end(producer, Commit);
    host.markers = Then::Succeed;
    host.advance(999);
    assert_eq!(host.outcome(end), None);
    host.advance(1);
    assert_eq!(host.outcome(end), Some(Ok(())));
    host.advance(10_000);
    assert_eq!(host.marked.len(), 2);
}

#[test]
fn an_open_transaction_keeps_its_age_over_a_restart() {
    let mut host = Host::new();
    let producer = host.init(None).expect("new");
    assert_eq!(host.add(producer, "g"), Ok(()));
    assert_eq!(host.commit(producer, "g", 7), None);
    host.advance(TIMEOUT_MS - 1_000);
    host.restart();
    host.advance(999);
    assert_eq!(host.fetch("g"), Err(GroupError::UnstableOffsetCommit));
    host.advance(1);
    assert_eq!(host.fetch("g"), Ok(-1));
}

#[test]
fn an_unused_id_is_forgotten_for_good() {
    let mut host = Host::new();
    let producer = host.init(None).expect("new");
    let week = TransactionConfig::default().transactional_id_expiration_ms;
    host.advance(week - 1);
    assert_eq!(host.add(producer, "g"), Ok(()), "it is used");
    assert_eq!(host.end_now(producer, Commit), Ok(()));
    host.advance(week - 1);
    assert_eq!(host.transactions.len(), 1);
    host.advance(1);
    assert!(host.transactions.is_empty());
    host.restart();
    assert!(host.transactions.is_empty());
    assert_eq!(host.add(producer, "g"), Err(TransactionError::InvalidProducerIdMapping));
}

#[test]
fn ids_are_bounded() {
    let config = TransactionConfig { max_transactional_ids: 2, ..TransactionConfig::default() };
    let mut host = Host::new();
    host.transactions = TransactionCoordinator::new(config, 3, host.now);
    host.turn(TransactionInput::FinishLoad);
    let mut outcomes = Vec::new();
    for name in ["a", "b", "c", "a"] {
        let token = host.ask(TransactionRequest::InitProducerId(InitProducerId {
            transactional_id: TransactionalId::new(name),
            transaction_timeout_ms: 1_000,
            current: None,
            fresh: ProducerId(1),
        }));
        outcomes.push(host.outcome(token).expect("answered").is_ok());
    }
    assert_eq!(outcomes, [true, true, false, true]);
}

#[test]
fn who_waits_when_the_coordinator_moves_is_told() {
    let mut host = Host::new();
    let producer = host.init(None).expect("new");
    assert_eq!(host.add(producer, "g"), Ok(()));
    host.markers = Then::Wait;
    let end = host.end(producer, Commit);
    host.writes = Then::Wait;
    let other = host.ask(TransactionRequest::InitProducerId(InitProducerId {
        transactional_id: TransactionalId::new("other"),
        transaction_timeout_ms: 1_000,
        current: None,
        fresh: ProducerId(1),
    }));
    host.turn(TransactionInput::Unload);
    assert_eq!(host.outcome(end), Some(Err(TransactionError::NotCoordinator)));
    assert_eq!(host.outcome(other), Some(Err(TransactionError::NotCoordinator)));
    assert_eq!(host.transactions.next_deadline(), None, "nothing waits any more");
}

#[test]
fn a_marker_from_outside_ends_the_whole_transaction_or_nothing() {
    let mut host = Host::new();
    let producer = host.init(None).expect("new");
    let marker =
        |producer, outcome| TransactionRequest::WriteTxnMarkers(WriteTxnMarkers { producer, outcome });
    let stranger = ProducerEpoch { producer: ProducerId(5), epoch: 0 };
    let token = host.ask(marker(stranger, Abort));
    assert_eq!(host.answers[&token], TransactionResponse::WriteTxnMarkers(None), "nobody here");
    let token = host.ask(marker(producer, Abort));
    assert_eq!(host.outcome(token), Some(Ok(())), "none is open");
    assert_eq!(host.add(producer, "g"), Ok(()));
    assert_eq!(host.commit(producer, "g", 7), None);
    let token = host.ask(marker(producer, Commit));
    assert_eq!(host.outcome(token), Some(Err(TransactionError::InvalidTxnState)));
    let token = host.ask(marker(ProducerEpoch { epoch: 7, ..producer }, Abort));
    assert_eq!(host.outcome(token), Some(Err(TransactionError::ProducerFenced)));
    host.markers = Then::Wait;
    let token = host.ask(marker(producer, Abort));
    assert_eq!(host.outcome(token), None, "decided, but not to be read yet");
    for (id, producer, partition, outcome) in std::mem::take(&mut host.waiting_markers) {
        host.mark(id, producer, partition, outcome);
    }
    assert_eq!(host.outcome(token), Some(Ok(())));
    assert_eq!(host.fetch("g"), Ok(-1));
    assert_eq!(host.end_now(producer, Commit), Err(TransactionError::ProducerFenced));
    // After a restart its producer is still known.
    host.restart();
    let raised = ProducerEpoch { epoch: producer.epoch + 1, ..producer };
    let token = host.ask(marker(raised, Abort));
    assert_eq!(host.outcome(token), Some(Ok(())), "it has ended so");
}
