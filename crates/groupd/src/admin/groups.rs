//! `groupd groups`: list, describe, delete, evict.

use clap::Subcommand;
use kafka_wire::ApiKey;
use kafka_wire::delete_groups::DeleteGroupsRequest;
use kafka_wire::leave_group::{LeaveGroupRequest, MemberIdentity};
use kafka_wire::list_groups::ListGroupsRequest;
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::codes;
use super::describe::{Described, Member, described};
use super::error::AdminError;
use super::events::{self, Told};
use super::offsets::{self, Committed};
use super::report::{self, Form, Report};
use crate::{shown, tables};

/// What Kafka calls the states of groups, of the newer consumer protocol too.
const STATES: [&str; 7] =
    ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Assigning", "Reconciling"];

#[derive(Debug, Subcommand)]
pub(super) enum GroupsCommand {
    /// List the groups of all servers
    List {
        /// Only groups in this state; repeat for more
        #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = STATES)]
        state: Vec<String>,
    },
    /// Show a group's members, what each has subscribed to and owns, and what is committed
    ///
    /// Lag is not shown: a coordinator knows what was committed, not what was written.
    ///
    /// Below: what has happened to it lately, and why. Only groupd tells.
    Describe { group: String },
    /// Show what has happened to a group lately, and why; also to one that is gone
    Events { group: String },
    /// Delete groups without members, their offsets included
    Delete {
        #[arg(required = true)]
        group: Vec<String>,
    },
    /// Make members leave (or `--all`), so that the group goes on without them
    Evict {
        group: String,
        /// A member id or, for a static member, its group.instance.id
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        member: Vec<String>,
        /// All members
        #[arg(long)]
        all: bool,
        /// Why, for the server's log
        #[arg(long, value_name = "TEXT", default_value = "evicted with groupd groups evict")]
        reason: String,
    },
}

