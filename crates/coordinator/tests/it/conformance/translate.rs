//! Between the scenario's JSON and the coordinator's messages: names of errors, bytes, partitions, records.

use std::sync::Arc;

use coordinator::Timestamp;
use coordinator::ids::{
    Blob, Generation, GroupId, InstanceId, MemberId, OffsetsPartition, ProducerId, TopicPartition,
};
use coordinator::messages::{
    CommitOffset, DescribeGroupResponse, FetchedOffset, GroupError, GroupRecord, JoinGroupResponse,
    LeaveGroupResponse, MemberRecord, OffsetCommit, OffsetRecord, Record, Request, Response, StoreError,
    TransactionOutcome,
};
use serde_json::{Map, Value, json};

use super::scenario::{self, Action, LogGroup, LogMember, LogOffset, LogRecord, MarkerResult};

/// The request of a step and its handle; `None` for a step that sends none.
pub(crate) fn request(action: &Action) -> Result<Option<(String, Request)>, String> {
    use coordinator::messages as m;
    let (handle, request) = match action {
        Action::Join(step) => (&step.handle, Request::JoinGroup(join(step)?)),
        Action::Sync(step) => (&step.handle, Request::SyncGroup(sync(step)?)),
        Action::Heartbeat(step) => (
            &step.handle,
            Request::Heartbeat(m::Heartbeat {
                group: group(&step.group),
                generation: Generation(step.generation),
                member: member(&step.member),
                instance: instance(step.instance.as_deref()),
            }),
        ),
        Action::Leave(step) => (&step.handle, Request::LeaveGroup(leave(step))),
        Action::OffsetCommit(step) => (&step.handle, Request::OffsetCommit(commit(step)?)),
        Action::TxnOffsetCommit(step) => (&step.handle, Request::TxnOffsetCommit(txn_commit(step)?)),
        Action::OffsetFetch(step) => (
            &step.handle,
            Request::OffsetFetch(m::OffsetFetch {
                group: group(&step.group),
                partitions: step.partitions.as_deref().map(topic_partitions).transpose()?,
                require_stable: step.require_stable,
            }),
        ),
        Action::OffsetDelete(step) => (
            &step.handle,
            Request::OffsetDelete(m::OffsetDelete {
                group: group(&step.group),
                partitions: topic_partitions(&step.partitions)?,
            }),
        ),
        Action::Describe(step) => {
            (&step.handle, Request::DescribeGroup(m::DescribeGroup { group: group(&step.group) }))
        }
        Action::List(step) => (
            &step.handle,
            Request::ListGroups(m::ListGroups {
                states: step.states.iter().map(|s| s.as_str().into()).collect(),
                types: step.types.iter().map(|s| s.as_str().into()).collect(),
            }),
        ),
        Action::DeleteGroups(step) => (
            &step.handle,
            Request::DeleteGroups(m::DeleteGroups { groups: step.groups.iter().map(|g| group(g)).collect() }),
        ),
        Action::Advance { .. }
        | Action::StoreMode { .. }
        | Action::Store { .. }
        | Action::EndTxn(_)
        | Action::Cleanup
        | Action::DeleteTopicPartitions { .. }
        | Action::BeginLoad { .. }
        | Action::FinishLoad { .. }
        | Action::Unload { .. }
        | Action::ForceState { .. } => return Ok(None),
    };
    Ok(Some((handle.clone(), request)))
}

fn join(step: &scenario::Join) -> Result<coordinator::messages::JoinGroup, String> {
    Ok(coordinator::messages::JoinGroup {
        group: group(&step.group),
        member: member(&step.member),
        instance: instance(step.instance.as_deref()),
        client_id: step.client_id.as_str().into(),
        client_host: step.client_host.as_str().into(),
        protocol_type: step.protocol_type.as_str().into(),
        protocols: step
            .protocols
            .iter()
            .map(|(name, metadata)| Ok((name.as_str().into(), bytes(metadata)?)))
            .collect::<Result<_, String>>()?,
        session_timeout_ms: step.session_timeout_ms,
        rebalance_timeout_ms: step.rebalance_timeout_ms,
        require_known_member_id: step.require_known_member_id,
        supports_skipping_assignment: step.supports_skipping_assignment,
        reason: None,
    })
}

