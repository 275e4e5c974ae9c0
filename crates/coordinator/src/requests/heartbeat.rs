//! I am alive. Renews the session, and tells the member when to rejoin.

use purgatory::OperationId;

use crate::coordinator::Coordinator;
use crate::delayed::heartbeat;
use crate::group::{Group, Phase};
use crate::messages::{GroupError, Heartbeat, HeartbeatResponse, Response, Token};
use crate::turn::Turn;

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: &Heartbeat) {
    let judgement = at_once(coordinator, request);
    let error = judgement.unwrap_or_else(|| step_by_step(coordinator, request)).err();
    coordinator.turn.respond(token, Response::Heartbeat(HeartbeatResponse { error }));
}

/// Nearly every heartbeat is a member's without instance, which is found together with its group. `None` if this is
/// another one.
fn at_once(coordinator: &mut Coordinator, request: &Heartbeat) -> Option<Result<(), GroupError>> {
    if request.instance.is_some() || request.group.is_empty() {
        return None;
    }
    let Coordinator { groups, turn, .. } = coordinator;
    let fingerprint = turn.sessions.fingerprint(&request.group, &request.member);
    let (index, session) = turn.sessions.find_with_index(fingerprint)?;
    // Not as the session says: the index is known before the session is, so that both cache misses overlap.
    let timer = turn.purgatory.id_at(index)?;
    let (timeout_ms, place) = (session.timeout_ms, session.group);
    if groups.calm_generation(place) == Some(request.generation) {
        heartbeat::renew_timer(turn, timer, timeout_ms);
        return Some(Ok(()));
    }
    let judgement = beat(turn, groups.at(place), request, timer, timeout_ms);
    if judgement.is_ok() {
        groups.set_calm(place, request.generation);
    }
    Some(judgement)
}

/// Looks for group and member one after the other, so that the first thing that is wrong is what is told.
fn step_by_step(coordinator: &mut Coordinator, request: &Heartbeat) -> Result<(), GroupError> {
    match coordinator.find_named(&request.group) {
        // Nobody is known yet: the member stays calm until it is.
        Err(GroupError::CoordinatorLoadInProgress) => Ok(()),
        Err(error) => Err(error),
        Ok(None) => Err(GroupError::UnknownMemberId),
        Ok(Some(index)) => {
            let Coordinator { groups, turn, .. } = coordinator;
            let group = &groups[index];
            if group.phase() == Phase::Dead {
                return Err(GroupError::CoordinatorNotAvailable);
            }
            let index = group.current_member(&turn.sessions, &request.member, request.instance.as_ref())?;
            let member = &group.members[index];
            beat(turn, group, request, member.heartbeat, member.session_timeout_ms)
        }
    }
}

/// The heartbeat of a member of `group`, whose silence `timer` waits for: renews the session, or says what is wrong.
fn beat(
    turn: &mut Turn,
    group: &Group,
    request: &Heartbeat,
    timer: OperationId,
    timeout_ms: i32,
) -> Result<(), GroupError> {
    let phase = group.phase();
    if phase == Phase::Dead {
        return Err(GroupError::CoordinatorNotAvailable);
    }
    if request.generation != group.generation {
        return Err(GroupError::IllegalGeneration);
    }
    if phase == Phase::Empty {
        return Err(GroupError::UnknownMemberId);
    }
    heartbeat::renew_timer(turn, timer, timeout_ms);
    if phase == Phase::PreparingRebalance { Err(GroupError::RebalanceInProgress) } else { Ok(()) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Asks in both ways, which must agree.
    pub(crate) fn both_ways(coordinator: &mut Coordinator, request: &Heartbeat) -> Result<(), GroupError> {
        let judgement = step_by_step(coordinator, request);
        if let Some(at_once) = at_once(coordinator, request) {
            assert_eq!(at_once, judgement, "{request:?}");
        } else {
            assert!(request.instance.is_some() || judgement.is_err(), "{request:?} is a member's");
        }
        judgement
    }
}
