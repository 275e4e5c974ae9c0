//! What one turn works with besides the groups: its time, the settings, what waits, and what is said.
//!
//! Steps of a turn are functions of `(&mut Turn, &mut Group, ...)`. They create operations, complete operations
//! and speak; they never call back.

mod outputs;
mod token_hash;

use hashbrown::HashMap;
use purgatory::{Purgatory, Timestamp};

use self::outputs::Outputs;
use self::token_hash::TokenHash;
use crate::Config;
use crate::delayed::{Delayed, DelayedStore, WatchKey};
use crate::events::{Event, EventKind};
use crate::group::{Group, MemberIndex, Parked, PhaseEvent};
use crate::groups::GroupPlace;
use crate::hasher::Hasher;
use crate::member_ids::MemberIds;
use crate::messages::{Output, Record, Response, Store, StoreId, Token};
use crate::offsets::TopicNames;
use crate::secret::Secret;
use crate::sessions::Sessions;
use crate::stats::Counters;

/// Room for so many parked requests is kept when they are gone; more is given back.
const KEPT_PARKED: usize = 256;

#[derive(Debug)]
pub(crate) struct Turn {
    /// The time of this turn. Read once by whoever drives.
    pub(crate) now: Timestamp,
    pub(crate) config: Config,
    pub(crate) purgatory: Purgatory<WatchKey, Delayed, Hasher>,
    pub(crate) member_ids: MemberIds,
    pub(crate) counters: Counters,
    pub(crate) topic_names: TopicNames,
    pub(crate) sessions: Sessions,
    outputs: Outputs,
    /// Whose request is parked under which token number, for clients that go away.
    parked: HashMap<u64, (GroupPlace, MemberIndex), TokenHash>,
    next_store: u64,
}

impl Turn {
    pub(crate) fn new(config: Config, secret: Secret, start: Timestamp, hasher: Hasher) -> Self {
        Self {
            now: start,
            config,
            purgatory: Purgatory::with_hasher(start, hasher),
            member_ids: MemberIds::new(secret),
            counters: Counters::default(),
            topic_names: TopicNames::new(hasher),
            sessions: Sessions::new(secret),
            outputs: Outputs::default(),
            parked: HashMap::default(),
            next_store: 0,
        }
    }

    /// `ms` after this turn.
    pub(crate) fn after_ms(&self, ms: impl Into<u64>) -> Timestamp {
        self.now.saturating_add(ms.into())
    }

    /// The wall clock of this turn, ms since the Unix epoch: for what is stored.
    pub(crate) fn unix_ms(&self) -> i64 {
        let since_zero = i64::try_from(self.now.ticks()).unwrap_or(i64::MAX);
        self.config.unix_ms_at_zero.saturating_add(since_zero)
    }

    /// Answers a request.
    pub(crate) fn respond(&mut self, token: Token, response: Response) {
        self.outputs.push(Output::Respond(token, response));
    }

    /// Tells the host of something a person may want to know.
    pub(crate) fn event(&mut self, group: &Group, kind: EventKind) {
        let event = Event { at: self.now, group: group.name.clone(), generation: group.generation, kind };
        self.outputs.push(Output::Event(event));
    }

    /// Asks for a write nobody waits for.
    pub(crate) fn store(&mut self, group: &Group, records: Vec<Record>) -> StoreId {
        let id = StoreId(self.next_store);
        self.next_store += 1;
        self.counters.stores += 1;
        let (partition, epoch) = (group.partition, group.epoch);
        self.outputs.push(Output::Store(Store { id, partition, epoch, records }));
        id
    }

    /// What the next write will be called.
    pub(crate) fn next_store_id(&self) -> StoreId {
        StoreId(self.next_store)
    }

    /// A place in the order of writes that no write takes: those asked for so far are before it, all others behind.
    pub(crate) fn mark(&mut self) -> StoreId {
        let id = self.next_store_id();
        self.next_store += 1;
        id
    }

    /// Asks for a write, and parks who waits for it until it is reported or takes too long.
    pub(crate) fn store_and_wait(&mut self, group: &Group, records: Vec<Record>, waiting: DelayedStore) {
        let id = self.store(group, records);
        let deadline = self.config.store_timeout_ms.map_or(Timestamp::MAX, |timeout| self.after_ms(timeout));
        self.purgatory.watch(Delayed::Store(Box::new(waiting)), [WatchKey::Store(id)], deadline);
    }

    /// Parks who waits for a write that has been asked for, until it is reported.
    pub(crate) fn wait_on(&mut self, id: StoreId, waiting: DelayedStore) {
        self.purgatory.watch(Delayed::Store(Box::new(waiting)), [WatchKey::Store(id)], Timestamp::MAX);
    }

    /// Moves the group on by the table.
    pub(crate) fn transition(&mut self, group: &mut Group, event: PhaseEvent) {
        group.transition(event, self.unix_ms());
    }

    /// Parks a member's request in place of one that may have waited before. That one will never be answered:
    /// the host is told.
    pub(crate) fn park(&mut self, group: &mut Group, member: MemberIndex, request: Parked) {
        if let Parked::Join(token) | Parked::Sync(token) = &request {
            self.parked.insert(token.number(), (group.index.place(), member));
        }
        if matches!(request, Parked::Join(_)) {
            group.latest_news_of = group.members[member].id.clone();
        }
        match group.park(member, request) {
            Parked::Nothing => {}
            Parked::Join(token) | Parked::Sync(token) => {
                self.forget_parked(&token);
                self.outputs.push(Output::Superseded(token));
            }
        }
    }

    /// The token of the member's parked JoinGroup, which no longer waits.
    pub(crate) fn unpark_join(&mut self, group: &mut Group, member: MemberIndex) -> Option<Token> {
        let token = group.unpark_join(member)?;
        self.forget_parked(&token);
        Some(token)
    }

    /// The token of the member's parked SyncGroup, which no longer waits.
    pub(crate) fn unpark_sync(&mut self, group: &mut Group, member: MemberIndex) -> Option<Token> {
        let token = group.unpark_sync(member)?;
        self.forget_parked(&token);
        Some(token)
    }

    fn forget_parked(&mut self, token: &Token) {
        self.parked.remove(&token.number());
        if self.parked.is_empty() && self.parked.capacity() > KEPT_PARKED {
            self.parked.shrink_to(KEPT_PARKED);
        }
    }

    /// Whose request is parked under this token number.
    pub(crate) fn parked_under(&self, token: u64) -> Option<(GroupPlace, MemberIndex)> {
        self.parked.get(&token).copied()
    }

    /// The next thing to say.
    pub(crate) fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop()
    }

    /// How many requests are parked.
    pub(crate) fn parked_requests(&self) -> usize {
        self.parked.len()
    }
}