fn sync(step: &scenario::Sync) -> Result<coordinator::messages::SyncGroup, String> {
    Ok(coordinator::messages::SyncGroup {
        group: group(&step.group),
        generation: Generation(step.generation),
        member: member(&step.member),
        instance: instance(step.instance.as_deref()),
        protocol_type: step.protocol_type.as_deref().map(Into::into),
        protocol: step.protocol.as_deref().map(Into::into),
        assignments: step
            .assignments
            .iter()
            .map(|(id, assignment)| Ok((member(id), bytes(assignment)?)))
            .collect::<Result<_, String>>()?,
    })
}

fn leave(step: &scenario::Leave) -> coordinator::messages::LeaveGroup {
    let members = step.members.iter().map(|leaver| coordinator::messages::LeavingMember {
        member: member(&leaver.member),
        instance: instance(leaver.instance.as_deref()),
        reason: None,
    });
    coordinator::messages::LeaveGroup { group: group(&step.group), members: members.collect() }
}

fn commit(step: &scenario::Commit) -> Result<OffsetCommit, String> {
    Ok(OffsetCommit {
        group: group(&step.group),
        generation: Generation(step.generation),
        member: member(&step.member),
        instance: instance(step.instance.as_deref()),
        retention_time_ms: step.retention_time_ms,
        offsets: step
            .offsets
            .iter()
            .map(|(partition, offset)| commit_offset(partition, offset))
            .collect::<Result<_, _>>()?,
    })
}

fn txn_commit(step: &scenario::TxnCommit) -> Result<coordinator::messages::TxnOffsetCommit, String> {
    let commit = commit(&scenario::Commit {
        handle: step.handle.clone(),
        group: step.group.clone(),
        generation: step.generation,
        member: step.member.clone(),
        instance: step.instance.clone(),
        retention_time_ms: -1,
        offsets: step.offsets.clone(),
    })?;
    Ok(coordinator::messages::TxnOffsetCommit {
        commit,
        producer: ProducerId(step.producer_id),
        producer_epoch: step.producer_epoch,
        verification: verification(step.verification.as_deref().unwrap_or("NONE"))?,
    })
}

fn commit_offset(partition: &str, offset: &scenario::CommittedOffset) -> Result<CommitOffset, String> {
    let metadata = match (&offset.metadata, offset.metadata_repeat) {
        (Some(text), None) => text.clone(),
        (None, Some(times)) => "x".repeat(times),
        (None, None) => String::new(),
        (Some(_), Some(_)) => return Err("metadata and metadata_repeat exclude each other".to_owned()),
    };
    Ok(CommitOffset {
        partition: topic_partition(partition)?,
        offset: offset.offset,
        leader_epoch: offset.leader_epoch,
        metadata: metadata.into(),
        commit_timestamp_ms: offset.commit_timestamp_ms,
    })
}

/// The fields of a response, named as the format names them.
pub(crate) fn response(response: &Response) -> Value {
    match response {
        Response::JoinGroup(response) => joined(response),
        Response::SyncGroup(response) => json!({
            "error": error(response.error),
            "protocol_type": response.protocol_type.as_deref(),
            "protocol": response.protocol.as_deref(),
            "assignment": hex(&response.assignment),
        }),
        Response::Heartbeat(response) => json!({ "error": error(response.error) }),
        Response::LeaveGroup(response) => left(response),
        Response::OffsetCommit(response) | Response::TxnOffsetCommit(response) => {
            json!({ "results": results(&response.results) })
        }
        Response::OffsetFetch(response) => json!({
            "error": error(response.error),
            "offsets": unique(response.offsets.iter().map(fetched)),
        }),
        Response::OffsetDelete(response) => json!({
            "error": error(response.error),
            "results": results(&response.results),
        }),
        Response::DescribeGroup(response) => described(response),
        Response::ListGroups(response) => {
            let groups = response.groups.iter().map(|listed| {
                json!({
                    "group": listed.group.as_str(),
                    "protocol_type": &*listed.protocol_type,
                    "state": listed.state,
                    "type": listed.group_type,
                })
            });
            json!({ "error": error(response.error), "groups": groups.collect::<Vec<_>>() })
        }
        Response::DeleteGroups(response) => {
            let results = response.results.iter().map(|(group, e)| (group.to_string(), json!(error(*e))));
            json!({ "results": unique(results) })
        }
    }
}

fn joined(response: &JoinGroupResponse) -> Value {
    let members = response.members.iter().map(|joined| {
        json!({
            "member": joined.member.as_str(),
            "instance": joined.instance.as_ref().map(InstanceId::as_str),
            "metadata": hex(&joined.metadata),
        })
    });
    json!({
        "error": error(response.error),
        "generation": response.generation.0,
        "protocol_type": response.protocol_type.as_deref(),
        "protocol": response.protocol.as_deref(),
        "leader": response.leader.as_str(),
        "member": response.member.as_str(),
        "skip_assignment": response.skip_assignment,
        "member_count": response.members.len(),
        "members": members.collect::<Vec<_>>(),
    })
}

