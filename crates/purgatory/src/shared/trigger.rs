//! Something happened under a key: who waits for it is taken in hand, examined, and let go or parked again.

use std::hash::{BuildHasher, Hash};

use hashbrown::Equivalent;
use smallvec::SmallVec;

use super::examine::{Claim, Claims, Ids, Settled};
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
        loop {
            let mut ids = Ids::new();
            let mut state = self.shard(shard).lock();
            let more = gather(&mut state, &mut ids);
            if !ids.is_empty() {
                satisfied += self.examine_some(shard, state, &ids);
            }
            if !more {
                return satisfied;
            }
        }
    }

    #[inline(never)]
    fn examine_some(
        &self,
        shard: ShardIndex,
        mut state: MutexGuard<'_, ShardState<O, K>>,
        ids: &Ids,
    ) -> usize {
        let mut claims = Claims::with_capacity(ids.len());
        let here = ids.iter().zip(0..).filter(|(id, _)| id.home == shard);
        claims.extend(here.filter_map(|(&id, place)| Claim::take(&mut state.wheel, id, place)));
        drop(state);
        if ids.iter().any(|id| id.home != shard) {
            self.claim_elsewhere(shard, ids, &mut claims);
        }
        self.settle(shard, claims)
    }

    /// Takes those in hand that are at home in other shards than `here`.
    fn claim_elsewhere(&self, here: ShardIndex, ids: &Ids, claims: &mut Claims<O>) {
        let mut elsewhere: SmallVec<[(SharedId, u32); 4]> =
            ids.iter().copied().zip(0..).filter(|(id, _)| id.home != here).collect();
        elsewhere.sort_by_key(|(id, _)| id.home);
        for some in elsewhere.chunk_by(|(a, _), (b, _)| a.home == b.home) {
            let mut state = self.shard(some[0].0.home).lock();
            claims.extend(some.iter().filter_map(|&(id, place)| Claim::take(&mut state.wheel, id, place)));
        }
        claims.sort_unstable_by_key(|claim| claim.place);
    }

    /// Examines the claims in the order of their places until each has left or is parked again. Every round beyond the
    /// first answers triggers that came during the one before.
    fn settle(&self, shard: ShardIndex, mut claims: Claims<O>) -> usize {
        let mut satisfied = 0;
        while !claims.is_empty() {
            claims.iter_mut().for_each(Claim::examine);
            if claims.iter().any(|claim| claim.id.home != shard) {
                claims.sort_by_key(|claim| claim.id.home);
            }
            let (mut again, mut gone) = (Claims::new(), Leaving::new());
            let mut claimed = claims.into_iter();
            while let Some(home) = claimed.as_slice().first().map(|claim| claim.id.home) {
                let run = claimed.as_slice().iter().take_while(|claim| claim.id.home == home).count();
                let mut state = self.shard(home).lock();
                for claim in claimed.by_ref().take(run) {
                    match state.settle(claim) {
                        Settled::Again(claim) => again.push(claim),
                        Settled::Parked => {}
                        Settled::Gone(left) => gone.push(left),
                    }
                }
            }
            satisfied += gone.iter().filter(|gone| gone.cause == Cause::Satisfied).count();
            self.let_go(shard, gone);
            claims = again;
        }
        satisfied
    }
}
