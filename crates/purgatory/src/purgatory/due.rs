//! The operations of one tick, in watch order, while they are handed out one by one.
//!
//! They still wait: between two exits any of them may be cancelled or extended, and others may join the same tick.
//! So this is a list of who to ask next, not of who has left.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::TimerId;

/// Room kept between ticks. What a tick of a million needed is given back.
const KEPT: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct Due {
    /// Collected when the tick came, last first.
    batch: Vec<(u64, TimerId)>,
    /// Came to the same tick afterwards.
    late: BinaryHeap<Reverse<(u64, TimerId)>>,
    arrivals: Vec<TimerId>,
}

impl Due {
    pub(super) fn is_empty(&self) -> bool {
        self.batch.is_empty() && self.late.is_empty()
    }

    /// Where to put those that came due, for [`Due::sort_in`].
    pub(super) fn arrivals(&mut self) -> &mut Vec<TimerId> {
        &mut self.arrivals
    }

    /// Takes the arrivals in, each in the place that `order` gives it.
    #[inline]
    pub(super) fn sort_in(&mut self, order: impl Fn(TimerId) -> u64) {
        if self.arrivals.is_empty() {
            return;
        }
        let collected = self.arrivals.drain(..).map(|id| (order(id), id));
        if self.batch.is_empty() && self.late.is_empty() {
            self.batch.extend(collected);
            // Mostly in order already: timers of one deadline are mostly filed in the order of their coming.
            self.batch.reverse();
            self.batch.sort_by_key(|&next| Reverse(next));
        } else {
            self.late.extend(collected.map(Reverse));
        }
        self.arrivals.shrink_to(KEPT);
    }

    pub(super) fn pop(&mut self) -> Option<TimerId> {
        let is_late = match (self.batch.last(), self.late.peek()) {
            (Some(next), Some(Reverse(late))) => late < next,
            (None, late) => late.is_some(),
            (Some(_), None) => false,
        };
        let next = if is_late { self.late.pop().map(|Reverse(next)| next) } else { self.batch.pop() };
        if self.is_empty() {
            self.batch.shrink_to(KEPT);
            self.late.shrink_to(KEPT);
        }
        next.map(|(_, id)| id)
    }
}
