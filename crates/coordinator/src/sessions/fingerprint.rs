//! Tells members apart by 96 bits in place of their names, which lie elsewhere and are as long as clients like.
//!
//! The multilinear hash of Lemire and Kaser ("Strongly universal string hashing is fast", The Computer Journal, 2014),
//! twice, each with random keys of its own: every 64 bits of the two names are multiplied by a key of 128 bits, so are the
//! two lengths, and of the sum (modulo 2^128) the upper half counts. Two different pairs of names have the same upper half
//! under 1 in 2^64 of all keys, whatever the names; 64 and 32 bits of the two sums make that 1 in 2^96. Clients cannot
//! choose names that collide: they do not know the keys, and nothing a client sees tells about a fingerprint.
//! A server that is asked a million times a second for a century about strangers, beside a million members, takes one
//! for a member with a probability of 1 in 10^7; and what it would do then is to let a member live that is silent.

use crate::secret::{Purpose, Secret};

/// 64 bits of a name are multiplied by one key of each sum.
type Key = [u128; 2];

/// Keys for so many bytes of either name are at hand; for longer names the rest are made when they are needed.
const AT_HAND: usize = 128;

/// A member of a group, by the names of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fingerprint([u32; 3]);

impl Fingerprint {
    /// Enough of it to tell most members apart.
    pub(crate) fn start(self) -> u32 {
        self.0[0]
    }

    /// For a table's hash.
    pub(super) fn spread(self) -> u64 {
        u64::from(self.0[1]) << 32 | u64::from(self.0[2])
    }
}

/// What a group's name adds to the fingerprints of its members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameSum([u128; 2]);

/// The secret that fingerprints are made with.
#[derive(Debug)]
pub(super) struct Keys {
    groups: KeysOf,
    members: KeysOf,
}

impl Keys {
    pub(super) fn new(secret: Secret) -> Self {
        let of = |purpose| KeysOf::new(secret, purpose);
        Self { groups: of(Purpose::GroupKeys), members: of(Purpose::MemberKeys) }
    }

    /// Of a group's name.
    pub(super) fn name_sum(&self, group: &str) -> NameSum {
        NameSum(self.groups.sum(group.as_bytes()))
    }

    /// Of a member of the group with this name.
    pub(super) fn fingerprint(&self, NameSum(group): NameSum, member: &str) -> Fingerprint {
        let member = self.members.sum(member.as_bytes());
        let upper = |sum: u128| (sum >> 64) as u64;
        let (first, second) =
            (upper(group[0].wrapping_add(member[0])), upper(group[1].wrapping_add(member[1])));
        #[expect(clippy::cast_possible_truncation, reason = "taken apart")]
        Fingerprint([second as u32, (first >> 32) as u32, first as u32])
    }
}

/// The keys of one of the two names: the first for its length, one for each 64 bits of it.
#[derive(Debug)]
struct KeysOf {
    secret: Secret,
    purpose: Purpose,
    at_hand: Box<[Key; 1 + AT_HAND / 8]>,
}

impl KeysOf {
    fn new(secret: Secret, purpose: Purpose) -> Self {
        let at_hand = std::array::from_fn(|index| key(secret, purpose, index));
        Self { secret, purpose, at_hand: Box::new(at_hand) }
    }

