//! The topics of a commit of offsets, within a transaction or not.
//!
//! Topics and partitions that do not exist are refused here, as Kafka's request handler does; only what remains goes
//! to a coordinator. A request of which nothing remains is answered without one.

use coordinator::ids::{TopicName, TopicPartition};
use coordinator::messages::{CommitOffset, GroupError, OffsetCommitResponse};
use kafka_wire::Uuid;

use super::errors;
use crate::topics::Topic;

/// What a request asks, as it is read.
#[derive(Debug, Default)]
pub(super) struct Commits {
    asked: Asked,
    offsets: Vec<CommitOffset>,
}

/// What was asked, topic by topic, for the answer.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    topics: Vec<AskedTopic>,
}

/// One topic of it.
#[derive(Debug)]
pub(super) struct AskedTopic {
    pub(super) name: TopicName,
    pub(super) id: Uuid,
    partitions: Vec<AskedPartition>,
}

#[derive(Debug)]
struct AskedPartition {
    index: i32,
    /// `None`: asked of the coordinator.
    refused: Option<i16>,
}

/// One partition, as it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commit<'a> {
    pub(super) index: i32,
    pub(super) offset: i64,
    pub(super) leader_epoch: i32,
    pub(super) metadata: Option<&'a str>,
}

impl Commits {
    /// Adds a topic as the client named it. It is `known`, or this is the code of its absence.
    pub(super) fn add<'a>(
        &mut self,
        (name, id): (&str, Uuid),
        known: Result<&Topic, i16>,
        partitions: impl Iterator<Item = Commit<'a>>,
    ) {
        let name = known.map_or_else(|_| TopicName::new(name), |known| known.name.clone());
        let partition = |commit: Commit<'_>| {
            let refused = match known {
                Err(missing) => Some(missing),
                Ok(known) if (0..known.partitions).contains(&commit.index) => None,
                Ok(_) => Some(errors::UNKNOWN_TOPIC_OR_PARTITION),
            };
            if refused.is_none() {
                self.offsets.push(commit_offset(&name, commit));
            }
            AskedPartition { index: commit.index, refused }
        };
        let partitions = partitions.map(partition).collect();
        self.asked.topics.push(AskedTopic { name, id, partitions });
    }

    /// What the coordinator is asked, and what the answer needs.
    pub(super) fn finish(self) -> (Vec<CommitOffset>, Asked) {
        (self.offsets, self.asked)
    }
}

fn commit_offset(topic: &TopicName, commit: Commit<'_>) -> CommitOffset {
    CommitOffset {
        partition: TopicPartition { topic: topic.clone(), partition: commit.index },
        offset: commit.offset,
        leader_epoch: commit.leader_epoch,
        metadata: commit.metadata.unwrap_or_default().into(),
        commit_timestamp_ms: -1,
    }
}

impl Asked {
    /// Each topic, with its partitions and their codes, as they were asked. `response` is `None` where nothing was
    /// asked of the coordinator; `code` is what its outcomes are called.
    pub(super) fn outcomes(
        &self,
        response: Option<&OffsetCommitResponse>,
        code: impl Fn(Option<GroupError>) -> i16,
    ) -> impl Iterator<Item = (&AskedTopic, Vec<(i32, i16)>)> {
        // The coordinator answers in the order of the request.
        let mut results = response.map_or(&[][..], |response| &response.results).iter();
        let mut next = move || {
            let error = results.next().map_or(Some(GroupError::UnknownServerError), |(_, error)| *error);
            code(error)
        };
        self.topics.iter().map(move |topic| {
            let partitions = topic.partitions.iter();
            let codes = partitions.map(|of| (of.index, of.refused.unwrap_or_else(&mut next)));
            (topic, codes.collect())
        })
    }
}
