//! Waits for a member's silence to last too long. One operation per member, re-armed as long as the member lives.
//!
//! Three lengths of one thing: a member's session; the wait of a member that does not know its id yet; and, for an
//! id that was handed out and not used, the time it stays good.

use purgatory::OperationId;

use super::join::Cause;
use super::{Delayed, join};
use crate::events::EventKind;
use crate::group::{Group, MemberIndex, Phase};
use crate::groups::GroupIndex;
use crate::ids::MemberId;
use crate::messages::{GroupError, Response, SyncGroupResponse};
use crate::requests::join_group;
use crate::turn::Turn;

/// Begins to watch over a member that is about to be added as `member`.
pub(crate) fn watch(turn: &mut Turn, group: GroupIndex, member: MemberIndex, timeout_ms: u64) -> OperationId {
    let deadline = turn.after_ms(timeout_ms);
    turn.purgatory.watch(Delayed::Heartbeat(group, member), [], deadline)
}

/// The member lives: its session starts anew.
pub(crate) fn renew(turn: &mut Turn, group: &Group, member: MemberIndex) {
    let member = &group.members[member];
    renew_timer(turn, member.heartbeat, member.session_timeout_ms);
}

/// As [`renew`], where timer and session timeout of the member are at hand.
pub(crate) fn renew_timer(turn: &mut Turn, timer: OperationId, timeout_ms: i32) {
    let lives = turn.purgatory.extend(timer, turn.after_ms(session_ms(timeout_ms)));
    debug_assert!(lives, "a member's heartbeat leaves only with the member");
}

/// A member that was never answered waits again: as long as a new one may.
pub(crate) fn renew_first_wait(turn: &mut Turn, group: &Group, member: MemberIndex) {
    let deadline = turn.after_ms(turn.config.new_member_join_timeout_ms);
    let lives = turn.purgatory.extend(group.members[member].heartbeat, deadline);
    debug_assert!(lives, "a member's heartbeat leaves only with the member");
}

/// A member was silent for too long.
pub(crate) fn on_expired(turn: &mut Turn, group: &mut Group, index: MemberIndex) {
    let member = &group.members[index];
    if member.waits() && !member.is_new() || group.phase() == Phase::Dead {
        // It cannot heartbeat while it waits for us. Its session starts when it is answered; until then this
        // only keeps the one operation alive, and so in a dead group: its members go with it.
        let heartbeat = watch(turn, group.index, index, session_ms(member.session_timeout_ms));
        turn.sessions.set_timer(group, index, heartbeat);
        return;
    }
    let (id, session_timeout_ms) = (member.id.clone(), member.session_timeout_ms);
    turn.counters.sessions_expired += 1;
    turn.event(group, EventKind::SessionExpired { member: id, session_timeout_ms });
    remove_member(turn, group, index, "a member's session expired".into());
}

/// Removes a member for good: what it has parked is answered, and the others carry on without it.
pub(crate) fn remove_member(turn: &mut Turn, group: &mut Group, index: MemberIndex, cause: Cause) {
    use crate::group::Phase::{CompletingRebalance, Dead, Empty, PreparingRebalance, Stable};
    let member = drop_member(turn, group, index);
    match group.phase() {
        Dead | Empty => {}
        Stable | CompletingRebalance => join::maybe_prepare_rebalance(turn, group, member, cause),
        PreparingRebalance => join::complete_if_ready(turn, group),
    }
}

/// Takes a member out of its group, with its timer; what it has parked is told that it is unknown.
pub(crate) fn drop_member(turn: &mut Turn, group: &mut Group, index: MemberIndex) -> MemberId {
    if let Some(token) = turn.unpark_join(group, index) {
        let response = join_group::refusal(MemberId::default(), GroupError::UnknownMemberId);
        turn.respond(token, Response::JoinGroup(response));
    }
    if let Some(token) = turn.unpark_sync(group, index) {
        turn.respond(token, Response::SyncGroup(SyncGroupResponse::refusal(GroupError::UnknownMemberId)));
    }
    let member = turn.sessions.remove(group, index);
    // Nothing to cancel if it is this operation that brought us here.
    drop(turn.purgatory.cancel(member.heartbeat));
    group.latest_news_of = member.id.clone();
    member.id
}

/// Hands out a member id that is forgotten after `timeout_ms`.
pub(crate) fn add_pending_member(turn: &mut Turn, group: &mut Group, member: &MemberId, timeout_ms: i32) {
    let operation = Delayed::PendingMember(Box::new((group.index, member.clone())));
    let expiry = turn.purgatory.watch(operation, [], turn.after_ms(session_ms(timeout_ms)));
    group.pending.insert(member.clone(), expiry);
}

/// Forgets an id that was handed out: it was used, given up, or waited for in vain. `false` if it was none.
pub(crate) fn drop_pending_member(turn: &mut Turn, group: &mut Group, member: &MemberId) -> bool {
    let Some(expiry) = group.pending.remove(member) else { return false };
    drop(turn.purgatory.cancel(expiry));
    group.latest_news_of = member.clone();
    true
}

/// As [`drop_pending_member`]; a round that waited only for this member goes on.
pub(crate) fn remove_pending_member(turn: &mut Turn, group: &mut Group, member: &MemberId) {
    drop_pending_member(turn, group, member);
    join::complete_if_ready(turn, group);
}

/// Timeouts are checked at the join; loaded ones may be anything.
pub(crate) fn session_ms(timeout_ms: i32) -> u64 {
    u64::try_from(timeout_ms).unwrap_or(0)
}
