//! Waits until every expected member has sent JoinGroup.
//!
//! Ready: all members have, and no handed-out id is outstanding. Expired: dynamic members that have not are removed,
//! and the round goes on with the rest. The first round of an empty group instead waits for a fixed while, extended
//! while newcomers arrive, and is never ready early.

use std::sync::Arc;

use super::{Delayed, WatchKey, heartbeat, sync};
use crate::events::EventKind;
use crate::group::{Group, MemberIndex, Phase, PhaseEvent, Standing};
use crate::ids::MemberId;
use crate::messages::{GroupError, Response};
use crate::requests::join_group;
use crate::turn::Turn;

/// Why a round begins: what we know of it, and what the client says (KIP-800).
#[derive(Debug)]
pub(crate) struct Cause {
    pub(crate) what: &'static str,
    pub(crate) reason: Option<Arc<str>>,
}

impl Cause {
    fn into_text(self) -> Arc<str> {
        match self.reason {
            Some(reason) if !reason.is_empty() => format!("{}; client reason: {reason}", self.what).into(),
            Some(_) | None => self.what.into(),
        }
    }
}

impl From<&'static str> for Cause {
    fn from(what: &'static str) -> Self {
        Self { what, reason: None }
    }
}

/// Starts a round because of `member`, unless one has already begun or the group is dead.
pub(crate) fn maybe_prepare_rebalance(turn: &mut Turn, group: &mut Group, member: MemberId, cause: Cause) {
    if group.phase().after(PhaseEvent::RebalanceNeeded).is_some() {
        prepare_rebalance(turn, group, PhaseEvent::RebalanceNeeded, member, cause);
    }
}

/// Starts a round: whoever waits for an assignment is told to rejoin, and the wait for joins begins.
pub(crate) fn prepare_rebalance(
    turn: &mut Turn,
    group: &mut Group,
    event: PhaseEvent,
    member: MemberId,
    cause: Cause,
) {
    if group.phase() == Phase::CompletingRebalance {
        sync::fail_parked(turn, group, GroupError::RebalanceInProgress);
    }
    sync::forget_due(turn, group);
    let is_first = group.phase() == Phase::Empty;
    turn.transition(group, event);
    group.round_started = turn.now;
    turn.counters.rebalances_started += 1;
    turn.event(group, EventKind::RebalanceStarted { member, cause: cause.into_text() });
    if is_first {
        let delay = turn.config.group_initial_rebalance_delay_ms;
        let timeout = u32::try_from(group.rebalance_timeout_ms()).unwrap_or(u32::MAX);
        watch_initial(turn, group, delay, timeout.saturating_sub(delay));
    } else if group.all_joined() {
        let waited_for = group.latest_news_of.clone();
        complete(turn, group, waited_for);
    } else {
        watch(turn, group);
    }
}

/// Ends the wait if the one who was missing has come, or gone.
pub(crate) fn complete_if_ready(turn: &mut Turn, group: &mut Group) {
    if group.phase() != Phase::PreparingRebalance || !group.all_joined() {
        return;
    }
    let is_ready = |operation: &Delayed| matches!(operation, Delayed::Join(_));
    if turn.purgatory.complete_next(&WatchKey::Join(group.index), is_ready).is_some() {
        let waited_for = group.latest_news_of.clone();
        complete(turn, group, waited_for);
    }
}

/// The time for joining is over.
pub(crate) fn on_expired(turn: &mut Turn, group: &mut Group) {
    complete(turn, group, MemberId::default());
}

/// The initial delay is over: extended if newcomers arrived and there is time left.
pub(crate) fn on_initial_expired(turn: &mut Turn, group: &mut Group, remaining_ms: u32) {
    if group.new_member_added && remaining_ms > 0 {
        group.new_member_added = false;
        let delay = turn.config.group_initial_rebalance_delay_ms;
        watch_initial(turn, group, delay.min(remaining_ms), remaining_ms.saturating_sub(delay));
    } else {
        complete(turn, group, MemberId::default());
    }
}

fn watch(turn: &mut Turn, group: &Group) {
    let deadline = turn.after_ms(group.rebalance_timeout_ms());
    turn.purgatory.watch(Delayed::Join(group.index), [WatchKey::Join(group.index)], deadline);
}

fn watch_initial(turn: &mut Turn, group: &Group, delay_ms: u32, remaining_ms: u32) {
    let operation = Delayed::InitialJoin(group.index, remaining_ms);
    let deadline = turn.after_ms(delay_ms);
    turn.purgatory.watch(operation, [WatchKey::Join(group.index)], deadline);
}

/// The wait for joins is over: the next generation starts with those who are here.
fn complete(turn: &mut Turn, group: &mut Group, waited_for: MemberId) {
    let dropped = drop_absent(turn, group);
    if !group.elect_joined_leader() && !group.members.is_empty() {
        // Only static members are left and none of them is here: wait on, until their sessions end.
        watch(turn, group);
        return;
    }
    group.next_generation(turn.unix_ms());
    turn.event(
        group,
        EventKind::RebalanceJoined {
            members: group.members.len(),
            leader: group.leader_id(),
            waited_ms: turn.now.ticks_since(group.round_started),
            waited_for,
            dropped,
        },
    );
    if group.members.is_empty() {
        // Nobody waits for this one. If it is lost, the next owner loads the last generation with members, whose
        // sessions then end.
        let record = group.record(std::iter::empty());
        turn.store(group, vec![record]);
        return;
    }
    turn.counters.rebalances_joined += 1;
    answer_joins(turn, group);
    sync::watch(turn, group);
}

/// Removes the dynamic members that have not joined this round. Static ones are given until their sessions end.
fn drop_absent(turn: &mut Turn, group: &mut Group) -> Vec<MemberId> {
    if group.awaiting_join() == group.members.len() {
        return Vec::new();
    }
    let is_absent_dynamic = |group: &Group, index: MemberIndex| {
        let member = &group.members[index];
        !member.awaits_join() && member.instance().is_none()
    };
    let mut dropped = Vec::new();
    let mut next = group.members.first();
    while let Some(index) = next {
        next = group.members.after(index);
        if is_absent_dynamic(group, index) {
            dropped.push(heartbeat::drop_member(turn, group, index));
        }
    }
    dropped
}

/// Tells everybody the generation, in join order; the leader also who is in it.
fn answer_joins(turn: &mut Turn, group: &mut Group) {
    let mut next = group.members.first();
    while let Some(index) = next {
        next = group.members.after(index);
        if let Some(token) = turn.unpark_join(group, index) {
            let response = join_group::joined(group, index);
            turn.respond(token, Response::JoinGroup(response));
        }
        group.members[index].standing = Standing::Joined;
        group.expect_sync(index);
        heartbeat::renew(turn, group, index);
    }
}
