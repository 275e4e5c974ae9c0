//! Each topic's name once, however many groups read the topic.
//!
//! Names come with requests, each in memory of its own. A million groups of one topic keep one of them, which is also
//! more likely to be in the cache.

use hashbrown::HashTable;

use crate::hasher::Hasher;
use crate::ids::TopicName;

/// See the module. At most twice as many names as are in use, and a few.
#[derive(Debug)]
pub(crate) struct TopicNames {
    names: HashTable<TopicName>,
    hasher: Hasher,
    /// With so many names, those that nobody else holds are dropped.
    purge_at: usize,
}

const SMALLEST_PURGE: usize = 64;

impl TopicNames {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self { names: HashTable::new(), hasher, purge_at: SMALLEST_PURGE }
    }

    /// The one `name` that everyone shares.
    pub(crate) fn shared(&mut self, name: &TopicName) -> TopicName {
        let (hash, hasher) = (self.hasher.hash_text(name.as_str()), self.hasher);
        if let Some(shared) = self.names.find(hash, |other| other == name) {
            return shared.clone();
        }
        if self.names.len() >= self.purge_at {
            self.names.retain(|name| name.is_shared());
            self.purge_at = SMALLEST_PURGE.max(2 * self.names.len());
        }
        self.names.insert_unique(hash, name.clone(), |name| hasher.hash_text(name.as_str()));
        name.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[test]
    fn names_are_shared_and_unused_ones_do_not_pile_up() {
        let mut names = TopicNames::new(Hasher::new(Secret::new(1)));
        let kept: Vec<TopicName> =
            (0..100).map(|n| names.shared(&TopicName::new(format!("kept-{n}")))).collect();
        for n in 0..10_000 {
            drop(names.shared(&TopicName::new(format!("dropped-{n}"))));
            assert!(names.names.len() <= 2 * kept.len() + SMALLEST_PURGE, "{}", names.names.len());
        }
        for name in &kept {
            let again = names.shared(&TopicName::new(name.as_str()));
            assert!(std::ptr::eq(again.as_str(), name.as_str()));
        }
    }
}
