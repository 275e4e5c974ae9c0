//! One group and its members, of the classic protocol or of the newer consumer protocol (KIP-848).

use kafka_wire::ApiKey;
use kafka_wire::consumer_group_describe::{self as newer, ConsumerGroupDescribeRequest};
use kafka_wire::describe_groups::{DescribeGroupsRequest, DescribedGroup, DescribedGroupMember};

use super::cluster::Cluster;
use super::codes;
use super::connection::Connection;
use super::consumer;
use super::error::AdminError;
use super::partitions::PartitionSet;

/// A group, as its coordinator tells it.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) state: String,
    pub(super) protocol_type: String,
    pub(super) protocol: String,
    pub(super) coordinator: String,
    pub(super) members: Vec<Member>,
}

/// A member of it.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) id: String,
    pub(super) instance: Option<String>,
    pub(super) client: String,
    pub(super) host: String,
    /// `None`: of a protocol that is not known here.
    pub(super) subscribed: Option<Vec<String>>,
    pub(super) assigned: Option<PartitionSet>,
}

/// `None`: there is no such group.
pub(super) fn described(cluster: &mut Cluster, group: &str) -> Result<Option<Described>, AdminError> {
    cluster.ask_coordinator(group, |connection| match classic(connection, group)? {
        Some(described) => Ok(Some(described)),
        // A group of the newer protocol is none to the older API.
        None => consumer_protocol(connection, group),
    })
}

fn classic(connection: &mut Connection, group: &str) -> Result<Option<Described>, AdminError> {
    let version = connection.version(ApiKey::DescribeGroups, 6)?;
    let coordinator = connection.server().to_string();
    let request = DescribeGroupsRequest { groups: vec![group], ..Default::default() };
    let found = connection.ask(version, &request, |answer| {
        answer.groups.first().map(|first| (first.error_code, of_classic(first, coordinator)))
    })?;
    // Before version 6, a group that is not there is dead.
    existing(group, found.filter(|(_, described)| described.state != "Dead"))
}

fn consumer_protocol(connection: &mut Connection, group: &str) -> Result<Option<Described>, AdminError> {
    let Ok(version) = connection.version(ApiKey::ConsumerGroupDescribe, 1) else { return Ok(None) };
    let coordinator = connection.server().to_string();
    let request = ConsumerGroupDescribeRequest { group_ids: vec![group], ..Default::default() };
    let found = connection.ask(version, &request, |answer| {
        answer.groups.first().map(|first| (first.error_code, of_newer(first, coordinator)))
    })?;
    existing(group, found)
}

fn existing(group: &str, found: Option<(i16, Described)>) -> Result<Option<Described>, AdminError> {
    match found {
        None | Some((codes::GROUP_ID_NOT_FOUND, _)) => Ok(None),
        Some((code, described)) => {
            AdminError::check(code, format!("group {group}"))?;
            Ok(Some(described))
        }
    }
}

fn of_classic(group: &DescribedGroup<'_>, coordinator: String) -> Described {
    let is_consumer = group.protocol_type == "consumer";
    let member = |member: &DescribedGroupMember<'_>| Member {
        id: member.member_id.into(),
        instance: member.group_instance_id.map(Into::into),
        client: member.client_id.into(),
        host: host(member.client_host),
        subscribed: is_consumer.then(|| consumer::subscription(member.member_metadata)).flatten(),
        assigned: is_consumer.then(|| consumer::assignment(member.member_assignment)).flatten(),
    };
    Described {
        state: group.group_state.into(),
        protocol_type: group.protocol_type.into(),
        protocol: group.protocol_data.into(),
        coordinator,
        members: in_order(group.members.iter().map(member)),
    }
}

fn of_newer(group: &newer::DescribedGroup<'_>, coordinator: String) -> Described {
    let member = |member: &newer::Member<'_>| {
        let mut assigned = PartitionSet::default();
        for topic in &member.assignment.topic_partitions {
            topic.partitions.iter().for_each(|partition| assigned.insert(topic.topic_name, *partition));
        }
        let names = member.subscribed_topic_names.iter().map(|name| (*name).to_owned());
        let regex = member.subscribed_topic_regex.filter(|regex| !regex.is_empty());
        Member {
            id: member.member_id.into(),
            instance: member.instance_id.map(Into::into),
            client: member.client_id.into(),
            host: host(member.client_host),
            subscribed: Some(names.chain(regex.map(|regex| format!("/{regex}/"))).collect()),
            assigned: Some(assigned),
        }
    };
    Described {
        state: group.group_state.into(),
        protocol_type: "consumer".into(),
        protocol: group.assignor_name.into(),
        coordinator,
        members: in_order(group.members.iter().map(member)),
    }
}

fn in_order(members: impl Iterator<Item = Member>) -> Vec<Member> {
    let mut members: Vec<_> = members.collect();
    members.sort_by(|left, right| (&left.instance, &left.id).cmp(&(&right.instance, &right.id)));
    members
}

/// As Java prints an address: with a slash in front.
fn host(text: &str) -> String {
    text.trim_start_matches('/').into()
}
