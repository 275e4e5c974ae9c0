//! CreateTopics (2 to 7), DeleteTopics (1 to 6) and CreatePartitions (0 to 3): the catalog of virtual topics, changed
//! from any admin client. A change is answered when it is durable.

use coordinator::ids::{TopicName, TopicPartition};
use hashbrown::HashSet;
use kafka_wire::{
    CreatableTopic, CreatableTopicResult, CreatePartitionsRequest, CreatePartitionsResponse,
    CreatePartitionsTopicResult, CreateTopicsRequest, CreateTopicsResponse, DeletableTopicResult,
    DeleteTopicsRequest, DeleteTopicsResponse, Uuid, WireError,
};

use super::head::{Head, respond};
use crate::node::Node;
use crate::shard::Message;
use crate::topics::{NewTopic, Topic, TopicError, TopicId, Topics};
use crate::wire::errors;

/// "As many as the setting says."
const DEFAULT_COUNT: i32 = -1;
/// From here on a topic to delete is named by its name or by its id.
const BY_NAME_OR_ID: i16 = 6;
/// From here on an answer about a deleted topic has a message.
const DELETE_MESSAGES: i16 = 5;

/// A refusal as a client is told it.
#[derive(Debug)]
struct Refusal {
    code: i16,
    message: String,
}

impl From<TopicError> for Refusal {
    fn from(error: TopicError) -> Self {
        Self { code: errors::topic_error(&error), message: error.to_string() }
    }
}

impl Refusal {
    fn new(code: i16, message: &str) -> Self {
        Self { code, message: message.to_owned() }
    }

    fn twice() -> Self {
        Self::new(errors::INVALID_REQUEST, "The request names this topic more than once.")
    }
}

fn code<T>(outcome: &Result<T, Refusal>) -> i16 {
    outcome.as_ref().map_or_else(|refusal| refusal.code, |_| errors::NONE)
}

fn message<T>(outcome: &Result<T, Refusal>) -> Option<&str> {
    outcome.as_ref().err().map(|refusal| refusal.message.as_str())
}

/// Puts the outcomes of what could be tried in the places of those items.
fn fill<I, T>(
    checked: Vec<Result<I, Refusal>>,
    outcomes: Vec<Result<T, TopicError>>,
) -> Vec<Result<T, Refusal>> {
    let mut outcomes = outcomes.into_iter();
    let mut next = || outcomes.next().expect("invariant: each item has an outcome");
    checked.into_iter().map(|item| item.and_then(|_| next().map_err(Refusal::from))).collect()
}

fn named_twice<'a>(names: impl Iterator<Item = &'a str>) -> HashSet<&'a str> {
    let mut seen = HashSet::new();
    names.filter(|name| !seen.insert(*name)).collect()
}

pub(super) async fn create(node: &Node, head: Head, body: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    let request = CreateTopicsRequest::decode(head.version, body)?;
    let twice = named_twice(request.topics.iter().map(|topic| topic.name));
    let check = |asked: &CreatableTopic<'_>| {
        if twice.contains(asked.name) { Err(Refusal::twice()) } else { new_topic(node, asked) }
    };
    let checked: Vec<_> = request.topics.iter().map(check).collect();
    let new: Vec<NewTopic> = checked.iter().flatten().cloned().collect();
    let outcomes = if request.validate_only {
        let checks = node.catalog.check_create(&new).into_iter().zip(&new);
        checks.map(|(check, new)| check.map(|()| (TopicId([0; 16]), new.partitions))).collect()
    } else {
        let created = node.change_topics(move |catalog| catalog.create(&new)).await;
        created.into_iter().map(|outcome| outcome.map(|topic| (topic.id, topic.partitions))).collect()
    };
    let outcomes = fill(checked, outcomes);
    let topics = request.topics.iter().zip(&outcomes).map(|(asked, outcome)| {
        let created = outcome.as_ref().ok();
        CreatableTopicResult {
            name: asked.name,
            topic_id: created.map_or(Uuid::ZERO, |(id, _)| Uuid(id.0)),
            error_code: code(outcome),
            error_message: message(outcome),
            num_partitions: created.map_or(-1, |(_, partitions)| *partitions),
            replication_factor: if created.is_some() { 1 } else { -1 },
            configs: Some(Vec::new()),
            ..Default::default()
        }
    });
    let response = CreateTopicsResponse { topics: topics.collect(), ..Default::default() };
    respond(head, out, |out| response.encode(head.version, out))
}

