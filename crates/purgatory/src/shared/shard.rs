//! One lock's worth of a shared purgatory: the operations at home here, and the keys that hash here.
//!
//! An operation lives in one shard, its *home*; each shard that one of its keys hashes to has a *watcher*, which
//! knows the home and the id. A slot is either parked, or empty while some thread examines the operation outside of
//! all locks. Whoever comes meanwhile leaves a note (`again`, `leaving`) instead of waiting.

use slab::Slab;

use super::SharedId;
use crate::keys::NONE;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};
use crate::watchers::WatchIndex;
use crate::{Cause, TimerId, Timestamp, TimingWheel};

#[derive(Debug)]
pub(crate) struct Shard<H, K, S> {
    state: Mutex<ShardState<H, K, S>>,
    /// Lower bound of the earliest deadline; written under the lock, read without.
    armed: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct ShardState<H, K, S> {
    pub(crate) wheel: TimingWheel<Slot<H>>,
    pub(crate) watches: WatchIndex<K, S>,
    pub(crate) watchers: Slab<Watcher>,
    pub(crate) closed: bool,
}

/// A place for one operation.
#[derive(Debug)]
pub(crate) enum Slot<H> {
    /// It waits here.
    Parked(H, Links),
    /// A thread has it in hand.
    Examined {
        /// A trigger came meanwhile: examine once more before parking.
        again: bool,
        /// It is to leave for this cause, unless it is found ready.
        leaving: Option<Cause>,
    },
}

/// Stands in a shard for an operation that may be at home elsewhere.
#[derive(Debug)]
pub(crate) struct Watcher {
    id: SharedId,
    chain: u32,
}

/// Where an operation's watchers are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) shard: u32,
    watcher: u32,
}

/// The links of one operation; three fit without an allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    first: [Option<Link>; 3],
    more: Vec<Link>,
}

impl Links {
    pub(crate) fn push(&mut self, link: Link) {
        match self.first.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(link),
            None => self.more.push(link),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Link> + '_ {
        self.first.iter().flatten().chain(&self.more).copied()
    }
}

impl<H, K: std::hash::Hash + Eq, S: std::hash::BuildHasher> Shard<H, K, S> {
    pub(crate) fn new(start: Timestamp, hasher: S) -> Self {
        let state = ShardState {
            wheel: TimingWheel::new(start),
            watches: WatchIndex::with_hasher(hasher),
            watchers: Slab::new(),
            closed: false,
        };
        Self { state: Mutex::new(state), armed: AtomicU64::new(Timestamp::MAX.ticks()) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ShardState<H, K, S>> {
        self.state.lock()
    }

    pub(crate) fn armed(&self) -> Timestamp {
        Timestamp::from_ticks(self.armed.load(Ordering::Acquire))
    }

    /// Lowers the bound to `deadline` if that is earlier. The caller holds the lock, and tells the driver after
    /// letting go of it if this says so.
    pub(crate) fn arm(&self, _locked: &ShardState<H, K, S>, deadline: Timestamp) -> bool {
        let earlier = deadline < self.armed();
        if earlier {
            self.armed.store(deadline.ticks(), Ordering::Release);
        }
        earlier
    }

    /// Sets the bound to what the wheel knows.
    pub(crate) fn arm_anew(&self, locked: &ShardState<H, K, S>) {
        let next = locked.wheel.next_deadline().unwrap_or(Timestamp::MAX);
        self.armed.store(next.ticks(), Ordering::Release);
    }
}

impl<H, K: std::hash::Hash + Eq, S: std::hash::BuildHasher> ShardState<H, K, S> {
    /// Registers the operation under those of its keys that hash to this shard.
    pub(crate) fn link(&mut self, shard: u32, id: SharedId, keys: impl Iterator<Item = K>) -> Link {
        let watcher = self.watchers.insert(Watcher { id, chain: NONE });
        let watcher = u32::try_from(watcher).expect("fewer than 2^32 watchers");
        let mut chain = NONE;
        for key in keys {
            chain = self.watches.link(key, watcher, chain);
        }
        self.watchers[watcher as usize].chain = chain;
        Link { shard, watcher }
    }

    pub(crate) fn unlink(&mut self, link: Link) {
        let watcher = self.watchers.remove(link.watcher as usize);
        self.watches.unlink(watcher.chain);
    }

    /// Who watches the key, in watch order.
    pub(crate) fn watching<Q>(&self, key: &Q) -> Vec<SharedId>
    where
        Q: std::hash::Hash + hashbrown::Equivalent<K> + ?Sized,
    {
        let mut ids = Vec::with_capacity(self.watches.count(key));
        let mut next = self.watches.first(key);
        while let Some(watch) = next {
            ids.push(self.watchers[self.watches.operation(watch) as usize].id);
            next = self.watches.next(watch);
        }
        ids
    }

    /// Takes the operation out, or leaves word that it has to go.
    pub(crate) fn evict(&mut self, id: TimerId, cause: Cause) -> Evicted<H> {
        match self.wheel.get_mut(id) {
            None => return Evicted::Gone,
            Some(Slot::Examined { leaving, .. }) => {
                leaving.get_or_insert(cause);
                return Evicted::Leaving;
            }
            Some(Slot::Parked(..)) => {}
        }
        match self.wheel.remove(id) {
            Some(Slot::Parked(held, links)) => Evicted::Taken(held, links),
            Some(Slot::Examined { .. }) | None => unreachable!("matched as parked above"),
        }
    }
}

/// What became of an eviction.
pub(crate) enum Evicted<H> {
    /// Here it is.
    Taken(H, Links),
    /// Another thread has it in hand, and lets it go.
    Leaving,
    /// It had left already.
    Gone,
}
