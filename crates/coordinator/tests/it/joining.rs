//! Joins and rounds, as scripts: the faults that coordinators have had with them.

use crate::script::check;

#[test]
fn the_first_round_waits_for_more() {
    check(
        "",
        "
        0s m1 join
        1s m2 join
        6s | m1 joined 1 range led by m1 of m1 m2
        6s | m2 joined 1 range led by m1
        6s m1 sync m1=a m2=b
        6s | m1 synced a
        6s m2 sync
        6s | m2 synced b
        ",
    );
}

/// A member that heartbeats but never syncs kept a group from becoming stable for ever (KAFKA-12890).
#[test]
fn who_never_syncs_is_removed_at_the_rebalance_timeout_although_it_heartbeats() {
    check(
        "events",
        "
        0s m1 join session=20s
        0s | ! rebalance: m1? a new member joined
        0s m2 join session=20s
        6s | ! 2 joined led by m1 after 6000 ms for nobody without []
        6s | m1 joined 1 range led by m1 of m1 m2
        6s | m2 joined 1 range led by m1
        6s m1 sync
        6s | m1 synced
        6s | ! 2 stable after 6000 ms
        20s m1 heartbeats
        20s | m1 lives
        20s m2 heartbeats
        20s | m2 lives
        36s | ! m2 did not sync
        36s | ! rebalance: nobody members did not sync in time
        36s m2 heartbeats
        36s | m2 heartbeat UnknownMemberId
        ",
    );
}

/// An id that was handed out and never used held up every round (KAFKA-7909).
#[test]
fn a_pending_member_holds_a_round_up_for_its_session_timeout_at_most() {
    check(
        "m1",
        "
        0s m2 join v4 session=6s
        0s | m2 join MemberIdRequired
        1s m1 join
        6s | m1 joined 2 range led by m1 of m1
        ",
    );
}

#[test]
fn a_pending_member_may_leave() {
    check(
        "m1",
        "
        0s m2 join v4
        0s | m2 join MemberIdRequired
        1s m1 join
        2s m2 leaves
        2s | m1 joined 2 range led by m1 of m1
        2s | m2 leave left
        3s m2 join
        3s | m2 join UnknownMemberId
        ",
    );
}

/// Kafka waits for it until its session timeout.
#[test]
fn nobody_waits_for_an_id_whose_client_is_gone() {
    check(
        "m1",
        "
        0s m2 join v4
        0s | m2 join MemberIdRequired
        1s m1 join
        2s m2 gives-up
        2s | m1 joined 2 range led by m1 of m1
        3s m2 gives-up
        3s m2 join
        3s | m2 join UnknownMemberId
        ",
    );
}

/// It came back over another connection before the end of the first was noticed.
#[test]
fn an_id_in_use_cannot_be_given_up() {
    check(
        "m1",
        "
        0s m2 join v4
        0s | m2 join MemberIdRequired
        0s m2 join
        0s m2 gives-up
        1s m1 join
        1s | m1 joined 2 range led by m1 of m1 m2
        1s | m2 joined 2 range led by m1
        1s m2 gives-up
        1s m1 sync m1=a m2=b
        1s | m1 synced a
        1s m2 sync
        1s | m2 synced b
        1s m2 gives-up
        2s m2 heartbeats
        2s | m2 lives
        ",
    );
}

#[test]
fn handed_out_ids_of_one_group_are_bounded() {
    check(
        "max_pending=1 m1",
        "
        0s m2 join v4
        0s | m2 join MemberIdRequired
        0s m3 join v4
        0s | m3 join CoordinatorNotAvailable
        10s m3 heartbeats
        10s | m3 heartbeat UnknownMemberId
        11s m3 join v4
        11s | m3 join MemberIdRequired
        ",
    );
}

/// Clients of old versions that time out and retry filled groups with members nobody was (KAFKA-7610).
#[test]
fn a_new_member_whose_client_goes_away_frees_its_place() {
    check(
        "events m1",
        "
        0s m2 join
        0s | ! rebalance: m2? a new member joined
        1s m2 gone
        1s | ! m2? left: a new member's client went away
        2s m2 join
        3s m1 join
        3s | ! 2 joined led by m1 after 3000 ms for m1 without []
        3s | m1 joined 2 range led by m1 of m1 m2
        3s | m2 joined 2 range led by m1
        ",
    );
}

