//! Assignments and the writes that keep them, as scripts.

use crate::script::check;

#[test]
fn nobody_works_on_what_is_not_stored() {
    check(
        "stores m1 m2",
        "
        0s m1 join
        0s m2 join
        0s | m1 joined 2 range led by m1 of m1 m2
        0s | m2 joined 2 range led by m1
        1s m2 sync
        2s m1 sync m1=a m2=b
        2s | store 1 g@2 m1=a m2=b
        3s stored 1
        3s | m1 synced a
        3s | m2 synced b
        ",
    );
}

/// The heart: a write ends in another phase, another generation, or nowhere.
#[test]
fn a_write_that_ends_after_the_group_moved_on_decides_nothing() {
    check(
        "stores m1 m2",
        "
        0s m1 join
        0s m2 join
        0s | m1 joined 2 range led by m1 of m1 m2
        0s | m2 joined 2 range led by m1
        1s m1 sync m1=a m2=b
        1s | store 1 g@2 m1=a m2=b
        1s m2 join can=range:more
        1s | m1 sync RebalanceInProgress
        2s m1 join
        2s | m1 joined 3 range led by m1 of m1 m2:more
        2s | m2 joined 3 range led by m1
        3s stored 1
        3s m2 sync
        4s m1 sync m1=c m2=d
        4s | store 2 g@3 m1=c m2=d
        5s stored 2
        5s | m1 synced c
        5s | m2 synced d
        ",
    );
}

#[test]
fn a_failed_write_of_an_earlier_generation_disturbs_nobody() {
    check(
        "stores m1 m2",
        "
        0s m1 join
        0s m2 join
        0s | m1 joined 2 range led by m1 of m1 m2
        0s | m2 joined 2 range led by m1
        1s m1 sync m1=a m2=b
        1s | store 1 g@2 m1=a m2=b
        1s m2 join can=range:more
        1s | m1 sync RebalanceInProgress
        2s m1 join
        2s | m1 joined 3 range led by m1 of m1 m2:more
        2s | m2 joined 3 range led by m1
        3s stored 1 NotLeaderOrFollower
        3s m1 sync m1=c m2=d
        3s | store 2 g@3 m1=c m2=d
        4s stored 2
        4s | m1 synced c
        ",
    );
}

/// The members work on the first, so it is also what a later owner finds last in the log.
#[test]
fn the_first_of_two_writes_decides_and_the_second_says_the_same() {
    check(
        "stores m1",
        "
        0s m1 join
        0s | m1 joined 2 range led by m1 of m1
        1s m1 sync m1=first
        1s | store 1 g@2 m1=first
        2s m1 sync m1=second
        2s | m1 superseded
        2s | store 2 g@2 m1=first
        3s stored 1
        3s | m1 synced first
        4s stored 2
        5s m1 sync
        5s | m1 synced first
        ",
    );
}

#[test]
fn a_failed_write_sends_all_to_rejoin_in_the_same_generation() {
    check(
        "stores events m1 m2",
        "
        0s m1 join
        0s | ! rebalance: m1 the leader rejoined
        0s m2 join
        0s | ! 2 joined led by m1 after 0 ms for m2 without []
        0s | m1 joined 2 range led by m1 of m1 m2
        0s | m2 joined 2 range led by m1
        1s m2 sync
        1s m1 sync m1=a m2=b
        1s | store 1 g@2 m1=a m2=b
        2s stored 1 NotEnoughReplicas
        2s | ! store failed
        2s | m1 sync CoordinatorNotAvailable
        2s | m2 sync CoordinatorNotAvailable
        2s | ! rebalance: m1 the assignment could not be stored
        3s m1 join
        3s m2 join
        3s | ! 2 joined led by m1 after 1000 ms for m2 without []
        3s | m1 joined 3 range led by m1 of m1 m2
        3s | m2 joined 3 range led by m1
        ",
    );
}

/// A store that never answers: members are told within a bound, and a late answer finds nobody.
#[test]
fn a_write_that_takes_too_long_counts_as_failed() {
    check(
        "stores m1",
        "
        0s m1 join
        0s | m1 joined 2 range led by m1 of m1
        0s m1 sync m1=a
        0s | store 1 g@2 m1=a
        5s | m1 sync RebalanceInProgress
        6s stored 1
        6s m1 join
        6s | m1 joined 3 range led by m1 of m1
        6s m1 sync m1=b
        6s | store 2 g@3 m1=b
        7s stored 2
        7s | m1 synced b
        7s stored 2 NotLeaderOrFollower
        7s stored 1
        8s m1 heartbeats
        8s | m1 lives
        ",
    );
}

#[test]
fn the_leader_leaving_cancels_the_syncs_that_wait_for_it() {
    check(
        "m1 m2 m3",
        "
        0s m1 join
        0s m2 join
        0s m3 join
        0s | m1 joined 2 range led by m1 of m1 m2 m3
        0s | m2 joined 2 range led by m1
        0s | m3 joined 2 range led by m1
        1s m2 sync
        2s m1 leaves
        2s | m2 sync RebalanceInProgress
        2s | m1 leave left
        3s m2 join
        3s m3 join
        3s | m2 joined 3 range led by m2 of m2 m3
        3s | m3 joined 3 range led by m2
        ",
    );
}

/// A follower's assignments once became everybody's.
#[test]
fn what_followers_assign_does_not_count() {
    check(
        "stores m1 m2",
        "
        0s m1 join
        0s m2 join
        0s | m1 joined 2 range led by m1 of m1 m2
        0s | m2 joined 2 range led by m1
        1s m2 sync m1=evil m2=evil
        2s m1 sync m1=a
        2s | store 1 g@2 m1=a m2=
        3s stored 1
        3s | m1 synced a
        3s | m2 synced
        3s m1 sync m1=later
        3s | m1 synced a
        ",
    );
}

#[test]
fn the_client_of_a_parked_sync_goes_away() {
    check(
        "stores m1 m2",
        "
        0s m1 join
        0s m2 join
        0s | m1 joined 2 range led by m1 of m1 m2
        0s | m2 joined 2 range led by m1
        0s m2 sync
        0s m2 gone
        1s m1 sync m1=a m2=b
        1s | store 1 g@2 m1=a m2=b
        2s stored 1
        2s | m1 synced a
        3s m2 sync
        3s | m2 synced b
        ",
    );
}

#[test]
fn losing_the_partition_answers_everybody() {
    check(
        "stores m1 m2",
        "
        0s m1 join
        0s m2 join
        0s | m1 joined 2 range led by m1 of m1 m2
        0s | m2 joined 2 range led by m1
        0s m2 sync
        1s m1 sync m1=a m2=b
        1s | store 1 g@2 m1=a m2=b
        2s host restarts
        2s | m1 sync NotCoordinator
        2s | m2 sync NotCoordinator
        3s stored 1
        ",
    );
}

/// Groups re-formed after each restart of their coordinator: membership is kept.
#[test]
fn members_outlive_their_coordinator() {
    check(
        "m1 m2",
        "
        1s host restarts
        2s m1 heartbeats
        2s | m1 lives
        3s m2 sync
        3s | m2 synced m2
        4s m2 join
        4s | m2 joined 1 range led by m1
        ",
    );
}
