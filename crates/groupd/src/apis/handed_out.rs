//! The member ids that one connection was given and has not used (KIP-394).
//!
//! In Kafka a round waits for such an id until its session timeout, though the client behind it may be gone (KAFKA-7909),
//! or has asked for another after its first answer was lost to it. Here the coordinator is told at once. A client that comes
//! back with the id over another connection gets UNKNOWN_MEMBER_ID, and joins anew, as all clients do then.

use std::collections::VecDeque;

use coordinator::ids::{GroupId, MemberId};

/// Ids remembered, at most; older ones are left to their session timeout. A client that plays one member needs one.
const REMEMBERED: usize = 64;

/// Ids that were handed out on one connection.
#[derive(Debug, Default)]
pub(crate) struct HandedOut(VecDeque<(GroupId, MemberId)>);

impl HandedOut {
    /// The client was told its `member` id.
    pub(crate) fn give(&mut self, group: GroupId, member: MemberId) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((group, member));
    }

    /// The client uses `member`, which is no longer to be given up.
    pub(crate) fn used(&mut self, member: &MemberId) {
        self.0.retain(|(_, handed_out)| handed_out != member);
    }

    /// The client asks for an id in `group`: what it was given there before it will not use.
    pub(crate) fn asks_again(&mut self, group: &GroupId) -> Vec<MemberId> {
        let mut given_up = Vec::new();
        self.0.retain(|(of, member)| {
            let kept = of != group;
            if !kept {
                given_up.push(member.clone());
            }
            kept
        });
        given_up
    }

    /// The connection ends: all that was not used.
    pub(crate) fn end(&mut self) -> impl Iterator<Item = (GroupId, MemberId)> {
        self.0.drain(..)
    }
}