#[test]
fn a_new_member_that_waits_in_vain_is_told_after_five_minutes() {
    // m1 stays away from the round for as long as it can, by heartbeats.
    let beats: Vec<String> = (1..300)
        .step_by(9)
        .map(|t| format!("{t}s m1 heartbeats\n{t}s | m1 heartbeat RebalanceInProgress"))
        .collect();
    check(
        "rebalance=10m m1",
        &format!(
            "0s m2 join
            {}
            300s | m2 join UnknownMemberId
            301s m1 join
            301s | m1 joined 2 range led by m1 of m1",
            beats.join("\n")
        ),
    );
}

/// A member that was given its id knows it: it may come back, within its session.
#[test]
fn an_introduced_member_whose_client_goes_away_has_its_session_to_come_back() {
    check(
        "m1",
        "
        0s m2 join v4
        0s | m2 join MemberIdRequired
        0s m2 join
        1s m2 gone
        2s m1 join
        9s m2 join
        9s | m1 joined 2 range led by m1 of m1 m2
        9s | m2 joined 2 range led by m1
        ",
    );
    check(
        "m1",
        "
        0s m2 join v4
        0s | m2 join MemberIdRequired
        0s m2 join
        1s m2 gone
        2s m1 join
        11s | m1 joined 2 range led by m1 of m1
        ",
    );
}

#[test]
fn an_introduced_member_that_is_back_waits_as_a_new_one() {
    check(
        "m1",
        "
        0s m2 join v4 session=6s
        0s | m2 join MemberIdRequired
        0s m2 join session=6s
        1s m2 gone
        2s m2 join session=6s
        9s m1 heartbeats
        9s | m1 heartbeat RebalanceInProgress
        10s m1 join
        10s | m1 joined 2 range led by m1 of m1 m2
        10s | m2 joined 2 range led by m1
        ",
    );
}

/// Many protocols, and names that come and go, are counted right.
#[test]
fn many_protocols_are_counted_like_few() {
    let many = |from: u32| (from..from + 30).map(|n| format!("p{n}:x")).collect::<Vec<_>>().join(",");
    check(
        "",
        &format!(
            "
            0s m1 join v4 can={0},common:a
            0s | m1 join MemberIdRequired
            0s m1 join can={0},common:a
            1s m2 join can=common:b,{1}
            2s m3 join can={1}
            2s | m3 join InconsistentGroupProtocol
            3s m1 join can=common:c
            3s | m1 superseded
            4s m3 join can={1}
            4s | m3 join InconsistentGroupProtocol
            5s m3 join can=common:d
            9s | m1 joined 1 common led by m1 of m1:c m2:b m3:d
            9s | m2 joined 1 common led by m1
            9s | m3 joined 1 common led by m1
            ",
            many(0),
            many(100)
        ),
    );
}

#[test]
fn a_known_member_whose_client_goes_away_keeps_its_session() {
    check(
        "m1 m2 m3",
        "
        0s m3 join can=range:more
        1s m1 join
        2s m3 gone
        8s m2 heartbeats
        8s | m2 heartbeat RebalanceInProgress
        11s m2 join
        12s | m1 joined 2 range led by m1 of m1 m2
        12s | m2 joined 2 range led by m1
        ",
    );
}

/// New members lived for five minutes only, though they heartbeat (KAFKA-9232).
#[test]
fn a_member_lives_on_after_the_time_a_new_one_may_wait() {
    let beats: Vec<String> =
        (0..40).map(|n| format!("{t}s m1 heartbeats\n{t}s | m1 lives", t = n * 9)).collect();
    check("m1", &beats.join("\n"));
}

/// Another join of the same member takes the place of the one that waits.
#[test]
fn a_repeated_join_takes_over() {
    check(
        "m1 m2",
        "
        0s m2 join can=range:more
        1s m2 join can=range:more
        1s | m2 superseded
        2s m1 join
        2s | m1 joined 2 range led by m1 of m1 m2:more
        2s | m2 joined 2 range led by m1
        ",
    );
}

