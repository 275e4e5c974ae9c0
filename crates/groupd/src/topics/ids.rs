//! Topic ids: random UUIDs, from a seed that whoever starts the server draws.

use std::fmt;

/// A topic's id: the 16 bytes of a random (version 4) UUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub [u8; 16]);

impl fmt::Display for TopicId {
    /// As Kafka prints ids: 22 characters of URL-safe base64.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let bits = u128::from_be_bytes(self.0);
        for index in 0..22_u32 {
            // 128 bits are 21 characters of six bits and one of two, which stand at its top.
            let six = if index < 21 { bits >> (122 - 6 * index) } else { bits << 4 };
            let character = ALPHABET[usize::from((six & 0x3f) as u8)];
            fmt::Write::write_char(f, char::from(character))?;
        }
        Ok(())
    }
}

impl fmt::Debug for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Gives ids, none twice. Not secret: an id is no proof of anything.
#[derive(Clone, Debug)]
pub struct TopicIds {
    state: [u64; 2],
}

impl TopicIds {
    /// Ids from this seed: equal seeds give equal ids, so a server draws it from the system at each start.
    pub fn seeded(seed: [u64; 2]) -> Self {
        Self { state: seed }
    }

    /// The next one. As Kafka's, it never starts with `-` when printed: command lines would take it for a flag.
    pub fn next_id(&mut self) -> TopicId {
        loop {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&self.word(0).to_be_bytes());
            bytes[8..].copy_from_slice(&self.word(1).to_be_bytes());
            bytes[6] = bytes[6] & 0x0f | 0x40;
            bytes[8] = bytes[8] & 0x3f | 0x80;
            if bytes[0] >> 2 != 62 {
                return TopicId(bytes);
            }
        }
    }

    /// `SplitMix64`: every state gives another word, and the period is 2^64.
    fn word(&mut self, index: usize) -> u64 {
        self.state[index] = self.state[index].wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state[index];
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
