//! Metadata, versions 0 to 13: one broker, which leads every partition of every topic. Asking for a topic makes it,
//! where the client and the settings agree.

use std::sync::Arc;

use coordinator::ids::TopicName;
use hashbrown::HashSet;
use kafka_wire::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic, Uuid, WireError,
};

use super::Client;
use crate::node::Node;
use crate::topics::{NewTopic, TopicError, TopicId, Topics};
use crate::wire::errors;

/// From here on no list of topics means all, and an empty list none.
const NULL_IS_ALL: i16 = 1;
/// From here on a client says whether asking makes a topic; before, it does.
const SAYS_CREATE: i16 = 4;
/// From here on a topic without a name can be answered.
const NULLABLE_NAME: i16 = 12;

/// What is found, before it is written.
pub(super) struct Answer {
    topics: Arc<Topics>,
    found: Vec<Found>,
}

enum Found {
    /// By its name.
    Topic(TopicName),
    Missing {
        name: Option<String>,
        id: Uuid,
        error: i16,
    },
}

pub(super) async fn prepare(node: &Node, version: i16, body: &[u8]) -> Result<Answer, WireError> {
    let request = MetadataRequest::decode(version, body)?;
    let topics = node.catalog.topics();
    let named = match &request.topics {
        Some(named) if version >= NULL_IS_ALL || !named.is_empty() => named,
        Some(_) | None => {
            let found = topics.iter().map(|topic| Found::Topic(topic.name.clone())).collect();
            return Ok(Answer { topics, found });
        }
    };
    // Each once, however often it is named: an answer is no larger than what there is to tell.
    let mut seen = HashSet::new();
    let named: Vec<_> = named.iter().filter(|asked| seen.insert((asked.name, asked.topic_id))).collect();
    let create = node.auto_create && (version < SAYS_CREATE || request.allow_auto_topic_creation);
    let created = if create { create_missing(node, &topics, &named).await } else { Vec::new() };
    // Seen again: with those that this request, or another one meanwhile, has made.
    let topics = node.catalog.topics();
    let found = named.iter().map(|asked| find(&topics, asked, &created)).collect();
    Ok(Answer { topics, found })
}

/// Makes the topics that are asked for and not there. What was refused, and why.
async fn create_missing(
    node: &Node,
    topics: &Topics,
    named: &[&MetadataRequestTopic<'_>],
) -> Vec<(TopicName, TopicError)> {
    let missing = named.iter().filter_map(|asked| asked.name).filter(|name| topics.get(name).is_none());
    let new: Vec<_> = missing.map(|name| NewTopic::new(name, node.default_partitions)).collect();
    if new.is_empty() {
        return Vec::new();
    }
    node.change_topics(move |catalog| {
        let outcomes = catalog.create(&new);
        let refused = |(new, outcome): (NewTopic, Result<_, _>)| Some((new.name, outcome.err()?));
        new.into_iter().zip(outcomes).filter_map(refused).collect()
    })
    .await
}

fn find(topics: &Topics, asked: &MetadataRequestTopic<'_>, refused: &[(TopicName, TopicError)]) -> Found {
    let missing = |error| Found::Missing { name: asked.name.map(str::to_owned), id: asked.topic_id, error };
    let topic = match asked.name {
        Some(name) => topics.get(name),
        None => topics.by_id(TopicId(asked.topic_id.0)),
    };
    match (topic, asked.name) {
        (Some(topic), _) => Found::Topic(topic.name.clone()),
        (None, None) => missing(errors::UNKNOWN_TOPIC_ID),
        (None, Some(name)) => {
            let why = refused.iter().find(|(refused, _)| refused.as_str() == name);
            missing(why.map_or(errors::UNKNOWN_TOPIC_OR_PARTITION, |(_, error)| errors::topic_error(error)))
        }
    }
}

impl Answer {
    pub(super) fn encode(
        &self,
        node: &Node,
        client: &Client,
        version: i16,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let (host, port) = node.address_for(client);
        MetadataResponse {
            brokers: vec![MetadataResponseBroker { node_id: node.id, host: &host, port, rack: None }],
            cluster_id: Some(&node.cluster_id),
            controller_id: node.id,
            topics: self.found.iter().map(|found| found.answer(&self.topics, node.id, version)).collect(),
            ..Default::default()
        }
        .encode(version, out)
    }
}

impl Found {
    fn answer<'a>(&'a self, topics: &'a Topics, broker: i32, version: i16) -> MetadataResponseTopic<'a> {
        match self {
            Self::Topic(name) => {
                let topic = topics.get(name.as_str()).expect("invariant: found among these topics");
                MetadataResponseTopic {
                    name: Some(name.as_str()),
                    topic_id: Uuid(topic.id.0),
                    partitions: (0..topic.partitions).map(|index| partition(index, broker)).collect(),
                    ..Default::default()
                }
            }
            Self::Missing { name, id, error } => MetadataResponseTopic {
                error_code: *error,
                name: if version >= NULLABLE_NAME { name.as_deref() } else { name.as_deref().or(Some("")) },
                topic_id: *id,
                ..Default::default()
            },
        }
    }
}

fn partition(index: i32, broker: i32) -> MetadataResponsePartition {
    MetadataResponsePartition {
        partition_index: index,
        leader_id: broker,
        leader_epoch: 0,
        replica_nodes: vec![broker],
        isr_nodes: vec![broker],
        ..Default::default()
    }
}
