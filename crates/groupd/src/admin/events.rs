//! What has happened to a group lately, as its coordinator tells it: the settings `event.1`, `event.2`, ... of the group.
//!
//! Only groupd tells. Of other servers no events are shown.

use std::time::{Duration, UNIX_EPOCH};

use kafka_wire::ApiKey;
use kafka_wire::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::codes;
use super::error::AdminError;
use crate::tables;

/// The kind of resource that is a group.
const GROUP: i8 = 32;
const EVENT: &str = "event.";
/// Only told by a server for tests.
const SIMULATED_CLOCK: &str = "simulated.clock";
/// Unix ms; later times have no RFC 3339 form.
const YEAR_10000: u64 = 253_402_300_800_000;

/// One event.
#[derive(Debug)]
pub(super) struct Happened {
    number: u64,
    told: Value,
}

/// What a coordinator tells of a group beside its state.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The oldest first.
    pub(super) events: Vec<Happened>,
    /// Where the coordinator's clock stands, if it is simulated.
    pub(super) simulated_clock: Option<String>,
}

/// What is told of `group`.
pub(super) fn told(cluster: &mut Cluster, group: &str) -> Result<Told, AdminError> {
    let mut told = cluster.ask_coordinator(group, |connection| {
        let Ok(version) = connection.version(ApiKey::DescribeConfigs, 4) else { return Ok(Told::default()) };
        let resource =
            DescribeConfigsResource { resource_type: GROUP, resource_name: group, configuration_keys: None };
        let request = DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
        connection.ask(version, &request, |answer| {
            // A server that knows no settings of groups refuses: it has no events to tell.
            let known = answer.results.iter().filter(|result| result.error_code == codes::NONE);
            let mut told = Told::default();
            for of in known.flat_map(|result| &result.configs) {
                told.events.extend(event(of.name, of.value));
                if of.name == SIMULATED_CLOCK {
                    told.simulated_clock = of.value.map(str::to_owned);
                }
            }
            told
        })
    })?;
    told.events.sort_by_key(|event| event.number);
    Ok(told)
}

fn event(name: &str, value: Option<&str>) -> Option<Happened> {
    let number = name.strip_prefix(EVENT)?.parse().ok()?;
    let told: Value = serde_json::from_str(value?).ok()?;
    told.is_object().then_some(Happened { number, told })
}

/// The events for people.
pub(super) fn text(events: &[Happened]) -> String {
    let row = |event: &Happened| {
        let text = |key: &str| event.told[key].as_str().unwrap_or_default().to_owned();
        let generation = event.told["generation"].as_i64().map_or(String::new(), |number| number.to_string());
        let name = text("event").replace('_', " ");
        [at(event).unwrap_or_default(), generation, name, text("member"), text("about")]
    };
    tables::columns(["WHEN", "GENERATION", "EVENT", "MEMBER", "ABOUT"], events.iter().map(row))
}

/// The events for programs.
pub(super) fn json(events: &[Happened]) -> Value {
    let of_each = events.iter().map(|event| {
        let mut told = event.told.clone();
        told["number"] = json!(event.number);
        told["at"] = json!(at(event));
        told
    });
    of_each.collect()
}

fn at(event: &Happened) -> Option<String> {
    let ms = event.told["at"].as_u64().filter(|ms| *ms < YEAR_10000)?;
    let since = Duration::from_millis(ms);
    Some(humantime::format_rfc3339_millis(UNIX_EPOCH.checked_add(since)?).to_string())
}
