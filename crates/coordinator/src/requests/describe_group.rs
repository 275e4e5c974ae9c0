//! Show one group. Metadata and assignments are shown while they count, which is in Stable.

use crate::coordinator::Coordinator;
use crate::group::{Group, Phase};
use crate::ids::Blob;
use crate::messages::{DescribeGroup, DescribeGroupResponse, DescribedMember, Response, Token};

pub(crate) fn handle(coordinator: &mut Coordinator, token: Token, request: DescribeGroup) {
    let response = match coordinator.find(&request.group) {
        Ok(Some(index)) => describe(&coordinator.groups[index]),
        // What does not exist is shown as dead, not refused: clients of every version understand that.
        Ok(None) => DescribeGroupResponse {
            error: None,
            group: request.group,
            state: Phase::Dead.name(),
            protocol_type: "".into(),
            protocol: "".into(),
            members: Vec::new(),
        },
        Err(error) => DescribeGroupResponse {
            error: Some(error),
            group: request.group,
            state: "",
            protocol_type: "".into(),
            protocol: "".into(),
            members: Vec::new(),
        },
    };
    coordinator.turn.respond(token, Response::DescribeGroup(response));
}

fn describe(group: &Group) -> DescribeGroupResponse {
    let is_stable = group.phase() == Phase::Stable;
    let members = group.members.iter().map(|(_, member)| DescribedMember {
        member: member.id.clone(),
        instance: member.instance().cloned(),
        client_id: member.client.id.clone(),
        client_host: member.client.host.clone(),
        metadata: if is_stable { group.metadata(member) } else { Blob::default() },
        assignment: if is_stable { member.assignment.clone() } else { Blob::default() },
    });
    DescribeGroupResponse {
        error: None,
        group: group.name.clone(),
        state: group.phase().name(),
        protocol_type: group.protocol_type.clone().unwrap_or_default(),
        protocol: group.protocol.clone().filter(|_| is_stable).unwrap_or_default(),
        members: members.collect(),
    }
}
