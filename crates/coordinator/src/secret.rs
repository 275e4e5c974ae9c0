//! All that a coordinator draws from its seed: what clients see of it (member ids) tells nothing of the rest (how names
//! are hashed), nor of what will be drawn next.

use std::hash::Hasher as _;
#[expect(
    deprecated,
    reason = "SipHash-2-4, by name; the hashers that replaced it do not say which function they are"
)]
use std::hash::SipHasher;

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// The seed of look-ups.
    Hashes,
    /// Keys for names of groups.
    GroupKeys,
    /// Keys for ids of members.
    MemberKeys,
    /// Ids of members.
    MemberIds,
}

/// Words that depend on the seed, what they are for, and their number: SipHash-2-4 under the seed as a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secret {
    seed: u64,
}

impl Secret {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The word of this number for this purpose.
    pub(crate) fn word(self, purpose: Purpose, number: u64) -> u64 {
        #[expect(deprecated, reason = "as above")]
        let mut hasher = SipHasher::new_with_keys(self.seed, !self.seed);
        hasher.write_u64(purpose as u64);
        hasher.write_u64(number);
        hasher.finish()
    }
}
