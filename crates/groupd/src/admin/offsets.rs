//! `groupd offsets`: what groups have committed; get, set, delete, export, import.

use std::path::PathBuf;

use clap::Subcommand;
use kafka_wire::ApiKey;
use kafka_wire::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_wire::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use kafka_wire::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse};
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::describe;
use super::error::AdminError;
use super::groups;
use super::partitions::{Assignment, PartitionSet, Selection};
use super::report::{Form, Report};
use super::transfer;
use crate::tables;

/// Partitions in one commit: keeps a request small enough for any server's limits.
const COMMIT_PARTITIONS: usize = 1000;

/// What OffsetFetch tells of a partition without a committed offset.
pub(super) const NO_OFFSET: i64 = -1;

#[derive(Debug, Subcommand)]
pub(super) enum OffsetsCommand {
    /// Show what a group has committed
    Get {
        group: String,
        /// TOPIC or TOPIC:PARTITION; all if left out
        only: Vec<Selection>,
    },
    /// Commit offsets in a group's name; refused while it has members
    Set {
        group: String,
        /// TOPIC:PARTITION=OFFSET
        #[arg(required = true, value_name = "TOPIC:PARTITION=OFFSET")]
        offset: Vec<Assignment>,
        /// A note to store with them
        #[arg(long, value_name = "TEXT", default_value = "")]
        metadata: String,
    },
    /// Forget what a group has committed for topics it is not subscribed to
    Delete {
        group: String,
        /// TOPIC (all its partitions) or TOPIC:PARTITION
        #[arg(required = true, value_name = "TOPIC[:PARTITION]")]
        only: Vec<Selection>,
    },
    /// Print committed offsets as JSON lines, for `import`
    Export {
        /// All groups if left out
        group: Vec<String>,
    },
    /// Commit what `export` printed; refused for groups that have members
    Import {
        /// A file of JSON lines, or - for standard input
        file: PathBuf,
        /// Only check the file and say what would be committed
        #[arg(long)]
        dry_run: bool,
    },
}

pub(super) fn run(command: &OffsetsCommand, cluster: &mut Cluster, form: Form) -> Result<Report, AdminError> {
    match command {
        OffsetsCommand::Get { group, only } => get(cluster, form, group, only),
        OffsetsCommand::Set { group, offset, metadata } => set(cluster, form, group, offset, metadata),
        OffsetsCommand::Delete { group, only } => delete(cluster, form, group, only),
        OffsetsCommand::Export { group } => transfer::export(cluster, group),
        OffsetsCommand::Import { file, dry_run } => transfer::import(cluster, form, file, *dry_run),
    }
}

/// One committed offset.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Committed {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) offset: i64,
    /// -1: none.
    pub(super) leader_epoch: i32,
    pub(super) metadata: String,
}

impl Committed {
    pub(super) fn json(&self) -> Value {
        json!({
            "topic": self.topic,
            "partition": self.partition,
            "offset": self.offset,
            "leader_epoch": self.leader_epoch,
            "metadata": self.metadata,
        })
    }
}

/// All that `group` has committed, in order. Nothing if there is no such group.
pub(super) fn committed(cluster: &mut Cluster, group: &str) -> Result<Vec<Committed>, AdminError> {
    let mut all = cluster.ask_coordinator(group, |connection| {
        // From version 10 on, topics have ids instead of names.
        let version = connection.version(ApiKey::OffsetFetch, 9)?;
        let request = if version >= 8 {
            let group = OffsetFetchRequestGroup { group_id: group, topics: None, ..Default::default() };
            OffsetFetchRequest { groups: vec![group], ..Default::default() }
        } else {
            OffsetFetchRequest { group_id: group, topics: None, ..Default::default() }
        };
        let (codes, committed) = connection.ask(version, &request, |answer| fetched(&answer))?;
        codes.into_iter().try_for_each(|code| AdminError::check(code, format!("group {group}")))?;
        Ok(committed)
    })?;
    all.sort();
    Ok(all)
}

