//! How far deadlines may be handled: not beyond what had arrived by then.
//!
//! A heartbeat that waits in the inbox of a busy shard was in time, and the answer of the store was too. So a shard
//! that has fallen behind first handles all that was in its inbox when it looked at the clock, over as many turns
//! as that takes, and then what was due at that time.

use crate::clock::Now;

/// The time up to which deadlines are handled next, and how many messages come before.
#[derive(Debug, Default)]
pub(crate) struct Due {
    next: Option<(Now, usize)>,
}

impl Due {
    /// A turn begins at `now`, with `waiting` messages at hand. Bounded by the inbox, so that a flood cannot put
    /// deadlines off for ever: what comes after the look at the clock comes after the deadlines.
    pub(crate) fn begin(&mut self, now: Now, waiting: usize) {
        self.next.get_or_insert((now, waiting));
    }

    /// One message was handled.
    pub(crate) fn handled(&mut self) {
        if let Some((_, ahead)) = &mut self.next {
            *ahead = ahead.saturating_sub(1);
        }
    }

    /// The time up to which deadlines may be handled now, once.
    pub(crate) fn take(&mut self) -> Option<Now> {
        self.next.take_if(|(_, ahead)| *ahead == 0).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use purgatory::Timestamp;

    use super::*;

    #[test]
    fn what_is_due_comes_after_all_that_had_arrived_and_before_what_came_later() {
        let at = |ticks| {
            let at = Timestamp::from_ticks(ticks);
            Now { groups: at, host: at }
        };
        let mut due = Due::default();
        due.begin(at(100), 3);
        due.handled();
        due.handled();
        assert_eq!(due.take(), None);
        // The next turn: others have arrived meanwhile, and do not count.
        due.begin(at(900), 1_000);
        due.handled();
        assert_eq!(due.take(), Some(at(100)));
        assert_eq!(due.take(), None);
        due.begin(at(950), 0);
        assert_eq!(due.take(), Some(at(950)));
    }
}
