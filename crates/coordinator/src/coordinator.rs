//! The coordinator: sole owner of the groups and of all that waits. One turn at a time, each runs to completion.

mod look_ahead;
mod ownership;

use purgatory::Timestamp;

use crate::Config;
use crate::delayed::{self, Delayed, WatchKey};
use crate::events::EventKind;
use crate::group::{Group, GroupView, Phase};
use crate::groups::{GroupIndex, Groups};
use crate::hasher::Hasher;
use crate::ids::GroupId;
use crate::messages::{GroupError, Input, Output, Record, Request};
use crate::offsets::Position;
use crate::offsets::retention::Pass;
use crate::offsets::transactions::{self, OpenTransactions};
use crate::partitions::Partitions;
use crate::requests;
use crate::secret::Secret;
use crate::stats::Stats;
use crate::turn::Turn;

/// A group coordinator.
///
/// A consumer joins, falls silent, and is put out at its session timeout, by nothing but numbers:
///
/// ```
/// use coordinator::ids::{GroupId, MemberId, OwnerEpoch};
/// use coordinator::messages::{Input, JoinGroup, Output, Request, Token};
/// use coordinator::{Config, Coordinator, Partitioner, Phase, Timestamp};
///
/// let group = GroupId::new("orders");
/// let mut now = Timestamp::ZERO;
/// let mut coordinator = Coordinator::new(Config::default(), 42, now);
/// let partition = Partitioner::default().partition(&group);
/// coordinator.handle(now, Input::BeginLoad(partition, OwnerEpoch(1)));
/// coordinator.handle(now, Input::FinishLoad(partition));
///
/// let join = JoinGroup {
///     group: group.clone(),
///     member: MemberId::default(),
///     instance: None,
///     client_id: "consumer-1".into(),
///     client_host: "/10.0.0.7".into(),
///     protocol_type: "consumer".into(),
///     protocols: vec![("range".into(), b"topics"[..].into())],
///     session_timeout_ms: 45_000,
///     rebalance_timeout_ms: 300_000,
///     require_known_member_id: false,
///     supports_skipping_assignment: true,
///     reason: None,
/// };
/// coordinator.handle(now, Input::Request(Token::new(1), Request::JoinGroup(join)));
/// assert_eq!(coordinator.stats().parked_requests, 1);
///
/// // The first round waits three seconds for others; the session lasts 45 from its end. Time jumps to what is next.
/// while let Some(due) = coordinator.next_deadline().filter(|&due| due <= Timestamp::from_ticks(48_000)) {
///     now = due;
///     coordinator.expire(now);
///     while let Some(output) = coordinator.poll_output() {
///         match output {
///             Output::Respond(token, response) => println!("{now:?}: to {token:?}: {response:?}"),
///             Output::Store(store) => coordinator.handle(now, Input::Stored(store.id, Ok(()))),
///             Output::Event(event) => println!("{now:?}: {:?}", event.kind),
///             Output::Superseded(token) => println!("{now:?}: {token:?} was asked again"),
///         }
///     }
/// }
/// let view = coordinator.group(&group).expect("it is remembered");
/// assert_eq!((view.phase, view.members.len(), view.generation.0), (Phase::Empty, 0, 2));
/// ```
#[derive(Debug)]
pub struct Coordinator {
    pub(crate) groups: Groups,
    pub(crate) partitions: Partitions,
    pub(crate) open_transactions: OpenTransactions,
    pub(crate) turn: Turn,
    hasher: Hasher,
}

impl Coordinator {
    /// A coordinator that owns no partition yet. The same `config`, `seed` and inputs give the same outputs.
    pub fn new(config: Config, seed: u64, start: Timestamp) -> Self {
        let secret = Secret::new(seed);
        let hasher = Hasher::new(secret);
        let mut turn = Turn::new(config, secret, start, hasher);
        if let Some(interval) = turn.config.offsets_retention_check_interval_ms {
            let deadline = turn.after_ms(interval);
            turn.purgatory.watch(Delayed::CleanUp, [], deadline);
        }
        Self {
            groups: Groups::new(hasher),
            partitions: Partitions::new(hasher),
            open_transactions: OpenTransactions::new(hasher),
            turn,
            hasher,
        }
    }

