//! Become, or stay, a member. Most joins are parked until the round is joined.

use crate::coordinator::Coordinator;
use crate::delayed::join::Cause;
use crate::delayed::store::{DelayedStore, ReplacementStore};
use crate::delayed::{heartbeat, join};
use crate::events::EventKind;
use crate::group::{Client, Group, Joining, MemberIndex, Parked, Phase, Rejoin, Standing};
use crate::ids::{Blob, Generation, GroupId, MemberId};
use crate::messages::{
    GroupError, JoinGroup, JoinGroupResponse, JoinedMember, Response, SyncGroupResponse, Token,
};
use crate::turn::Turn;

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: JoinGroup) {
    let found = coordinator.find_named(&request.group);
    let config = &coordinator.turn.config;
    let range = config.group_min_session_timeout_ms..=config.group_max_session_timeout_ms;
    let index = match found {
        Err(error) => return refuse(&mut coordinator.turn, token, request.member, error),
        Ok(_) if !range.contains(&request.session_timeout_ms) => {
            return refuse(&mut coordinator.turn, token, request.member, GroupError::InvalidSessionTimeout);
        }
        Ok(Some(index)) => index,
        Ok(None) if request.member.is_empty() => coordinator.create_group(request.group.clone()),
        Ok(None) => return refuse(&mut coordinator.turn, token, request.member, GroupError::UnknownMemberId),
    };
    let Some((turn, group)) = coordinator.turn_and_group(index) else {
        unreachable!("the group was found in this turn");
    };
    if !has_room(turn, group, &request.member) {
        drop_refused(turn, group, &request.member);
        refuse(turn, token, MemberId::default(), GroupError::GroupMaxSizeReached);
    } else if request.member.is_empty() {
        join_unknown(turn, group, token, request);
    } else {
        join_known(turn, group, token, request);
    }
    join::complete_if_ready(turn, group);
}

/// Whether `group.max.size` lets this one in.
///
/// While a round is prepared the joins that wait count, not the members: a group that has become too large sheds
/// those who come last.
fn has_room(turn: &Turn, group: &Group, member: &MemberId) -> bool {
    let limit = turn.config.group_max_size;
    match group.phase() {
        Phase::Empty | Phase::Dead => true,
        Phase::PreparingRebalance => {
            group.awaiting_join() < limit
                || turn
                    .sessions
                    .find_in(group, member)
                    .is_some_and(|index| group.members[index].awaits_join())
        }
        Phase::CompletingRebalance | Phase::Stable => {
            group.members.len() < limit || turn.sessions.find_in(group, member).is_some()
        }
    }
}

/// Forgets a member, or an id handed out, for which there was no room.
fn drop_refused(turn: &mut Turn, group: &mut Group, member: &MemberId) {
    heartbeat::drop_pending_member(turn, group, member);
    if let Some(index) = turn.sessions.find_in(group, member) {
        heartbeat::drop_member(turn, group, index);
        turn.event(
            group,
            EventKind::MemberLeft {
                member: member.clone(),
                reason: Some("the group is larger than group.max.size".into()),
            },
        );
    }
}

/// A client without member id: a new member, or a static one that restarted.
fn join_unknown(turn: &mut Turn, group: &mut Group, token: Token, request: JoinGroup) {
    if group.phase() == Phase::Dead {
        return refuse(turn, token, MemberId::default(), GroupError::CoordinatorNotAvailable);
    }
    if !group.supports(&request.protocol_type, &request.protocols) {
        return refuse(turn, token, MemberId::default(), GroupError::InconsistentGroupProtocol);
    }
    let member = turn.member_ids.next(&request.client_id, request.instance.as_ref());
    let replaced = request.instance.as_ref().and_then(|instance| group.static_member(instance));
    if let Some(index) = replaced {
        replace_static(turn, group, index, member, token, request);
    } else if request.instance.is_none() && request.require_known_member_id {
        if group.pending.len() >= turn.config.group_max_pending_members {
            return refuse(turn, token, MemberId::default(), GroupError::CoordinatorNotAvailable);
        }
        heartbeat::add_pending_member(turn, group, &member, request.session_timeout_ms);
        refuse(turn, token, member, GroupError::MemberIdRequired);
    } else {
        add_member(turn, group, member, token, request);
    }
}

/// A client with member id: one that was just given it, or a member that rejoins.
fn join_known(turn: &mut Turn, group: &mut Group, token: Token, request: JoinGroup) {
    if group.phase() == Phase::Dead {
        return refuse(turn, token, request.member, GroupError::CoordinatorNotAvailable);
    }
    if !group.supports(&request.protocol_type, &request.protocols) {
        return refuse(turn, token, request.member, GroupError::InconsistentGroupProtocol);
    }
    if group.pending.contains(&request.member) {
        // Ids are handed out to dynamic members only.
        if request.instance.is_some() {
            return refuse(turn, token, request.member, GroupError::UnknownMemberId);
        }
        heartbeat::drop_pending_member(turn, group, &request.member);
        let member = request.member.clone();
        return add_member(turn, group, member, token, request);
    }
    match group.current_member(&turn.sessions, &request.member, request.instance.as_ref()) {
        Err(error) => refuse(turn, token, request.member, error),
        Ok(index) => rejoin(turn, group, index, token, request),
    }
}

