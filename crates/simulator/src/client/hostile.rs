//! A client that sends any request with any ids, in any order: its own, stale ones, those of others.

use std::collections::VecDeque;
use std::sync::Arc;

use coordinator::ids::{Blob, Generation, GroupId, InstanceId, MemberId, ProducerId, TopicPartition};
use coordinator::messages::{
    CommitOffset, DeleteGroups, DescribeGroup, GroupError, Heartbeat, JoinGroup, LeaveGroup, LeavingMember,
    ListGroups, OffsetCommit, OffsetDelete, OffsetFetch, Request, SyncGroup, TxnOffsetCommit,
};

use super::{InFlight, assignor};
use crate::network::ConnectionId;
use crate::random::Random;

/// Who somebody was seen to be.
#[derive(Clone, Debug)]
pub struct Rumour {
    /// Of which group.
    pub group: usize,
    /// Who.
    pub member: MemberId,
    /// When.
    pub generation: Generation,
}

/// The longest session timeout it asks for, ms.
pub const SESSION_MS: i32 = 30_000;
/// The longest rebalance timeout it asks for, ms.
pub const REBALANCE_MS: i32 = 60_000;

/// Protocols it offers.
const PROTOCOLS: [&[&str]; 4] = [&["range"], &["cooperative-sticky"], &["range", "x"], &[]];

/// What hostile clients add to the time in which groups settle, ms: the longest they ask for, twice.
pub fn timeouts_ms(level: u8) -> u64 {
    if level == 0 { 0 } else { 2 * u64::from((SESSION_MS + REBALANCE_MS).unsigned_abs()) }
}

/// A hostile client.
#[derive(Debug)]
pub struct Hostile {
    /// Its connections, by broker.
    pub connections: Vec<Option<ConnectionId>>,
    /// What it has asked and not been told, by connection.
    pub in_flight: VecDeque<(ConnectionId, InFlight)>,
    /// Its stream of chance.
    pub random: Random,
    /// Its answers are numbered as it asks.
    pub correlation: u32,
}

impl Hostile {
    /// The hostile client of that number.
    pub fn new(seed: u64, number: u32) -> Self {
        Self {
            connections: Vec::new(),
            in_flight: VecDeque::new(),
            random: Random::new(seed, "hostile", u64::from(number)),
            correlation: 0,
        }
    }

    /// Something to ask, and the group it concerns. `names` ends with groups that nobody else uses.
    pub fn request(&mut self, names: &[GroupId], rumours: &[Rumour]) -> (usize, Request) {
        let rumour = if rumours.is_empty() { None } else { Some(self.random.pick(rumours).clone()) };
        let group = match &rumour {
            Some(rumour) if self.random.below(4) > 0 => rumour.group,
            Some(_) | None => self.random.index(names.len()),
        };
        let member = match rumour {
            Some(ref rumour) if self.random.below(4) > 0 => rumour.member.clone(),
            Some(_) | None => {
                if self.random.below(2) == 0 {
                    "".into()
                } else {
                    "nobody".into()
                }
            }
        };
        let near = rumour.map_or(0, |rumour| rumour.generation.0);
        let generation = match self.random.below(8) {
            0 => Generation(near - 1),
            1 => Generation(near + 1),
            2 => Generation(*self.random.pick(&[-1, 0, i32::MAX, i32::MIN])),
            _ => Generation(near),
        };
        let request = self.any_request(names, group, (member, generation));
        (group, request)
    }

