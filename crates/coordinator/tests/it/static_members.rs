//! Members that keep their place over restarts (KIP-345), as scripts.

use crate::script::check;

/// Two processes with one instance id both worked on the same partitions.
#[test]
fn the_second_process_takes_over_and_the_first_is_fenced() {
    check(
        "i1/m1 i2/m2",
        "
        0s other join instance=i2
        0s | other joined 1 range led by m1
        1s other sync
        1s | other synced m2
        2s m2 heartbeats
        2s | m2 heartbeat FencedInstanceId
        2s m2 sync
        2s | m2 sync FencedInstanceId
        2s m2 join
        2s | m2 join FencedInstanceId
        3s other heartbeats
        3s | other lives
        ",
    );
}

#[test]
fn a_restarted_leader_is_told_to_skip_the_assignment_if_it_understands() {
    check(
        "i1/m1 i2/m2",
        "
        0s m1 join new v9
        0s | m1 joined 1 range led by m1 of m1 m2 skip
        1s m1 join new
        1s | m1 joined 1 range led by m1~
        ",
    );
}

#[test]
fn a_replacement_is_answered_when_it_is_stored() {
    check(
        "stores i1/m1 i2/m2",
        "
        0s m2 join new
        0s | store 1 g@1 m1=m1 i2?=m2
        1s stored 1
        1s | m2 joined 1 range led by m1
        ",
    );
}

#[test]
fn a_failed_replacement_is_taken_back() {
    check(
        "stores i1/m1 i2/m2",
        "
        0s other join new instance=i2
        0s | store 1 g@1 m1=m1 i2?=m2
        1s stored 1 MessageTooLarge
        1s | other join UnknownServerError
        2s m2 heartbeats
        2s | m2 lives
        ",
    );
}

/// Kafka answers the second process with the first one's id here.
#[test]
fn two_replacements_in_flight() {
    check(
        "stores i1/m1 i2/m2",
        "
        0s one join new instance=i2
        0s | store 1 g@1 m1=m1 i2?=m2
        1s two join new instance=i2
        1s | one join FencedInstanceId
        1s | store 2 g@1 m1=m1 i2?=m2
        2s stored 1
        3s stored 2
        3s | two joined 1 range led by m1
        4s one heartbeats
        4s | one heartbeat FencedInstanceId
        4s two heartbeats
        4s | two lives
        ",
    );
}

/// The write of a replacement fails after a round gave the member a new generation: nothing is taken back.
#[test]
fn a_replacement_that_fails_after_the_next_generation_began() {
    check(
        "stores i1/m1 i2/m2",
        "
        0s m2 join new
        0s | store 1 g@1 m1=m1 i2?=m2
        1s m1 join
        1s | m1 joined 2 range led by m1 of m1 m2
        1s | m2 joined 2 range led by m1
        2s stored 1 MessageTooLarge
        3s m2 heartbeats
        3s | m2 lives
        ",
    );
}

/// A static member was dropped at the rebalance timeout though its session was alive (KAFKA-8220).
#[test]
fn static_members_survive_the_rebalance_timeout_but_do_not_lead() {
    check(
        "rebalance=5s i1/m1 m2",
        "
        0s m2 join can=range:more rebalance=5s
        5s | m2 joined 2 range led by m2 of m1 m2:more
        6s m1 heartbeats
        6s | m1 heartbeat IllegalGeneration
        ",
    );
}

#[test]
fn a_static_member_expires_like_any_other() {
    check(
        "events i1/m1 i2/m2",
        "
        9s m1 heartbeats
        9s | m1 lives
        10s | ! m2 silent for 10000 ms
        10s | ! rebalance: m2 a member's session expired
        11s m2 heartbeats
        11s | m2 heartbeat UnknownMemberId
        ",
    );
}

/// Re-using a static member's id with another instance id corrupted the index of instances.
#[test]
fn ids_and_instances_are_one_to_one() {
    check(
        "i1/m1 i2/m2",
        "
        0s other join as=m1 instance=i2
        0s | other join FencedInstanceId
        0s other join as=m1 instance=i3
        0s | other join UnknownMemberId
        1s m1 heartbeats
        1s | m1 lives
        1s m2 heartbeats
        1s | m2 lives
        ",
    );
}

#[test]
fn a_static_member_outlives_its_coordinator() {
    check(
        "i1/m1 i2/m2",
        "
        0s m2 join new
        0s | m2 joined 1 range led by m1
        1s host restarts
        2s m1 heartbeats
        2s | m1 lives
        2s m2 heartbeats
        2s | m2 lives
        3s m1 join new v9
        3s | m1 joined 1 range led by m1 of m1 m2 skip
        ",
    );
}

/// A static member that never used its first id goes with its client, and may come back.
#[test]
fn a_new_static_member_whose_client_goes_away() {
    check(
        "m1",
        "
        0s m2 join instance=i2
        1s m2 gone
        2s m1 join
        2s | m1 joined 2 range led by m1 of m1
        ",
    );
}

/// The id that owed a SyncGroup is gone: its successor owes it, and pays.
#[test]
fn a_member_replaced_before_it_synced() {
    check(
        "i1/m1 i2/m2",
        "
        0s m1 join session=60s
        0s m2 join session=60s
        0s | m1 joined 2 range led by m1 of m1 m2
        0s | m2 joined 2 range led by m1
        1s m1 sync m1=a m2=b
        1s | m1 synced a
        2s m2 join new session=60s
        2s | m2 joined 2 range led by m1
        3s m2 sync
        3s | m2 synced b
        30s m1 heartbeats
        30s | m1 lives
        31s m2 heartbeats
        31s | m2 lives
        ",
    );
}
