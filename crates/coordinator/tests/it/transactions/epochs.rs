//! Producers that have an epoch for each transaction (`transaction.version` 2, KIP-890): commits that add their group
//! by themselves, ends that are repeated, ids whose epochs are used up.

use coordinator::ids::ProducerId;
use coordinator::messages::GroupError;
use coordinator::messages::TransactionOutcome::{Abort, Commit};
use coordinator::transactions::{
    NextEpoch, ProducerEpoch, TransactionError, TransactionEvent, TransactionPhase,
};

use super::host::{Host, TIMEOUT_MS, Then};

/// The same producer, so many transactions later.
fn later(producer: ProducerEpoch, transactions: i16) -> ProducerEpoch {
    ProducerEpoch { epoch: producer.epoch + transactions, ..producer }
}

#[test]
fn each_transaction_has_its_own_epoch() {
    let mut host = Host::new();
    let mut producer = host.init(None).expect("new");
    for (offset, outcome, seen) in [(3, Commit, 3), (9, Abort, 3), (5, Commit, 5)] {
        assert_eq!(host.add_and_commit(producer, "g", offset), None, "nothing was added before");
        assert_eq!(host.add_and_commit(producer, "g", offset), None, "again");
        assert_eq!(host.fetch("g"), Err(GroupError::UnstableOffsetCommit));
        let next = host.end_and_go_on(producer, outcome).expect("ends");
        assert_eq!(next, later(producer, 1));
        assert_eq!(host.fetch("g"), Ok(seen));
        // What comes late of it becomes no part of the next one.
        assert_eq!(host.add_and_commit(producer, "g", 99), Some(GroupError::InvalidProducerEpoch));
        producer = next;
    }
    assert_eq!(host.transactions.open(), 0);
}

#[test]
fn an_end_whose_answer_was_lost_is_repeated() {
    let mut host = Host::new();
    let first = host.init(None).expect("new");
    assert_eq!(host.add_and_commit(first, "g", 7), None);
    host.markers = Then::Wait;
    let end = host.end_as(first, Commit, NextEpoch::Raised { fresh: None });
    let concurrent = Err(TransactionError::ConcurrentTransactions);
    assert_eq!(host.end_and_go_on(first, Commit), concurrent, "decided, not complete");
    assert_eq!(host.end_and_go_on(first, Abort), Err(TransactionError::InvalidTxnState));
    // Who was told its next epoch before the markers were written comes again.
    assert_eq!(host.end_and_go_on(later(first, 1), Abort), concurrent);
    assert_eq!(host.add_and_commit(later(first, 1), "g", 8), Some(GroupError::CoordinatorLoadInProgress));
    for (id, producer, partition, outcome) in std::mem::take(&mut host.waiting_markers) {
        host.mark(id, producer, partition, outcome);
    }
    assert_eq!(host.successor(end), Some(Ok(later(first, 1))));
    for restarts in 0..2 {
        assert_eq!(host.end_and_go_on(first, Commit), Ok(later(first, 1)), "{restarts} restarts");
        assert_eq!(host.end_and_go_on(first, Abort), Err(TransactionError::InvalidTxnState));
        // As is the initialisation of one that never saw the answer.
        assert_eq!(host.init(Some(first)), Ok(later(first, 1)));
        host.restart();
    }
    host.markers = Then::Succeed;
    // With the next transaction the one before is over for good.
    assert_eq!(host.add_and_commit(later(first, 1), "g", 8), None);
    assert_eq!(host.end_and_go_on(first, Commit), Err(TransactionError::ProducerFenced));
    assert_eq!(host.end_and_go_on(later(first, 1), Commit), Ok(later(first, 2)));
    assert_eq!(host.fetch("g"), Ok(8));
}

#[test]
fn nothing_is_aborted_as_well() {
    let mut host = Host::new();
    let first = host.init(None).expect("new");
    // Its commit was refused, or its records were: it cannot know whether a transaction is open.
    let second = host.end_and_go_on(first, Abort).expect("none was open");
    assert_eq!(second, later(first, 1));
    assert_eq!(host.end_and_go_on(first, Abort), Ok(second), "the same again");
    assert_eq!(host.end_and_go_on(second, Commit), Err(TransactionError::InvalidTxnState));
    assert_eq!(host.end_and_go_on(second, Abort), Ok(later(first, 2)));
    assert_eq!(host.marked, []);
    assert!(!host.events.iter().any(|event| matches!(event, TransactionEvent::Ended { .. })));
    assert_eq!(host.phase(), TransactionPhase::Complete(Abort));
    // An older client's is still refused.
    assert_eq!(host.end_now(later(first, 2), Abort), Err(TransactionError::InvalidTxnState));
}