/// All error codes, and all offsets that there are.
fn fetched(answer: &OffsetFetchResponse<'_>) -> (Vec<i16>, Vec<Committed>) {
    let mut codes = vec![answer.error_code];
    let mut all = Vec::new();
    let mut add =
        |code: i16, topic: &str, partition: i32, offset: i64, leader_epoch: i32, note: Option<&str>| {
            codes.push(code);
            // Kafka's mark of "nothing committed"; any other offset was committed by somebody, below 0 too.
            if offset != NO_OFFSET {
                let (topic, metadata) = (topic.to_owned(), note.unwrap_or_default().to_owned());
                all.push(Committed { topic, partition, offset, leader_epoch, metadata });
            }
        };
    for topic in &answer.topics {
        for of in &topic.partitions {
            let epoch = of.committed_leader_epoch;
            add(of.error_code, topic.name, of.partition_index, of.committed_offset, epoch, of.metadata);
        }
    }
    for topic in answer.groups.iter().flat_map(|group| &group.topics) {
        for of in &topic.partitions {
            let epoch = of.committed_leader_epoch;
            add(of.error_code, topic.name, of.partition_index, of.committed_offset, epoch, of.metadata);
        }
    }
    codes.extend(answer.groups.iter().map(|group| group.error_code));
    (codes, all)
}

fn get(cluster: &mut Cluster, form: Form, group: &str, only: &[Selection]) -> Result<Report, AdminError> {
    let mut all = committed(cluster, group)?;
    if all.is_empty() && describe::described(cluster, group)?.is_none() {
        return Err(groups::not_found(group));
    }
    let is_there = |one: &&Selection| all.iter().any(|of| one.covers(&of.topic, of.partition));
    let absent = only.iter().filter(|one| !is_there(one)).map(|one| nothing_for(group, one)).collect();
    let covered = |of: &Committed| only.iter().any(|one| one.covers(&of.topic, of.partition));
    all.retain(|of| only.is_empty() || covered(of));
    let epoch = |epoch: i32| if epoch < 0 { String::new() } else { epoch.to_string() };
    let row = |of: &Committed| {
        let (topic, note) = (of.topic.clone(), of.metadata.clone());
        [topic, of.partition.to_string(), of.offset.to_string(), epoch(of.leader_epoch), note]
    };
    let header = ["TOPIC", "PARTITION", "OFFSET", "LEADER-EPOCH", "METADATA"];
    let json = || all.iter().map(Committed::json).collect();
    let mut report = if all.is_empty() && only.is_empty() {
        Report::sentence(form, || format!("group {group} has committed nothing"), json)
    } else if all.is_empty() && form == Form::Tables {
        Report::default()
    } else {
        Report::new(form, || tables::columns(header, all.iter().map(row)), json)
    };
    report.refusals = absent;
    Ok(report)
}

fn nothing_for(group: &str, selection: &Selection) -> String {
    format!("group {group} has committed nothing for {selection}")
}

/// Refuses if `group` has members, and says who: their next commits would undo it.
pub(super) fn refuse_if_alive(cluster: &mut Cluster, group: &str) -> Result<(), AdminError> {
    let Some(described) = describe::described(cluster, group)? else { return Ok(()) };
    if described.members.is_empty() {
        return Ok(());
    }
    let name = |member: &describe::Member| member.instance.clone().unwrap_or_else(|| member.id.clone());
    let names: Vec<_> = described.members.iter().take(5).map(name).collect();
    Err(AdminError::Alive {
        group: group.to_owned(),
        members: described.members.len(),
        some: names.join(", "),
    })
}

/// Commits in the group's name; the outcome of each.
pub(super) fn commit(
    cluster: &mut Cluster,
    group: &str,
    offsets: &[Committed],
) -> Result<Vec<Result<(), AdminError>>, AdminError> {
    let mut outcomes = Vec::with_capacity(offsets.len());
    for chunk in offsets.chunks(COMMIT_PARTITIONS) {
        let codes = cluster.ask_coordinator(group, |connection| {
            let version = connection.version(ApiKey::OffsetCommit, 9)?;
            let request = OffsetCommitRequest {
                group_id: group,
                topics: chunk.iter().map(|of| commit_topic(of)).collect(),
                ..Default::default()
            };
            let codes = connection.ask(version, &request, |answer| {
                let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
                partitions.map(|partition| partition.error_code).collect::<Vec<_>>()
            })?;
            let all_pass = codes.iter().find(|code| super::codes::passes(**code)).copied();
            all_pass.map_or(Ok(()), |code| AdminError::check(code, format!("group {group}")))?;
            Ok(codes)
        })?;
        let code = |at: usize| codes.get(at).copied().unwrap_or(-1);
        outcomes.extend(chunk.iter().enumerate().map(|(at, of)| {
            AdminError::check(code(at), format!("{}:{} of group {group}", of.topic, of.partition))
        }));
    }
    Ok(outcomes)
}

