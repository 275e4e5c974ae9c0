//! The coordinator under test: how a scenario's settings become its own, and how its groups are looked at.

use coordinator::ids::{GroupId, MemberId, OffsetsPartition};
use coordinator::messages::Request;
use coordinator::{Config, Coordinator, Partitioner, Phase, Timestamp};
use serde_json::{Map, Value, json};

use super::scenario::ScenarioConfig;

pub(crate) fn coordinator(config: &ScenarioConfig, now: Timestamp) -> Coordinator {
    let groups = config.group_partitions.iter();
    let groups = groups.map(|(name, partition)| (GroupId::from(name.as_str()), OffsetsPartition(*partition)));
    let config = Config {
        group_min_session_timeout_ms: config.group_min_session_timeout_ms,
        group_max_session_timeout_ms: config.group_max_session_timeout_ms,
        group_initial_rebalance_delay_ms: config.group_initial_rebalance_delay_ms,
        group_max_size: config.group_max_size,
        offsets_retention_ms: config.offsets_retention_ms,
        offset_metadata_max_size: config.offset_metadata_max_size,
        new_member_join_timeout_ms: config.new_member_join_timeout_ms,
        partitioner: Partitioner::Table { groups: groups.collect(), otherwise: OffsetsPartition(0) },
        // Both happen in a scenario only when it says so.
        offsets_retention_check_interval_ms: None,
        store_timeout_ms: None,
        ..Config::default()
    };
    Coordinator::new(config, 42, now)
}

/// The coordinator's own view of a group, as the step `check` names its fields.
pub(crate) fn view(coordinator: &Coordinator, group: &str) -> Value {
    let Some(view) = coordinator.group(&GroupId::from(group)) else { return json!({ "exists": false }) };
    let members: Vec<&str> = view.members.iter().map(MemberId::as_str).collect();
    let statics: Map<String, Value> = view
        .static_members
        .iter()
        .map(|(instance, member)| (instance.to_string(), json!(member.as_str())))
        .collect();
    json!({
        "exists": true,
        "state": view.phase.to_string(),
        "generation": view.generation.0,
        "leader": view.leader.as_ref().map(MemberId::as_str),
        "protocol_type": view.protocol_type.as_deref(),
        "protocol": view.protocol.as_deref(),
        "member_count": members.len(),
        "members": members,
        "static_members": statics,
        "pending_members": view.pending_members,
    })
}

/// Puts a group into a state that no request could bring it into.
pub(crate) fn force(coordinator: &mut Coordinator, group: &str, state: &str) -> Result<(), String> {
    let phases =
        [Phase::Empty, Phase::PreparingRebalance, Phase::CompletingRebalance, Phase::Stable, Phase::Dead];
    let phase = phases.into_iter().find(|phase| phase.to_string() == state);
    coordinator.force_phase(&GroupId::from(group), phase.ok_or_else(|| format!("no state {state}"))?);
    Ok(())
}

/// The kind of a request, as steps name it.
pub(crate) fn kind(request: &Request) -> &'static str {
    match request {
        Request::JoinGroup(_) => "join",
        Request::SyncGroup(_) => "sync",
        Request::Heartbeat(_) => "heartbeat",
        Request::LeaveGroup(_) => "leave",
        Request::OffsetCommit(_) => "offset_commit",
        Request::TxnOffsetCommit(_) => "txn_offset_commit",
        Request::OffsetFetch(_) => "offset_fetch",
        Request::OffsetDelete(_) => "offset_delete",
        Request::DescribeGroup(_) => "describe",
        Request::ListGroups(_) => "list",
        Request::DeleteGroups(_) => "delete_groups",
    }
}
