//! Something happened under a key: who waits for it is taken in hand, examined, and let go or parked again.

use std::cmp::Reverse;
use std::hash::{BuildHasher, Hash};

use hashbrown::Equivalent;
use smallvec::SmallVec;

use super::examine::{BATCH, Claim, Claims, Ids, Room, Settled};
use super::held::Leaving;
use super::inner::Inner;
use super::shard::{ShardIndex, ShardState};
use super::watches::Pass;
use super::{DelayedOperation, SharedId};
use crate::Cause;
use crate::sync::MutexGuard;

impl<K, O, S> Inner<K, O, S>
where
    K: Hash + Eq + Send + 'static,
    O: DelayedOperation,
    S: BuildHasher + Clone + Send + Sync + 'static,
{
    pub(crate) fn complete<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> usize {
        let (hash, shard) = self.locate(key);
        let mut pass = Pass::default();
        self.examine(shard, |state, ids| {
            state.watches.gather(hash, key, &mut pass, ids);
            !pass.is_over()
        })
    }

    pub(crate) fn reach<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q, value: u64) -> usize {
        let (hash, shard) = self.locate(key);
        let mut remaining = None;
        self.examine(shard, |state, ids| state.marks.gather(hash, key, value, &mut remaining, ids))
    }

    pub(crate) fn complete_all<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q, cause: Cause) -> usize {
        let (hash, shard) = self.locate(key);
        let (mut pass, mut remaining, mut left, mut more) = (Pass::default(), None, 0, true);
        while more {
            let mut ids = Ids::new();
            {
                let mut state = self.shard(shard).lock();
                more = match remaining {
                    None => {
                        state.watches.gather(hash, key, &mut pass, &mut ids);
                        if pass.is_over() {
                            remaining = Some(state.marks.count(hash, key));
                        }
                        true
                    }
                    Some(_) => state.marks.gather(hash, key, u64::MAX, &mut remaining, &mut ids),
                };
            }
            left += self.evict(shard, &mut ids, cause).0;
        }
        left
    }

    /// Examines those that `gather` finds under the lock of `shard`, batch after batch as long as it says that there are
    /// more. Returns how many were ready.
    fn examine(
        &self,
        shard: ShardIndex,
        mut gather: impl FnMut(&mut ShardState<O, K>, &mut Ids) -> bool,
    ) -> usize {
        let mut satisfied = 0;
        let mut ids = Ids::new();
        loop {
            let mut state = self.shard(shard).lock();
            let more = gather(&mut state, &mut ids);
            if !ids.is_empty() {
                satisfied += self.examine_some(shard, state, &ids);
            }
            if !more {
                return satisfied;
            }
            ids.clear();
        }
    }

    #[inline(never)]
    fn examine_some(
        &self,
        shard: ShardIndex,
        mut state: MutexGuard<'_, ShardState<O, K>>,
        ids: &Ids,
    ) -> usize {
        let room = if ids.len() > 1 { state.take_room() } else { Room::NONE.open() };
        let (mut claims, mut gone) = room;
        let here = ids.iter().zip(0..).filter(|(id, _)| id.home == shard);
        claims.extend(here.filter_map(|(&id, place)| Claim::take(&mut state.wheel, id, place)));
        drop(state);
        if ids.iter().any(|id| id.home != shard) {
            self.claim_elsewhere(shard, ids, &mut claims);
        }
        let satisfied = self.settle(shard, &mut claims, &mut gone);
        self.shard(shard).keep(claims, gone);
        satisfied
    }

    /// Takes those in hand that are at home in other shards than `here`.
    fn claim_elsewhere(&self, here: ShardIndex, ids: &Ids, claims: &mut Claims<O>) {
        let mut elsewhere: SmallVec<[(SharedId, u32); BATCH]> =
            ids.iter().copied().zip(0..).filter(|(id, _)| id.home != here).collect();
        elsewhere.sort_unstable_by_key(|(id, place)| (id.home, *place));
        for some in elsewhere.chunk_by(|(a, _), (b, _)| a.home == b.home) {
            let mut state = self.shard(some[0].0.home).lock();
            claims.extend(some.iter().filter_map(|&(id, place)| Claim::take(&mut state.wheel, id, place)));
        }
        claims.sort_unstable_by_key(|claim| claim.place);
    }

    /// Examines the claims in the order of their places until each has left or is parked again. Every round beyond the
    /// first answers triggers that came during the one before.
    fn settle(&self, shard: ShardIndex, claims: &mut Claims<O>, gone: &mut Leaving<O>) -> usize {
        let mut satisfied = 0;
        while !claims.is_empty() {
            Claim::examine(claims);
            if claims.iter().any(|claim| claim.id.home != shard) {
                // Taken from the end, by shard.
                claims.sort_unstable_by_key(|claim| (Reverse(claim.id.home), claim.place));
            }
            let mut again = Claims::new();
            while let Some(home) = claims.last().map(|claim| claim.id.home) {
                let run = claims.iter().rev().take_while(|claim| claim.id.home == home).count();
                let mut state = self.shard(home).lock();
                for claim in claims.drain(claims.len() - run..) {
                    match state.settle(claim) {
                        Settled::Again(claim) => again.push(claim),
                        Settled::Parked => {}
                        Settled::Gone(left) => gone.push(left),
                    }
                }
            }
            satisfied += gone.iter().filter(|gone| gone.cause == Cause::Satisfied).count();
            self.let_go(shard, gone);
            claims.append(&mut again);
        }
        satisfied
    }
}
