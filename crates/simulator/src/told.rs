//! Requests, answers and records as people read them in a transcript.

use coordinator::ids::MemberId;
use coordinator::messages::{Record, Request, Response};

/// A member id without most of its random end.
pub fn member(id: &MemberId) -> &str {
    let text = id.as_str();
    // A UUID is 36 characters; its first eight tell it from others.
    text.len().checked_sub(28).and_then(|end| text.get(..end)).filter(|_| text.len() > 36).unwrap_or(text)
}

/// What is asked.
pub fn request(request: &Request) -> String {
    match request {
        Request::JoinGroup(join) => {
            let names: Vec<&str> = join.protocols.iter().map(|(name, _)| &**name).collect();
            let instance =
                join.instance.as_ref().map(|instance| format!(" as {instance}")).unwrap_or_default();
            let (member, session, rebalance) =
                (member(&join.member), join.session_timeout_ms, join.rebalance_timeout_ms);
            format!(
                "JoinGroup {} {member:?}{instance} {names:?} session {session} rebalance {rebalance}",
                join.group
            )
        }
        Request::SyncGroup(sync) => {
            let (member, generation, brings) =
                (member(&sync.member), sync.generation.0, sync.assignments.len());
            format!("SyncGroup {} {member:?} generation {generation} brings {brings}", sync.group)
        }
        Request::Heartbeat(heartbeat) => {
            let (member, generation) = (member(&heartbeat.member), heartbeat.generation.0);
            format!("Heartbeat {} {member:?} generation {generation}", heartbeat.group)
        }
        Request::LeaveGroup(leave) => {
            let members: Vec<&str> = leave.members.iter().map(|leaving| member(&leaving.member)).collect();
            format!("LeaveGroup {} {members:?}", leave.group)
        }
        Request::OffsetCommit(commit) => {
            let offsets: Vec<_> = commit.offsets.iter().map(|o| (o.partition.partition, o.offset)).collect();
            let (member, generation) = (member(&commit.member), commit.generation.0);
            format!("OffsetCommit {} {member:?} generation {generation} {offsets:?}", commit.group)
        }
        Request::OffsetFetch(fetch) => {
            let partitions: Vec<_> = fetch.partitions.iter().flatten().map(|p| p.partition).collect();
            format!("OffsetFetch {} {partitions:?}", fetch.group)
        }
        other => format!("{other:?}"),
    }
}

/// What is answered.
pub fn response(response: &Response) -> String {
    match response {
        Response::JoinGroup(joined) => {
            if let Some(error) = joined.error {
                format!("JoinGroup {error:?} {:?}", member(&joined.member))
            } else {
                let (own, leader) = (member(&joined.member), member(&joined.leader));
                let (generation, members) = (joined.generation.0, joined.members.len());
                let skip = if joined.skip_assignment { ", need not assign" } else { "" };
                format!(
                    "JoinGroup generation {generation} {own:?}, {leader:?} leads, told of {members}{skip}"
                )
            }
        }
        Response::SyncGroup(synced) => {
            if let Some(error) = synced.error {
                format!("SyncGroup {error:?}")
            } else {
                let partitions = crate::client::assignor::partitions_of(&synced.assignment);
                format!("SyncGroup {partitions:?}")
            }
        }
        Response::Heartbeat(heartbeat) => match heartbeat.error {
            Some(error) => format!("Heartbeat {error:?}"),
            None => "Heartbeat".to_owned(),
        },
        Response::OffsetCommit(committed) => {
            let errors: Vec<_> =
                committed.results.iter().filter_map(|(p, error)| error.map(|e| (p.partition, e))).collect();
            format!("OffsetCommit {errors:?}")
        }
        Response::OffsetFetch(fetched) => {
            let offsets: Vec<_> = fetched.offsets.iter().map(|o| (o.partition.partition, o.offset)).collect();
            let error = fetched.error.map(|error| format!("{error:?} ")).unwrap_or_default();
            format!("OffsetFetch {error}{offsets:?}")
        }
        other => format!("{other:?}"),
    }
}

/// What is written.
pub fn records(records: &[Record]) -> String {
    let record = |record: &Record| match record {
        Record::Group(group) => {
            format!("{} generation {} of {}", group.group, group.generation.0, group.members.len())
        }
        Record::Offset(offset) => {
            format!("{} {} at {}", offset.group, offset.partition.partition, offset.offset)
        }
        other => format!("{other:?}"),
    };
    records.iter().map(record).collect::<Vec<_>>().join(", ")
}
