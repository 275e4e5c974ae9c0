//! What a client can ask: one file per request. Each checks, then creates or completes operations, or answers.
//!
//! Every handler has the form `handle(coordinator, token, request)` and answers through
//! [`Turn::respond`](crate::turn::Turn::respond), now or later.

pub(crate) mod delete_groups;
pub(crate) mod describe_group;
pub(crate) mod heartbeat;
pub(crate) mod join_group;
pub(crate) mod leave_group;
pub(crate) mod list_groups;
pub(crate) mod offset_commit;
pub(crate) mod offset_delete;
pub(crate) mod offset_fetch;
mod offset_write;
pub(crate) mod sync_group;
pub(crate) mod txn_offset_commit;

use crate::coordinator::Coordinator;
use crate::messages::{Request, Token};

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: Request) {
    match request {
        Request::JoinGroup(request) => join_group::handle(coordinator, token, request),
        Request::SyncGroup(request) => sync_group::handle(coordinator, token, request),
        Request::Heartbeat(request) => heartbeat::handle(coordinator, token, &request),
        Request::LeaveGroup(request) => leave_group::handle(coordinator, token, request),
        Request::OffsetCommit(request) => offset_commit::handle(coordinator, token, request),
        Request::TxnOffsetCommit(request) => txn_offset_commit::handle(coordinator, token, request),
        Request::OffsetFetch(request) => offset_fetch::handle(coordinator, token, request),
        Request::OffsetDelete(request) => offset_delete::handle(coordinator, token, request),
        Request::DescribeGroup(request) => describe_group::handle(coordinator, token, request),
        Request::ListGroups(request) => list_groups::handle(coordinator, token, request),
        Request::DeleteGroups(request) => delete_groups::handle(coordinator, token, request),
    }
}