/// Joins during CompletingRebalance made groups start over again and again (librdkafka#3866).
#[test]
fn an_unchanged_rejoin_while_assignments_are_awaited_gets_the_current_generation() {
    check(
        "m1 m2",
        "
        0s m1 join
        0s m2 join
        0s | m1 joined 2 range led by m1 of m1 m2
        0s | m2 joined 2 range led by m1
        1s m2 join
        1s | m2 joined 2 range led by m1
        2s m1 join
        2s | m1 joined 2 range led by m1 of m1 m2
        3s m1 sync m2=x
        3s | m1 synced
        ",
    );
}

/// A leader that came back under a new id left its old one leading: nobody ever assigned.
#[test]
fn the_leader_is_always_one_of_those_who_joined() {
    check(
        "m1 m2 m3",
        "
        0s m1 join new
        1s m2 join
        1s m3 join
        10s | m2 joined 2 range led by m2 of m2 m3 m1
        10s | m3 joined 2 range led by m2
        10s | m1 joined 2 range led by m2
        ",
    );
}

#[test]
fn a_lone_silent_member_is_evicted() {
    check(
        "events m1",
        "
        10s | ! m1 silent for 10000 ms
        10s | ! rebalance: m1 a member's session expired
        10s | ! 0 joined led by nobody after 0 ms for m1 without []
        12s m1 heartbeats
        12s | m1 heartbeat UnknownMemberId
        ",
    );
}

/// A member that leaves while its join waits hung until the round was over.
#[test]
fn leaving_ends_the_members_own_join_first() {
    check(
        "m1 m2",
        "
        0s m2 join can=range:more
        1s m2 leaves
        1s | m2 join UnknownMemberId
        1s | m2 leave left
        2s m1 join
        2s | m1 joined 2 range led by m1 of m1
        ",
    );
}

#[test]
fn an_admin_removes_a_member_that_only_heartbeats() {
    check(
        "events m1 m2",
        "
        0s admin removes m2
        0s | ! m2 left: -
        0s | ! rebalance: m2 a member left
        0s | admin leave left
        1s m1 join reason=told-so
        1s | ! 1 joined led by m1 after 1000 ms for m1 without []
        1s | m1 joined 2 range led by m1 of m1
        ",
    );
}

#[test]
fn reasons_are_told() {
    check(
        "events m1 m2",
        "
        0s m1 join reason=topics-changed
        0s | ! rebalance: m1 the leader rejoined; client reason: topics-changed
        9s m2 heartbeats
        9s | m2 heartbeat RebalanceInProgress
        18s m2 heartbeats
        18s | m2 heartbeat RebalanceInProgress
        27s m2 heartbeats
        27s | m2 heartbeat RebalanceInProgress
        30s | ! 1 joined led by m1 after 30000 ms for nobody without [\"m2\"]
        30s | m1 joined 2 range led by m1 of m1
        ",
    );
}

/// No more than the limit get in, however they arrive (KAFKA-9844).
#[test]
fn a_group_never_exceeds_its_limit() {
    check(
        "max_size=2",
        "
        0s m1 join v4
        0s | m1 join MemberIdRequired
        0s m2 join v4
        0s | m2 join MemberIdRequired
        0s m3 join v4
        0s | m3 join MemberIdRequired
        1s m1 join
        1s m2 join
        1s m3 join
        1s | m3 join GroupMaxSizeReached
        7s | m1 joined 1 range led by m1 of m1 m2
        7s | m2 joined 1 range led by m1
        ",
    );
}

#[test]
fn a_protocol_named_twice_counts_once() {
    check(
        "",
        "
        0s m1 join can=range:a,range:b
        1s m2 join can=range
        6s | m1 joined 1 range led by m1 of m1:a m2
        6s | m2 joined 1 range led by m1
        7s m1 join can=range:a,range:b
        7s | m1 joined 1 range led by m1 of m1:a m2
        ",
    );
}

#[test]
fn any_bytes_can_be_metadata_and_assignment() {
    check(
        "",
        "
        0s m1 join can=range:
        3s | m1 joined 1 range led by m1 of m1:
        3s m1 sync nobody=z m1=
        3s | m1 synced
        ",
    );
}
