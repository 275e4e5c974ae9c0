//! One lock's worth of a shared purgatory: the operations at home here, and the keys that hash here.
//!
//! An operation lives in one shard, its *home*, that of its first key; its other keys may hash to other shards. A slot
//! is either parked, or empty while some thread examines the operation outside of all locks. Whoever comes meanwhile
//! leaves a note (`again`, `leaving`) instead of waiting.

use std::hash::Hash;

use smallvec::SmallVec;

use super::SharedId;
use super::counts::ShardCounts;
use super::examine::{BATCH, Claim, Claims, Room};
use super::held::{Gone, Held, Leaving};
use super::marks::Marks;
use super::watches::Watches;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};
use crate::{Cause, Timestamp, TimingWheel};

/// Which shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ShardIndex(u16);

impl ShardIndex {
    /// No shard.
    pub(crate) const NONE: Self = Self(u16::MAX);

    pub(crate) fn new(index: usize) -> Self {
        Self(u16::try_from(index).expect("invariant: at most 4,096 shards"))
    }

    pub(crate) fn get(self) -> usize {
        usize::from(self.0)
    }
}

/// Two cache lines apart, so that threads at different shards do not meet.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Shard<O, K> {
    state: Mutex<ShardState<O, K>>,
    /// Lower bound of the earliest deadline; written under the lock, read without.
    armed: AtomicU64,
    pub(crate) counts: ShardCounts,
}

#[derive(Debug)]
pub(crate) struct ShardState<O, K> {
    pub(crate) wheel: TimingWheel<Slot<O>>,
    pub(crate) watches: Watches<K>,
    pub(crate) marks: Marks<K>,
    pub(crate) closed: bool,
    /// For who has several operations in hand; empty while somebody has it.
    pub(crate) room: Room<O>,
}

/// A place for one operation.
#[derive(Debug)]
pub(crate) enum Slot<O> {
    /// It waits here, under the keys of this chain.
    Parked(Held<O>, Option<Link>),
    /// A thread has it in hand.
    Examined {
        /// A trigger came meanwhile: examine once more before parking.
        again: bool,
        /// It is to leave for this cause, unless it is found ready.
        leaving: Option<Cause>,
    },
}

/// One key of an operation: what is registered there, and where. Each knows the operation's next one: a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) shard: ShardIndex,
    pub(crate) kind: LinkKind,
    pub(crate) entry: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkKind {
    /// An entry of [`Watches`].
    Watch,
    /// An entry of [`Marks`].
    Mark,
}

/// An operation's chain of links: those of its home come first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Links {
    pub(crate) first: Option<Link>,
    /// Until the operation is first parked, those of other shards are apart: they were made later.
    pub(crate) elsewhere: Option<Link>,
}

/// A key to be registered.
#[derive(Debug)]
pub(crate) struct Interest<K> {
    pub(crate) shard: ShardIndex,
    pub(crate) hash: u64,
    pub(crate) key: K,
    /// Only a trigger that says so much is of interest; none means any.
    pub(crate) minimum: Option<u64>,
}

