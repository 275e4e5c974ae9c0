//! SyncGroup, versions 0 to 5.

use coordinator::ids::{Generation, GroupId, InstanceId, MemberId};
use coordinator::messages::{SyncGroup, SyncGroupResponse};
use kafka_wire::WireError;

use super::errors;
use super::limits::{self, Unreadable, at_most};

pub(super) fn decode(version: i16, body: &[u8]) -> Result<SyncGroup, Unreadable> {
    let request = kafka_wire::SyncGroupRequest::decode(version, body)?;
    at_most(limits::MEMBERS, "assignments", request.assignments.len())?;
    let assignments = request.assignments.iter();
    Ok(SyncGroup {
        group: GroupId::new(request.group_id),
        generation: Generation(request.generation_id),
        member: MemberId::new(request.member_id),
        instance: request.group_instance_id.map(InstanceId::new),
        protocol_type: request.protocol_type.map(Into::into),
        protocol: request.protocol_name.map(Into::into),
        assignments: assignments
            .map(|given| (MemberId::new(given.member_id), given.assignment.into()))
            .collect(),
    })
}

pub(super) fn encode(response: &SyncGroupResponse, version: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
    kafka_wire::SyncGroupResponse {
        throttle_time_ms: 0,
        error_code: errors::code(response.error),
        protocol_type: response.protocol_type.as_deref(),
        protocol_name: response.protocol.as_deref(),
        assignment: &response.assignment,
    }
    .encode(version, out)
}
