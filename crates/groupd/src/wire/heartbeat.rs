//! Heartbeat, versions 0 to 4.

use coordinator::ids::{Generation, GroupId, InstanceId, MemberId};
use coordinator::messages::{Heartbeat, HeartbeatResponse};
use kafka_wire::WireError;

use super::errors;
use super::limits::Unreadable;

pub(super) fn decode(version: i16, body: &[u8]) -> Result<Heartbeat, Unreadable> {
    let request = kafka_wire::HeartbeatRequest::decode(version, body)?;
    Ok(Heartbeat {
        group: GroupId::new(request.group_id),
        generation: Generation(request.generation_id),
        member: MemberId::new(request.member_id),
        instance: request.group_instance_id.map(InstanceId::new),
    })
}

pub(super) fn encode(response: &HeartbeatResponse, version: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
    kafka_wire::HeartbeatResponse { throttle_time_ms: 0, error_code: errors::code(response.error) }
        .encode(version, out)
}
