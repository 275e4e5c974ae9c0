//! Member ids that were handed out and not used yet (KIP-394).

use hashbrown::HashMap;
use purgatory::OperationId;

use crate::hasher::Hasher;
use crate::ids::MemberId;

/// The ids, each with the operation that forgets it.
#[derive(Debug)]
pub(crate) struct PendingMembers {
    expiries: HashMap<MemberId, OperationId, Hasher>,
}

impl PendingMembers {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self { expiries: HashMap::with_hasher(hasher) }
    }

    pub(crate) fn len(&self) -> usize {
        self.expiries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.expiries.is_empty()
    }

    pub(crate) fn contains(&self, member: &MemberId) -> bool {
        !self.expiries.is_empty() && self.expiries.contains_key(member)
    }

    pub(crate) fn insert(&mut self, member: MemberId, expiry: OperationId) {
        self.expiries.insert(member, expiry);
    }

    /// Forgets an id; hands back its expiry.
    pub(crate) fn remove(&mut self, member: &MemberId) -> Option<OperationId> {
        let expiry = self.expiries.remove(member);
        if self.expiries.is_empty() {
            self.expiries = HashMap::with_hasher(*self.expiries.hasher());
        }
        expiry
    }

    /// Forgets all; hands back their expiries.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = OperationId> {
        self.expiries.drain().map(|(_, expiry)| expiry)
    }
}
