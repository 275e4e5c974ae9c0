//! When, whether and how often a commit's write is reported.

use super::*;

/// In time or late, stored or failed, each reported twice, or never: answered once, and what is stored counts.
#[test]
fn a_commit_is_answered_once_whenever_and_however_often_its_write_is_reported() {
    let failed = Err(StoreError::NotEnoughReplicas);
    for is_transactional in [false, true] {
        for (wait_ms, outcome) in [
            (1_000, Some(Ok(()))),
            (1_000, Some(failed)),
            (6_000, Some(Ok(()))),
            (6_000, Some(failed)),
            (6_000, None),
        ] {
            let mut host = Host::new(Config::default());
            host.reports = false;
            let offsets = vec![offset(partition("t", 0), 7)];
            let request = if is_transactional {
                host.txn_commit("g", ProducerId(1), offsets)
            } else {
                host.commit("g", offsets)
            };
            host.advance(wait_ms);
            let id = host.waiting[0];
            if let Some(outcome) = outcome {
                host.report(id, outcome);
                // The second report contradicts the first, and is not listened to. (`Host` refuses a second answer.)
                host.turn(Input::Stored(id, if outcome.is_ok() { failed } else { Ok(()) }));
            }
            host.advance(10_000);
            let expected = match outcome {
                _ if wait_ms > 5_000 => Some(GroupError::RequestTimedOut),
                Some(Err(_)) => Some(GroupError::CoordinatorNotAvailable),
                Some(Ok(())) | None => None,
            };
            assert_eq!(
                host.errors(request),
                Some(vec![expected]),
                "{is_transactional} {wait_ms} {outcome:?}"
            );
            if is_transactional {
                host.end_transaction(ProducerId(1), TransactionOutcome::Commit);
            }
            let found = host.fetch("g", Some(vec![partition("t", 0)]), false)[0].offset;
            let stored = if outcome == Some(Ok(())) { 7 } else { -1 };
            assert_eq!(found, stored, "{is_transactional} {wait_ms} {outcome:?}");
        }
    }
}
