//! The one source of chance: a seeded generator that splits into streams by purpose.
//!
//! Each client, fault and connection draws from a stream of its own, so that taking one of them out (which is how a
//! failure is shrunk) leaves what the others draw as it was.

/// A stream of random numbers. The same seed and purpose give the same numbers, on every machine.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

/// Spreads the bits of `value` over all of them (SplitMix64's finalizer).
pub fn mix(value: u64) -> u64 {
    let mut mixed = value;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl Random {
    /// The stream of `seed` for one purpose, of which there may be several `instance`s.
    pub fn new(seed: u64, purpose: &str, instance: u64) -> Self {
        let named = purpose.bytes().fold(mix(seed ^ 0x5EED), |state, byte| mix(state ^ u64::from(byte)));
        Self { state: mix(named ^ mix(instance.wrapping_add(0x9E37_79B9_7F4A_7C15))) }
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        // Lemire's multiplication: the bias is below 2^-32 for the bounds used here.
        let product = u128::from(self.any()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// A number of `from..=to`.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to.saturating_sub(from) + 1)
    }

    /// An index into something of `length`, which is at least 1.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// One of these; there is at least one.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.index(from.len())]
    }

    /// True `in_a_million` times of a million.
    pub fn chance(&mut self, in_a_million: u64) -> bool {
        in_a_million > 0 && self.below(1_000_000) < in_a_million
    }

    /// A wait whose mean is `mean`, memoryless, at most eight times as long.
    pub fn wait(&mut self, mean: u64) -> u64 {
        // The sum of geometric halvings: no floating point, so the same on every machine.
        let halvings = u64::from(self.any().trailing_zeros().min(7));
        let part = self.below(mean.max(1));
        (mean / 2).saturating_mul(halvings).saturating_add(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |purpose, instance| Random::new(1, purpose, instance).any();
        assert_eq!(draw("network", 0), draw("network", 0));
        assert_ne!(draw("network", 0), draw("network", 1));
        assert_ne!(draw("network", 0), draw("client", 0));
    }

    #[test]
    fn numbers_stay_within_their_bounds() {
        let mut random = Random::new(2, "bounds", 0);
        for _ in 0..1_000 {
            assert!(random.below(7) < 7);
            assert!((3..=5).contains(&random.between(3, 5)));
            assert!(random.wait(100) <= 50 * 7 + 100);
        }
        assert!(!random.chance(0) && random.chance(1_000_000));
    }
}
