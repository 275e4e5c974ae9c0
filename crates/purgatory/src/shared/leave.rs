//! The ways out: what has left its slot leaves its keys, is counted, and is delivered.

use std::hash::{BuildHasher, Hash};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use smallvec::SmallVec;

use super::counts::Departures;
use super::driver::Driven;
use super::examine::{BATCH, Ids};
use super::exit::Exit;
use super::held::{Gone, Held, Leaving};
use super::inner::Inner;
use super::shard::{Evicted, Link, ShardIndex, Slot};
use super::wait::Forget;
use super::{DelayedOperation, SharedId};
use crate::sync::hand_over;
use crate::{Cause, Timestamp};

/// So many ids are sorted by their homes at a time, so that one lock serves several.
const MANY: usize = 1_024;

/// The wheel may go through so many chunks of entries under one lock, 15 in each: some tens of microseconds, however many
/// operations are due on one tick.
const CHUNKS: usize = 64;

/// What became of a cancellation.
pub(crate) enum Evicting<O> {
    Taken(Held<O>),
    Leaving,
    Gone,
}

impl<K, O, S> Inner<K, O, S>
where
    K: Hash + Eq + Send + 'static,
    O: DelayedOperation,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    pub(crate) fn cancel(&self, id: SharedId) -> Evicting<O> {
        let evicted = self.shard(id.home).lock().evict(id, Cause::Cancelled);
        match evicted {
            Evicted::Gone => Evicting::Gone,
            Evicted::Leaving => Evicting::Leaving,
            Evicted::Taken(gone) => Evicting::Taken(self.take_back(gone)),
        }
    }

    pub(crate) fn force_complete(&self, id: SharedId) -> bool {
        let evicted = self.shard(id.home).lock().evict(id, Cause::Satisfied);
        match evicted {
            Evicted::Gone => false,
            Evicted::Leaving => true,
            Evicted::Taken(gone) => {
                self.let_go(id.home, &mut SmallVec::from_buf([gone]));
                true
            }
        }
    }

    /// As `force_complete`, for many.
    pub(crate) fn force_complete_all(&self, mut ids: impl Iterator<Item = SharedId>) -> usize {
        let (mut some, mut completed) = (Vec::with_capacity(MANY.min(ids.size_hint().0)), 0);
        loop {
            some.extend(ids.by_ref().take(MANY));
            let Some(first) = some.first().map(|id| id.home) else { return completed };
            let (left, leaving) = self.evict(first, &mut some, Cause::Satisfied);
            completed += left + leaving;
            some.clear();
        }
    }

    pub(crate) fn extend(&self, id: SharedId, deadline: Timestamp) -> bool {
        let shard = self.shard(id.home);
        let mut state = shard.lock();
        if !state.wheel.rearm(id.timer, deadline) {
            return false;
        }
        let earlier = shard.arm(&state, deadline);
        drop(state);
        if earlier {
            self.rearm(id.home);
        }
        true
    }

    pub(crate) fn shutdown(&self) -> usize {
        for shard in &self.shards {
            shard.lock().closed = true;
        }
        let mut left = 0;
        for index in (0..self.shards.len()).map(ShardIndex::new) {
            let ids: Vec<_> = self.shard(index).lock().wheel.ids().collect();
            for some in ids.chunks(BATCH) {
                let mut ids: Ids = some.iter().map(|&timer| SharedId { home: index, timer }).collect();
                left += self.evict(index, &mut ids, Cause::Shutdown).0;
            }
        }
        left
    }

    /// Takes operations out, whether ready or not, and lets them go as what happened at `shard`. Returns how many that
    /// were, and how many were in other threads' hands, which let them go.
    pub(crate) fn evict(&self, shard: ShardIndex, ids: &mut [SharedId], cause: Cause) -> (usize, usize) {
        ids.sort_unstable_by_key(|id| id.home);
        let (mut gone, mut leaving) = (Leaving::with_capacity(ids.len()), 0);
        for some in ids.chunk_by(|a, b| a.home == b.home).flat_map(|some| some.chunks(BATCH)) {
            let mut state = self.shard(some[0].home).lock();
            state.touch_slots(some);
            for &id in some {
                match state.evict(id, cause) {
                    Evicted::Taken(taken) => gone.push(taken),
                    Evicted::Leaving => leaving += 1,
                    Evicted::Gone => {}
                }
            }
        }
        let left = gone.len();
        self.let_go(shard, &mut gone);
        (left, leaving)
    }

    /// What leaves by the caller's own hands, and through no channel.
    pub(crate) fn take_back(&self, gone: Gone<O>) -> Held<O> {
        self.unlink_one(gone.rest);
        self.counts.left(&self.shard(gone.id.home).counts, Departures::one(gone.cause));
        self.occupied.leave(1);
        gone.held
    }

    /// What has left its slot leaves its other keys too, and is delivered as what happened at `shard`. Called without a
    /// lock.
    pub(crate) fn let_go(&self, shard: ShardIndex, gone: &mut Leaving<O>) {
        match &**gone {
            [] => return,
            [gone] => self.unlink_one(gone.rest),
            several => self.unlink_all(several.iter().filter_map(|gone| gone.rest).collect()),
        }
        let mut departures = Departures::default();
        gone.iter().for_each(|gone| departures.add(gone.cause));
        self.counts.left(&self.shard(shard).counts, departures);
        let mut waiters = Vec::new();
        let exits = gone.drain(..).filter_map(|Gone { id, held, cause, expired_at, .. }| match held {
            Held::Operation(operation) => Some(Exit { id, operation, cause, expired_at }),
            Held::Waiter(waiter) => {
                waiters.push((waiter, cause));
                None
            }
        });
        // Where nobody listens any more operations are dropped, and their drops may panic.
        let delivered = catch_unwind(AssertUnwindSafe(|| self.sink.deliver(shard, exits, &self.occupied)));
        self.occupied.leave(waiters.len());
        for (waiter, cause) in waiters {
            waiter.finish(cause);
        }
        if let Err(panic) = delivered {
            resume_unwind(panic);
        }
    }

    fn unlink_one(&self, mut chain: Option<Link>) {
        while let Some(link) = chain {
            chain = self.shard(link.shard).lock().unlink(link.shard, chain);
        }
    }

    /// Unlinks several chains, with one lock a shard and round.
    fn unlink_all(&self, mut chains: SmallVec<[Link; BATCH]>) {
        while !chains.is_empty() {
            chains.sort_unstable_by_key(|link| link.shard);
            let mut rest = SmallVec::new();
            let runs = chains.chunk_by(|a, b| a.shard == b.shard);
            for some in runs.flat_map(|some| some.chunks(BATCH)) {
                let mut state = self.shard(some[0].shard).lock();
                state.touch_links(some);
                rest.extend(some.iter().filter_map(|&link| state.unlink(link.shard, Some(link))));
            }
            chains = rest;
        }
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
        let home = ShardIndex::new(shard);
        let shard = self.shard(home);
        let mut budget = CHUNKS;
        let mut state = shard.lock();
        let (claims, mut gone) = state.take_room();
        for _ in 0..BATCH {
            let Some(expired) = state.wheel.expire_next_within(now, &mut budget) else { break };
            // One that is being examined has no slot to return to, and so learns that it expired.
            let Slot::Parked(held, rest) = expired.value else { continue };
            let id = SharedId { home, timer: expired.id };
            let expired_at = Some(expired.deadline);
            gone.push(Gone { id, held, rest, cause: Cause::Expired, expired_at });
        }
        let links: SmallVec<[Link; BATCH]> = gone.iter().filter_map(|gone| gone.rest).collect();
        state.touch_links(&links);
        for gone in &mut gone {
            gone.rest = state.unlink(home, gone.rest);
        }
        shard.arm_anew(&state);
        // There may be a million more to come: those who submit meanwhile wait for one batch.
        hand_over(state);
        let late = gone.iter().filter_map(|gone| gone.expired_at).map(|deadline| now.ticks_since(deadline));
        self.counts.late(&shard.counts, late);
        self.let_go(home, &mut gone);
        shard.keep(claims, gone);
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