    /// Handles one input. Whatever follows at once is done when this returns; ask [`poll_output`](Self::poll_output).
    ///
    /// Call [`expire`](Self::expire) first in the same turn, so that deadlines come before input; a host that has fallen
    /// behind calls it last, with the time at which it looked, so that what had arrived by then counts.
    pub fn handle(&mut self, now: Timestamp, input: Input) {
        self.turn.now = now;
        match input {
            // By far the most frequent input: taken apart here, so that it is not moved as large as the largest.
            Input::Request(token, Request::Heartbeat(request)) => {
                self.turn.counters.requests += 1;
                requests::heartbeat::handle(self, token, &request);
            }
            Input::Request(token, request) => {
                self.turn.counters.requests += 1;
                requests::handle(self, token, request);
            }
            Input::Abandon(token) => requests::join_group::abandon(self, token),
            Input::GiveUp(group, member) => requests::join_group::give_up(self, &group, &member),
            Input::Stored(id, outcome) => delayed::store::on_stored(self, id, outcome),
            Input::EndTransaction { producer, partitions, outcome } => {
                transactions::end(self, producer, &partitions, outcome);
            }
            Input::TopicPartitionsDeleted(partitions) => {
                let pass = Pass::delete(partitions, self.turn.mark());
                pass.go_on(self);
            }
            Input::CleanUp => Pass::clean_up().go_on(self),
            Input::BeginLoad(partition, epoch) => self.begin_load(partition, epoch),
            Input::Load(partition, records) => {
                for record in records {
                    self.partitions.load(partition, record);
                }
            }
            Input::FinishLoad(partition) => self.finish_load(partition),
            Input::Unload(partition, epoch) => self.unload(partition, epoch),
        }
    }

    /// Handles all deadlines up to `now`, in order.
    pub fn expire(&mut self, now: Timestamp) {
        self.turn.now = self.turn.now.max(now);
        while let Some(operation) = self.turn.purgatory.expire_next(now) {
            self.expire_one(operation);
        }
    }

