//! Whether a fault befalls a request, before anybody is asked. Only a server for tests looks.

use std::time::Duration;

use coordinator::messages::Request;

use super::head::{self, Opened};
use super::{Client, PLAIN_BYTES, Refused, group_api, refusal, unreadable};
use crate::connection::Pending;
use crate::node::Node;
use crate::testing::{Asks, Released, Strike, Testing};
use crate::wire::{self, Questions};

/// What befalls a request.
#[derive(Debug)]
pub(crate) enum Befalls {
    /// It is begun so much later, or when the fault is cleared.
    Delay(Duration, Released),
    /// It is answered, and not begun.
    Answer(Pending),
    /// Its connection ends.
    LoseRequest,
    /// It is begun; its connection ends where its answer would be written.
    LoseAnswer,
}

/// What befalls the request in `frame`, if anything does.
///
/// # Errors
///
/// What is wrong with a request that a fault would answer.
pub(crate) fn befalls(
    node: &Node,
    testing: &Testing,
    client: &mut Client,
    frame: &[u8],
) -> Result<Option<Befalls>, Refused> {
    // What cannot be read is not struck: it is refused as ever.
    let Ok(Opened::Request { head, client_id, body }) = head::open(frame) else { return Ok(None) };
    let is_too_long = body.len() > PLAIN_BYTES && !head.api.carries_blobs();
    if is_too_long || !testing.faults().concern(head.api) {
        return Ok(None);
    }
    client.called(client_id);
    let decoded =
        group_api(head.api).map(|api| wire::decode(api, head.version, body, client.asker(), &node.catalog));
    let questions = match decoded {
        Some(Ok(decoded)) => Some(decoded.questions),
        Some(Err(_)) => return Ok(None),
        None => None,
    };
    let (group, member) = questions.as_ref().map_or((None, None), who);
    let asks = Asks { group, member, client_id: client_id.unwrap_or_default() };
    Ok(match testing.faults().strike(head.api, asks) {
        None => None,
        Some(Strike::Delay(by, released)) => Some(Befalls::Delay(by, released)),
        Some(Strike::LoseRequest) => Some(Befalls::LoseRequest),
        Some(Strike::LoseAnswer) => Some(Befalls::LoseAnswer),
        Some(Strike::Fail(code)) => {
            let answer = refusal::refuse(head, body, code).map_err(unreadable(head))?;
            Some(Befalls::Answer(Pending::ready(head, answer)))
        }
    })
}

/// The group, and the member of it, whose request it is.
fn who(questions: &Questions) -> (Option<&str>, Option<&str>) {
    match questions {
        Questions::One(group, request) => (Some(group.as_str()), member(request)),
        Questions::InTransaction(questions) => {
            let commit = &questions.1.commit;
            (Some(commit.group.as_str()), Some(commit.member.as_str()))
        }
        Questions::None | Questions::PerGroup(_) | Questions::Everyone(_) => (None, None),
    }
}

fn member(request: &Request) -> Option<&str> {
    match request {
        Request::JoinGroup(asks) => Some(asks.member.as_str()),
        Request::SyncGroup(asks) => Some(asks.member.as_str()),
        Request::Heartbeat(asks) => Some(asks.member.as_str()),
        Request::OffsetCommit(asks) => Some(asks.member.as_str()),
        Request::TxnOffsetCommit(asks) => Some(asks.commit.member.as_str()),
        Request::LeaveGroup(asks) => asks.members.first().map(|leaving| leaving.member.as_str()),
        Request::OffsetFetch(_)
        | Request::OffsetDelete(_)
        | Request::DescribeGroup(_)
        | Request::ListGroups(_)
        | Request::DeleteGroups(_) => None,
    }
}