fn rejoin(turn: &mut Turn, group: &mut Group, index: MemberIndex, token: Token, request: JoinGroup) {
    let is_unchanged = group.offers_the_same(index, &request.protocols);
    let cause = match group.phase() {
        Phase::PreparingRebalance => "a member rejoined",
        // Thus a leader has topics reassigned that changed without any member changing.
        Phase::Stable if group.is_leader(index) => "the leader rejoined",
        // It may not have received the first answer.
        Phase::CompletingRebalance | Phase::Stable if is_unchanged => {
            return turn.respond(token, Response::JoinGroup(joined(group, index)));
        }
        Phase::CompletingRebalance | Phase::Stable => "a member changed its metadata",
        Phase::Empty | Phase::Dead => {
            return refuse(turn, token, request.member, GroupError::UnknownMemberId);
        }
    };
    let cause = Cause { what: cause, reason: request.reason };
    if group.members[index].is_new() && !group.members[index].waits() {
        // Its client went away while its first join waited, and is back.
        heartbeat::renew_first_wait(turn, group, index);
    }
    turn.sessions.update(
        group,
        index,
        Rejoin {
            protocols: request.protocols,
            session_timeout_ms: request.session_timeout_ms,
            rebalance_timeout_ms: request.rebalance_timeout_ms,
        },
    );
    park_join_and_rebalance(turn, group, index, token, cause);
}

/// Parks a member's join; if no round is under way, one begins.
fn park_join_and_rebalance(
    turn: &mut Turn,
    group: &mut Group,
    index: MemberIndex,
    token: Token,
    cause: Cause,
) {
    // Its own sync, if one waits, is cancelled as everybody's will be; it is not superseded.
    if let Some(sync) = turn.unpark_sync(group, index) {
        let response = SyncGroupResponse::refusal(GroupError::RebalanceInProgress);
        turn.respond(sync, Response::SyncGroup(response));
    }
    turn.park(group, index, Parked::Join(token));
    let member = group.members[index].id.clone();
    join::maybe_prepare_rebalance(turn, group, member, cause);
}

fn add_member(turn: &mut Turn, group: &mut Group, member: MemberId, token: Token, request: JoinGroup) {
    if group.phase() == Phase::PreparingRebalance && group.generation == Generation(0) {
        group.new_member_added = true;
    }
    let cause = Cause { what: "a new member joined", reason: request.reason };
    let standing = if request.member.is_empty() { Standing::Unaware } else { Standing::Introduced };
    let client = Client { id: request.client_id, host: request.client_host, instance: request.instance };
    // It cannot heartbeat before it is answered, and a client that gave up would be replaced by another member
    // with every retry: so its wait is limited.
    let timeout_ms = u64::from(turn.config.new_member_join_timeout_ms);
    let heartbeat = heartbeat::watch(turn, group.index, group.members.next_index(), timeout_ms);
    let joining = Joining {
        member,
        client,
        protocol_type: request.protocol_type,
        protocols: request.protocols,
        session_timeout_ms: request.session_timeout_ms,
        rebalance_timeout_ms: request.rebalance_timeout_ms,
        assignment: Blob::default(),
        standing,
    };
    let index = turn.sessions.add(group, joining, heartbeat);
    park_join_and_rebalance(turn, group, index, token, cause);
}

