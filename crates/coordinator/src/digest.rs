//! What a group's future depends on, as text: two coordinators with equal digests answer alike from here on.
//!
//! For explorers, which must know whether they have been somewhere before, and for comparing a run with its replay. All that
//! grows without an effect on answers is relative or left out: times are relative to the turn's, generations of what waits to
//! the group's; when a round began, and who was heard of last, is for events only.

use std::fmt::Write;

use purgatory::Timestamp;

use crate::coordinator::Coordinator;
use crate::delayed::{Delayed, DelayedStore};
use crate::group::Group;
use crate::groups::GroupIndex;
use crate::ids::{Generation, GroupId};

impl Coordinator {
    /// The digest of `group`; empty if there is none. Member ids and token numbers stand in it as they are. Offsets and the
    /// ownership of partitions are not in it.
    ///
    /// O(all that waits in the coordinator): for small models.
    ///
    /// ```
    /// use coordinator::ids::GroupId;
    /// use coordinator::{Config, Coordinator, Timestamp};
    ///
    /// let coordinator = Coordinator::new(Config::default(), 7, Timestamp::ZERO);
    /// assert_eq!(coordinator.digest(&GroupId::from("orders")), "");
    /// ```
    pub fn digest(&self, group: &GroupId) -> String {
        let Some(index) = self.groups.find(group) else { return String::new() };
        let mut text = String::new();
        let written = self.write_digest(index, &mut text);
        written.unwrap_or_else(|_| unreachable!("writing to a String cannot fail"));
        text
    }

    fn write_digest(&self, index: GroupIndex, text: &mut String) -> std::fmt::Result {
        let group = &self.groups[index];
        let protocol = group.protocol.as_deref().unwrap_or_default();
        write!(text, "{} {protocol} epoch={}", group.phase(), group.epoch.0)?;
        write!(text, " leader={} new={}", group.leader_id(), group.new_member_added)?;
        for (at, member) in group.members.iter() {
            write!(text, "\n{} {:?}", member.id, member.standing)?;
            write!(text, " {:?} {}", member.parked(), member.assignment.escape_ascii())?;
            write!(text, " {} {}", member.session_timeout_ms, member.rebalance_timeout_ms)?;
            write!(text, " owes={}", group.owing_sync().contains(&at))?;
        }
        let mut waiting = self.turn.purgatory.operations();
        // As they will expire: of equal deadlines, who was first stays first.
        waiting.sort_by_key(|(deadline, _)| *deadline);
        for (deadline, operation) in waiting {
            if let Some(what) = what(group, operation) {
                write!(text, "\n{what} {}", self.remaining(deadline))?;
            }
        }
        Ok(())
    }

    fn remaining(&self, deadline: Timestamp) -> String {
        match deadline {
            Timestamp::MAX => "never".into(),
            deadline => deadline.ticks_since(self.turn.now).to_string(),
        }
    }
}

/// What `operation` waits for, if it belongs to `group`.
fn what(group: &Group, operation: &Delayed) -> Option<String> {
    let relative = |generation: Generation| generation.0.wrapping_sub(group.generation.0);
    let (of, what) = match operation {
        Delayed::Join(of) => (*of, "joins".into()),
        Delayed::InitialJoin(of, remaining_ms) => (*of, format!("first joins, then {remaining_ms}")),
        Delayed::Sync(of, generation) => (*of, format!("syncs {}", relative(*generation))),
        Delayed::Heartbeat(of, member) if *of == group.index => {
            (*of, format!("silence of {}", group.members[*member].id))
        }
        Delayed::Heartbeat(of, _) => (*of, String::new()),
        Delayed::PendingMember(pending) => (pending.0, format!("use of {}", pending.1)),
        Delayed::Store(waiting) => match &**waiting {
            DelayedStore::Assignment(waiting) => {
                let generation = relative(waiting.generation);
                let brought = if waiting.generation == group.assigned_in { &*group.brought } else { &[] };
                let each: Vec<_> = brought.iter().map(|a| a.escape_ascii().to_string()).collect();
                (waiting.group, format!("assignment {generation} {each:?}"))
            }
            DelayedStore::Replacement(waiting) => {
                let text = format!("replacement {} {}", waiting.old_id, waiting.new_id);
                (waiting.group, text)
            }
            DelayedStore::OffsetCommit(_) | DelayedStore::TxnOffsetCommit(_) => return None,
        },
        Delayed::List(_) | Delayed::Fetch(_) | Delayed::CleanUp | Delayed::Retention(_) => return None,
    };
    (of == group.index).then_some(what)
}
