//! DescribeConfigs, versions 1 to 4: virtual topics have no configuration; of the broker's, the limit that whoever
//! commits offsets has to know. A group's are what has happened to it: `event.17` and so on, each a JSON object, so that
//! every admin client can ask why a group rebalanced. On a server for tests they also tell where its clock stands.

use coordinator::ids::GroupId;
use kafka_wire::describe_configs::{DescribeConfigsResource, DescribeConfigsResourceResult};
use kafka_wire::{DescribeConfigsRequest, DescribeConfigsResponse, DescribeConfigsResult, WireError};

use crate::node::Node;
use crate::testing::date;
use crate::wire::errors;

/// A topic.
const TOPIC: i8 = 2;
/// A broker, by its id.
const BROKER: i8 = 4;
/// A group, by its id.
const GROUP: i8 = 32;
/// What the names of a group's events begin with; their number follows.
const EVENT: &str = "event.";
/// Of a group whose coordinator's clock is simulated: where that stands.
const SIMULATED_CLOCK: &str = "simulated.clock";
/// Bytes of events in one answer: a short question must not make a long one. Groups that are named after so many are
/// told of are refused.
const EVENT_BYTES: usize = 1 << 20;
/// Of something that was not set by anybody.
const DYNAMIC_GROUP_CONFIG: i8 = 8;
/// The type of a setting that is a text.
const STRING: i8 = 2;

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
    let events = events(node, &request);
    let results = request.resources.iter().zip(&events).map(|(resource, events)| {
        let error_code = match resource.resource_type {
            TOPIC if topics.get(resource.resource_name).is_none() => errors::UNKNOWN_TOPIC_OR_PARTITION,
            GROUP if events.is_none() => errors::INVALID_REQUEST,
            TOPIC | BROKER | GROUP => errors::NONE,
            _ => errors::INVALID_REQUEST,
        };
        DescribeConfigsResult {
            error_code,
            error_message: None,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name,
            configs: if resource.resource_type == BROKER && is_asked(resource, NOTE_BYTES) {
                vec![of_broker(&note_bytes)]
            } else {
                let asked = events.iter().flatten().filter(|(name, _)| is_asked(resource, name));
                asked.map(|(name, event)| of_group(name, event)).collect()
            },
        }
    });
    DescribeConfigsResponse { results: results.collect(), ..Default::default() }.encode(version, out)
}

/// No names, or none at all, mean all settings.
fn is_asked(resource: &DescribeConfigsResource<'_>, name: &str) -> bool {
    resource.configuration_keys.as_ref().is_none_or(|names| names.is_empty() || names.contains(&name))
}

/// Name and value of the events of each resource that is a group; `None` for those beyond [`EVENT_BYTES`].
fn events(node: &Node, request: &DescribeConfigsRequest<'_>) -> Vec<Option<Vec<(String, String)>>> {
    let mut bytes = 0;
    let of_resource = |resource: &DescribeConfigsResource<'_>| {
        if resource.resource_type != GROUP {
            return Some(Vec::new());
        }
        if bytes > EVENT_BYTES {
            return None;
        }
        let group = GroupId::from(resource.resource_name);
        let told = node.histories.tell(node.shards.index_of(&group), &group);
        bytes += told.iter().map(|event| event.json.len()).sum::<usize>();
        let events = told.into_iter().map(|event| (format!("{EVENT}{}", event.number), event.json));
        let clock = node.testing.as_ref().map(|testing| (SIMULATED_CLOCK.into(), date(testing.now())));
        Some(events.chain(clock).collect())
    };
    request.resources.iter().map(of_resource).collect()
}

fn of_group<'a>(name: &'a str, event: &'a str) -> DescribeConfigsResourceResult<'a> {
    DescribeConfigsResourceResult {
        name,
        value: Some(event),
        read_only: true,
        config_source: DYNAMIC_GROUP_CONFIG,
        config_type: STRING,
        documentation: None,
        ..Default::default()
    }
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
