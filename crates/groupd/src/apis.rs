//! One request from its frame to the work it begins: which API, in which version, and who answers it.

mod api_versions;
mod client;
mod describe_cluster;
mod describe_configs;
mod faults;
mod fetch;
mod find_coordinator;
mod handed_out;
mod head;
mod list_offsets;
mod measured;
mod metadata;
mod produce;
mod refusal;
mod topics;
mod transactions;
mod write_txn_markers;

use coordinator::ids::GroupId;
use coordinator::messages::{GroupError, JoinGroup, Request, Response};
use kafka_wire::WireError;

use crate::connection::Pending;
use crate::node::Node;
use crate::shard::{Answer, Inbox, Message};
use crate::wire::transactions::TransactionApi;
use crate::wire::{self, Asked, Decoded, GroupApi, Questions, Unreadable};
pub(crate) use client::Client;
pub(crate) use faults::{Befalls, befalls};
pub(crate) use fetch::AskedFetch;
use head::Opened;
pub(crate) use head::{Api, Head, respond};
pub(crate) use measured::Measured;
pub(crate) use transactions::respond_transaction;

/// The longest request that carries nothing of a client's own making: names and numbers only. Others may be as long
/// as `socket.request.max.bytes` says.
const PLAIN_BYTES: usize = 8 * 1024 * 1024;

/// Why a connection must end: the client broke the protocol, or uses what is not there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("a frame is no request: {0}")]
    Header(WireError),
    #[error("there is no API with key {0} here")]
    UnknownApi(i16),
    #[error("{api:?} has no version {version} here")]
    UnsupportedVersion { api: Api, version: i16 },
    #[error("{api:?} version {version} is not taken: {why}")]
    Unreadable { api: Api, version: i16, why: Unreadable },
    #[error("{api:?} in {bytes} bytes, {PLAIN_BYTES} are allowed")]
    TooLong { api: Api, bytes: usize },
    #[error("records were sent without asking for an answer, and none are kept here")]
    ProduceUnanswered,
}

/// Begins the request in `frame`. `None`: it gets no answer.
///
/// # Errors
///
/// Why the connection must end.
pub(crate) async fn begin(
    node: &Node,
    client: &mut Client,
    frame: &[u8],
) -> Result<Option<Pending>, Refused> {
    let (head, body) = match head::open(frame)? {
        Opened::Request { head, client_id, body } => {
            if body.len() > PLAIN_BYTES && !head.api.carries_blobs() {
                return Err(Refused::TooLong { api: head.api, bytes: body.len() });
            }
            client.called(client_id);
            (head, body)
        }
        Opened::ApiVersionsTooNew(head) => {
            let mut out = Vec::new();
            respond(head, &mut out, api_versions::too_new).map_err(unreadable(head))?;
            return Ok(Some(Pending::ready(head, out)));
        }
    };
    match group_api(head.api) {
        Some(api) => {
            let decoded = wire::decode(api, head.version, body, client.asker(), &node.catalog);
            let decoded = decoded.map_err(unreadable(head))?;
            if let (Some(testing), Questions::One(_, request)) = (&node.testing, &decoded.questions) {
                testing.heard().note(client.connection, client.asker().client_id, request);
            }
            Ok(Some(ask(node, client, head, decoded).await))
        }
        None => begin_own(node, client, head, body).await,
    }
}

/// The APIs that no coordinator is asked for.
async fn begin_own(
    node: &Node,
    client: &mut Client,
    head: Head,
    body: &[u8],
) -> Result<Option<Pending>, Refused> {
    let mut out = Vec::new();
    let version = head.version;
    let written = match head.api {
        Api::ApiVersions => respond(head, &mut out, |out| api_versions::answer(version, body, out)),
        Api::FindCoordinator => {
            respond(head, &mut out, |out| find_coordinator::answer(node, client, version, body, out))
                .map_err(unreadable(head))?;
            Ok(())
        }
        Api::ListOffsets => respond(head, &mut out, |out| list_offsets::answer(node, version, body, out)),
        Api::InitProducerId => return Ok(Some(transactions::init(node, client, head, body).await?)),
        Api::AddPartitionsToTxn => {
            let api = TransactionApi::AddPartitionsToTxn;
            return Ok(Some(transactions::begin(node, client, head, api, body).await?));
        }
        Api::AddOffsetsToTxn => {
            let api = TransactionApi::AddOffsetsToTxn;
            return Ok(Some(transactions::begin(node, client, head, api, body).await?));
        }
        Api::EndTxn => {
            return Ok(Some(transactions::begin(node, client, head, TransactionApi::EndTxn, body).await?));
        }
        Api::DescribeCluster => {
            respond(head, &mut out, |out| describe_cluster::answer(node, client, version, body, out))
        }
        Api::DescribeConfigs => {
            respond(head, &mut out, |out| describe_configs::answer(node, version, body, out))
        }
        Api::Metadata => {
            let answer = metadata::prepare(node, version, body).await.map_err(unreadable(head))?;
            respond(head, &mut out, |out| answer.encode(node, client, version, out))
        }
        Api::CreateTopics => topics::create(node, head, body, &mut out).await,
        Api::DeleteTopics => topics::delete(node, head, body, &mut out).await,
        Api::CreatePartitions => topics::create_partitions(node, head, body, &mut out).await,
        Api::WriteTxnMarkers => {
            write_txn_markers::answer(node, client, head, body, &mut out).await?;
            Ok(())
        }
        Api::Produce => {
            let produce::Answer::Written = produce::answer(head, body, &mut out).map_err(unreadable(head))?
            else {
                return Err(Refused::ProduceUnanswered);
            };
            Ok(())
        }
        Api::Fetch => {
            let asked = fetch::decode(node, version, body).map_err(unreadable(head))?;
            return Ok(Some(park_fetch(node, client, head, asked).await));
        }
        Api::OffsetCommit
        | Api::OffsetFetch
        | Api::JoinGroup
        | Api::Heartbeat
        | Api::LeaveGroup
        | Api::SyncGroup
        | Api::DescribeGroups
        | Api::ListGroups
        | Api::DeleteGroups
        | Api::OffsetDelete
        | Api::TxnOffsetCommit => unreachable!("a coordinator answers these"),
    };
    written.map_err(unreadable(head))?;
    Ok(Some(Pending::ready(head, out)))
}

