//! The hasher of all look-ups: fast, and seeded from the coordinator's seed, so that clients cannot choose
//! names that collide and a run can still be repeated.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;

use crate::secret::{Purpose, Secret};

/// Hashes with the coordinator's seed. One word, copied to whoever looks things up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hasher {
    seed: u64,
}

impl Hasher {
    pub(crate) fn new(secret: Secret) -> Self {
        Self { seed: secret.word(Purpose::Hashes, 0) }
    }

    /// The hash of a name or an id.
    pub(crate) fn hash_text(self, text: &str) -> u64 {
        // Not `str::hash`, which mixes in an end mark that only matters for compound keys.
        self.hash_one(text.as_bytes())
    }
}

impl BuildHasher for Hasher {
    type Hasher = <FixedState as BuildHasher>::Hasher;

    fn build_hasher(&self) -> Self::Hasher {
        FixedState::with_seed(self.seed).build_hasher()
    }

    fn hash_one<T: Hash>(&self, value: T) -> u64 {
        FixedState::with_seed(self.seed).hash_one(value)
    }
}