    fn any_request(
        &mut self,
        names: &[GroupId],
        place: usize,
        (member, generation): (MemberId, Generation),
    ) -> Request {
        let group = names[place].clone();
        let instance = self.instance(group.as_str());
        match self.random.below(14) {
            0..=3 => Request::JoinGroup(self.join(group, member, instance)),
            4 | 5 => Request::SyncGroup(self.sync(group, generation, member, instance)),
            6 | 7 => Request::Heartbeat(Heartbeat { group, generation, member, instance }),
            8 => {
                let leaving = LeavingMember { member, instance, reason: Some("malice".into()) };
                let members = vec![leaving; self.random.index(3)];
                Request::LeaveGroup(LeaveGroup { group, members })
            }
            9 => Request::OffsetCommit(self.commit(group, generation, member, instance)),
            10 => {
                let commit = self.commit(group, generation, member, instance);
                Request::TxnOffsetCommit(self.transactional(commit))
            }
            11 => {
                let partitions = (0..i32::try_from(self.random.below(20)).unwrap_or(0))
                    .map(|partition| partition_of(&group, partition));
                let partitions = Some(partitions.collect());
                Request::OffsetFetch(OffsetFetch { group, partitions, require_stable: true })
            }
            12 => match self.random.below(3) {
                0 => Request::DescribeGroup(DescribeGroup { group }),
                1 => Request::ListGroups(ListGroups::default()),
                // Not of a topic whose offsets are watched.
                _ => {
                    let partition = TopicPartition { topic: "unwatched".into(), partition: 0 };
                    Request::OffsetDelete(OffsetDelete { group, partitions: vec![partition] })
                }
            },
            // Only groups whose offsets nobody watches.
            _ => {
                let groups = vec![names[names.len() - 1].clone(), "none".into(), GroupId::default()];
                Request::DeleteGroups(DeleteGroups { groups })
            }
        }
    }

    /// As clients of the simulation are named, so that one is hit now and then.
    fn instance(&mut self, group: &str) -> Option<InstanceId> {
        let place = self.random.below(12);
        (self.random.below(6) == 0).then(|| InstanceId::new(format!("{group}-instance-{place}")))
    }

    fn join(&mut self, group: GroupId, member: MemberId, instance: Option<InstanceId>) -> JoinGroup {
        let metadata = assignor::subscription("elsewhere", u32::from(self.random.chance(500_000)), &[]);
        let names = PROTOCOLS[self.random.index(PROTOCOLS.len())];
        JoinGroup {
            group,
            member,
            instance,
            client_id: "hostile".into(),
            client_host: "/127.0.0.1".into(),
            protocol_type: (*self.random.pick(&["consumer", "consumer", "consumer", "connect", ""])).into(),
            protocols: names.iter().map(|&name| (name.into(), Arc::clone(&metadata))).collect(),
            session_timeout_ms: *self.random.pick(&[6_000, 10_000, SESSION_MS, -1, 0, i32::MAX]),
            rebalance_timeout_ms: *self.random.pick(&[10_000, 30_000, REBALANCE_MS, 1, 0, -1]),
            require_known_member_id: self.random.chance(500_000),
            supports_skipping_assignment: self.random.chance(500_000),
            reason: Some("malice".into()),
        }
    }

    fn sync(
        &mut self,
        group: GroupId,
        generation: Generation,
        member: MemberId,
        instance: Option<InstanceId>,
    ) -> SyncGroup {
        let junk = Blob::from(&[9_u8; 3][..]);
        let assignments = (0..self.random.below(3)).map(|_| (member.clone(), Blob::clone(&junk))).collect();
        SyncGroup {
            group,
            generation,
            member,
            instance,
            protocol_type: None,
            protocol: self.random.chance(200_000).then(|| "range".into()),
            assignments,
        }
    }

    fn commit(
        &mut self,
        group: GroupId,
        generation: Generation,
        member: MemberId,
        instance: Option<InstanceId>,
    ) -> OffsetCommit {
        let count = self.random.between(1, 16);
        let offsets = (0..i32::try_from(count).unwrap_or(1)).map(|partition| CommitOffset {
            partition: partition_of(&group, partition),
            offset: 0,
            leader_epoch: -1,
            metadata: Arc::default(),
            commit_timestamp_ms: -1,
        });
        let offsets = offsets.collect();
        OffsetCommit { group, generation, member, instance, retention_time_ms: -1, offsets }
    }

    fn transactional(&mut self, mut commit: OffsetCommit) -> TxnOffsetCommit {
        for offset in &mut commit.offsets {
            offset.partition.topic = "unwatched".into();
        }
        let verification =
            if self.random.chance(300_000) { Err(GroupError::InvalidTxnState) } else { Ok(()) };
        let producer = ProducerId(i64::try_from(self.random.below(4)).unwrap_or(0));
        TxnOffsetCommit { commit, producer, producer_epoch: 0, verification }
    }
}

fn partition_of(group: &GroupId, partition: i32) -> TopicPartition {
    TopicPartition { topic: assignor::topic_of(group.as_str()).as_ref().into(), partition }
}
