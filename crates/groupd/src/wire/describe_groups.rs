//! DescribeGroups, versions 0 to 6: one question to the coordinator per group.

use coordinator::ids::{GroupId, InstanceId};
use coordinator::messages::{DescribeGroup, DescribeGroupResponse, DescribedMember, GroupError};
use hashbrown::HashSet;
use kafka_wire::WireError;
use kafka_wire::describe_groups::DescribedGroup;

use super::errors;
use super::limits::{self, Unreadable, at_most};

/// From here on a group that is not there is an error rather than a dead group (KIP-1043).
const TELLS_NOT_FOUND: i16 = 6;
/// Authorized operations that were not asked for, or that nobody computes.
const NO_OPERATIONS: i32 = i32::MIN;

pub(super) fn decode(version: i16, body: &[u8]) -> Result<Vec<DescribeGroup>, Unreadable> {
    let request = kafka_wire::DescribeGroupsRequest::decode(version, body)?;
    at_most(limits::GROUPS, "groups", request.groups.len())?;
    let mut seen = HashSet::new();
    // Each once, however often it is named: an answer is no larger than what there is to tell.
    let groups = request.groups.iter().filter(|group| seen.insert(**group));
    Ok(groups.map(|group| DescribeGroup { group: GroupId::new(*group) }).collect())
}

pub(super) fn encode(
    groups: &[DescribeGroupResponse],
    version: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let messages: Vec<Option<String>> = groups.iter().map(|group| message(group, version)).collect();
    let groups =
        groups.iter().zip(&messages).map(|(group, message)| described(group, message.as_deref(), version));
    kafka_wire::DescribeGroupsResponse { throttle_time_ms: 0, groups: groups.collect() }.encode(version, out)
}

fn described<'a>(
    group: &'a DescribeGroupResponse,
    message: Option<&'a str>,
    version: i16,
) -> DescribedGroup<'a> {
    DescribedGroup {
        error_code: errors::code(error(group, version)),
        error_message: message,
        group_id: group.group.as_str(),
        group_state: if group.error.is_some() { "" } else { group.state },
        protocol_type: &group.protocol_type,
        protocol_data: &group.protocol,
        members: group.members.iter().map(member).collect(),
        authorized_operations: NO_OPERATIONS,
    }
}

fn member(member: &DescribedMember) -> kafka_wire::DescribedGroupMember<'_> {
    kafka_wire::DescribedGroupMember {
        member_id: member.member.as_str(),
        group_instance_id: member.instance.as_ref().map(InstanceId::as_str),
        client_id: &member.client_id,
        client_host: &member.client_host,
        member_metadata: &member.metadata,
        member_assignment: &member.assignment,
    }
}

fn error(group: &DescribeGroupResponse, version: i16) -> Option<GroupError> {
    let missing = group.state == "Dead" && version >= TELLS_NOT_FOUND;
    group.error.or(missing.then_some(GroupError::GroupIdNotFound))
}

fn message(group: &DescribeGroupResponse, version: i16) -> Option<String> {
    let missing = error(group, version) == Some(GroupError::GroupIdNotFound) && version >= TELLS_NOT_FOUND;
    missing.then(|| format!("Group {} not found.", group.group))
}
