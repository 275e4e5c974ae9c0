//! A group: its phase, its members, what they can do and what they were given. Never knows time, watch keys or
//! outputs; whoever changes it does so within a [`Turn`](crate::turn::Turn).

mod member;
mod members;
mod pending;
mod phase;
mod protocols;
mod validate;
mod view;

use std::sync::Arc;

use purgatory::{OperationId, Timestamp};

pub(crate) use self::member::{Client, Member, Parked, Standing};
pub(crate) use self::members::{MemberIndex, Members};
pub(crate) use self::pending::PendingMembers;
pub use self::phase::{Phase, PhaseEvent};
use self::protocols::Protocols;
pub use self::view::GroupView;
use crate::groups::GroupIndex;
use crate::hasher::Hasher;
use crate::ids::{Blob, Generation, GroupId, InstanceId, MemberId, OffsetsPartition, OwnerEpoch};
use crate::messages::{GroupRecord, MemberRecord, Record, Token};
use crate::offsets::{GroupOffsets, Position, Subscription};
use crate::sessions::NameSum;

/// `consumer`: the protocol type whose metadata says which topics a member reads.
const CONSUMER_PROTOCOL_TYPE: &str = "consumer";

/// A group. What is looked at most comes first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Group {
    pub(crate) name: GroupId,
    pub(crate) generation: Generation,
    phase: Phase,
    pub(crate) members: Members,
    pub(crate) index: GroupIndex,
    /// Of its name.
    pub(crate) name_hash: u64,
    /// What its name adds to the fingerprints of its members.
    pub(crate) name_sum: NameSum,
    pub(crate) partition: OffsetsPartition,
    /// Under which ownership of the partition the group is kept here: fences its writes.
    pub(crate) epoch: OwnerEpoch,
    /// When the phase began, ms since the Unix epoch; -1 if a loaded record does not say.
    pub(crate) state_timestamp_ms: i64,
    pub(crate) protocol_type: Option<Arc<str>>,
    /// The protocol voted for; none without members.
    pub(crate) protocol: Option<Arc<str>>,
    leader: Option<MemberIndex>,
    /// Ids handed out with MEMBER_ID_REQUIRED and not yet used.
    pub(crate) pending: PendingMembers,
    protocols: Protocols,
    /// How many members have a JoinGroup parked.
    awaiting_join: usize,
    /// How many members owe a SyncGroup; 0 also when nobody counts them any more.
    syncs_due: usize,
    /// Members came while the first round waited: the initial delay may be extended.
    pub(crate) new_member_added: bool,
    /// The latest generation whose leader has brought an assignment.
    pub(crate) assigned_in: Generation,
    /// What it brought, as the members joined, while that is being stored.
    pub(crate) brought: Vec<Blob>,
    /// When the latest round of rebalancing began.
    pub(crate) round_started: Timestamp,
    /// Who joined or went last: whom a round that is complete waited for.
    pub(crate) latest_news_of: MemberId,
    /// Topics the members of the latest generation read.
    pub(crate) subscription: Subscription,
    /// Committed offsets and those under way.
    pub(crate) offsets: GroupOffsets,
    /// Its place among all writes when it was made or loaded here.
    pub(crate) since: Position,
    /// Of the latest commit that was asked to be stored.
    pub(crate) last_commit: Position,
}

