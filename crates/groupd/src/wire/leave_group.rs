//! LeaveGroup, versions 0 to 5: one member until 2, a batch from 3 on.

use coordinator::ids::{GroupId, InstanceId, MemberId};
use coordinator::messages::{LeaveGroup, LeaveGroupResponse, LeavingMember};
use kafka_wire::WireError;

use super::errors;
use super::limits::{self, Unreadable, at_most};

/// From here on a request names several members, and each is answered by itself.
const BATCH: i16 = 3;

pub(super) fn decode(version: i16, body: &[u8]) -> Result<LeaveGroup, Unreadable> {
    let request = kafka_wire::LeaveGroupRequest::decode(version, body)?;
    at_most(limits::MEMBERS, "members", request.members.len())?;
    let members = if version >= BATCH {
        let leaving = |member: &kafka_wire::MemberIdentity<'_>| LeavingMember {
            member: MemberId::new(member.member_id),
            instance: member.group_instance_id.map(InstanceId::new),
            reason: member.reason.map(Into::into),
        };
        request.members.iter().map(leaving).collect()
    } else {
        vec![LeavingMember { member: MemberId::new(request.member_id), instance: None, reason: None }]
    };
    Ok(LeaveGroup { group: GroupId::new(request.group_id), members })
}

pub(super) fn encode(
    response: &LeaveGroupResponse,
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let members = response.members.iter().map(|left| kafka_wire::MemberResponse {
        member_id: left.member.as_str(),
        group_instance_id: left.instance.as_ref().map(InstanceId::as_str),
        error_code: errors::code(left.error),
    });
    let only = response.members.first().and_then(|left| left.error);
    let error = if version >= BATCH { response.error } else { response.error.or(only) };
    kafka_wire::LeaveGroupResponse {
        throttle_time_ms: 0,
        error_code: errors::code(error),
        members: if version >= BATCH { members.collect() } else { Vec::new() },
    }
    .encode(version, out)
}