impl<O, K: Hash + Eq> Shard<O, K> {
    pub(crate) fn new(start: Timestamp) -> Self {
        let state = ShardState {
            wheel: TimingWheel::new(start),
            watches: Watches::new(),
            marks: Marks::new(),
            closed: false,
            room: Room::NONE,
        };
        Self {
            state: Mutex::new(state),
            armed: AtomicU64::new(Timestamp::MAX.ticks()),
            counts: ShardCounts::default(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ShardState<O, K>> {
        self.state.lock()
    }

    /// Keeps the room for the next who needs it. Not worth waiting for the lock.
    pub(crate) fn keep(&self, claims: Claims<O>, gone: Leaving<O>) {
        if let Some(room) = Room::of(claims, gone)
            && let Some(mut state) = self.state.try_lock()
        {
            state.room = room;
        }
    }

    pub(crate) fn armed(&self) -> Timestamp {
        Timestamp::from_ticks(self.armed.load(Ordering::Acquire))
    }

    /// Lowers the bound to `deadline` if that is earlier. The caller holds the lock, and tells the driver after
    /// letting go of it if this says so.
    pub(crate) fn arm(&self, _locked: &ShardState<O, K>, deadline: Timestamp) -> bool {
        let earlier = deadline < self.armed();
        if earlier {
            self.armed.store(deadline.ticks(), Ordering::Release);
        }
        earlier
    }

    /// Sets the bound to what the wheel knows.
    pub(crate) fn arm_anew(&self, locked: &ShardState<O, K>) {
        let next = locked.wheel.next_deadline().unwrap_or(Timestamp::MAX);
        self.armed.store(next.ticks(), Ordering::Release);
    }
}

impl<O, K: Hash + Eq> ShardState<O, K> {
    /// Registers the operation under a key, in front of `chain`. Returns the new chain; a key that it is registered
    /// under already is left alone, if nothing else was registered since.
    pub(crate) fn link(&mut self, id: SharedId, interest: Interest<K>, chain: Option<Link>) -> Option<Link> {
        let Interest { shard, hash, key, minimum } = interest;
        let (kind, entry) = match minimum {
            None => (LinkKind::Watch, self.watches.link(hash, key, id, chain)),
            Some(minimum) => (LinkKind::Mark, Some(self.marks.add(hash, key, minimum, id, chain))),
        };
        entry.map_or(chain, |entry| Some(Link { shard, kind, entry }))
    }

    /// Unlinks as much of the chain as is in shard `here`, which is this one. Returns the rest.
    pub(crate) fn unlink(&mut self, here: ShardIndex, mut chain: Option<Link>) -> Option<Link> {
        while let Some(link) = chain.filter(|link| link.shard == here) {
            chain = match link.kind {
                LinkKind::Watch => self.watches.unlink(link.entry),
                LinkKind::Mark => self.marks.remove(link.entry),
            };
        }
        chain
    }

    /// Reads the slots of these operations of this shard, and what unlinking them will read, all at once: their cache
    /// misses overlap, where those of one operation after the other would add up.
    pub(crate) fn touch_slots(&self, ids: &[SharedId]) {
        let first = |id: &SharedId| match self.wheel.get(id.timer) {
            Some(&Slot::Parked(_, chain)) => chain,
            _ => None,
        };
        let links: SmallVec<[Link; BATCH]> = ids.iter().filter_map(first).collect();
        self.touch_links(&links);
    }

    /// Reads what unlinking these links of this shard will read.
    pub(crate) fn touch_links(&self, links: &[Link]) {
        let watches = links.iter().filter(|link| link.kind == LinkKind::Watch);
        self.watches.touch(watches.map(|link| link.entry));
    }

    /// The room, for who gives it back by [`Shard::keep`].
    pub(crate) fn take_room(&mut self) -> (Claims<O>, Leaving<O>) {
        std::mem::replace(&mut self.room, Room::NONE).open()
    }

    /// Makes one chain of the two.
    pub(crate) fn join(&mut self, links: Links) -> Option<Link> {
        let mut last = links.first?;
        if links.elsewhere.is_some() {
            loop {
                let next = match last.kind {
                    LinkKind::Watch => self.watches.sibling_mut(last.entry),
                    LinkKind::Mark => self.marks.sibling_mut(last.entry),
                };
                match *next {
                    Some(link) => last = link,
                    None => break *next = links.elsewhere,
                }
            }
        }
        links.first
    }

    /// Takes the operation out, or leaves word that it has to go.
    pub(crate) fn evict(&mut self, id: SharedId, cause: Cause) -> Evicted<O> {
        match self.wheel.get_mut(id.timer) {
            None => return Evicted::Gone,
            Some(Slot::Examined { leaving, .. }) => {
                leaving.get_or_insert(cause);
                return Evicted::Leaving;
            }
            Some(Slot::Parked(..)) => {}
        }
        match self.wheel.remove(id.timer) {
            Some(Slot::Parked(held, chain)) => {
                let rest = self.unlink(id.home, chain);
                Evicted::Taken(Gone { id, held, rest, cause, expired_at: None })
            }
            Some(Slot::Examined { .. }) | None => unreachable!("matched as parked above"),
        }
    }

    /// The claimed operation leaves for `cause`; its slot is freed.
    pub(crate) fn release(&mut self, claim: Claim<O>, cause: Cause) -> Gone<O> {
        let Claim { id, held, links, .. } = claim;
        self.wheel.remove(id.timer);
        let rest = self.unlink(id.home, links.first).or(links.elsewhere);
        Gone { id, held, rest, cause, expired_at: None }
    }
}

/// What became of an eviction.
pub(crate) enum Evicted<O> {
    /// Here it is.
    Taken(Gone<O>),
    /// Another thread has it in hand, and lets it go.
    Leaving,
    /// It had left already.
    Gone,
}
