//! I am alive. Renews the session, and tells the member when to rejoin.

use crate::coordinator::Coordinator;
use crate::delayed::heartbeat;
use crate::group::Phase;
use crate::messages::{GroupError, Heartbeat, HeartbeatResponse, Response, Token};

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: &Heartbeat) {
    let error = match coordinator.find_named(&request.group) {
        // Nobody is known yet: the member stays calm until it is.
        Err(GroupError::CoordinatorLoadInProgress) => None,
        Err(error) => Some(error),
        Ok(None) => Some(GroupError::UnknownMemberId),
        Ok(Some(index)) => {
            let (turn, group) = coordinator.turn_and_group(index).expect("invariant: found in this turn");
            let phase = group.phase();
            if phase == Phase::Dead {
                Some(GroupError::CoordinatorNotAvailable)
            } else {
                let (member, instance) = (&request.member, request.instance.as_ref());
                match group.member_of_generation(member, instance, request.generation) {
                    Err(error) => Some(error),
                    Ok(_) if phase == Phase::Empty => Some(GroupError::UnknownMemberId),
                    Ok(member) => {
                        heartbeat::renew(turn, group, member);
                        (phase == Phase::PreparingRebalance).then_some(GroupError::RebalanceInProgress)
                    }
                }
            }
        }
    };
    coordinator.turn.respond(token, Response::Heartbeat(HeartbeatResponse { error }));
}