    /// What the coordinator has to say, in order. Drain it after every turn.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.turn.poll_output()
    }

    /// When to call [`expire`](Self::expire) next: never later than the earliest deadline, sometimes earlier.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.turn.purgatory.next_deadline()
    }

    /// The coordinator's own view of a group; `None` if it has none of that name.
    pub fn group(&self, name: &GroupId) -> Option<GroupView> {
        self.groups.find(name).map(|index| GroupView::of(&self.groups[index]))
    }

    /// Counts.
    pub fn stats(&self) -> Stats {
        let operations = self.turn.purgatory.stats();
        Stats {
            groups: self.groups.len(),
            members: self.turn.sessions.len(),
            operations: self.turn.purgatory.pending(),
            parked_requests: self.turn.parked_requests(),
            operations_created: operations.submitted,
            operations_completed: operations.satisfied,
            operations_expired: operations.expired,
            operations_cancelled: operations.cancelled,
            counters: self.turn.counters,
        }
    }

    /// Puts a group into a phase by no rule, making the group if it is missing: for tests of what cannot be
    /// reached otherwise.
    #[cfg(feature = "testing")]
    pub fn force_phase(&mut self, name: &GroupId, phase: Phase) {
        let index = self.groups.find(name).unwrap_or_else(|| self.create_group(name.clone()));
        self.groups[index].force(phase);
    }

    fn expire_one(&mut self, operation: Delayed) {
        match operation {
            Delayed::Join(group) => {
                if let Some((turn, group)) = self.living(group).filter(|(_, group)| is_preparing(group)) {
                    delayed::join::on_expired(turn, group);
                }
            }
            Delayed::InitialJoin(group, remaining_ms) => {
                if let Some((turn, group)) = self.living(group).filter(|(_, group)| is_preparing(group)) {
                    delayed::join::on_initial_expired(turn, group, remaining_ms);
                }
            }
            Delayed::Sync(group, generation) => {
                if let Some((turn, group)) = self.living(group) {
                    delayed::sync::on_expired(turn, group, generation);
                }
            }
            Delayed::Heartbeat(group, member) => {
                if let Some((turn, group)) = self.turn_and_group(group) {
                    delayed::heartbeat::on_expired(turn, group, member);
                }
            }
            Delayed::PendingMember(pending) => {
                if let Some((turn, group)) = self.living(pending.0) {
                    delayed::heartbeat::remove_pending_member(turn, group, &pending.1);
                }
            }
            Delayed::Store(waiting) => delayed::store::on_expired(self, *waiting),
            Delayed::List(listing) => requests::list_groups::go_on(self, *listing),
            Delayed::Fetch(reading) => requests::offset_fetch::go_on(self, *reading),
            Delayed::Retention(pass) => pass.go_on(self),
            Delayed::CleanUp => {
                Pass::clean_up().go_on(self);
                if let Some(interval) = self.turn.config.offsets_retention_check_interval_ms {
                    let deadline = self.turn.after_ms(interval);
                    self.turn.purgatory.watch(Delayed::CleanUp, [], deadline);
                }
            }
        }
    }

    /// The group of that name, if its partition is served: `Ok(None)` if it does not exist.
    pub(crate) fn find(&self, name: &GroupId) -> Result<Option<GroupIndex>, GroupError> {
        // A group that is here belongs to a partition that is served.
        if let Some(index) = self.groups.find(name) {
            return Ok(Some(index));
        }
        let partition = self.turn.config.partitioner.partition(name);
        self.partitions.serving(partition).map(|_| None)
    }

    /// As [`Coordinator::find`], for requests that need a name.
    pub(crate) fn find_named(&self, name: &GroupId) -> Result<Option<GroupIndex>, GroupError> {
        if name.is_empty() { Err(GroupError::InvalidGroupId) } else { self.find(name) }
    }

    /// What the steps of a turn work with; `None` if the group is gone.
    pub(crate) fn turn_and_group(&mut self, index: GroupIndex) -> Option<(&mut Turn, &mut Group)> {
        let group = self.groups.get_mut(index)?;
        Some((&mut self.turn, group))
    }

    /// As [`Coordinator::turn_and_group`], unless the group is dead.
    fn living(&mut self, index: GroupIndex) -> Option<(&mut Turn, &mut Group)> {
        self.turn_and_group(index).filter(|(_, group)| group.phase() != Phase::Dead)
    }

    /// Makes a group that does not exist yet, in a partition that is served.
    pub(crate) fn create_group(&mut self, name: GroupId) -> GroupIndex {
        let partition = self.turn.config.partitioner.partition(&name);
        let epoch = self.partitions.serving(partition).unwrap_or_default();
        let (hasher, unix_ms) = (self.hasher, self.turn.unix_ms());
        let name_sum = self.turn.sessions.name_sum(&name);
        let owned = (partition, epoch);
        let made = (Position::stored(self.turn.next_store_id()), unix_ms);
        self.groups.insert(|index| Group::new(name, name_sum, index, owned, hasher, made))
    }

    /// Deletes a group without members for good: tombstones for its offsets and itself are written.
    pub(crate) fn delete_group(&mut self, index: GroupIndex, cause: &str) {
        let Some((turn, group)) = self.turn_and_group(index) else { return };
        let mut records = group.offsets.take_tombstones(&group.name);
        if group.generation.0 > 0 {
            records.push(Record::GroupTombstone(group.name.clone()));
        }
        if !records.is_empty() {
            turn.store(group, records);
        }
        turn.event(group, EventKind::GroupRemoved { cause: cause.into() });
        self.drop_group(index);
    }

    /// Drops a group from memory, with all that waits in it.
    pub(crate) fn drop_group(&mut self, index: GroupIndex) {
        let Some(mut group) = self.groups.remove(index) else { return };
        for key in [WatchKey::Join(index), WatchKey::Sync(index)] {
            drop(self.turn.purgatory.complete_next(&key, |_| true));
        }
        for expiry in group.pending.drain() {
            drop(self.turn.purgatory.cancel(expiry));
        }
        let mut next = group.members.first();
        while let Some(member) = next {
            next = group.members.after(member);
            drop(self.turn.purgatory.cancel(group.members[member].heartbeat));
            self.turn.sessions.forget(&group, member);
            ownership::answer_parked(&mut self.turn, &mut group, member);
        }
        for producer in group.offsets.producers() {
            self.open_transactions.remove(producer, group.partition, index);
        }
    }
}

fn is_preparing(group: &Group) -> bool {
    group.phase() == Phase::PreparingRebalance
}