#[test]
fn a_producer_without_epochs_goes_on_under_another_id() {
    for outcome in [Commit, Abort] {
        let (mut host, last) = Host::with_epochs_left(1);
        assert_eq!(host.add_and_commit(last, "g", 7), None);
        let without = NextEpoch::Raised { fresh: None };
        let token = host.end_as(last, outcome, without);
        assert_eq!(host.successor(token), Some(Err(TransactionError::CoordinatorNotAvailable)));
        host.markers = Then::Wait;
        let fresh = ProducerId(77);
        let end = host.end_as(last, outcome, NextEpoch::Raised { fresh: Some(fresh) });
        // Nobody is told who it is next before that is so.
        host.advance(5_000);
        assert_eq!(host.successor(end), Some(Err(TransactionError::ConcurrentTransactions)));
        host.restart();
        host.markers = Then::Succeed;
        for (id, producer, partition, outcome) in std::mem::take(&mut host.waiting_markers) {
            assert_eq!(producer.producer, last.producer, "the marker is the old one's");
            host.mark(id, producer, partition, outcome);
        }
        let next = ProducerEpoch { producer: fresh, epoch: 0 };
        for _ in 0..2 {
            let repeated = host.end_as(last, outcome, NextEpoch::Raised { fresh: Some(ProducerId(78)) });
            assert_eq!(host.successor(repeated), Some(Ok(next)));
            assert_eq!(host.init(Some(last)), Ok(next));
            host.restart();
        }
        assert_eq!(host.add_and_commit(last, "g", 8), Some(GroupError::InvalidProducerIdMapping));
        assert_eq!(host.add_and_commit(next, "g", 9), None);
        assert_eq!(host.end_and_go_on(next, Commit), Ok(later(next, 1)));
        assert_eq!(host.fetch("g"), Ok(9));
    }
    let (mut host, last) = Host::with_epochs_left(1);
    let next = host.end_and_go_on(last, Abort).expect("nothing was open");
    assert!(next.producer != last.producer && next.epoch == 0, "{next:?}");
    assert_eq!(host.end_and_go_on(last, Abort), Ok(next));
}

#[test]
fn what_is_left_open_is_aborted_at_its_timeout() {
    let mut host = Host::new();
    let producer = host.init(None).expect("new");
    assert_eq!(host.add_and_commit(producer, "g", 7), None);
    host.advance(TIMEOUT_MS - 1);
    assert_eq!(host.add_and_commit(producer, "h", 7), None, "what is added gives it no more time");
    host.advance(1);
    assert_eq!((host.fetch("g"), host.fetch("h")), (Ok(-1), Ok(-1)));
    assert_eq!(host.end_and_go_on(producer, Commit), Err(TransactionError::ProducerFenced));
    assert_eq!(host.end_and_go_on(producer, Abort), Err(TransactionError::ProducerFenced));
    assert_eq!(host.add_and_commit(producer, "g", 8), Some(GroupError::InvalidProducerEpoch));
    assert_eq!(host.init(Some(producer)), Ok(later(producer, 1)), "it was merely late");
}

#[test]
fn a_commit_waits_until_what_it_adds_is_stored() {
    let mut host = Host::new();
    let producer = host.init(None).expect("new");
    host.writes = Then::Fail;
    assert_eq!(host.add_and_commit(producer, "g", 7), Some(GroupError::CoordinatorNotAvailable));
    assert_eq!(host.fetch("g"), Ok(-1));
    assert_eq!(host.transactions.open(), 0);
    host.writes = Then::Succeed;
    assert_eq!(host.add_and_commit(producer, "g", 7), None);
    // A crash between the transaction's record and the offset leaves an open transaction, which ends.
    host.restart();
    assert_eq!(host.end_and_go_on(producer, Commit), Ok(later(producer, 1)));
    assert_eq!(host.fetch("g"), Ok(7));
}

/// Clients of both kinds share a transactional id, as where an application is upgraded.
#[test]
fn both_kinds_of_producers_follow_each_other() {
    let mut host = Host::new();
    let first = host.init(None).expect("new");
    assert_eq!(host.add(first, "g"), Ok(()));
    assert_eq!(host.commit(first, "g", 1), None);
    assert_eq!(host.end_now(first, Commit), Ok(()));
    // The same request as before, in a newer version: it was answered by the same epoch.
    assert_eq!(host.end_and_go_on(first, Commit), Ok(first));
    assert_eq!(host.add_and_commit(first, "g", 2), None);
    let second = host.end_and_go_on(first, Commit).expect("ends");
    assert_eq!(host.end_now(second, Commit), Err(TransactionError::InvalidTxnState), "none is open");
    assert_eq!(host.add(second, "g"), Ok(()));
    assert_eq!(host.commit(second, "g", 3), None);
    assert_eq!(host.end_now(second, Commit), Ok(()));
    assert_eq!(host.end_now(second, Commit), Ok(()), "the same again");
    assert_eq!(host.fetch("g"), Ok(3));
    let heir = host.init(None).expect("takes over");
    assert_eq!(heir, later(second, 1));
    assert_eq!(host.init(Some(second)), Err(TransactionError::ProducerFenced));
    assert_eq!(host.end_and_go_on(second, Abort), Err(TransactionError::ProducerFenced));
}