fn left(response: &LeaveGroupResponse) -> Value {
    let members = response.members.iter().map(|left| {
        json!({
            "member": left.member.as_str(),
            "instance": left.instance.as_ref().map(InstanceId::as_str),
            "error": error(left.error),
        })
    });
    json!({ "error": error(response.error), "members": members.collect::<Vec<_>>() })
}

fn described(response: &DescribeGroupResponse) -> Value {
    let members = response.members.iter().map(|described| {
        json!({
            "member": described.member.as_str(),
            "instance": described.instance.as_ref().map(InstanceId::as_str),
            "client_id": &*described.client_id,
            "client_host": &*described.client_host,
            "metadata": hex(&described.metadata),
            "assignment": hex(&described.assignment),
        })
    });
    json!({
        "error": error(response.error),
        "state": response.state,
        "protocol_type": &*response.protocol_type,
        "protocol": &*response.protocol,
        "members": members.collect::<Vec<_>>(),
    })
}

fn fetched(fetched: &FetchedOffset) -> (String, Value) {
    let value = json!({
        "offset": fetched.offset,
        "leader_epoch": fetched.leader_epoch,
        "metadata": &*fetched.metadata,
        "error": error(fetched.error),
    });
    (fetched.partition.to_string(), value)
}

fn results(results: &[(TopicPartition, Option<GroupError>)]) -> Value {
    unique(results.iter().map(|(partition, e)| (partition.to_string(), json!(error(*e)))))
}

/// A map of entries that must not name a key twice: a second one shows as an entry nobody expects.
fn unique(entries: impl Iterator<Item = (String, Value)>) -> Value {
    let mut map = Map::new();
    for (key, value) in entries {
        if map.insert(key.clone(), value).is_some() {
            map.insert(format!("{key} (twice)"), Value::Null);
        }
    }
    Value::Object(map)
}

/// The records of an explicit log, as the coordinator is given them.
pub(crate) fn record(record: &LogRecord, now: Timestamp) -> Result<Record, String> {
    Ok(match record {
        LogRecord::Group(record) => Record::Group(group_record(record)?),
        LogRecord::GroupTombstone { group: id } => Record::GroupTombstone(group(id)),
        LogRecord::Offset(record) => Record::Offset(offset_record(record, now)?),
        LogRecord::TxnOffset(record) => {
            let producer = record.producer_id.ok_or("a txn_offset record names its producer")?;
            Record::TxnOffset(ProducerId(producer), offset_record(record, now)?)
        }
        LogRecord::OffsetTombstone { group: id, partition } => {
            Record::OffsetTombstone(group(id), topic_partition(partition)?)
        }
        LogRecord::Marker { producer_id, result } => {
            Record::TxnMarker(ProducerId(*producer_id), outcome(*result))
        }
    })
}

fn group_record(record: &LogGroup) -> Result<GroupRecord, String> {
    Ok(GroupRecord {
        group: group(&record.group),
        generation: Generation(record.generation),
        protocol_type: record.protocol_type.as_str().into(),
        protocol: record.protocol.as_deref().map(Into::into),
        leader: record.leader.as_deref().map(member),
        state_timestamp_ms: if record.value_version < 2 { -1 } else { record.state_timestamp_ms },
        members: record
            .members
            .iter()
            .map(|m| member_record(m, record.value_version))
            .collect::<Result<_, _>>()?,
    })
}

fn member_record(record: &LogMember, version: u8) -> Result<MemberRecord, String> {
    Ok(MemberRecord {
        member: member(&record.member),
        instance: instance(record.instance.as_deref()).filter(|_| version >= 3),
        client_id: record.client_id.as_str().into(),
        client_host: record.client_host.as_str().into(),
        session_timeout_ms: record.session_timeout_ms,
        rebalance_timeout_ms: if version == 0 {
            record.session_timeout_ms
        } else {
            record.rebalance_timeout_ms
        },
        subscription: bytes(&record.subscription)?,
        assignment: bytes(&record.assignment)?,
    })
}

