//! JoinGroup, versions 0 to 9.

use std::sync::Arc;

use coordinator::ids::{GroupId, InstanceId, MemberId};
use coordinator::messages::{JoinGroup, JoinGroupResponse};
use kafka_wire::WireError;

use super::limits::{self, Unreadable, at_most};
use super::{Asker, errors};

/// KIP-394: from here on a client is told its member id before it becomes a member.
const REQUIRES_MEMBER_ID: i16 = 4;
/// From here on the protocol type is told, and names may be null.
const NULLABLE_NAMES: i16 = 7;
/// KIP-814.
const SKIPS_ASSIGNMENT: i16 = 9;

pub(super) fn decode(from: Asker<'_>, version: i16, body: &[u8]) -> Result<JoinGroup, Unreadable> {
    let request = kafka_wire::JoinGroupRequest::decode(version, body)?;
    at_most(limits::PROTOCOLS, "protocols", request.protocols.len())?;
    // Version 0 has no rebalance timeout: the session timeout serves as one.
    let rebalance_timeout_ms =
        if version == 0 { request.session_timeout_ms } else { request.rebalance_timeout_ms };
    Ok(JoinGroup {
        group: GroupId::new(request.group_id),
        member: MemberId::new(request.member_id),
        instance: request.group_instance_id.map(InstanceId::new),
        client_id: Arc::clone(from.client_id),
        client_host: Arc::clone(from.client_host),
        protocol_type: request.protocol_type.into(),
        protocols: request
            .protocols
            .iter()
            .map(|protocol| (protocol.name.into(), protocol.metadata.into()))
            .collect(),
        session_timeout_ms: request.session_timeout_ms,
        rebalance_timeout_ms,
        require_known_member_id: version >= REQUIRES_MEMBER_ID,
        supports_skipping_assignment: version >= SKIPS_ASSIGNMENT,
        reason: request.reason.map(Into::into),
    })
}

pub(super) fn encode(response: &JoinGroupResponse, version: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
    let members = response.members.iter().map(|member| kafka_wire::JoinGroupResponseMember {
        member_id: member.member.as_str(),
        group_instance_id: member.instance.as_ref().map(InstanceId::as_str),
        metadata: &member.metadata,
    });
    let protocol = response.protocol.as_deref();
    kafka_wire::JoinGroupResponse {
        throttle_time_ms: 0,
        error_code: errors::code(response.error),
        generation_id: response.generation.0,
        protocol_type: response.protocol_type.as_deref(),
        protocol_name: if version >= NULLABLE_NAMES { protocol } else { protocol.or(Some("")) },
        leader: response.leader.as_str(),
        skip_assignment: response.skip_assignment,
        member_id: response.member.as_str(),
        members: members.collect(),
    }
    .encode(version, out)
}
