//! Answers to deletions wait until what was deleted is durably gone.
//!
//! A coordinator answers them at once, as Kafka's did; a crash right after would bring back what a client was told is
//! gone. Writes of a shard become durable in the order they are asked for, so the last one stands for all before.

use coordinator::messages::{
    DeleteGroupsResponse, GroupError, OffsetDeleteResponse, Response, StoreError, StoreId,
};
use tokio::sync::oneshot::Sender;

/// Answers that wait for a write. No more than there are requests in flight, which their connections bound.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    /// The last write that was asked for, if it is not reported yet.
    last: Option<StoreId>,
    waiting: Vec<(StoreId, Sender<Response>, Response)>,
}

impl Deletions {
    /// A write was asked for.
    pub(super) fn asked(&mut self, id: StoreId) {
        self.last = Some(id);
    }

    /// Sends `response`, or keeps it until the deletion is durable.
    pub(super) fn respond(&mut self, reply: Sender<Response>, response: Response) {
        match (self.last, &response) {
            (Some(id), Response::OffsetDelete(_) | Response::DeleteGroups(_)) => {
                self.waiting.push((id, reply, response));
            }
            // Refused by a client that goes away: its Abandon is on the way.
            _ => drop(reply.send(response)),
        }
    }

    /// A write ended.
    pub(super) fn reported(&mut self, id: StoreId, outcome: Result<(), StoreError>) {
        self.last.take_if(|last| *last == id);
        for (_, reply, response) in self.waiting.extract_if(.., |(wanted, ..)| *wanted == id) {
            drop(reply.send(match outcome {
                Ok(()) => response,
                Err(error) => refused(response, error),
            }));
        }
    }
}

/// The answer if what was deleted may be there again after a restart.
fn refused(response: Response, error: StoreError) -> Response {
    let error = match error {
        StoreError::NotLeaderOrFollower | StoreError::KafkaStorageError => GroupError::NotCoordinator,
        _ => GroupError::CoordinatorNotAvailable,
    };
    match response {
        Response::OffsetDelete(_) => {
            Response::OffsetDelete(OffsetDeleteResponse { error: Some(error), results: Vec::new() })
        }
        Response::DeleteGroups(DeleteGroupsResponse { results }) => {
            let results = results.into_iter().map(|(group, old)| (group, old.or(Some(error)))).collect();
            Response::DeleteGroups(DeleteGroupsResponse { results })
        }
        other => other,
    }
}
