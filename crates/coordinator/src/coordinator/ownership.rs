//! Groups come with the partitions they belong to, and go with them.

use super::Coordinator;
use crate::delayed::{heartbeat, join};
use crate::group::{Client, Group, Joining, MemberIndex, Phase, Standing};
use crate::groups::GroupIndex;
use crate::ids::{Blob, MemberId, OffsetsPartition, OwnerEpoch};
use crate::messages::{GroupError, GroupRecord, MemberRecord, Response, SyncGroupResponse};
use crate::partitions::{Loading, News};
use crate::requests::join_group;
use crate::turn::Turn;

impl Coordinator {
    pub(super) fn begin_load(&mut self, partition: OffsetsPartition, epoch: OwnerEpoch) {
        if self.partitions.begin_load(partition, epoch) == News::DropGroups {
            self.drop_groups_of(partition);
        }
    }

    pub(super) fn unload(&mut self, partition: OffsetsPartition, epoch: OwnerEpoch) {
        if self.partitions.unload(partition, epoch) == News::DropGroups {
            self.drop_groups_of(partition);
        }
    }

    /// The groups of a loaded partition come to life, in order of name.
    pub(super) fn finish_load(&mut self, partition: OffsetsPartition) {
        let Some((_, loading)) = self.partitions.finish_load(partition) else { return };
        let Loading { groups, offsets } = loading;
        let mut records: Vec<GroupRecord> = groups.into_values().collect();
        records.sort_unstable_by(|one, other| one.group.cmp(&other.group));
        for record in records {
            let index = self.create_group(record.group.clone());
            restore(&mut self.turn, &mut self.groups[index], &record);
        }
        for (name, group_offsets) in offsets.into_groups() {
            let index = self.groups.find(&name).unwrap_or_else(|| self.create_group(name));
            for producer in group_offsets.producers() {
                self.open_transactions.add(producer, partition, index);
            }
            self.groups[index].offsets = group_offsets;
        }
    }

    /// Forgets the groups of a partition that was lost. What waits in them is told to look elsewhere.
    fn drop_groups_of(&mut self, partition: OffsetsPartition) {
        let lost = self.groups.iter().filter(|group| group.partition == partition);
        let lost: Vec<GroupIndex> = lost.map(|group| group.index).collect();
        for index in lost {
            self.drop_group(index);
        }
    }
}

/// Tells whoever has a request parked in a group that is dropped to look for its coordinator anew.
pub(super) fn answer_parked(turn: &mut Turn, group: &mut Group, member: MemberIndex) {
    if let Some(token) = turn.unpark_join(group, member) {
        let id = group.members[member].id.clone();
        turn.respond(token, Response::JoinGroup(join_group::refusal(id, GroupError::NotCoordinator)));
    }
    if let Some(token) = turn.unpark_sync(group, member) {
        let response = SyncGroupResponse::refusal(GroupError::NotCoordinator);
        turn.respond(token, Response::SyncGroup(response));
    }
}

fn restore(turn: &mut Turn, group: &mut Group, record: &GroupRecord) {
    for member in &record.members {
        restore_member(turn, group, record, member);
    }
    group.restore(record);
    if group.phase() == Phase::Stable && group.members.len() > turn.config.group_max_size {
        // The members may commit before those who rejoin last are shed.
        join::maybe_prepare_rebalance(
            turn,
            group,
            MemberId::default(),
            "the loaded group is larger than group.max.size".into(),
        );
    }
}

/// Each member gets a whole session to find its new coordinator.
fn restore_member(turn: &mut Turn, group: &mut Group, record: &GroupRecord, member: &MemberRecord) {
    if turn.sessions.find_in(group, &member.member).is_some() {
        return;
    }
    let timeout_ms = heartbeat::session_ms(member.session_timeout_ms);
    let heartbeat = heartbeat::watch(turn, group.index, group.members.next_index(), timeout_ms);
    let joining = Joining {
        member: member.member.clone(),
        client: Client {
            id: member.client_id.clone(),
            host: member.client_host.clone(),
            instance: member.instance.clone(),
        },
        protocol_type: record.protocol_type.clone(),
        protocols: vec![(record.protocol.clone().unwrap_or_default(), Blob::clone(&member.subscription))],
        session_timeout_ms: member.session_timeout_ms,
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        assignment: Blob::clone(&member.assignment),
        standing: Standing::Joined,
    };
    turn.sessions.add(group, joining, heartbeat);
}
