//! The source of member ids: seeded, so that a run can be repeated. Never asks the operating system.

use crate::ids::{InstanceId, MemberId};
use crate::secret::{Purpose, Secret};

/// Hands out ids of the form `<client id or instance id>-<UUID>`, as Kafka does. The same seed gives the same ids.
#[derive(Debug)]
pub(crate) struct MemberIds {
    secret: Secret,
    drawn: u64,
    /// The latest id: its room is used again.
    text: String,
}

impl MemberIds {
    pub(crate) fn new(secret: Secret) -> Self {
        Self { secret, drawn: 0, text: String::new() }
    }

    pub(crate) fn next(&mut self, client_id: &str, instance: Option<&InstanceId>) -> MemberId {
        // A version 4 UUID of variant 1, by RFC 9562.
        let high = self.next_u64() & !0xF000 | 0x4000;
        let low = self.next_u64() >> 2 | 1 << 63;
        let text = &mut self.text;
        text.clear();
        text.push_str(instance.map_or(client_id, InstanceId::as_str));
        for (value, digits) in [(high >> 32, 8), (high >> 16, 4), (high, 4), (low >> 48, 4), (low, 12)] {
            text.push('-');
            push_hex(text, value, digits);
        }
        MemberId::new(text.as_str())
    }

    fn next_u64(&mut self) -> u64 {
        self.drawn += 1;
        self.secret.word(Purpose::MemberIds, self.drawn)
    }
}

/// The lowest `digits` hexadecimal digits of `value`.
fn push_hex(text: &mut String, value: u64, digits: u32) {
    for place in (0..digits).rev() {
        let digit = (value >> (place * 4)) & 0xF;
        text.push(char::from(b"0123456789abcdef"[digit as usize]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_look_like_kafkas_and_repeat_with_the_seed() {
        let (mut one, mut two) = (MemberIds::new(Secret::new(7)), MemberIds::new(Secret::new(7)));
        let id = one.next("client", None);
        assert_eq!(id, two.next("client", None));
        assert_ne!(id, one.next("client", None));
        let uuid = id.as_str().strip_prefix("client-").unwrap();
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert!(uuid.split('-').nth(2).unwrap().starts_with('4'));
        assert!(matches!(uuid.as_bytes()[19], b'8' | b'9' | b'a' | b'b'));
        assert!(one.next("client", Some(&"db-3".into())).as_str().starts_with("db-3-"));
    }
}