    fn sum(&self, name: &[u8]) -> [u128; 2] {
        let [of_length, keys @ ..] = &*self.at_hand;
        let mut sum = [0; 2];
        add(&mut sum, of_length, name.len() as u64);
        let (words, rest) = name.as_chunks::<8>();
        for (word, key) in words.iter().zip(keys) {
            add(&mut sum, key, u64::from_le_bytes(*word));
        }
        for (index, word) in words.iter().enumerate().skip(keys.len()) {
            add(&mut sum, &self.further(1 + index), u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let word = little_endian(rest);
            match keys.get(words.len()) {
                Some(key) => add(&mut sum, key, word),
                None => add(&mut sum, &self.further(1 + words.len()), word),
            }
        }
        sum
    }

    /// A key that is not at hand.
    #[cold]
    fn further(&self, index: usize) -> Key {
        key(self.secret, self.purpose, index)
    }
}

#[inline]
fn add(sum: &mut [u128; 2], key: &Key, word: u64) {
    for (sum, key) in sum.iter_mut().zip(key) {
        *sum = sum.wrapping_add(key.wrapping_mul(u128::from(word)));
    }
}

/// One to seven bytes, by reads that overlap.
#[inline]
fn little_endian(bytes: &[u8]) -> u64 {
    match bytes {
        [a, b, c, d, ..] => {
            let last = bytes.last_chunk::<4>().map_or(0, |last| u32::from_le_bytes(*last));
            let shift = 8 * (bytes.len() - 4);
            u64::from(u32::from_le_bytes([*a, *b, *c, *d])) | u64::from(last) << shift
        }
        _ => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

fn key(secret: Secret, purpose: Purpose, index: usize) -> Key {
    let word = |n: u64| u128::from(secret.word(purpose, 4 * index as u64 + n));
    [word(0) << 64 | word(1), word(2) << 64 | word(3)]
}

#[cfg(test)]
mod tests {
    use hashbrown::HashSet;

    use super::*;

    fn of(keys: &Keys, group: &str, member: &str) -> Fingerprint {
        keys.fingerprint(keys.name_sum(group), member)
    }

    #[test]
    fn names_that_run_together_are_told_apart() {
        let keys = Keys::new(Secret::new(1));
        assert_ne!(of(&keys, "ab", "c"), of(&keys, "a", "bc"));
        assert_ne!(of(&keys, "a", "b"), of(&keys, "b", "a"));
        assert_ne!(of(&keys, "", "a"), of(&keys, "a", ""));
        assert_ne!(of(&keys, "g", "a"), of(&keys, "g", "a\0"));
        assert_ne!(of(&keys, "g", ""), of(&keys, "g", "\0\0\0\0\0\0\0\0"));
    }

    #[test]
    fn every_byte_and_every_length_counts() {
        let keys = Keys::new(Secret::new(2));
        let mut seen: HashSet<[u32; 3], foldhash::fast::FixedState> = HashSet::default();
        let mut count = 0;
        for len in 0..300 {
            let plain = "x".repeat(len);
            for name in
                (0..len).map(|at| plain[..at].to_owned() + "y" + &plain[at + 1..]).chain([plain.clone()])
            {
                seen.insert(of(&keys, &name, "member").0);
                seen.insert(of(&keys, "group", &name).0);
                count += 2;
            }
        }
        assert_eq!(seen.len(), count);
    }

    #[test]
    fn it_is_the_sum_that_is_promised() {
        for len in [0, 1, 7, 8, 9, 47, 127, 128, 129, 1_000] {
            let name: Vec<u8> = (0..len).map(|n: usize| u8::try_from(n % 251).unwrap()).collect();
            let keys = KeysOf::new(Secret::new(3), Purpose::MemberKeys);
            let mut expected = [0_u128; 2];
            for (lane, expected) in expected.iter_mut().enumerate() {
                let mut words = vec![name.len() as u64];
                for chunk in name.chunks(8) {
                    let mut word = [0; 8];
                    word[..chunk.len()].copy_from_slice(chunk);
                    words.push(u64::from_le_bytes(word));
                }
                for (index, word) in words.into_iter().enumerate() {
                    let key = key(keys.secret, keys.purpose, index)[lane];
                    *expected = expected.wrapping_add(key.wrapping_mul(u128::from(word)));
                }
            }
            assert_eq!(keys.sum(&name), expected, "{len} bytes");
        }
    }

    #[test]
    fn another_seed_gives_other_fingerprints() {
        assert_ne!(
            of(&Keys::new(Secret::new(1)), "group", "member"),
            of(&Keys::new(Secret::new(2)), "group", "member")
        );
    }
}