pub(super) fn run(command: &GroupsCommand, cluster: &mut Cluster, form: Form) -> Result<Report, AdminError> {
    match command {
        GroupsCommand::List { state } => list(cluster, form, state),
        GroupsCommand::Describe { group } => describe(cluster, form, group),
        GroupsCommand::Events { group } => {
            let events = events::told(cluster, group)?.events;
            let none = || format!("nothing is known of what happened to group {group}");
            let json = || events::json(&events);
            Ok(if events.is_empty() {
                Report::sentence(form, none, json)
            } else {
                Report::new(form, || events::text(&events), json)
            })
        }
        GroupsCommand::Delete { group } => delete(cluster, form, group),
        GroupsCommand::Evict { group, member, all, reason } => {
            evict(cluster, form, group, if *all { Who::All } else { Who::These(member) }, reason)
        }
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Listed {
    pub(super) group: String,
    state: String,
    kind: String,
    protocol_type: String,
}

/// All groups of all servers, in order.
pub(super) fn listed(cluster: &mut Cluster, states: &[String]) -> Result<Vec<Listed>, AdminError> {
    let of_each = cluster.ask_all(|_, connection| {
        let version = connection.version(ApiKey::ListGroups, 5)?;
        if version < 4 && !states.is_empty() {
            return Err(AdminError::Usage(format!(
                "{} is too old to say in which state a group is: leave --state out",
                connection.server()
            )));
        }
        let states_filter = states.iter().map(String::as_str).collect();
        let request = ListGroupsRequest { states_filter, ..Default::default() };
        let (code, groups) = connection.ask(version, &request, |answer| {
            let listed = |group: &kafka_wire::list_groups::ListedGroup<'_>| Listed {
                group: group.group_id.into(),
                state: group.group_state.into(),
                kind: group.group_type.into(),
                protocol_type: group.protocol_type.into(),
            };
            (answer.error_code, answer.groups.iter().map(listed).collect::<Vec<_>>())
        })?;
        AdminError::check(code, connection.server().to_string())?;
        Ok(groups)
    })?;
    let mut groups: Vec<_> = of_each.into_iter().flatten().collect();
    groups.sort();
    Ok(groups)
}

fn list(cluster: &mut Cluster, form: Form, states: &[String]) -> Result<Report, AdminError> {
    let groups = listed(cluster, states)?;
    let json = groups.iter().map(|group| {
        json!({
            "group": group.group,
            "state": group.state,
            "type": group.kind,
            "protocol_type": group.protocol_type,
        })
    });
    let row =
        |group: &Listed| [&group.group, &group.state, &group.kind, &group.protocol_type].map(String::clone);
    let text = || match groups.as_slice() {
        [] => "no groups".into(),
        groups => tables::columns(["GROUP", "STATE", "TYPE", "PROTOCOL-TYPE"], groups.iter().map(row)),
    };
    Ok(Report::new(form, text, || json.collect()))
}

fn describe(cluster: &mut Cluster, form: Form, group: &str) -> Result<Report, AdminError> {
    let Some(described) = described(cluster, group)? else {
        return Err(not_found(group));
    };
    let committed = offsets::committed(cluster, group)?;
    let told = events::told(cluster, group)?;
    Ok(Report::new(
        form,
        || describe_text(group, &described, &committed, &told),
        || describe_json(group, &described, &committed, &told),
    ))
}

pub(super) fn not_found(group: &str) -> AdminError {
    AdminError::Refused { about: format!("group {group}"), code: codes::GROUP_ID_NOT_FOUND }
}

fn describe_text(group: &str, described: &Described, committed: &[Committed], told: &Told) -> String {
    let Described { state, protocol_type, protocol, coordinator, members } = described;
    let protocols = [protocol_type.as_str(), protocol.as_str()].join(" ");
    let about = [state.clone(), report::count(members.len(), "member"), protocols.trim().into()];
    let about: Vec<_> = about.into_iter().filter(|part| !part.is_empty()).collect();
    let mut text = shown::sentence(&format!("group {group}: {}, at {coordinator}", about.join(", ")));
    if let Some(now) = &told.simulated_clock {
        text += "\nCLOCK: simulated, for tests; it stands at ";
        text += &shown::sentence(now);
    }
    if !members.is_empty() {
        let rows = members.iter().map(|member| {
            [
                member.id.clone(),
                member.instance.clone().unwrap_or_default(),
                member.client.clone(),
                member.host.clone(),
                member.subscribed.as_ref().map_or("?".into(), |topics| topics.join(",")),
                member.assigned.as_ref().map_or("?".into(), ToString::to_string),
            ]
        });
        text += "\n\n";
        text += &tables::columns(["MEMBER", "INSTANCE", "CLIENT", "HOST", "SUBSCRIBED", "OWNS"], rows);
    }
    if !committed.is_empty() {
        let rows = committed.iter().map(|committed| {
            let Committed { topic, partition, offset, metadata, .. } = committed;
            let owner = owner(members, topic, *partition).map_or(String::new(), |member| member.id.clone());
            [topic.clone(), partition.to_string(), offset.to_string(), metadata.clone(), owner]
        });
        text += "\n\n";
        text += &tables::columns(["TOPIC", "PARTITION", "COMMITTED", "METADATA", "OWNED-BY"], rows);
    }
    if !told.events.is_empty() {
        text += "\n\n";
        text += &events::text(&told.events);
    }
    text
}

fn owner<'a>(members: &'a [Member], topic: &str, partition: i32) -> Option<&'a Member> {
    let owns = |member: &&Member| member.assigned.as_ref().is_some_and(|set| set.contains(topic, partition));
    members.iter().find(owns)
}

fn describe_json(group: &str, described: &Described, committed: &[Committed], told: &Told) -> Value {
    let member = |member: &Member| {
        let assigned = member.assigned.as_ref().map(|set| {
            let topics = set.topics().map(|(topic, partitions)| (topic.to_owned(), json!(partitions)));
            topics.collect::<serde_json::Map<_, _>>()
        });
        json!({
            "member": member.id,
            "instance": member.instance,
            "client": member.client,
            "host": member.host,
            "subscribed": member.subscribed,
            "assigned": assigned,
        })
    };
    json!({
        "group": group,
        "state": described.state,
        "protocol_type": described.protocol_type,
        "protocol": described.protocol,
        "coordinator": described.coordinator,
        "members": described.members.iter().map(member).collect::<Vec<_>>(),
        "offsets": committed.iter().map(Committed::json).collect::<Vec<_>>(),
        "events": events::json(&told.events),
        "simulated_clock": told.simulated_clock,
    })
}