/// Replication and configuration are for logs: nothing here depends on them, so that any are accepted.
fn new_topic(node: &Node, asked: &CreatableTopic<'_>) -> Result<NewTopic, Refusal> {
    let partitions = match (asked.num_partitions, asked.assignments.len()) {
        (DEFAULT_COUNT, 0) => node.default_partitions,
        (count, 0) => count,
        (DEFAULT_COUNT, assigned) => i32::try_from(assigned).unwrap_or(i32::MAX),
        (_, _) => {
            let message = "Give a partition count or assignments, not both.";
            return Err(Refusal::new(errors::INVALID_REQUEST, message));
        }
    };
    Ok(NewTopic::new(asked.name, partitions))
}

/// What is to be deleted, as the request names it.
struct Named<'a> {
    name: Option<&'a str>,
    id: Uuid,
}

/// The offsets committed for a topic go with it.
pub(super) async fn delete(node: &Node, head: Head, body: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    let request = DeleteTopicsRequest::decode(head.version, body)?;
    let named: Vec<Named<'_>> = if head.version >= BY_NAME_OR_ID {
        request.topics.iter().map(|topic| Named { name: topic.name, id: topic.topic_id }).collect()
    } else {
        request.topic_names.iter().map(|name| Named { name: Some(*name), id: Uuid::ZERO }).collect()
    };
    let topics = node.catalog.topics();
    let checked: Vec<_> = named.iter().map(|named| existing(&topics, named)).collect();
    let doomed: Vec<TopicName> = checked.iter().flatten().map(|topic| topic.name.clone()).collect();
    let outcomes = node.change_topics(move |catalog| catalog.delete(&doomed)).await;
    let gone: Vec<TopicPartition> = outcomes.iter().flatten().flatten().cloned().collect();
    if !gone.is_empty() {
        node.shards.tell_all(|| Message::TopicPartitionsDeleted(gone.clone()));
    }
    let found: Vec<Option<Topic>> = checked.iter().map(|topic| topic.as_ref().ok().cloned()).collect();
    let outcomes = fill(checked, outcomes);
    let responses =
        named.iter().zip(&found).zip(&outcomes).map(|((named, topic), outcome)| DeletableTopicResult {
            name: named.name.or(topic.as_ref().map(|topic| topic.name.as_str())),
            topic_id: topic.as_ref().map_or(named.id, |topic| Uuid(topic.id.0)),
            error_code: code(outcome),
            error_message: if head.version >= DELETE_MESSAGES { message(outcome) } else { None },
        });
    let response = DeleteTopicsResponse { responses: responses.collect(), ..Default::default() };
    respond(head, out, |out| response.encode(head.version, out))
}

fn existing(topics: &Topics, named: &Named<'_>) -> Result<Topic, Refusal> {
    let topic = match named.name {
        Some(name) => topics.get(name).ok_or_else(|| TopicError::UnknownTopicOrPartition(name.into()).into()),
        None => topics
            .by_id(TopicId(named.id.0))
            .ok_or_else(|| Refusal::new(errors::UNKNOWN_TOPIC_ID, "There is no topic with this id.")),
    };
    topic.cloned()
}

pub(super) async fn create_partitions(
    node: &Node,
    head: Head,
    body: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let request = CreatePartitionsRequest::decode(head.version, body)?;
    let twice = named_twice(request.topics.iter().map(|topic| topic.name));
    let checked: Vec<_> = request
        .topics
        .iter()
        .map(|asked| {
            let new = NewTopic::new(asked.name, asked.count);
            if twice.contains(asked.name) { Err(Refusal::twice()) } else { Ok(new) }
        })
        .collect();
    let counts: Vec<NewTopic> = checked.iter().flatten().cloned().collect();
    let outcomes = if request.validate_only {
        let topics = node.catalog.topics();
        counts.iter().map(|count| topics.check_expansion(&count.name, count.partitions)).collect()
    } else {
        node.change_topics(move |catalog| catalog.expand(&counts)).await
    };
    let outcomes = fill(checked, outcomes);
    let results = request.topics.iter().zip(&outcomes).map(|(asked, outcome)| CreatePartitionsTopicResult {
        name: asked.name,
        error_code: code(outcome),
        error_message: message(outcome),
    });
    let response = CreatePartitionsResponse { results: results.collect(), ..Default::default() };
    respond(head, out, |out| response.encode(head.version, out))
}
