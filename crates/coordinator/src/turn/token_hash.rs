//! Where the numbers of tokens lie in a table: eight that follow one another side by side, since hosts mostly count and
//! requests that came together are answered together. They are the host's own, so that no client can choose them.

use std::hash::{BuildHasherDefault, Hasher};

/// For maps by a token's number.
pub(super) type TokenHash = BuildHasherDefault<TokenHasher>;

/// Hashes one number.
#[derive(Debug, Default)]
pub(super) struct TokenHasher(u64);

impl Hasher for TokenHasher {
    fn write_u64(&mut self, number: u64) {
        let (eight, which) = (number >> 3, number & 7);
        // The lower bits of a product depend on the lower bits of its factors alone: they get the upper ones as well.
        let product = eight.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let mixed = (product ^ product >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let mixed = mixed ^ mixed >> 32;
        self.0 = mixed ^ which ^ which << 61;
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("a token's number is hashed as a number");
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn hash(number: u64) -> u64 {
        let mut hasher = TokenHasher::default();
        hasher.write_u64(number);
        hasher.finish()
    }

    #[test]
    fn numbers_that_follow_one_another_lie_side_by_side() {
        for number in (0..8_000).step_by(8) {
            let places: BTreeSet<u64> =
                (number..number + 8).map(|number| hash(number) >> 3 & 0xFFFF).collect();
            assert_eq!(places.len(), 1, "from {number}");
        }
    }

    #[test]
    fn other_ways_to_count_are_spread_as_well() {
        for step in [1, 2, 8, 16, 256, 1 << 16, 1 << 32, 1 << 48] {
            let places: BTreeSet<u64> =
                (0..4_096).map(|n: u64| hash(n.wrapping_mul(step)) & 0xFFFF).collect();
            assert!(places.len() > 3_000, "steps of {step}: {} places", places.len());
        }
    }
}
