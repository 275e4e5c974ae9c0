//! Delete offsets nobody reads any more.

use crate::coordinator::Coordinator;
use crate::group::Phase;
use crate::ids::TopicPartition;
use crate::messages::{GroupError, OffsetDelete, OffsetDeleteResponse, Response, Token};
use crate::offsets::retention;

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: OffsetDelete) {
    let response = match delete(coordinator, request) {
        Ok(results) => OffsetDeleteResponse { error: None, results },
        Err(error) => OffsetDeleteResponse { error: Some(error), results: Vec::new() },
    };
    coordinator.turn.respond(token, Response::OffsetDelete(response));
}

fn delete(
    coordinator: &mut Coordinator,
    request: OffsetDelete,
) -> Result<Vec<(TopicPartition, Option<GroupError>)>, GroupError> {
    let index = coordinator.find_named(&request.group)?.ok_or(GroupError::GroupIdNotFound)?;
    let group = &coordinator.groups[index];
    let is_read = |partition: &TopicPartition| match group.phase() {
        Phase::Empty | Phase::Dead => false,
        Phase::PreparingRebalance | Phase::CompletingRebalance | Phase::Stable => {
            group.subscription.may_contain(&partition.topic)
        }
    };
    match group.phase() {
        Phase::Dead => return Err(GroupError::GroupIdNotFound),
        Phase::PreparingRebalance | Phase::CompletingRebalance | Phase::Stable
            if !group.is_consumer_group() =>
        {
            return Err(GroupError::NonEmptyGroup);
        }
        Phase::Empty | Phase::PreparingRebalance | Phase::CompletingRebalance | Phase::Stable => {}
    }
    let results: Vec<_> = request
        .partitions
        .into_iter()
        .map(|partition| {
            let error = is_read(&partition).then_some(GroupError::GroupSubscribedToTopic);
            (partition, error)
        })
        .collect();
    let deletable: Vec<TopicPartition> =
        results.iter().filter(|(_, error)| error.is_none()).map(|(partition, _)| partition.clone()).collect();
    if !deletable.is_empty() {
        retention::delete_offsets(coordinator, index, &deletable);
    }
    Ok(results)
}
