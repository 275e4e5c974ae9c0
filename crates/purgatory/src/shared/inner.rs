//! What the handles of a shared purgatory share: how operations come in, are triggered, expire and leave.

use std::hash::{BuildHasher, Hash};

use hashbrown::Equivalent;

use super::driver::Driven;
use super::examine::{Claim, settle_all};
use super::exit::Exit;
use super::held::{Gone, Held};
use super::shard::{Evicted, Links, Shard, Slot};
use super::wait::Forget;
use super::{DelayedOperation, Inner, SharedId};
use crate::sync::Ordering;
use crate::{Cause, Timestamp};

/// At most this many operations leave under one lock: a submitter waits for no more.
const LEAVING_A_TURN: usize = 256;
/// At most this many operations are in one thread's hands at a time.
const CLAIMED_A_TURN: usize = 64;

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

/// What became of a cancellation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evicting {
    Taken,
    Leaving,
    Gone,
}

impl<K, O, S> Inner<K, O, S>
where
    K: Hash + Eq + Send + 'static,
    O: DelayedOperation,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    pub(crate) fn shard_of<Q: Hash + ?Sized>(&self, key: &Q) -> (u32, &Shard<Held<O>, K, S>) {
        // The high half: the low bits choose the bucket in the shard's own table.
        let index = (self.hasher.hash_one(key) >> 32) as usize & (self.shards.len() - 1);
        (u32::try_from(index).expect("invariant: at most 4,096 shards"), &self.shards[index])
    }

    pub(crate) fn submit(
        &self,
        held: Held<O>,
        keys: impl IntoIterator<Item = K>,
        deadline: Timestamp,
    ) -> Result<Parked<O>, Refusal<O>> {
        let keys = self.by_shard(keys);
        if !self.occupy() {
            return Err(Refusal::Full(held));
        }
        let home = keys.first().map_or_else(|| self.any_home(), |(shard, _)| *shard);
        let (claim, earlier) = self.register(held, home, keys, deadline)?;
        let id = claim.id;
        let parked = self.examine_again(claim);
        if earlier {
            self.rearm(home);
        }
        Ok(parked.map_or(Parked::Waits(id), Parked::Ready))
    }

    pub(crate) fn complete<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> usize {
        let watching = self.shard_of(key).1.lock().watching(key);
        let mut satisfied = 0;
        for run in watching.chunk_by(|a, b| a.shard == b.shard) {
            for some in run.chunks(CLAIMED_A_TURN) {
                satisfied += self.examine(some);
            }
        }
        satisfied
    }

    pub(crate) fn complete_all<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q, cause: Cause) -> usize {
        let watching = self.shard_of(key).1.lock().watching(key);
        let mut left = 0;
        for run in watching.chunk_by(|a, b| a.shard == b.shard) {
            for some in run.chunks(LEAVING_A_TURN) {
                let gone = self.evict(some, cause);
                left += gone.len();
                self.let_go(gone);
            }
        }
        left
    }

    pub(crate) fn cancel(&self, id: SharedId) -> (Evicting, Option<Gone<O>>) {
        let evicted = self.home(id).lock().evict(id.timer, Cause::Cancelled);
        match evicted {
            Evicted::Gone => (Evicting::Gone, None),
            Evicted::Leaving => (Evicting::Leaving, None),
            Evicted::Taken(held, links) => {
                self.unlink(&links);
                self.counts.left(Cause::Cancelled);
                self.occupied.fetch_sub(1, Ordering::AcqRel);
                let gone = Gone { id, held, links, cause: Cause::Cancelled, expired_at: None };
                (Evicting::Taken, Some(gone))
            }
        }
    }

    pub(crate) fn force_complete(&self, id: SharedId) -> bool {
        let cause = Cause::Satisfied;
        let evicted = self.home(id).lock().evict(id.timer, cause);
        match evicted {
            Evicted::Gone => false,
            Evicted::Leaving => true,
            Evicted::Taken(held, links) => {
                self.let_go(vec![Gone { id, held, links, cause, expired_at: None }]);
                true
            }
        }
    }

    pub(crate) fn extend(&self, id: SharedId, deadline: Timestamp) -> bool {
        let shard = self.home(id);
        let mut state = shard.lock();
        if !state.wheel.rearm(id.timer, deadline) {
            return false;
        }
        let earlier = shard.arm(&state, deadline);
        drop(state);
        if earlier {
            self.rearm(id.shard);
        }
        true
    }

    pub(crate) fn shutdown(&self) -> usize {
        for shard in &self.shards {
            shard.lock().closed = true;
        }
        let mut left = 0;
        for index in 0..self.shards.len() {
            let ids = self.ids(index);
            for some in ids.chunks(LEAVING_A_TURN) {
                let gone = self.evict(some, Cause::Shutdown);
                left += gone.len();
                self.let_go(gone);
            }
        }
        left
    }

    /// Keys with their shards, those of one shard together, the first key's shard first.
    fn by_shard(&self, keys: impl IntoIterator<Item = K>) -> Vec<(u32, K)> {
        let mut keys: Vec<_> = keys.into_iter().map(|key| (self.shard_of(&key).0, key)).collect();
        if let Some(&(home, _)) = keys.first() {
            keys.sort_by_key(|&(shard, _)| (shard != home, shard));
        }
        keys
    }

    fn occupy(&self) -> bool {
        let more = |occupied| (occupied < self.max_pending).then_some(occupied + 1);
        self.occupied.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    /// A home for an operation without keys.
    fn any_home(&self) -> u32 {
        let home = self.next_home.fetch_add(1, Ordering::Relaxed) & (self.shards.len() - 1);
        u32::try_from(home).expect("invariant: at most 4,096 shards")
    }

    /// Gives the operation its place and its watchers, and leaves it in this thread's hands.
    fn register(
        &self,
        held: Held<O>,
        home: u32,
        keys: Vec<(u32, K)>,
        deadline: Timestamp,
    ) -> Result<(Claim<O>, bool), Refusal<O>> {
        let shard = &self.shards[home as usize];
        let mut state = shard.lock();
        if state.closed {
            drop(state);
            self.occupied.fetch_sub(1, Ordering::AcqRel);
            return Err(Refusal::ShutDown(held));
        }
        self.counts.entered();
        let timer = state.wheel.insert(deadline, Slot::Examined { again: false, leaving: None });
        let earlier = shard.arm(&state, deadline);
        let id = SharedId { shard: home, timer };
        let mut links = Links::default();
        let mut keys = keys.into_iter().peekable();
        if keys.peek().is_some() {
            let mine = std::iter::from_fn(|| keys.next_if(|&(shard, _)| shard == home));
            links.push(state.link(home, id, mine.map(|(_, key)| key)));
        }
        drop(state);
        while let Some(&(other, _)) = keys.peek() {
            let theirs = std::iter::from_fn(|| keys.next_if(|&(shard, _)| shard == other));
            let link = self.shards[other as usize].lock().link(other, id, theirs.map(|(_, key)| key));
            links.push(link);
        }
        Ok((Claim { id, held, links }, earlier))
    }

    /// The second examination. Returns the operation if it is ready.
    fn examine_again(&self, claim: Claim<O>) -> Option<Held<O>> {
        let mut gone = Vec::new();
        let home = claim.id.shard;
        settle_all(&self.shards[home as usize], vec![claim], &mut gone);
        if gone.first().is_some_and(|gone| gone.cause == Cause::Satisfied) {
            let Gone { held, links, cause, .. } = gone.pop()?;
            self.unlink(&links);
            self.counts.left(cause);
            self.occupied.fetch_sub(1, Ordering::AcqRel);
            return Some(held);
        }
        self.let_go(gone);
        None
    }

    /// Examines operations of one home, and lets go those that are ready.
    fn examine(&self, ids: &[SharedId]) -> usize {
        let Some(first) = ids.first() else { return 0 };
        let shard = self.home(*first);
        let mut claims = Vec::with_capacity(ids.len());
        {
            let mut state = shard.lock();
            claims.extend(ids.iter().filter_map(|&id| Claim::take(&mut state.wheel, id)));
        }
        let mut gone = Vec::new();
        let satisfied = settle_all(shard, claims, &mut gone);
        self.let_go(gone);
        satisfied
    }

    /// Takes operations of one home out, whether ready or not.
    fn evict(&self, ids: &[SharedId], cause: Cause) -> Vec<Gone<O>> {
        let Some(first) = ids.first() else { return Vec::new() };
        let mut state = self.home(*first).lock();
        let mut gone = Vec::new();
        for &id in ids {
            if let Evicted::Taken(held, links) = state.evict(id.timer, cause) {
                gone.push(Gone { id, held, links, cause, expired_at: None });
            }
        }
        gone
    }

    /// All operations at home in a shard.
    fn ids(&self, index: usize) -> Vec<SharedId> {
        let shard = u32::try_from(index).expect("invariant: at most 4,096 shards");
        let state = self.shards[index].lock();
        state.wheel.ids().map(|timer| SharedId { shard, timer }).collect()
    }

    /// What has left its slot leaves its keys too, and is delivered. Called without a lock.
    fn let_go(&self, gone: Vec<Gone<O>>) {
        let mut exits = Vec::with_capacity(gone.len());
        for Gone { id, held, links, cause, expired_at } in gone {
            self.unlink(&links);
            self.counts.left(cause);
            match held {
                Held::Operation(operation) => exits.push(Exit { id, operation, cause, expired_at }),
                Held::Waiter(waiter) => {
                    self.occupied.fetch_sub(1, Ordering::AcqRel);
                    waiter.finish(cause);
                }
            }
        }
        if !exits.is_empty() {
            self.sink.deliver(exits, &self.occupied);
        }
    }

    fn unlink(&self, links: &Links) {
        for link in links.iter() {
            self.shards[link.shard as usize].lock().unlink(link);
        }
    }

    fn home(&self, id: SharedId) -> &Shard<Held<O>, K, S> {
        &self.shards[id.shard as usize]
    }

    fn rearm(&self, shard: u32) {
        self.seats.driver.rearm(self.seats.seats[shard as usize], self);
    }
}

