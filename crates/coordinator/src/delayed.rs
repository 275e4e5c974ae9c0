//! All that can be pending, and all it can wait for. Each kind has a file that says when it is ready and what follows.

pub(crate) mod heartbeat;
pub(crate) mod join;
pub(crate) mod store;
pub(crate) mod sync;

use crate::group::MemberIndex;
use crate::groups::GroupIndex;
use crate::ids::{Generation, MemberId};
use crate::messages::StoreId;
use crate::offsets::retention::Pass;
use crate::requests::{list_groups, offset_fetch};
pub(crate) use store::DelayedStore;

/// One thing that waits. 16 bytes, since there is one for every member.
#[derive(Debug)]
pub(crate) enum Delayed {
    /// The members of a group, for each other to join.
    Join(GroupIndex),
    /// The first members of an empty group, for more: for a while, with so many ms to extend it by.
    InitialJoin(GroupIndex, u32),
    /// The members of a generation, for each other to sync.
    Sync(GroupIndex, Generation),
    /// A member's silence. Under no key: a heartbeat re-arms it by id.
    Heartbeat(GroupIndex, MemberIndex),
    /// A member id that was handed out, for its use. Under no key.
    PendingMember(Box<(GroupIndex, MemberId)>),
    /// Somebody, for a write.
    Store(Box<DelayedStore>),
    /// A long list, for the turns in which the rest of it is made.
    List(Box<list_groups::Listing>),
    /// All offsets of a group, for the turns in which the rest of them is read.
    Fetch(Box<offset_fetch::Reading>),
    /// The next periodic clean-up.
    CleanUp,
    /// The rest of a pass over all groups.
    Retention(Box<Pass>),
}

/// What can complete an operation before its deadline.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum WatchKey {
    /// A group's joins.
    Join(GroupIndex),
    /// A group's syncs.
    Sync(GroupIndex),
    /// The end of a write.
    Store(StoreId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_member_has_is_small() {
        assert_eq!(size_of::<Delayed>(), 16);
    }
}
