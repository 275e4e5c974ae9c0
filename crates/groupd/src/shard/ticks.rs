//! Whoever moves the clock waits here, until the shard has handled what became due and the writes that followed.
//!
//! Only a server with a simulated clock has anybody waiting here: one at a time.

use coordinator::events::EventKind;
use purgatory::Timestamp;
use tokio::sync::oneshot;

/// What a shard tells whoever moved the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticked {
    /// When something is due next: never late, may be early.
    pub(crate) next_deadline: Option<Timestamp>,
    /// Transactions are open or being ended: what ends them goes from shard to shard.
    pub(crate) open_transactions: bool,
    /// Writes that may be followed by others are under way.
    pub(crate) busy: bool,
    /// All that has happened since the shard began.
    pub(crate) tally: Tally,
}

/// What has happened on a shard, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) operations_expired: u64,
    pub(crate) members_evicted: u64,
    pub(crate) rebalances_started: u64,
    pub(crate) rebalances_completed: u64,
    pub(crate) offsets_expired: u64,
    pub(crate) groups_removed: u64,
    pub(crate) transactions_timed_out: u64,
}

impl Tally {
    /// Each count of `self` and `other`, joined by `join`.
    pub(crate) fn zip(self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            operations_expired: join(self.operations_expired, other.operations_expired),
            members_evicted: join(self.members_evicted, other.members_evicted),
            rebalances_started: join(self.rebalances_started, other.rebalances_started),
            rebalances_completed: join(self.rebalances_completed, other.rebalances_completed),
            offsets_expired: join(self.offsets_expired, other.offsets_expired),
            groups_removed: join(self.groups_removed, other.groups_removed),
            transactions_timed_out: join(self.transactions_timed_out, other.transactions_timed_out),
        }
    }
}

/// Who waits, and for what.
#[derive(Debug, Default)]
pub(super) struct Ticks {
    waiting: Vec<Tick>,
    /// Outcomes of writes that ever came from the store.
    arrived: u64,
    events: Tally,
}

#[derive(Debug)]
struct Tick {
    reply: oneshot::Sender<Ticked>,
    awaits: Awaits,
}

#[derive(Clone, Copy, Debug)]
enum Awaits {
    /// That deadlines up to then are handled.
    Deadlines(Timestamp),
    /// That what they brought is on its way to the store: they are handled.
    Writes,
    /// That so many outcomes have arrived.
    Arrivals(u64),
}

impl Ticks {
    /// Somebody wants to know when all that is due at `now` is done.
    pub(super) fn wait(&mut self, now: Timestamp, reply: oneshot::Sender<Ticked>) {
        self.waiting.push(Tick { reply, awaits: Awaits::Deadlines(now) });
    }

    /// Whether somebody waits for deadlines: the next turn is to come at once.
    pub(super) fn is_behind(&self) -> bool {
        self.waiting.iter().any(|tick| matches!(tick.awaits, Awaits::Deadlines(_)))
    }

    /// Deadlines up to `until` are handled.
    pub(super) fn expired(&mut self, until: Timestamp) {
        for tick in &mut self.waiting {
            if let Awaits::Deadlines(at) = tick.awaits
                && at <= until
            {
                tick.awaits = Awaits::Writes;
            }
        }
    }

    /// The store has told the outcome of a write.
    pub(super) fn arrived(&mut self) {
        self.arrived += 1;
    }

    /// Counts an event.
    pub(super) fn count(&mut self, event: &EventKind) {
        let events = &mut self.events;
        match event {
            EventKind::SessionExpired { .. } | EventKind::SyncExpired { .. } => events.members_evicted += 1,
            EventKind::RebalanceJoined { dropped, .. } => events.members_evicted += dropped.len() as u64,
            EventKind::RebalanceStarted { .. } => events.rebalances_started += 1,
            EventKind::RebalanceCompleted { .. } => events.rebalances_completed += 1,
            EventKind::OffsetExpired { .. } => events.offsets_expired += 1,
            EventKind::GroupRemoved { .. } => events.groups_removed += 1,
            EventKind::StoreFailed
            | EventKind::MemberLeft { .. }
            | EventKind::StaticMemberReplaced { .. }
            | EventKind::OffsetDeleted { .. } => {}
        }
    }

    /// The events counted so far.
    pub(super) fn events(&self) -> Tally {
        self.events
    }

    /// Takes out those whose wait is over at the end of a turn, where `in_flight` writes are on their way.
    pub(super) fn take(&mut self, in_flight: usize) -> Vec<oneshot::Sender<Ticked>> {
        let arrived = self.arrived;
        for tick in &mut self.waiting {
            if matches!(tick.awaits, Awaits::Writes) {
                tick.awaits = Awaits::Arrivals(arrived + in_flight as u64);
            }
        }
        let is_over = |tick: &mut Tick| matches!(tick.awaits, Awaits::Arrivals(count) if count <= arrived);
        self.waiting.extract_if(.., is_over).map(|tick| tick.reply).collect()
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_waits_for_deadlines_and_then_for_the_writes_that_were_begun() {
        let at = Timestamp::from_ticks;
        let mut ticks = Ticks::default();
        let (reply, _answer) = oneshot::channel();
        ticks.wait(at(100), reply);
        // The turn began before the clock was moved.
        ticks.expired(at(99));
        assert!(ticks.is_behind() && ticks.take(2).is_empty());
        ticks.expired(at(100));
        assert!(!ticks.is_behind() && ticks.take(2).is_empty());
        ticks.arrived();
        // A write that was begun later is not waited for.
        assert!(ticks.take(2).is_empty());
        ticks.arrived();
        assert_eq!(ticks.take(1).len(), 1);
        assert!(ticks.is_empty());
    }
}
