//! Whether offsets can be committed at all: their topics and partitions are there, and their notes are not too long.
//!
//! Asked before anything is committed, so that a file that does not fit leaves nothing behind. Asking makes no topic.

use hashbrown::HashMap;
use kafka_wire::ApiKey;
use kafka_wire::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};

use super::cluster::Cluster;
use super::codes;
use super::error::AdminError;
use super::offsets::Committed;

/// The kind of resource that is a broker, by its id.
const BROKER: i8 = 4;
const NOTE_BYTES: &str = "offset.metadata.max.bytes";

/// What there is to commit to.
#[derive(Debug)]
pub(super) struct Fitting {
    /// How many partitions.
    topics: HashMap<String, usize>,
    /// The least of all brokers; `None` if they do not tell.
    note_bytes: Option<usize>,
}

impl Fitting {
    /// Asks the cluster.
    pub(super) fn of(cluster: &mut Cluster) -> Result<Self, AdminError> {
        // All topics: to name one that is not there would make it on some servers.
        let topics = cluster.topics()?.into_iter().map(|topic| (topic.name, topic.partitions)).collect();
        Ok(Self { topics, note_bytes: note_bytes(cluster)? })
    }

    /// # Errors
    ///
    /// The refusal that a commit would meet.
    pub(super) fn check(&self, group: &str, of: &Committed) -> Result<(), AdminError> {
        let partitions = self.topics.get(&of.topic).copied().unwrap_or(0);
        let there = usize::try_from(of.partition).is_ok_and(|partition| partition < partitions);
        // As a commit is checked by Apache Kafka: in UTF-16 units; never more than there are bytes.
        let units = of.metadata.encode_utf16().count();
        let code = if !there {
            codes::UNKNOWN_TOPIC_OR_PARTITION
        } else if self.note_bytes.is_some_and(|most| units > most) {
            codes::OFFSET_METADATA_TOO_LARGE
        } else {
            codes::NONE
        };
        AdminError::check(code, format!("{}:{} of group {group}", of.topic, of.partition))
    }
}

/// A server that is too old to tell, or may not, is no hindrance: a commit that does not fit is refused in its time.
fn note_bytes(cluster: &mut Cluster) -> Result<Option<usize>, AdminError> {
    let of_each = cluster.ask_all(|id, connection| {
        let Ok(version) = connection.version(ApiKey::DescribeConfigs, 4) else { return Ok(None) };
        let id = id.to_string();
        let broker = DescribeConfigsResource {
            resource_type: BROKER,
            resource_name: &id,
            configuration_keys: Some(vec![NOTE_BYTES]),
        };
        let request = DescribeConfigsRequest { resources: vec![broker], ..Default::default() };
        connection.ask(version, &request, |answer| {
            let mut settings = answer.results.iter().flat_map(|result| &result.configs);
            settings.find(|setting| setting.name == NOTE_BYTES)?.value?.parse::<usize>().ok()
        })
    })?;
    Ok(of_each.into_iter().flatten().min())
}
