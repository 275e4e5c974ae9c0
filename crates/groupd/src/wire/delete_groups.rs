//! DeleteGroups, versions 0 to 2: one question to the coordinator per group.

use coordinator::ids::GroupId;
use coordinator::messages::{DeleteGroups, DeleteGroupsResponse, Request};
use hashbrown::HashSet;
use kafka_wire::WireError;

use super::errors;
use super::limits::{self, Unreadable, at_most};

pub(super) fn decode(version: i16, body: &[u8]) -> Result<Vec<(GroupId, Request)>, Unreadable> {
    let request = kafka_wire::DeleteGroupsRequest::decode(version, body)?;
    at_most(limits::GROUPS, "groups", request.groups_names.len())?;
    let mut seen = HashSet::new();
    let question = |name: &&str| {
        let group = GroupId::new(*name);
        (group.clone(), Request::DeleteGroups(DeleteGroups { groups: vec![group] }))
    };
    // Each once, as Kafka does.
    Ok(request.groups_names.iter().filter(|group| seen.insert(**group)).map(question).collect())
}

pub(super) fn encode(
    answers: &[DeleteGroupsResponse],
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let results = answers.iter().flat_map(|answer| &answer.results).map(|(group, error)| {
        kafka_wire::DeletableGroupResult { group_id: group.as_str(), error_code: errors::code(*error) }
    });
    kafka_wire::DeleteGroupsResponse { throttle_time_ms: 0, results: results.collect() }.encode(version, out)
}
