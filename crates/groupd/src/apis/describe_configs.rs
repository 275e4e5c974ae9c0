//! DescribeConfigs, versions 1 to 4: virtual topics and their broker have no configuration that can be told.

use kafka_wire::{DescribeConfigsRequest, DescribeConfigsResponse, DescribeConfigsResult, WireError};

use crate::node::Node;
use crate::wire::errors;

/// A topic.
const TOPIC: i8 = 2;
/// A broker, by its id.
const BROKER: i8 = 4;

pub(super) fn answer(node: &Node, version: i16, body: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    let request = DescribeConfigsRequest::decode(version, body)?;
    let topics = node.catalog.topics();
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
            configs: Vec::new(),
        }
    });
    DescribeConfigsResponse { results: results.collect(), ..Default::default() }.encode(version, out)
}
