//! Examining operations outside of all locks: claim, look, settle. Here it is decided who leaves, and why.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::held::{Gone, Held};
use super::shard::{Links, Shard, Slot};
use super::{DelayedOperation, SharedId};
use crate::sync::{Fault, planted};
use crate::{Cause, TimingWheel};

/// An operation in this thread's hands. Its slot says `Examined`.
pub(crate) struct Claim<O> {
    pub(crate) id: SharedId,
    pub(crate) held: Held<O>,
    pub(crate) links: Links,
}

impl<O: DelayedOperation> Claim<O> {
    /// Takes the operation in hand. If another thread has it, that one is told to look again.
    pub(crate) fn take(wheel: &mut TimingWheel<Slot<Held<O>>>, id: SharedId) -> Option<Self> {
        let slot = wheel.get_mut(id.timer)?;
        if let Slot::Examined { again, .. } = slot {
            *again |= !planted(Fault::LostTrigger);
            return None;
        }
        #[cfg(shuttle)]
        if planted(Fault::DoubleCompletion)
            && let Slot::Parked(Held::Operation(operation), links) = slot
        {
            return Some(Self { id, held: Held::Operation(operation.clone()), links: links.clone() });
        }
        match std::mem::replace(slot, Slot::Examined { again: false, leaving: None }) {
            Slot::Parked(held, links) => Some(Self { id, held, links }),
            Slot::Examined { .. } => unreachable!("returned above"),
        }
    }
}

enum Finding {
    Ready,
    Waits,
    Panicked,
}

/// Examines the claims, all at home in `shard`, until each has left or is parked again. Those that left are added to
/// `gone`. Every round beyond the first answers a trigger that came during the one before.
pub(crate) fn settle_all<O, K, S>(
    shard: &Shard<Held<O>, K, S>,
    mut claims: Vec<Claim<O>>,
    gone: &mut Vec<Gone<O>>,
) -> usize
where
    O: DelayedOperation,
    K: std::hash::Hash + Eq,
    S: std::hash::BuildHasher,
{
    let mut satisfied = 0;
    while !claims.is_empty() {
        let examined: Vec<_> = claims.into_iter().map(examine).collect();
        claims = Vec::new();
        let mut state = shard.lock();
        for (claim, finding) in examined {
            match settle(&mut state.wheel, claim.id, &finding) {
                Verdict::Again => claims.push(claim),
                Verdict::Leave(cause) => {
                    satisfied += usize::from(cause == Cause::Satisfied);
                    let Claim { id, held, links } = claim;
                    gone.push(Gone { id, held, links, cause, expired_at: None });
                }
                Verdict::Park => {
                    let slot = state.wheel.get_mut(claim.id.timer);
                    *slot.expect("invariant: just settled") = Slot::Parked(claim.held, claim.links);
                }
            }
        }
    }
    satisfied
}

enum Verdict {
    Again,
    Leave(Cause),
    Park,
}

fn examine<O: DelayedOperation>(mut claim: Claim<O>) -> (Claim<O>, Finding) {
    let finding = match catch_unwind(AssertUnwindSafe(|| claim.held.is_ready())) {
        Ok(true) => Finding::Ready,
        Ok(false) => Finding::Waits,
        Err(_) => Finding::Panicked,
    };
    (claim, finding)
}

fn settle<H>(wheel: &mut TimingWheel<Slot<H>>, id: SharedId, finding: &Finding) -> Verdict {
    let cause = match finding {
        Finding::Ready => Cause::Satisfied,
        Finding::Panicked => Cause::Panicked,
        Finding::Waits => match wheel.get_mut(id.timer) {
            // Its deadline came while it was in hand.
            None => return Verdict::Leave(Cause::Expired),
            Some(Slot::Examined { leaving: Some(cause), .. }) => *cause,
            Some(Slot::Examined { again, leaving: None }) if *again => {
                *again = false;
                return Verdict::Again;
            }
            Some(Slot::Examined { .. }) => return Verdict::Park,
            Some(Slot::Parked(..)) if planted(Fault::DoubleCompletion) => return Verdict::Park,
            Some(Slot::Parked(..)) => unreachable!("a slot is parked by who has it in hand"),
        },
    };
    wheel.remove(id.timer);
    Verdict::Leave(cause)
}
