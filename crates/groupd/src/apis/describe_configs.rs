//! DescribeConfigs, versions 1 to 4: virtual topics have no configuration; of the broker's, the limit that whoever
//! commits offsets has to know.

use kafka_wire::describe_configs::{DescribeConfigsResource, DescribeConfigsResourceResult};
use kafka_wire::{DescribeConfigsRequest, DescribeConfigsResponse, DescribeConfigsResult, WireError};

use crate::node::Node;
use crate::wire::errors;

/// A topic.
const TOPIC: i8 = 2;
/// A broker, by its id.
const BROKER: i8 = 4;

/// The most bytes of a note on a committed offset.
const NOTE_BYTES: &str = "offset.metadata.max.bytes";
/// Of a setting that is the same on the whole broker and does not change while it runs.
const STATIC_BROKER_CONFIG: i8 = 4;
/// The type of a setting that is a number.
const INT: i8 = 3;

pub(super) fn answer(node: &Node, version: i16, body: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    let request = DescribeConfigsRequest::decode(version, body)?;
    let topics = node.catalog.topics();
    let note_bytes = node.limits.note_bytes.to_string();
    let results = request.resources.iter().map(|resource| {
        let error_code = match resource.resource_type {
            TOPIC if topics.get(resource.resource_name).is_none() => errors::UNKNOWN_TOPIC_OR_PARTITION,
            TOPIC | BROKER => errors::NONE,
            _ => errors::INVALID_REQUEST,
        };
        DescribeConfigsResult {
            error_code,
            error_message: None,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name,
            configs: if resource.resource_type == BROKER && is_asked(resource) {
                vec![of_broker(&note_bytes)]
            } else {
                Vec::new()
            },
        }
    });
    DescribeConfigsResponse { results: results.collect(), ..Default::default() }.encode(version, out)
}

/// No names, or none at all, mean all settings.
fn is_asked(resource: &DescribeConfigsResource<'_>) -> bool {
    resource.configuration_keys.as_ref().is_none_or(|names| names.is_empty() || names.contains(&NOTE_BYTES))
}

fn of_broker(note_bytes: &str) -> DescribeConfigsResourceResult<'_> {
    DescribeConfigsResourceResult {
        name: NOTE_BYTES,
        value: Some(note_bytes),
        read_only: true,
        config_source: STATIC_BROKER_CONFIG,
        config_type: INT,
        documentation: None,
        ..Default::default()
    }
}