/// A static member restarted: it takes its old place under a new id, and whoever used the old one is fenced.
fn replace_static(
    turn: &mut Turn,
    group: &mut Group,
    index: MemberIndex,
    new_id: MemberId,
    token: Token,
    request: JoinGroup,
) {
    let (old_id, old_leader) = (group.members[index].id.clone(), group.leader_id());
    fence(turn, group, index, &old_id);
    turn.sessions.rename(group, index, new_id.clone());
    // With the session timeout of the old process; the new one's counts from its next request on.
    heartbeat::renew(turn, group, index);
    if let Some(instance) = request.instance {
        let (old, new) = (old_id.clone(), new_id.clone());
        turn.event(group, EventKind::StaticMemberReplaced { instance, old, new });
    }
    let member = &group.members[index];
    let waiting = ReplacementStore {
        group: group.index,
        member: index,
        new_id: new_id.clone(),
        old_id,
        old_leader,
        old_session_timeout_ms: member.session_timeout_ms,
        old_rebalance_timeout_ms: member.rebalance_timeout_ms,
        supports_skipping_assignment: request.supports_skipping_assignment,
    };
    let cause = Cause { what: "a static member restarted", reason: request.reason };
    turn.sessions.update(
        group,
        index,
        Rejoin {
            protocols: request.protocols,
            session_timeout_ms: request.session_timeout_ms,
            rebalance_timeout_ms: request.rebalance_timeout_ms,
        },
    );
    match group.phase() {
        Phase::Stable if group.vote() == group.protocol => {
            // All others can carry on as they are: only the id is new, and must be kept before it is used.
            turn.park(group, index, Parked::Join(token));
            let record = group.record(group.members.iter().map(|(_, member)| &member.assignment));
            turn.store_and_wait(group, vec![record], DelayedStore::Replacement(waiting));
        }
        // The leader may already assign to the old id: in CompletingRebalance all start over.
        Phase::Stable | Phase::CompletingRebalance | Phase::PreparingRebalance => {
            park_join_and_rebalance(turn, group, index, token, cause);
        }
        // An empty group has no static members.
        Phase::Empty | Phase::Dead => refuse(turn, token, new_id, GroupError::UnknownMemberId),
    }
}

/// Whoever waits under the old id of a replaced static member is told so.
fn fence(turn: &mut Turn, group: &mut Group, index: MemberIndex, old_id: &MemberId) {
    if let Some(parked) = turn.unpark_join(group, index) {
        refuse(turn, parked, old_id.clone(), GroupError::FencedInstanceId);
    }
    if let Some(parked) = turn.unpark_sync(group, index) {
        let response = SyncGroupResponse::refusal(GroupError::FencedInstanceId);
        turn.respond(parked, Response::SyncGroup(response));
    }
}

/// What a member is told of the generation it is in; the leader also who else is.
pub(crate) fn joined(group: &Group, index: MemberIndex) -> JoinGroupResponse {
    JoinGroupResponse {
        error: None,
        generation: group.generation,
        protocol_type: group.protocol_type.clone(),
        protocol: group.protocol.clone(),
        leader: group.leader_id(),
        member: group.members[index].id.clone(),
        skip_assignment: false,
        members: match group.phase() {
            Phase::CompletingRebalance if group.is_leader(index) => members_for_leader(group),
            Phase::Empty
            | Phase::PreparingRebalance
            | Phase::CompletingRebalance
            | Phase::Stable
            | Phase::Dead => Vec::new(),
        },
    }
}

/// All members with their metadata for the chosen protocol, in join order.
pub(crate) fn members_for_leader(group: &Group) -> Vec<JoinedMember> {
    let shown = group.members.iter().map(|(_, member)| JoinedMember {
        member: member.id.clone(),
        instance: member.instance().cloned(),
        metadata: group.metadata(member),
    });
    shown.collect()
}

/// An answer that is not a generation.
pub(crate) fn refusal(member: MemberId, error: GroupError) -> JoinGroupResponse {
    JoinGroupResponse {
        error: Some(error),
        generation: Generation::NONE,
        protocol_type: None,
        protocol: None,
        leader: MemberId::default(),
        member,
        skip_assignment: false,
        members: Vec::new(),
    }
}

fn refuse(turn: &mut Turn, token: Token, member: MemberId, error: GroupError) {
    turn.respond(token, Response::JoinGroup(refusal(member, error)));
}

/// Nobody will use an id that was handed out: Kafka's rounds wait for it until its session timeout (KAFKA-7909).
pub(crate) fn give_up(coordinator: &mut Coordinator, group: &GroupId, member: &MemberId) {
    let Some(index) = coordinator.groups.find(group) else { return };
    let Some((turn, group)) = coordinator.turn_and_group(index) else { return };
    if group.pending.contains(member) {
        heartbeat::remove_pending_member(turn, group, member);
    }
}

/// The client behind a parked request is gone: nobody is answered.
///
/// A member that was never told its id can never be heard of again, so it goes at once. All others may come back:
/// their sessions go on.
pub(crate) fn abandon(coordinator: &mut Coordinator, token: u64) {
    let Some((place, index)) = coordinator.turn.parked_under(token) else { return };
    let group = coordinator.groups.at(place).index;
    let Some((turn, group)) = coordinator.turn_and_group(group) else { return };
    let had_joined = turn.unpark_join(group, index).is_some();
    let _nobody_waits_for_it = turn.unpark_sync(group, index);
    let member = &group.members[index];
    if had_joined && member.standing == Standing::Unaware {
        let cause = "a new member's client went away";
        turn.event(group, EventKind::MemberLeft { member: member.id.clone(), reason: Some(cause.into()) });
        heartbeat::remove_member(turn, group, index, cause.into());
    } else {
        // One that knows its id but never was answered need not be waited for as long as one that still waits.
        heartbeat::renew(turn, group, index);
    }
}
