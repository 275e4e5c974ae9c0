//! Reads what consumers tell each other through a group: subscriptions and assignments.
//!
//! Only the front, which is the same in every version; clients differ in what they write behind it.

use super::partitions::PartitionSet;

/// The topics in a member's metadata; `None` if it is not of the consumer protocol. (A coordinator tells neither
/// while the group rebalances: both are empty then.)
pub(super) fn subscription(metadata: &[u8]) -> Option<Vec<String>> {
    let mut topics = Vec::new();
    if metadata.is_empty() {
        return Some(topics);
    }
    let mut bytes = Bytes(metadata);
    bytes.version()?;
    for _ in 0..bytes.count(2)? {
        topics.push(bytes.string()?);
    }
    topics.sort();
    Some(topics)
}

/// The partitions in a member's assignment; `None` if it is not of the consumer protocol.
pub(super) fn assignment(bytes: &[u8]) -> Option<PartitionSet> {
    let mut partitions = PartitionSet::default();
    if bytes.is_empty() {
        return Some(partitions);
    }
    let mut bytes = Bytes(bytes);
    bytes.version()?;
    for _ in 0..bytes.count(6)? {
        let topic = bytes.string()?;
        for _ in 0..bytes.count(4)? {
            partitions.insert(&topic, i32::from_be_bytes(bytes.take()?));
        }
    }
    Some(partitions)
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn version(&mut self) -> Option<i16> {
        self.take().map(i16::from_be_bytes).filter(|version| *version >= 0)
    }

    /// A count of elements that take at least `each` bytes: never more than there can be.
    fn count(&mut self, each: usize) -> Option<usize> {
        let count = usize::try_from(i32::from_be_bytes(self.take()?)).ok()?;
        (count <= self.0.len() / each).then_some(count)
    }

    fn string(&mut self) -> Option<String> {
        let length = usize::try_from(i16::from_be_bytes(self.take()?)).ok()?;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(head.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_the_front_does_not_matter() {
        let front = [0, 1, 0, 0, 0, 1, 0, 1, b'a'];
        for behind in [&[][..], &[0xff, 0xff, 0xff, 0xff], &[1, 2, 3]] {
            let metadata = [&front, behind].concat();
            assert_eq!(subscription(&metadata), Some(vec!["a".to_owned()]));
        }
        let assigned = [0, 9, 0, 0, 0, 1, 0, 1, b'a', 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 4, 7, 7];
        assert_eq!(assignment(&assigned).map(|set| set.to_string()), Some("a:4,5".into()));
        assert_eq!(assignment(&[]).map(|set| set.to_string()), Some(String::new()));
    }

    #[test]
    fn other_protocols_and_lies_are_not_read() {
        for bytes in [
            &b"{\"kafka connect\":1}"[..],
            &[0],
            &[0xff, 0xff, 0, 0, 0, 0],
            &[0, 0, 0x7f, 0xff, 0xff, 0xff],
            &[0, 0, 0xff, 0xff, 0xff, 0xff],
            &[0, 0, 0, 0, 0, 1, 0x7f, 0xff, b'a'],
        ] {
            assert_eq!(subscription(bytes), None, "{bytes:?}");
            assert_eq!(assignment(bytes), None, "{bytes:?}");
        }
    }
}
