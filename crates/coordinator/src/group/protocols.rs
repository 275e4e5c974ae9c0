//! Which protocols (assignment strategies) members can do, counted, so that a join costs no look at other members.

use std::sync::Arc;

use hashbrown::HashTable;

use crate::hasher::Hasher;
use crate::ids::Blob;

/// A protocol's place in [`Protocols`]: good while some member supports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProtocolIndex(u32);

/// The protocols of one member, best first, with its metadata for each.
#[derive(Debug)]
pub(crate) enum MemberProtocols {
    /// What nearly every member has: stored without an allocation.
    One(ProtocolIndex, Blob),
    /// Several; no name twice.
    Many(Box<[(ProtocolIndex, Blob)]>),
}

impl MemberProtocols {
    /// Metadata that is the same as here becomes the very one that is here: members of a group mostly read the same.
    pub(crate) fn share_with(&self, protocols: &mut [(Arc<str>, Blob)]) {
        for ((_, metadata), (_, kept)) in protocols.iter_mut().zip(self.entries()) {
            if metadata == kept {
                *metadata = Arc::clone(kept);
            }
        }
    }

    /// Index and metadata, best first.
    fn entries(&self) -> impl Iterator<Item = (ProtocolIndex, &Blob)> {
        let (one, many) = match self {
            Self::One(index, metadata) => (Some((*index, metadata)), None),
            Self::Many(list) => (None, Some(list)),
        };
        one.into_iter().chain(many.into_iter().flatten().map(|(index, metadata)| (*index, metadata)))
    }
}

/// Up to so many protocols are found by looking at each: most groups have one or two.
const FEW: usize = 8;

/// All protocols any member of a group supports, with the number of members that do.
#[derive(Debug)]
pub(crate) struct Protocols {
    known: Vec<Known>,
    /// Empty while there are few.
    by_name: HashTable<u32>,
    free: Vec<u32>,
    hasher: Hasher,
}

#[derive(Debug)]
struct Known {
    name: Arc<str>,
    members: usize,
}

impl Protocols {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self { known: Vec::new(), by_name: HashTable::new(), free: Vec::new(), hasher }
    }

    /// Counts a member's `protocols`. Of a name given twice the first counts.
    pub(crate) fn add(&mut self, protocols: Vec<(Arc<str>, Blob)>) -> MemberProtocols {
        if let [(name, _)] = protocols.as_slice() {
            let index = self.index_of(name).unwrap_or_else(|| self.insert(name));
            self.known[index as usize].members += 1;
            let (_, metadata) = protocols.into_iter().next().expect("invariant: one");
            return MemberProtocols::One(ProtocolIndex(index), metadata);
        }
        let mut list: Vec<(ProtocolIndex, Blob)> = Vec::with_capacity(protocols.len());
        let mut seen = hashbrown::HashSet::with_capacity_and_hasher(protocols.len(), self.hasher);
        for (name, metadata) in protocols {
            let index = self.index_of(&name).unwrap_or_else(|| self.insert(&name));
            if seen.insert(index) {
                self.known[index as usize].members += 1;
                list.push((ProtocolIndex(index), metadata));
            }
        }
        MemberProtocols::Many(list.into())
    }

    /// No longer counts what a member could do.
    pub(crate) fn remove(&mut self, protocols: &MemberProtocols) {
        for (index, _) in protocols.entries() {
            let known = &mut self.known[index.0 as usize];
            known.members -= 1;
            if known.members == 0 {
                if !self.by_name.is_empty() {
                    let hash = self.hasher.hash_text(&known.name);
                    if let Ok(entry) = self.by_name.find_entry(hash, |&other| other == index.0) {
                        entry.remove();
                    }
                }
                self.free.push(index.0);
            }
        }
    }

    /// Whether one of `protocols` is supported by all of `members` members.
    pub(crate) fn any_supported_by_all(&self, protocols: &[(Arc<str>, Blob)], members: usize) -> bool {
        protocols.iter().any(|(name, _)| {
            self.index_of(name).map_or(0, |index| self.known[index as usize].members) == members
        })
    }

    /// Whether `offered` is exactly what the member has: same names, same order, same metadata.
    pub(crate) fn matches(&self, member: &MemberProtocols, offered: &[(Arc<str>, Blob)]) -> bool {
        let mut entries = member.entries();
        for (position, (name, metadata)) in offered.iter().enumerate() {
            let Some((index, own)) = entries.next() else {
                // What is left may be repetitions, which do not count.
                return offered[position..].iter().all(|(name, _)| {
                    self.index_of(name)
                        .is_some_and(|index| member.entries().any(|(known, _)| known.0 == index))
                });
            };
            if *self.known[index.0 as usize].name != **name || own != metadata {
                return false;
            }
        }
        entries.next().is_none()
    }

    /// The protocol most of `members` prefer, among those that all of them support. A draw goes to the one the
    /// group has known longest. `None` if there is none.
    pub(crate) fn vote<'m>(
        &self,
        members: impl ExactSizeIterator<Item = &'m MemberProtocols>,
    ) -> Option<Arc<str>> {
        let all = members.len();
        if let [only] = self.known.as_slice() {
            return (only.members == all && all > 0).then(|| Arc::clone(&only.name));
        }
        let mut votes = vec![0_usize; self.known.len()];
        for member in members {
            let mut liked = member.entries();
            if let Some((index, _)) = liked.find(|(index, _)| self.known[index.0 as usize].members == all) {
                votes[index.0 as usize] += 1;
            }
        }
        let (winner, most) = votes.iter().enumerate().rev().max_by_key(|&(_, &votes)| votes)?;
        (*most > 0).then(|| Arc::clone(&self.known[winner].name))
    }

    /// Where `name` is, if any member supports it.
    pub(crate) fn find(&self, name: &str) -> Option<ProtocolIndex> {
        self.index_of(name).map(ProtocolIndex)
    }

    fn index_of(&self, name: &str) -> Option<u32> {
        if self.known.len() <= FEW {
            let place = self.known.iter().position(|known| known.members > 0 && *known.name == *name)?;
            return u32::try_from(place).ok();
        }
        let hash = self.hasher.hash_text(name);
        self.by_name.find(hash, |&index| *self.known[index as usize].name == *name).copied()
    }

    fn insert(&mut self, name: &Arc<str>) -> u32 {
        let known = Known { name: Arc::clone(name), members: 0 };
        let index = if let Some(index) = self.free.pop() {
            self.known[index as usize] = known;
            index
        } else {
            self.known.push(known);
            u32::try_from(self.known.len() - 1).expect("invariant: fewer protocols than memory for them")
        };
        let (hasher, all) = (self.hasher, &self.known);
        let hash_of = |&index: &u32| hasher.hash_text(&all[index as usize].name);
        if all.len() > FEW && self.by_name.is_empty() {
            // No longer few: all that are in use are found by name from now on.
            for (place, known) in (0_u32..).zip(all).filter(|(_, known)| known.members > 0) {
                self.by_name.insert_unique(hasher.hash_text(&known.name), place, hash_of);
            }
        }
        if all.len() > FEW {
            self.by_name.insert_unique(hasher.hash_text(name), index, hash_of);
        }
        index
    }
}

impl MemberProtocols {
    /// The metadata for one protocol, if the member supports it.
    pub(crate) fn metadata(&self, index: ProtocolIndex) -> Option<&Blob> {
        self.entries().find(|(known, _)| *known == index).map(|(_, metadata)| metadata)
    }
}
