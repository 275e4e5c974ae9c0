//! Members leave, by themselves or by an admin's hand. Each is judged by itself.

use crate::coordinator::Coordinator;
use crate::delayed::heartbeat;
use crate::delayed::join::Cause;
use crate::events::EventKind;
use crate::group::{Group, MemberIndex, Phase};
use crate::messages::{
    GroupError, LeaveGroup, LeaveGroupResponse, LeavingMember, LeftMember, Response, Token,
};
use crate::turn::Turn;

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: LeaveGroup) {
    let response = match coordinator.find_named(&request.group) {
        Err(error) => LeaveGroupResponse { error: Some(error), members: Vec::new() },
        Ok(None) => {
            let left = |member| answer(member, Some(GroupError::UnknownMemberId));
            LeaveGroupResponse { error: None, members: request.members.into_iter().map(left).collect() }
        }
        Ok(Some(index)) => {
            let (turn, group) = coordinator.turn_and_group(index).expect("invariant: found in this turn");
            if group.phase() == Phase::Dead {
                let error = Some(GroupError::CoordinatorNotAvailable);
                LeaveGroupResponse { error, members: Vec::new() }
            } else {
                let leave_one = |member: LeavingMember| {
                    let error = leave(turn, group, &member).err();
                    answer(member, error)
                };
                let members = request.members.into_iter().map(leave_one).collect();
                LeaveGroupResponse { error: None, members }
            }
        }
    };
    coordinator.turn.respond(token, Response::LeaveGroup(response));
}

fn leave(turn: &mut Turn, group: &mut Group, leaving: &LeavingMember) -> Result<(), GroupError> {
    if leaving.member.is_empty() {
        // An admin names a static member by its instance alone (KIP-345).
        let named = leaving.instance.as_ref().and_then(|instance| group.static_member(instance));
        remove(turn, group, named.ok_or(GroupError::UnknownMemberId)?, leaving);
    } else if group.pending.contains(&leaving.member) {
        heartbeat::remove_pending_member(turn, group, &leaving.member);
    } else {
        let index = group.current_member(&turn.sessions, &leaving.member, leaving.instance.as_ref())?;
        remove(turn, group, index, leaving);
    }
    Ok(())
}

fn remove(turn: &mut Turn, group: &mut Group, index: MemberIndex, leaving: &LeavingMember) {
    let (member, reason) = (group.members[index].id.clone(), leaving.reason.clone());
    turn.event(group, EventKind::MemberLeft { member, reason: reason.clone() });
    heartbeat::remove_member(turn, group, index, Cause { what: "a member left", reason });
}

fn answer(leaving: LeavingMember, error: Option<GroupError>) -> LeftMember {
    LeftMember { member: leaving.member, instance: leaving.instance, error }
}
