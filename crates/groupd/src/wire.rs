//! Bytes to the coordinator's messages and back, one file per API. Versions and error codes end here.

mod commits;
mod delete_groups;
mod describe_groups;
pub(crate) mod errors;
mod heartbeat;
mod join_group;
mod leave_group;
pub(crate) mod limits;
mod list_groups;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod sync_group;
pub(crate) mod transactions;
mod txn_offset_commit;

use std::sync::Arc;

use coordinator::ids::GroupId;
use coordinator::messages::{ListGroups, Request, Response, TxnOffsetCommit};
use kafka_wire::WireError;

use crate::shard::OffsetsQuestion;
use crate::topics::TopicCatalog;
pub(crate) use limits::Unreadable;

/// Who asks, as the coordinator remembers it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    /// From the request's header.
    pub(crate) client_id: &'a Arc<str>,
    /// Kafka's form of the address: `/127.0.0.1`.
    pub(crate) client_host: &'a Arc<str>,
}

/// The APIs that a coordinator answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupApi {
    OffsetCommit,
    OffsetFetch,
    JoinGroup,
    Heartbeat,
    LeaveGroup,
    SyncGroup,
    DescribeGroups,
    ListGroups,
    DeleteGroups,
    OffsetDelete,
    TxnOffsetCommit,
}

/// A request, as questions for coordinators.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) questions: Questions,
    pub(crate) asked: Asked,
}

/// Who is asked what.
#[derive(Debug)]
pub(crate) enum Questions {
    /// Nobody: the wire has the answer.
    None,
    /// One group's coordinator.
    One(GroupId, Request),
    /// The coordinator of a transaction, and if it agrees a group's.
    InTransaction(Box<(OffsetsQuestion, TxnOffsetCommit)>),
    /// Each group's coordinator; answered in this order.
    PerGroup(Vec<(GroupId, Request)>),
    /// Every coordinator, in the order of the shards.
    Everyone(ListGroups),
}

/// What the answer needs from the request.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Nothing: the coordinator's response says it all.
    One,
    /// The group that is joined.
    Join(GroupId),
    DescribeGroups,
    ListGroups,
    DeleteGroups,
    OffsetCommit(commits::Asked),
    OffsetFetch(offset_fetch::Asked),
    OffsetDelete(offset_delete::Asked),
    TxnOffsetCommit(commits::Asked),
}

/// Reads the body of a request.
///
/// # Errors
///
/// What is wrong with the bytes.
pub(crate) fn decode(
    api: GroupApi,
    version: i16,
    body: &[u8],
    from: Asker<'_>,
    catalog: &TopicCatalog,
) -> Result<Decoded, Unreadable> {
    match api {
        GroupApi::JoinGroup => {
            let request = join_group::decode(from, version, body)?;
            let asked = Asked::Join(request.group.clone());
            Ok(one(request.group.clone(), Request::JoinGroup(request), asked))
        }
        GroupApi::SyncGroup => {
            let request = sync_group::decode(version, body)?;
            Ok(one(request.group.clone(), Request::SyncGroup(request), Asked::One))
        }
        GroupApi::Heartbeat => {
            let request = heartbeat::decode(version, body)?;
            Ok(one(request.group.clone(), Request::Heartbeat(request), Asked::One))
        }
        GroupApi::LeaveGroup => {
            let request = leave_group::decode(version, body)?;
            Ok(one(request.group.clone(), Request::LeaveGroup(request), Asked::One))
        }
        GroupApi::OffsetCommit => {
            let (request, asked) = offset_commit::decode(version, body, &catalog.topics())?;
            let asked = Asked::OffsetCommit(asked);
            if request.offsets.is_empty() {
                return Ok(Decoded { questions: Questions::None, asked });
            }
            Ok(one(request.group.clone(), Request::OffsetCommit(request), asked))
        }
        GroupApi::TxnOffsetCommit => {
            let (question, commit, asked) = txn_offset_commit::decode(version, body, &catalog.topics())?;
            let asked = Asked::TxnOffsetCommit(asked);
            if commit.commit.offsets.is_empty() {
                return Ok(Decoded { questions: Questions::None, asked });
            }
            Ok(Decoded { questions: Questions::InTransaction(Box::new((question, commit))), asked })
        }
        GroupApi::OffsetDelete => {
            let (request, asked) = offset_delete::decode(version, body, &catalog.topics())?;
            Ok(one(request.group.clone(), Request::OffsetDelete(request), Asked::OffsetDelete(asked)))
        }
        GroupApi::OffsetFetch => {
            let (requests, asked) = offset_fetch::decode(version, body, &catalog.topics())?;
            let questions = requests.into_iter().map(|r| (r.group.clone(), Request::OffsetFetch(r)));
            Ok(Decoded { questions: per_group(questions), asked: Asked::OffsetFetch(asked) })
        }
        GroupApi::DescribeGroups => {
            let requests = describe_groups::decode(version, body)?;
            let questions = requests.into_iter().map(|r| (r.group.clone(), Request::DescribeGroup(r)));
            Ok(Decoded { questions: per_group(questions), asked: Asked::DescribeGroups })
        }
        GroupApi::DeleteGroups => {
            let requests = delete_groups::decode(version, body)?;
            Ok(Decoded { questions: per_group(requests.into_iter()), asked: Asked::DeleteGroups })
        }
        GroupApi::ListGroups => {
            let request = list_groups::decode(version, body)?;
            Ok(Decoded { questions: Questions::Everyone(request), asked: Asked::ListGroups })
        }
    }
}