/// A topic a partition: so that answers come in the order of the request.
fn commit_topic(of: &Committed) -> OffsetCommitRequestTopic<'_> {
    let partition = OffsetCommitRequestPartition {
        partition_index: of.partition,
        committed_offset: of.offset,
        committed_leader_epoch: of.leader_epoch,
        committed_metadata: Some(&of.metadata),
    };
    OffsetCommitRequestTopic { name: &of.topic, partitions: vec![partition], ..Default::default() }
}

fn set(
    cluster: &mut Cluster,
    form: Form,
    group: &str,
    offsets: &[Assignment],
    metadata: &str,
) -> Result<Report, AdminError> {
    let mut seen = PartitionSet::default();
    for of in offsets {
        if seen.contains(&of.topic, of.partition) {
            let Assignment { topic, partition, .. } = of;
            return Err(AdminError::Usage(format!("{topic}:{partition} is given twice")));
        }
        seen.insert(&of.topic, of.partition);
    }
    refuse_if_alive(cluster, group)?;
    let committed = |of: &Assignment| Committed {
        topic: of.topic.clone(),
        partition: of.partition,
        offset: of.offset,
        leader_epoch: -1,
        metadata: metadata.to_owned(),
    };
    let all: Vec<_> = offsets.iter().map(committed).collect();
    let outcomes = commit(cluster, group, &all)?;
    let each = all.iter().zip(outcomes).map(|(of, outcome)| {
        let done = format!("group {group}: {}:{} is at {}", of.topic, of.partition, of.offset);
        (of.json(), outcome.map(|()| done).map_err(|error| error.to_string()))
    });
    Ok(Report::of_each(form, each.collect()))
}

fn delete(cluster: &mut Cluster, form: Form, group: &str, only: &[Selection]) -> Result<Report, AdminError> {
    let all = committed(cluster, group)?;
    let mut outcomes = Vec::new();
    let mut chosen = PartitionSet::default();
    for selection in only {
        let before = chosen.clone();
        for of in all.iter().filter(|of| selection.covers(&of.topic, of.partition)) {
            chosen.insert(&of.topic, of.partition);
        }
        let there = all.iter().any(|of| selection.covers(&of.topic, of.partition));
        if chosen == before && !there {
            let sentence = nothing_for(group, selection);
            outcomes.push((json!({ "selection": selection.to_string() }), Err(sentence)));
        }
    }
    for (topic, partition, code) in delete_chosen(cluster, group, &chosen)? {
        let about = format!("{topic}:{partition} of group {group}");
        let outcome = AdminError::check(code, about).map_err(|error| error.to_string());
        let done = format!("group {group}: {topic}:{partition} is forgotten");
        outcomes.push((json!({ "topic": topic, "partition": partition }), outcome.map(|()| done)));
    }
    Ok(Report::of_each(form, outcomes))
}

fn delete_chosen(
    cluster: &mut Cluster,
    group: &str,
    chosen: &PartitionSet,
) -> Result<Vec<(String, i32, i16)>, AdminError> {
    if chosen.topics().next().is_none() {
        return Ok(Vec::new());
    }
    cluster.ask_coordinator(group, |connection| {
        let version = connection.version(ApiKey::OffsetDelete, 0)?;
        let topics = chosen.topics().map(|(name, partitions)| OffsetDeleteRequestTopic {
            name,
            partitions: partitions
                .iter()
                .map(|index| OffsetDeleteRequestPartition { partition_index: *index })
                .collect(),
        });
        let request = OffsetDeleteRequest { group_id: group, topics: topics.collect() };
        let (code, outcomes) = connection.ask(version, &request, |answer| {
            let mut outcomes = Vec::new();
            for topic in &answer.topics {
                for of in &topic.partitions {
                    outcomes.push((topic.name.to_owned(), of.partition_index, of.error_code));
                }
            }
            (answer.error_code, outcomes)
        })?;
        AdminError::check(code, format!("group {group}"))?;
        Ok(outcomes)
    })
}