impl<K, O, S> Driven for Inner<K, O, S>
where
    K: Hash + Eq + Send + 'static,
    O: DelayedOperation,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    fn armed(&self, shard: usize) -> Timestamp {
        self.shards[shard].armed()
    }

    fn expire(&self, shard: usize, now: Timestamp) {
        let home = u32::try_from(shard).expect("invariant: at most 4,096 shards");
        let mut gone = Vec::new();
        {
            let shard = &self.shards[shard];
            let mut state = shard.lock();
            for _ in 0..LEAVING_A_TURN {
                let Some(expired) = state.wheel.expire_next(now) else { break };
                // One that is being examined has no slot to return to, and so learns that it expired.
                let Slot::Parked(held, links) = expired.value else { continue };
                let id = SharedId { shard: home, timer: expired.id };
                gone.push(Gone {
                    id,
                    held,
                    links,
                    cause: Cause::Expired,
                    expired_at: Some(expired.deadline),
                });
            }
            shard.arm_anew(&state);
        }
        for expired_at in gone.iter().filter_map(|gone| gone.expired_at) {
            self.counts.late(now.ticks_since(expired_at));
        }
        self.let_go(gone);
    }
}

impl<K, O, S> Forget for Inner<K, O, S>
where
    K: Hash + Eq + Send + 'static,
    O: DelayedOperation,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    fn forget(&self, id: SharedId) {
        // What is being examined at this moment finds its note, and nobody behind its ticket.
        drop(self.cancel(id));
    }
}