impl Group {
    /// A group nobody has joined yet.
    pub(crate) fn new(
        name: GroupId,
        name_sum: NameSum,
        index: GroupIndex,
        (partition, epoch): (OffsetsPartition, OwnerEpoch),
        hasher: Hasher,
        (since, unix_ms): (Position, i64),
    ) -> Self {
        Self {
            name_hash: hasher.hash_text(name.as_str()),
            name,
            name_sum,
            index,
            partition,
            epoch,
            phase: Phase::Empty,
            state_timestamp_ms: unix_ms,
            generation: Generation(0),
            protocol_type: None,
            protocol: None,
            leader: None,
            members: Members::new(hasher),
            pending: PendingMembers::new(hasher),
            protocols: Protocols::new(hasher),
            awaiting_join: 0,
            syncs_due: 0,
            new_member_added: false,
            assigned_in: Generation::NONE,
            brought: Vec::new(),
            round_started: Timestamp::ZERO,
            latest_news_of: MemberId::default(),
            subscription: Subscription::default(),
            offsets: GroupOffsets::default(),
            since,
            last_commit: Position::FIRST,
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// Moves on by the table.
    pub(crate) fn transition(&mut self, event: PhaseEvent, unix_ms: i64) {
        let next = self.phase.after(event);
        self.phase = next.unwrap_or_else(|| unreachable!("{event:?} cannot happen in {}", self.phase));
        self.state_timestamp_ms = unix_ms;
    }

    /// Puts the group into `phase`, by no rule.
    #[cfg(feature = "testing")]
    pub(crate) fn force(&mut self, phase: Phase) {
        self.phase = phase;
    }

    /// A consumer group in the sense of the consumer protocol: its metadata can be read.
    pub(crate) fn is_consumer_group(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER_PROTOCOL_TYPE)
    }

    /// Whether a member with these `protocols` can be in the group.
    pub(crate) fn supports(&self, protocol_type: &str, protocols: &[(Arc<str>, Blob)]) -> bool {
        if self.phase == Phase::Empty {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        self.protocol_type.as_deref() == Some(protocol_type)
            && self.protocols.any_supported_by_all(protocols, self.members.len())
    }

    /// Adds a member. Its id and instance are not in the group yet. To be called by
    /// [`Sessions`](crate::sessions::Sessions) alone, as [`Group::remove`] and [`Group::update`] are.
    pub(crate) fn add(&mut self, mut joining: Joining, heartbeat: OperationId) -> MemberIndex {
        if self.members.is_empty() {
            self.protocol_type = Some(joining.protocol_type);
        }
        let client = self.shared(joining.client);
        if let Some(last) = self.members.last() {
            last.protocols.share_with(&mut joining.protocols);
        }
        let index = self.members.insert(Member {
            id: joining.member,
            client,
            protocols: self.protocols.add(joining.protocols),
            assignment: joining.assignment,
            heartbeat,
            session_timeout_ms: joining.session_timeout_ms,
            rebalance_timeout_ms: joining.rebalance_timeout_ms,
            parked: Parked::Nothing,
            hash: 0,
            standing: joining.standing,
            sync_due: false,
        });
        if self.leader.is_none() {
            self.leader = Some(index);
        }
        index
    }

    /// What the member has in common with whoever joined before it is kept once.
    fn shared(&self, mut client: Client) -> Arc<Client> {
        match self.members.last() {
            Some(last) if *last.client == client => Arc::clone(&last.client),
            Some(last) => {
                if last.client.id == client.id {
                    client.id = Arc::clone(&last.client.id);
                }
                Arc::new(client)
            }
            None => Arc::new(client),
        }
    }

    /// Takes a member out; whoever has been in the group longest leads if the leader went.
    pub(crate) fn remove(&mut self, index: MemberIndex) -> Member {
        let member = self.members.remove(index);
        self.protocols.remove(&member.protocols);
        if member.awaits_join() {
            self.awaiting_join -= 1;
        }
        if member.sync_due && self.syncs_due > 0 {
            self.syncs_due -= 1;
        }
        if self.leader == Some(index) {
            self.leader = self.members.first();
        }
        member
    }

    /// Takes over what a rejoin brings.
    pub(crate) fn update(&mut self, index: MemberIndex, mut rejoin: Rejoin) {
        if let Some(last) = self.members.last() {
            last.protocols.share_with(&mut rejoin.protocols);
        }
        self.members[index].protocols.share_with(&mut rejoin.protocols);
        let added = self.protocols.add(rejoin.protocols);
        let member = &mut self.members[index];
        member.rebalance_timeout_ms = rejoin.rebalance_timeout_ms;
        let old = std::mem::replace(&mut member.protocols, added);
        self.protocols.remove(&old);
    }

    /// Whether the member offers exactly what it offered last time.
    pub(crate) fn offers_the_same(&self, index: MemberIndex, protocols: &[(Arc<str>, Blob)]) -> bool {
        self.protocols.matches(&self.members[index].protocols, protocols)
    }

    pub(crate) fn leader(&self) -> Option<&Member> {
        self.leader.map(|index| &self.members[index])
    }

    /// The leader's id; empty without one.
    pub(crate) fn leader_id(&self) -> MemberId {
        self.leader().map(|leader| leader.id.clone()).unwrap_or_default()
    }

    pub(crate) fn is_leader(&self, index: MemberIndex) -> bool {
        self.leader == Some(index)
    }

    /// Makes sure that a member of this round leads: whoever joined it and has been here longest, if the
    /// leader did not. `false` if nobody joined.
    pub(crate) fn elect_joined_leader(&mut self) -> bool {
        if self.leader().is_some_and(Member::awaits_join) {
            return true;
        }
        let joined = self.members.iter().find(|(_, member)| member.awaits_join()).map(|(index, _)| index);
        if joined.is_some() {
            self.leader = joined;
        }
        joined.is_some()
    }

    /// Remembers the request of a member; hands back the one that waited before.
    pub(crate) fn park(&mut self, index: MemberIndex, request: Parked) -> Parked {
        let before = std::mem::replace(&mut self.members[index].parked, request);
        if matches!(before, Parked::Join(_)) {
            self.awaiting_join -= 1;
        }
        if self.members[index].awaits_join() {
            self.awaiting_join += 1;
        }
        before
    }

    /// Hands back the member's parked JoinGroup.
    pub(crate) fn unpark_join(&mut self, index: MemberIndex) -> Option<Token> {
        match std::mem::take(&mut self.members[index].parked) {
            Parked::Join(token) => {
                self.awaiting_join -= 1;
                Some(token)
            }
            other @ (Parked::Sync(_) | Parked::Nothing) => {
                self.members[index].parked = other;
                None
            }
        }
    }

    /// Hands back the member's parked SyncGroup.
    pub(crate) fn unpark_sync(&mut self, index: MemberIndex) -> Option<Token> {
        match std::mem::take(&mut self.members[index].parked) {
            Parked::Sync(token) => Some(token),
            other @ (Parked::Join(_) | Parked::Nothing) => {
                self.members[index].parked = other;
                None
            }
        }
    }

    pub(crate) fn awaiting_join(&self) -> usize {
        self.awaiting_join
    }

    /// Whether the wait for joins can end early: every member's is here and nobody is about to come.
    pub(crate) fn all_joined(&self) -> bool {
        self.awaiting_join == self.members.len() && self.pending.is_empty()
    }

    /// Starts the next generation: all members owe a SyncGroup, or there are none.
    pub(crate) fn next_generation(&mut self, unix_ms: i64) {
        self.generation = Generation(self.generation.0.wrapping_add(1).max(0));
        self.protocol = self.vote();
        self.subscription = self.current_subscription();
        self.syncs_due = 0;
        if self.members.is_empty() {
            self.transition(PhaseEvent::NobodyJoined, unix_ms);
        } else {
            self.transition(PhaseEvent::MembersJoined, unix_ms);
        }
    }

    /// The protocol the members would choose now.
    pub(crate) fn vote(&self) -> Option<Arc<str>> {
        self.protocols.vote(self.members.iter().map(|(_, member)| &member.protocols))
    }

    /// The topics the members read, as far as their metadata for the chosen protocol says.
    pub(crate) fn current_subscription(&self) -> Subscription {
        if !self.is_consumer_group() {
            return Subscription::Unknown;
        }
        let Some(protocol) = self.protocol.as_deref().and_then(|name| self.protocols.find(name)) else {
            return if self.members.is_empty() { Subscription::none() } else { Subscription::Unknown };
        };
        let metadata = self.members.iter().filter_map(|(_, member)| member.protocols.metadata(protocol));
        Subscription::of(metadata)
    }

    /// The member's metadata for the chosen protocol; empty if it has none.
    pub(crate) fn metadata(&self, member: &Member) -> Blob {
        let chosen = self.protocol.as_deref().and_then(|name| self.protocols.find(name));
        chosen.and_then(|index| member.protocols.metadata(index)).cloned().unwrap_or_default()
    }

    /// From now on the member owes a SyncGroup of this generation.
    pub(crate) fn expect_sync(&mut self, index: MemberIndex) {
        self.members[index].sync_due = true;
        self.syncs_due += 1;
    }

    /// The member has sent its SyncGroup.
    pub(crate) fn sync_received(&mut self, index: MemberIndex) {
        if std::mem::take(&mut self.members[index].sync_due) && self.syncs_due > 0 {
            self.syncs_due -= 1;
        }
    }

    /// Nobody is expected to sync any more. What members remember of it is void from here on.
    pub(crate) fn forget_syncs_due(&mut self) {
        self.syncs_due = 0;
    }

    pub(crate) fn all_synced(&self) -> bool {
        self.syncs_due == 0
    }

    /// Who still owes a SyncGroup, in join order.
    pub(crate) fn owing_sync(&self) -> Vec<MemberIndex> {
        if self.syncs_due == 0 {
            return Vec::new();
        }
        self.members.iter().filter(|(_, member)| member.sync_due).map(|(index, _)| index).collect()
    }

    /// The longest rebalance timeout among the members, ms.
    pub(crate) fn rebalance_timeout_ms(&self) -> u64 {
        let longest = self.members.iter().map(|(_, member)| member.rebalance_timeout_ms).max();
        u64::try_from(longest.unwrap_or(0)).unwrap_or(0)
    }

    /// The group as it is to be kept, with `assignments` in join order.
    pub(crate) fn record<'a>(&self, assignments: impl Iterator<Item = &'a Blob>) -> Record {
        let members = self.members.iter().zip(assignments).map(|((_, member), assignment)| MemberRecord {
            member: member.id.clone(),
            instance: member.instance().cloned(),
            client_id: Arc::clone(&member.client.id),
            client_host: Arc::clone(&member.client.host),
            session_timeout_ms: member.session_timeout_ms,
            rebalance_timeout_ms: member.rebalance_timeout_ms,
            subscription: self.metadata(member),
            assignment: Arc::clone(assignment),
        });
        Record::Group(GroupRecord {
            group: self.name.clone(),
            generation: self.generation,
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            protocol: self.protocol.clone(),
            leader: self.leader().map(|leader| leader.id.clone()),
            state_timestamp_ms: self.state_timestamp_ms,
            members: members.collect(),
        })
    }

    /// Becomes what was stored: stable if it has members, else empty. Only the chosen protocol is known.
    pub(crate) fn restore(&mut self, record: &GroupRecord) {
        self.generation = record.generation;
        self.protocol_type = (!record.protocol_type.is_empty()).then(|| Arc::clone(&record.protocol_type));
        self.protocol.clone_from(&record.protocol);
        let is_leader = |member: &Member| record.leader.as_ref() == Some(&member.id);
        self.leader = self.members.iter().find(|(_, member)| is_leader(member)).map(|(index, _)| index);
        if self.leader.is_none() {
            self.leader = self.members.first();
        }
        self.state_timestamp_ms = record.state_timestamp_ms;
        self.phase = if self.members.is_empty() { Phase::Empty } else { Phase::Stable };
        self.subscription = self.current_subscription();
    }

    /// Whoever has this instance id.
    pub(crate) fn static_member(&self, instance: &InstanceId) -> Option<MemberIndex> {
        self.members.find_instance(instance)
    }
}

/// A member to be.
#[derive(Debug)]
pub(crate) struct Joining {
    pub(crate) member: MemberId,
    pub(crate) client: Client,
    pub(crate) protocol_type: Arc<str>,
    pub(crate) protocols: Vec<(Arc<str>, Blob)>,
    pub(crate) session_timeout_ms: i32,
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) assignment: Blob,
    pub(crate) standing: Standing,
}

/// What a member's further join may change.
#[derive(Debug)]
pub(crate) struct Rejoin {
    pub(crate) protocols: Vec<(Arc<str>, Blob)>,
    pub(crate) session_timeout_ms: i32,
    pub(crate) rebalance_timeout_ms: i32,
}
