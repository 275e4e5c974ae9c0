//! `groupd topics`: what there is to divide; list, create, delete.

use clap::Subcommand;
use kafka_wire::ApiKey;
use kafka_wire::create_topics::{CreatableTopic, CreateTopicsRequest};
use kafka_wire::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use serde_json::json;

use super::cluster::{Cluster, Topic};
use super::error::AdminError;
use super::report::{Form, Report};
use crate::settings::TopicSetting;
use crate::tables;

/// How long the server may take, ms.
const TIMEOUT_MS: i32 = 10_000;

#[derive(Debug, Subcommand)]
pub(super) enum TopicsCommand {
    /// List topics and their partition counts
    List {
        /// Also those that are Kafka's own
        #[arg(long)]
        internal: bool,
    },
    /// Create topics
    Create {
        /// NAME:PARTITIONS
        #[arg(required = true, value_name = "NAME:PARTITIONS")]
        topic: Vec<TopicSetting>,
    },
    /// Delete topics, and with them what was committed for them
    Delete {
        #[arg(required = true)]
        topic: Vec<String>,
    },
}

pub(super) fn run(command: &TopicsCommand, cluster: &mut Cluster, form: Form) -> Result<Report, AdminError> {
    match command {
        TopicsCommand::List { internal } => list(cluster, form, *internal),
        TopicsCommand::Create { topic } => create(cluster, form, topic),
        TopicsCommand::Delete { topic } => delete(cluster, form, topic),
    }
}

fn list(cluster: &mut Cluster, form: Form, internal: bool) -> Result<Report, AdminError> {
    let mut topics = cluster.topics()?;
    topics.retain(|topic| internal || !topic.internal);
    topics.sort_by(|left, right| left.name.cmp(&right.name));
    for topic in &topics {
        AdminError::check(topic.code, format!("topic {}", topic.name))?;
    }
    let json = topics.iter().map(|topic| {
        json!({ "topic": topic.name, "partitions": topic.partitions, "id": hex(topic.id), "internal": topic.internal })
    });
    let row = |topic: &Topic| [topic.name.clone(), topic.partitions.to_string(), hex(topic.id)];
    let text = || match topics.as_slice() {
        [] => "no topics".into(),
        topics => tables::columns(["TOPIC", "PARTITIONS", "ID"], topics.iter().map(row)),
    };
    Ok(Report::new(form, text, || json.collect()))
}

/// A topic id as hexadecimal digits; empty if there is none.
fn hex(id: [u8; 16]) -> String {
    if id == [0; 16] { String::new() } else { format!("{:032x}", u128::from_be_bytes(id)) }
}

fn create(cluster: &mut Cluster, form: Form, topics: &[TopicSetting]) -> Result<Report, AdminError> {
    let mut outcomes = Vec::new();
    for topic in topics {
        let outcome = cluster.ask_controller(|connection| {
            let version = connection.version(ApiKey::CreateTopics, 7)?;
            let wanted = CreatableTopic {
                name: &topic.name,
                num_partitions: topic.partitions,
                // From version 4 on, -1 is the server's own default.
                replication_factor: if version >= 4 { -1 } else { 1 },
                ..Default::default()
            };
            let request =
                CreateTopicsRequest { topics: vec![wanted], timeout_ms: TIMEOUT_MS, ..Default::default() };
            let codes = connection.ask(version, &request, |answer| {
                answer.topics.iter().map(|topic| topic.error_code).collect::<Vec<_>>()
            })?;
            codes.into_iter().try_for_each(|code| AdminError::check(code, format!("topic {}", topic.name)))
        });
        let outcome = refused(outcome)?;
        let json = json!({ "topic": topic.name, "partitions": topic.partitions, "created": outcome.is_ok() });
        let done = format!("topic {} is created, partitions: {}", topic.name, topic.partitions);
        outcomes.push((json, outcome.map(|()| done)));
    }
    Ok(Report::of_each(form, outcomes))
}

fn delete(cluster: &mut Cluster, form: Form, topics: &[String]) -> Result<Report, AdminError> {
    let mut outcomes = Vec::new();
    for topic in topics {
        let outcome = cluster.ask_controller(|connection| {
            let version = connection.version(ApiKey::DeleteTopics, 6)?;
            let mut request = DeleteTopicsRequest { timeout_ms: TIMEOUT_MS, ..Default::default() };
            if version >= 6 {
                request.topics = vec![DeleteTopicState { name: Some(topic), ..Default::default() }];
            } else {
                request.topic_names = vec![topic];
            }
            let codes = connection.ask(version, &request, |answer| {
                answer.responses.iter().map(|response| response.error_code).collect::<Vec<_>>()
            })?;
            codes.into_iter().try_for_each(|code| AdminError::check(code, format!("topic {topic}")))
        });
        let outcome = refused(outcome)?;
        let json = json!({ "topic": topic, "deleted": outcome.is_ok() });
        outcomes.push((json, outcome.map(|()| format!("topic {topic} is deleted"))));
    }
    Ok(Report::of_each(form, outcomes))
}

/// A refusal is about one topic, and the others go on; anything else ends the command.
fn refused(outcome: Result<(), AdminError>) -> Result<Result<(), String>, AdminError> {
    match outcome {
        Ok(()) => Ok(Ok(())),
        Err(error) if error.is_refusal() => Ok(Err(error.to_string())),
        Err(error) => Err(error),
    }
}