fn group_api(api: Api) -> Option<GroupApi> {
    match api {
        Api::OffsetCommit => Some(GroupApi::OffsetCommit),
        Api::OffsetFetch => Some(GroupApi::OffsetFetch),
        Api::JoinGroup => Some(GroupApi::JoinGroup),
        Api::Heartbeat => Some(GroupApi::Heartbeat),
        Api::LeaveGroup => Some(GroupApi::LeaveGroup),
        Api::SyncGroup => Some(GroupApi::SyncGroup),
        Api::DescribeGroups => Some(GroupApi::DescribeGroups),
        Api::ListGroups => Some(GroupApi::ListGroups),
        Api::DeleteGroups => Some(GroupApi::DeleteGroups),
        Api::OffsetDelete => Some(GroupApi::OffsetDelete),
        Api::TxnOffsetCommit => Some(GroupApi::TxnOffsetCommit),
        Api::Produce
        | Api::Fetch
        | Api::ListOffsets
        | Api::Metadata
        | Api::FindCoordinator
        | Api::ApiVersions
        | Api::CreateTopics
        | Api::DeleteTopics
        | Api::InitProducerId
        | Api::AddPartitionsToTxn
        | Api::AddOffsetsToTxn
        | Api::EndTxn
        | Api::WriteTxnMarkers
        | Api::DescribeConfigs
        | Api::CreatePartitions
        | Api::DescribeCluster => None,
    }
}

fn unreadable<E: Into<Unreadable>>(head: Head) -> impl Fn(E) -> Refused {
    move |why| Refused::Unreadable { api: head.api, version: head.version, why: why.into() }
}

/// Asks whom the request concerns.
async fn ask(node: &Node, client: &mut Client, head: Head, decoded: Decoded) -> Pending {
    let answers = match decoded.questions {
        Questions::None => Vec::new(),
        Questions::One(group, request) => {
            if let Request::JoinGroup(join) = &request {
                give_up_others(node, client, join);
            }
            vec![ask_one(node.shards.of(&group), client, request).await]
        }
        Questions::InTransaction(questions) => {
            let (question, commit) = *questions;
            let (number, share) = (client.next_number(), client.share.clone());
            vec![node.shards.commit_in_transaction(number, question, commit, share).await]
        }
        Questions::PerGroup(questions) => {
            let mut answers = Vec::with_capacity(questions.len());
            for (group, request) in questions {
                answers.push(ask_one(node.shards.of(&group), client, request).await);
            }
            answers
        }
        Questions::Everyone(request) => {
            let mut answers = Vec::new();
            for shard in node.shards.all() {
                answers.push(ask_one(shard, client, Request::ListGroups(request.clone())).await);
            }
            answers
        }
    };
    Pending::group(head, answers, decoded.asked)
}

/// A client that joins uses the id that it was given, or asks for another.
fn give_up_others(node: &Node, client: &mut Client, join: &JoinGroup) {
    if !join.member.is_empty() {
        return client.handed_out.used(&join.member);
    }
    for member in client.handed_out.asks_again(&join.group) {
        node.shards.of(&join.group).send(Message::GiveUp(join.group.clone(), member));
    }
}

/// The connection of `client` ends: the ids it was given and did not use are free.
pub(crate) fn end(node: &Node, client: &mut Client) {
    if let Some(testing) = &node.testing {
        testing.heard().forget(client.connection);
    }
    for (group, member) in client.handed_out.end() {
        node.shards.of(&group).send(Message::GiveUp(group, member));
    }
}

/// Remembers an id that this answer hands out.
fn remember(client: &mut Client, group: &GroupId, responses: &[Response]) {
    if let [Response::JoinGroup(response)] = responses
        && response.error == Some(GroupError::MemberIdRequired)
    {
        client.handed_out.give(group.clone(), response.member.clone());
    }
}

async fn ask_one(shard: &Inbox, client: &mut Client, request: Request) -> Answer<Response> {
    shard.ask(client.next_number(), request, client.share.clone()).await
}

async fn park_fetch(node: &Node, client: &mut Client, head: Head, asked: AskedFetch) -> Pending {
    let answer = match asked.patience() {
        None => None,
        Some(fetch) => Some(node.shards.any(client.connection).fetch(client.next_number(), fetch).await),
    };
    Pending::fetch(head, answer, asked)
}

/// Writes the answer of the coordinators to `out`.
///
/// # Errors
///
/// What cannot be said in this version.
pub(crate) fn respond_group(
    node: &Node,
    client: &mut Client,
    head: Head,
    asked: &Asked,
    responses: Vec<Response>,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    if let Asked::Join(group) = asked {
        remember(client, group, &responses);
    }
    respond(head, out, |out| asked.encode(responses, head.version, &node.catalog, out))
}
