//! Output lines: what clients are told, what is written, what happened.

use coordinator::events::EventKind;
use coordinator::ids::{Blob, MemberId, OffsetsPartition, OwnerEpoch};
use coordinator::messages::{
    GroupError, Input, JoinGroupResponse, LeaveGroupResponse, Record, Response, StoreId,
};
use coordinator::{Config, Coordinator};

use super::Script;

impl Script {
    /// The client takes in what it is told.
    pub(super) fn learn(&mut self, who: &str, response: &Response) {
        let Response::JoinGroup(joined) = response else { return };
        let client = self.clients.entry(who.to_owned()).or_default();
        match joined.error {
            None => {
                client.member = joined.member.clone();
                client.generation = joined.generation;
            }
            Some(GroupError::MemberIdRequired) => client.member = joined.member.clone(),
            Some(GroupError::UnknownMemberId) => client.member = MemberId::default(),
            Some(_) => {}
        }
        if !joined.member.is_empty() {
            self.names.insert(joined.member.clone(), who.to_owned());
        }
    }

    pub(super) fn answer(&self, who: &str, response: &Response) -> String {
        match response {
            Response::JoinGroup(joined) => self.joined(who, joined),
            Response::SyncGroup(synced) => match synced.error {
                None => format!("{who} synced {}", show(&synced.assignment)).trim_end().to_owned(),
                Some(error) => format!("{who} sync {error:?}"),
            },
            Response::Heartbeat(heartbeat) => match heartbeat.error {
                None => format!("{who} lives"),
                Some(error) => format!("{who} heartbeat {error:?}"),
            },
            Response::LeaveGroup(left) => left_line(who, left),
            Response::DescribeGroup(group) => {
                let members = group.members.iter().map(|member| {
                    let (metadata, assignment) = (show(&member.metadata), show(&member.assignment));
                    format!(" {}({metadata},{assignment})", self.name(&member.member))
                });
                format!("{who} sees {}{}", group.state, members.collect::<String>())
            }
            Response::DeleteGroups(deleted) => {
                let results = deleted.results.iter().map(|(_, error)| format!(" {error:?}"));
                format!("{who} deleted{}", results.collect::<String>())
            }
            Response::ListGroups(_)
            | Response::OffsetCommit(_)
            | Response::TxnOffsetCommit(_)
            | Response::OffsetFetch(_)
            | Response::OffsetDelete(_) => panic!("not in these scripts: {response:?}"),
        }
    }

    fn joined(&self, who: &str, joined: &JoinGroupResponse) -> String {
        if let Some(error) = joined.error {
            return format!("{who} join {error:?}");
        }
        let members = joined.members.iter().map(|member| {
            let name = self.name(&member.member);
            let metadata = show(&member.metadata);
            if metadata == name { format!(" {name}") } else { format!(" {name}:{metadata}") }
        });
        let members: String = members.collect();
        let members = if members.is_empty() { String::new() } else { format!(" of{members}") };
        let skip = if joined.skip_assignment { " skip" } else { "" };
        let (generation, leader) = (joined.generation.0, self.name(&joined.leader));
        format!(
            "{who} joined {generation} {} led by {leader}{members}{skip}",
            joined.protocol.as_deref().unwrap_or("-")
        )
    }

    pub(super) fn write(&self, id: StoreId, records: &[Record]) -> String {
        let records = records.iter().map(|record| match record {
            Record::Group(group) => {
                let members = group
                    .members
                    .iter()
                    .map(|member| format!(" {}={}", self.name(&member.member), show(&member.assignment)));
                format!(" g@{}{}", group.generation.0, members.collect::<String>())
            }
            Record::GroupTombstone(_) => " g gone".to_owned(),
            other => format!(" {other:?}"),
        });
        format!("store {}{}", id.0, records.collect::<String>())
    }

    pub(super) fn happened(&self, kind: &EventKind) -> String {
        match kind {
            EventKind::RebalanceStarted { member, cause } => {
                format!("! rebalance: {} {cause}", self.name(member))
            }
            EventKind::RebalanceJoined { members, leader, waited_ms, waited_for, dropped } => {
                let dropped: Vec<_> = dropped.iter().map(|member| self.name(member)).collect();
                let waited_for = self.name(waited_for);
                format!(
                    "! {members} joined led by {} after {waited_ms} ms for {waited_for} without {dropped:?}",
                    self.name(leader)
                )
            }
            EventKind::RebalanceCompleted { members, took_ms } => {
                format!("! {members} stable after {took_ms} ms")
            }
            EventKind::StoreFailed => "! store failed".to_owned(),
            EventKind::SessionExpired { member, session_timeout_ms } => {
                format!("! {} silent for {session_timeout_ms} ms", self.name(member))
            }
            EventKind::SyncExpired { member } => format!("! {} did not sync", self.name(member)),
            EventKind::MemberLeft { member, reason } => {
                format!("! {} left: {}", self.name(member), reason.as_deref().unwrap_or("-"))
            }
            EventKind::StaticMemberReplaced { instance, .. } => format!("! {instance} came back"),
            EventKind::GroupRemoved { cause } => format!("! removed: {cause}"),
            other => format!("! {other:?}"),
        }
    }

    /// `m1` if the client uses the id, `m1~` if it did, `m1?` if it starts so but nobody was told.
    fn name(&self, member: &MemberId) -> String {
        match self.names.get(member) {
            Some(name) if self.client(name).member == *member => name.clone(),
            Some(name) => format!("{name}~"),
            None if member.is_empty() => "nobody".to_owned(),
            None => {
                let text = member.as_str();
                text.len().checked_sub(37).map_or(text, |end| &text[..end]).to_owned() + "?"
            }
        }
    }

    /// Another coordinator takes over, from what was kept.
    pub(super) fn restart(&mut self) {
        for partition in 0..50 {
            self.turn(Input::Unload(OffsetsPartition(partition), OwnerEpoch(1)));
        }
        let config = Config { offsets_retention_check_interval_ms: None, ..Config::default() };
        self.coordinator = Coordinator::new(config, 2, self.now);
        for partition in (0..50).map(OffsetsPartition) {
            self.coordinator.handle(self.now, Input::BeginLoad(partition, OwnerEpoch(2)));
            if partition == coordinator::Partitioner::default().partition(&Self::group()) {
                self.coordinator.handle(self.now, Input::Load(partition, self.kept.clone()));
            }
            self.coordinator.handle(self.now, Input::FinishLoad(partition));
        }
        self.drain();
    }
}

fn left_line(who: &str, left: &LeaveGroupResponse) -> String {
    let results = left.members.iter().map(|member| match member.error {
        None => " left".to_owned(),
        Some(error) => format!(" {error:?}"),
    });
    let whole = left.error.map(|error| format!(" {error:?}")).unwrap_or_default();
    format!("{who} leave{whole}{}", results.collect::<String>())
}

fn show(blob: &Blob) -> String {
    String::from_utf8_lossy(blob).into_owned()
}
