//! Delete groups without members, with their offsets. Each is judged by itself.

use crate::coordinator::Coordinator;
use crate::group::Phase;
use crate::ids::GroupId;
use crate::messages::{DeleteGroups, DeleteGroupsResponse, GroupError, Response, Token};

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: DeleteGroups) {
    let delete_one = |group: GroupId| {
        let error = delete(coordinator, &group).err();
        (group, error)
    };
    let results = request.groups.into_iter().map(delete_one).collect();
    coordinator.turn.respond(token, Response::DeleteGroups(DeleteGroupsResponse { results }));
}

fn delete(coordinator: &mut Coordinator, group: &GroupId) -> Result<(), GroupError> {
    let index = coordinator.find(group)?.ok_or(GroupError::GroupIdNotFound)?;
    match coordinator.groups[index].phase() {
        Phase::Dead => Err(GroupError::GroupIdNotFound),
        Phase::PreparingRebalance | Phase::CompletingRebalance | Phase::Stable => {
            Err(GroupError::NonEmptyGroup)
        }
        Phase::Empty => {
            coordinator.delete_group(index, "the group was deleted by request");
            Ok(())
        }
    }
}