fn delete(cluster: &mut Cluster, form: Form, groups: &[String]) -> Result<Report, AdminError> {
    let mut outcomes = Vec::new();
    for group in groups {
        let outcome = cluster.ask_coordinator(group, |connection| {
            let version = connection.version(ApiKey::DeleteGroups, 2)?;
            let request = DeleteGroupsRequest { groups_names: vec![group] };
            let codes = connection.ask(version, &request, |answer| {
                answer.results.iter().map(|result| result.error_code).collect::<Vec<_>>()
            })?;
            codes.into_iter().try_for_each(|code| AdminError::check(code, format!("group {group}")))
        });
        let outcome = match outcome {
            Ok(()) => Ok(format!("group {group} is deleted")),
            Err(error) if error.is_refusal() => Err(error.to_string()),
            Err(error) => return Err(error),
        };
        outcomes.push((json!({ "group": group, "deleted": outcome.is_ok() }), outcome));
    }
    Ok(Report::of_each(form, outcomes))
}

#[derive(Clone, Copy)]
enum Who<'a> {
    All,
    These(&'a [String]),
}

fn evict(
    cluster: &mut Cluster,
    form: Form,
    group: &str,
    who: Who<'_>,
    reason: &str,
) -> Result<Report, AdminError> {
    let described = described(cluster, group)?.ok_or_else(|| not_found(group))?;
    let mut outcomes = Vec::new();
    let mut leaving = Vec::new();
    match who {
        Who::All => leaving.extend(described.members.iter().map(|member| (member, member.id.as_str()))),
        Who::These(names) => {
            for name in names {
                let same = |member: &&Member| member.id == *name || member.instance.as_ref() == Some(name);
                if let Some(member) = described.members.iter().find(same) {
                    leaving.push((member, name));
                    continue;
                }
                let sentence =
                    format!("group {group} has no member {name}: see groupd groups describe {group}");
                outcomes.push((json!({ "member": name, "evicted": false }), Err(sentence)));
            }
        }
    }
    if !leaving.is_empty() {
        let members: Vec<_> = leaving.iter().map(|(member, _)| *member).collect();
        let codes = leave(cluster, group, &members, reason)?;
        for ((_, name), code) in leaving.iter().zip(codes) {
            let outcome = AdminError::check(code, format!("member {name} of group {group}"));
            let outcome =
                outcome.map(|()| format!("{name} is out of group {group}")).map_err(|e| e.to_string());
            outcomes.push((json!({ "member": name, "evicted": outcome.is_ok() }), outcome));
        }
    }
    Ok(Report::of_each(form, outcomes))
}

/// The code of each member, in their order.
fn leave(
    cluster: &mut Cluster,
    group: &str,
    members: &[&Member],
    reason: &str,
) -> Result<Vec<i16>, AdminError> {
    cluster.ask_coordinator(group, |connection| {
        // Before version 3, a member can only leave by itself.
        let version = connection.version(ApiKey::LeaveGroup, 5)?;
        if version < 3 {
            let server = connection.server().clone();
            return Err(AdminError::NotOffered { server, api: ApiKey::LeaveGroup });
        }
        let identity =
            |member: &&Member| -> (String, Option<String>) { (member.id.clone(), member.instance.clone()) };
        let identities: Vec<_> = members.iter().map(identity).collect();
        let members = identities.iter().map(|(id, instance)| MemberIdentity {
            member_id: id,
            group_instance_id: instance.as_deref(),
            reason: Some(reason),
        });
        let request = LeaveGroupRequest { group_id: group, members: members.collect(), ..Default::default() };
        let (code, codes) = connection.ask(version, &request, |answer| {
            (answer.error_code, answer.members.iter().map(|member| member.error_code).collect())
        })?;
        AdminError::check(code, format!("group {group}"))?;
        Ok(codes)
    })
}