fn one(group: GroupId, request: Request, asked: Asked) -> Decoded {
    Decoded { questions: Questions::One(group, request), asked }
}

fn per_group(mut questions: impl ExactSizeIterator<Item = (GroupId, Request)>) -> Questions {
    if questions.len() == 1 {
        let only = questions.next();
        return only.map_or(Questions::None, |(group, request)| Questions::One(group, request));
    }
    Questions::PerGroup(questions.collect())
}

/// The responses of one kind.
macro_rules! all {
    ($responses:expr, $kind:ident) => {
        $responses
            .into_iter()
            .filter_map(
                |response| if let Response::$kind(response) = response { Some(response) } else { None },
            )
            .collect::<Vec<_>>()
    };
}

impl Asked {
    /// Writes the body of the response to `out`.
    ///
    /// # Errors
    ///
    /// What cannot be said in this version.
    ///
    /// # Panics
    ///
    /// If `responses` are not those to the questions.
    pub(crate) fn encode(
        &self,
        responses: Vec<Response>,
        version: i16,
        catalog: &TopicCatalog,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        match self {
            Self::One | Self::Join(_) => encode_one(&responses, version, out),
            Self::DescribeGroups => describe_groups::encode(&all!(responses, DescribeGroup), version, out),
            Self::ListGroups => list_groups::encode(&all!(responses, ListGroups), version, out),
            Self::DeleteGroups => delete_groups::encode(&all!(responses, DeleteGroups), version, out),
            Self::OffsetCommit(asked) => {
                let responses = all!(responses, OffsetCommit);
                offset_commit::encode(asked, responses.first(), version, out)
            }
            Self::TxnOffsetCommit(asked) => {
                let responses = all!(responses, TxnOffsetCommit);
                txn_offset_commit::encode(asked, responses.first(), version, out)
            }
            Self::OffsetFetch(asked) => {
                offset_fetch::encode(asked, &all!(responses, OffsetFetch), version, &catalog.topics(), out)
            }
            Self::OffsetDelete(asked) => {
                let responses = all!(responses, OffsetDelete);
                let response = responses.first().expect("invariant: one question, one answer of its kind");
                offset_delete::encode(asked, response, version, out)
            }
        }
    }
}

fn encode_one(responses: &[Response], version: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
    match responses {
        [Response::JoinGroup(response)] => join_group::encode(response, version, out),
        [Response::SyncGroup(response)] => sync_group::encode(response, version, out),
        [Response::Heartbeat(response)] => heartbeat::encode(response, version, out),
        [Response::LeaveGroup(response)] => leave_group::encode(response, version, out),
        others => unreachable!("invariant: one question, one answer of its kind, not {others:?}"),
    }
}