fn offset_record(record: &LogOffset, now: Timestamp) -> Result<OffsetRecord, String> {
    Ok(OffsetRecord {
        group: group(&record.group),
        partition: topic_partition(&record.partition)?,
        offset: record.offset,
        leader_epoch: record.leader_epoch,
        metadata: record.metadata.as_str().into(),
        commit_timestamp_ms: record.commit_timestamp_ms.unwrap_or_else(|| now.ticks().cast_signed()),
        expire_timestamp_ms: record.expire_timestamp_ms,
    })
}

pub(crate) fn outcome(result: MarkerResult) -> TransactionOutcome {
    match result {
        MarkerResult::Commit => TransactionOutcome::Commit,
        MarkerResult::Abort => TransactionOutcome::Abort,
    }
}

/// The protocol's name of an error; `NONE` for none.
pub(crate) fn error(error: Option<GroupError>) -> String {
    match error {
        None => "NONE".to_owned(),
        Some(GroupError::Store(error)) => screaming(&format!("{error:?}")),
        Some(error) => screaming(&format!("{error:?}")),
    }
}

/// `UnknownMemberId` as `UNKNOWN_MEMBER_ID`.
fn screaming(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_uppercase());
    }
    out
}

/// The result of a write, by the name of the log append's error.
pub(crate) fn store_result(name: &str) -> Result<Result<(), StoreError>, String> {
    if name == "NONE" {
        return Ok(Ok(()));
    }
    STORE_ERRORS
        .iter()
        .find(|error| screaming(&format!("{error:?}")) == name)
        .map(|error| Err(*error))
        .ok_or_else(|| format!("no log append fails with {name}"))
}

fn verification(name: &str) -> Result<Result<(), GroupError>, String> {
    if name == "NONE" {
        return Ok(Ok(()));
    }
    if let Some(error) = VERIFICATION_ERRORS.iter().find(|e| screaming(&format!("{e:?}")) == name) {
        return Ok(Err(*error));
    }
    Ok(store_result(name)?.map_err(GroupError::Store))
}

const VERIFICATION_ERRORS: [GroupError; 8] = [
    GroupError::UnknownServerError,
    GroupError::CoordinatorLoadInProgress,
    GroupError::CoordinatorNotAvailable,
    GroupError::NotCoordinator,
    GroupError::InvalidProducerEpoch,
    GroupError::InvalidTxnState,
    GroupError::InvalidProducerIdMapping,
    GroupError::ConcurrentTransactions,
];

const STORE_ERRORS: [StoreError; 20] = [
    StoreError::UnknownServerError,
    StoreError::UnknownTopicOrPartition,
    StoreError::NotEnoughReplicas,
    StoreError::NotEnoughReplicasAfterAppend,
    StoreError::NotLeaderOrFollower,
    StoreError::KafkaStorageError,
    StoreError::RequestTimedOut,
    StoreError::MessageTooLarge,
    StoreError::RecordListTooLarge,
    StoreError::InvalidFetchSize,
    StoreError::CorruptMessage,
    StoreError::InvalidRequiredAcks,
    StoreError::NetworkException,
    StoreError::CoordinatorNotAvailable,
    StoreError::NotCoordinator,
    StoreError::InvalidProducerEpoch,
    StoreError::ProducerFenced,
    StoreError::InvalidTxnState,
    StoreError::ClusterAuthorizationFailed,
    StoreError::InvalidRecord,
];

pub(crate) fn group(text: &str) -> GroupId {
    GroupId::from(text)
}

pub(crate) fn member(text: &str) -> MemberId {
    MemberId::from(text)
}

pub(crate) fn instance(text: Option<&str>) -> Option<InstanceId> {
    text.map(InstanceId::from)
}

pub(crate) fn offsets_partitions(indexes: &[i32]) -> Vec<OffsetsPartition> {
    indexes.iter().copied().map(OffsetsPartition).collect()
}

pub(crate) fn topic_partitions(texts: &[String]) -> Result<Vec<TopicPartition>, String> {
    texts.iter().map(|text| topic_partition(text)).collect()
}

fn topic_partition(text: &str) -> Result<TopicPartition, String> {
    let (topic, index) = text.rsplit_once(':').ok_or_else(|| format!("{text} is not topic:number"))?;
    let partition = index.parse().map_err(|e| format!("{text}: {e}"))?;
    Ok(TopicPartition { topic: topic.into(), partition })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a string");
        out
    })
}

fn bytes(text: &str) -> Result<Blob, String> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return Err(format!("{text} is not hex"));
    }
    (0..text.len() / 2)
        .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).map_err(|e| format!("{text}: {e}")))
        .collect::<Result<Vec<u8>, _>>()
        .map(Arc::from)
}
