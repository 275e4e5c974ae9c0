//! What the handles of a shared purgatory share, and how one comes in.

use std::cell::Cell;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::SmallVec;

use super::counts::Counts;
use super::driver::Driver;
use super::examine::{Claim, Finding, Settled};
use super::exit::{Occupied, Sink};
use super::held::Held;
use super::shard::{Interest, Links, Shard, ShardIndex, Slot};
use super::{DelayedOperation, SharedId};
use crate::{Cause, Timestamp};

pub(crate) struct Inner<K, O, S> {
    /// A power of two of them.
    pub(crate) shards: Box<[Shard<O, K>]>,
    pub(crate) seats: Seats,
    pub(crate) hasher: S,
    pub(crate) sink: Sink<O>,
    pub(crate) counts: Counts,
    pub(crate) max_pending: usize,
    pub(crate) occupied: Arc<Occupied>,
}

/// The shards' seats at the driver, given back when the purgatory goes.
pub(crate) struct Seats {
    pub(crate) driver: Driver,
    pub(crate) seats: Vec<usize>,
}

impl Drop for Seats {
    fn drop(&mut self) {
        for &seat in &self.seats {
            self.driver.leave_seat(seat);
        }
    }
}

/// Where the next thread begins to go round; far from the others, so that threads in step do not meet. A hint that no
/// schedule depends on, so it is not one of the explored atomics.
static FIRST_HOME: AtomicUsize = AtomicUsize::new(0);

std::thread_local! {
    static NEXT_HOME: Cell<usize> = Cell::new(FIRST_HOME.fetch_add(5, Ordering::Relaxed));
}

/// The keys of one operation: those of one shard together, the first key's shard first.
pub(crate) type Interests<K> = SmallVec<[Interest<K>; 4]>;

/// What became of a submission.
pub(crate) enum Parked<O> {
    Waits(SharedId),
    /// The second examination found it ready.
    Ready(Held<O>),
}

/// Why a submission was refused.
pub(crate) enum Refusal<O> {
    Full(Held<O>),
    ShutDown(Held<O>),
}

impl<K, O, S> Inner<K, O, S> {
    pub(crate) fn pending(&self) -> usize {
        Counts::pending(self.shards.iter().map(|shard| &shard.counts))
    }
}

impl<K, O, S> Inner<K, O, S>
where
    K: Hash + Eq + Send + 'static,
    O: DelayedOperation,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    /// A key's hash, and the shard that it hashes to.
    pub(crate) fn locate<Q: Hash + ?Sized>(&self, key: &Q) -> (u64, ShardIndex) {
        let hash = self.hasher.hash_one(key);
        // The low half: the shard's own tables go by the high half.
        let index = usize::try_from(hash & u64::from(u32::MAX)).expect("an index has 32 bits");
        (hash, ShardIndex::new(index & (self.shards.len() - 1)))
    }

    pub(crate) fn shard(&self, index: ShardIndex) -> &Shard<O, K> {
        &self.shards[index.get()]
    }

    /// The keys, each with its minimum if it has one.
    pub(crate) fn interests(&self, keys: impl Iterator<Item = (K, Option<u64>)>) -> Interests<K> {
        let located = keys.map(|(key, minimum)| {
            let (hash, shard) = self.locate(&key);
            Interest { shard, hash, key, minimum }
        });
        let mut interests: Interests<K> = located.collect();
        if let Some(home) = interests.first().map(|interest| interest.shard)
            && interests.len() > 1
        {
            interests.sort_by_key(|interest| (interest.shard != home, interest.shard));
        }
        interests
    }

    pub(crate) fn submit(
        &self,
        held: Held<O>,
        interests: Interests<K>,
        deadline: Timestamp,
    ) -> Result<Parked<O>, Refusal<O>> {
        if !self.occupied.enter(self.max_pending) {
            return Err(Refusal::Full(held));
        }
        let home = interests.first().map_or_else(|| self.any_home(), |interest| interest.shard);
        let (claim, earlier) = self.register(held, home, interests, deadline)?;
        let id = claim.id;
        let parked = self.examine_again(claim);
        if earlier {
            self.rearm(home);
        }
        Ok(parked.map_or(Parked::Waits(id), Parked::Ready))
    }

    /// A home for an operation without keys: each thread goes round on its own.
    fn any_home(&self) -> ShardIndex {
        let home = NEXT_HOME.get();
        NEXT_HOME.set(home.wrapping_add(1));
        ShardIndex::new(home & (self.shards.len() - 1))
    }

    /// Gives the operation its place and its links, and leaves it in this thread's hands.
    fn register(
        &self,
        held: Held<O>,
        home: ShardIndex,
        interests: Interests<K>,
        deadline: Timestamp,
    ) -> Result<(Claim<O>, bool), Refusal<O>> {
        let shard = self.shard(home);
        let mut state = shard.lock();
        if state.closed {
            drop(state);
            self.occupied.leave(1);
            return Err(Refusal::ShutDown(held));
        }
        self.counts.entered(&shard.counts);
        let timer = state.wheel.insert(deadline, Slot::Examined { again: false, leaving: None });
        let earlier = shard.arm(&state, deadline);
        let id = SharedId { home, timer };
        let mut links = Links::default();
        let mut interests = interests.into_iter().peekable();
        while let Some(interest) = interests.next_if(|interest| interest.shard == home) {
            links.first = state.link(id, interest, links.first);
        }
        drop(state);
        while let Some(interest) = interests.next() {
            let there = interest.shard;
            let mut state = self.shard(there).lock();
            links.elsewhere = state.link(id, interest, links.elsewhere);
            while let Some(interest) = interests.next_if(|interest| interest.shard == there) {
                links.elsewhere = state.link(id, interest, links.elsewhere);
            }
        }
        Ok((Claim { id, held, links, place: 0, finding: Finding::Waits }, earlier))
    }

    /// The second examination, and more if triggers come meanwhile. Returns the operation if it is ready.
    fn examine_again(&self, mut claim: Claim<O>) -> Option<Held<O>> {
        let home = claim.id.home;
        loop {
            Claim::examine(std::slice::from_mut(&mut claim));
            let settled = self.shard(home).lock().settle(claim);
            match settled {
                Settled::Again(again) => claim = again,
                Settled::Parked => return None,
                Settled::Gone(gone) if gone.cause == Cause::Satisfied => return Some(self.take_back(gone)),
                Settled::Gone(gone) => {
                    self.let_go(home, &mut SmallVec::from_buf([gone]));
                    return None;
                }
            }
        }
    }

    /// The driver has to know that the shard's bound is lower than before.
    pub(crate) fn rearm(&self, shard: ShardIndex) {
        self.seats.driver.rearm(self.seats.seats[shard.get()], self);
    }
}
