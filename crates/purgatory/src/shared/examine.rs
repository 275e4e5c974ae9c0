//! Examining operations outside of all locks: claim, look, settle. Here it is decided who leaves, and why.

use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};

use smallvec::SmallVec;

use super::held::{Gone, Held, Leaving};
use super::shard::{Links, ShardState, Slot};
use super::{DelayedOperation, SharedId};
use crate::sync::{Fault, planted};
use crate::{Cause, TimingWheel};

/// At most this many operations are in one thread's hands, or leave under one lock: a submitter waits for no more.
pub(crate) const BATCH: usize = 64;

pub(crate) type Ids = SmallVec<[SharedId; BATCH]>;
pub(crate) type Claims<O> = SmallVec<[Claim<O>; 1]>;

/// An operation in this thread's hands. Its slot says `Examined`.
#[derive(Debug)]
pub(crate) struct Claim<O> {
    pub(crate) id: SharedId,
    pub(crate) held: Held<O>,
    pub(crate) links: Links,
    /// Its place among those that are examined together.
    pub(crate) place: u32,
    pub(crate) finding: Finding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    Ready,
    Waits,
    Panicked,
}

/// What became of a claim.
pub(crate) enum Settled<O> {
    /// A trigger came while it was examined.
    Again(Claim<O>),
    Parked,
    Gone(Gone<O>),
}

impl<O: DelayedOperation> Claim<O> {
    /// Takes the operation in hand. If another thread has it, that one is told to look again.
    pub(crate) fn take(wheel: &mut TimingWheel<Slot<O>>, id: SharedId, place: u32) -> Option<Self> {
        let slot = wheel.get_mut(id.timer)?;
        if let Slot::Examined { again, .. } = slot {
            *again |= !planted(Fault::LostTrigger);
            return None;
        }
        let claim = |held, first| {
            let links = Links { first, elsewhere: None };
            Self { id, held, links, place, finding: Finding::Waits }
        };
        #[cfg(faults)]
        if planted(Fault::DoubleCompletion)
            && let Slot::Parked(Held::Operation(operation), chain) = slot
        {
            return Some(claim(Held::Operation(operation.clone()), *chain));
        }
        match std::mem::replace(slot, Slot::Examined { again: false, leaving: None }) {
            Slot::Parked(held, chain) => Some(claim(held, chain)),
            Slot::Examined { .. } => unreachable!("returned above"),
        }
    }

    /// Asks each operation. No lock is held. If one panics, the others are asked all the same.
    #[inline]
    pub(crate) fn examine(mut claims: &mut [Self]) {
        while !claims.is_empty() {
            let mut asked = 0;
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                for claim in &mut *claims {
                    asked += 1;
                    claim.finding = if claim.held.is_ready() { Finding::Ready } else { Finding::Waits };
                }
            }));
            let (done, rest) = claims.split_at_mut(asked);
            if outcome.is_err()
                && let Some(last) = done.last_mut()
            {
                last.finding = Finding::Panicked;
            }
            claims = rest;
        }
    }
}

/// Memory for what is examined together, and for what leaves together. A shard keeps it from one trigger to the next, so
/// that nothing is allocated once it has grown.
#[derive(Debug)]
pub(crate) struct Room<O> {
    claims: Vec<Claim<O>>,
    gone: Vec<Gone<O>>,
}

impl<O> Room<O> {
    pub(crate) const NONE: Self = Self { claims: Vec::new(), gone: Vec::new() };

    pub(crate) fn open(self) -> (Claims<O>, Leaving<O>) {
        (Claims::from_vec(self.claims), Leaving::from_vec(self.gone))
    }

    /// Of lists that are empty again. None if they have no memory of their own, or more than is worth keeping.
    pub(crate) fn of(claims: Claims<O>, gone: Leaving<O>) -> Option<Self> {
        debug_assert!(claims.is_empty() && gone.is_empty(), "what had to leave has left");
        let is_small = claims.capacity().max(gone.capacity()) <= 2 * BATCH;
        let worth = is_small && (claims.spilled() || gone.spilled());
        worth.then(|| Self { claims: claims.into_vec(), gone: gone.into_vec() })
    }
}

impl<O, K: Hash + Eq> ShardState<O, K> {
    /// Acts on what was found, and on the notes that others left meanwhile. This shard is the claim's home.
    #[inline]
    pub(crate) fn settle(&mut self, claim: Claim<O>) -> Settled<O> {
        let cause = match claim.finding {
            Finding::Ready => Cause::Satisfied,
            Finding::Panicked => Cause::Panicked,
            Finding::Waits => match self.wheel.get_mut(claim.id.timer) {
                // Its deadline came while it was in hand.
                None => Cause::Expired,
                Some(Slot::Examined { leaving: Some(cause), .. }) => *cause,
                Some(Slot::Examined { again, leaving: None }) if *again => {
                    *again = false;
                    return Settled::Again(claim);
                }
                Some(Slot::Parked(..)) if !planted(Fault::DoubleCompletion) => {
                    unreachable!("a slot is parked by who has it in hand")
                }
                Some(slot) if claim.links.elsewhere.is_none() => {
                    *slot = Slot::Parked(claim.held, claim.links.first);
                    return Settled::Parked;
                }
                Some(_) => return self.park_first(claim),
            },
        };
        Settled::Gone(self.release(claim, cause))
    }

    /// Parks an operation for the first time that has links in several shards.
    fn park_first(&mut self, claim: Claim<O>) -> Settled<O> {
        let chain = self.join(claim.links);
        let slot = self.wheel.get_mut(claim.id.timer);
        *slot.expect("invariant: the caller has seen it") = Slot::Parked(claim.held, chain);
        Settled::Parked
    }
}
