//! Which topics the members of a group read, as far as their metadata says (the consumer protocol's subscription).
//!
//! Metadata comes from clients: every length in it is checked against what is there, and nothing is allocated for
//! what is not.

use std::sync::Arc;

use crate::ids::{Blob, TopicName};

/// The newest version whose layout is known; newer ones only add at the end.
const NEWEST_VERSION: i16 = 3;

/// The topics a group reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Subscription {
    /// Not a consumer group, no generation yet, or metadata that cannot be read: any topic may be read.
    #[default]
    Unknown,
    /// These, sorted.
    Topics(Arc<[TopicName]>),
}

impl Subscription {
    /// Nobody reads anything.
    pub(crate) fn none() -> Self {
        Self::Topics(Arc::default())
    }

    /// What the members with this metadata read together. Unknown if one member's cannot be read.
    pub(crate) fn of<'a>(metadata: impl Iterator<Item = &'a Blob>) -> Self {
        let mut topics: Vec<&str> = Vec::new();
        let mut distinct = 0;
        let mut last: Option<&Blob> = None;
        for metadata in metadata {
            // Members mostly subscribe to the same: the same bytes need not be read again.
            if last.is_some_and(|last| last == metadata) {
                continue;
            }
            last = Some(metadata);
            let Some(subscribed) = Topics::of(metadata) else { return Self::Unknown };
            topics.extend(subscribed);
            // Now and then, so that many members with the same topics take no more room than the topics.
            if topics.len() > 2 * distinct + 64 {
                sort_and_dedup(&mut topics);
                distinct = topics.len();
            }
        }
        sort_and_dedup(&mut topics);
        Self::Topics(topics.into_iter().map(TopicName::from).collect())
    }

    /// Whether the topic may be read by a member.
    pub(crate) fn may_contain(&self, topic: &TopicName) -> bool {
        match self {
            Self::Unknown => true,
            Self::Topics(topics) => topics.binary_search(topic).is_ok(),
        }
    }
}

fn sort_and_dedup(topics: &mut Vec<&str>) {
    topics.sort_unstable();
    topics.dedup();
}

/// The topics of one subscription, all of whose bytes have been checked.
struct Topics<'a> {
    rest: Reader<'a>,
    left: usize,
}

impl<'a> Topics<'a> {
    /// `None`: not a subscription.
    fn of(metadata: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(metadata);
        let version = reader.int16()?;
        if version < 0 {
            return None;
        }
        let version = version.min(NEWEST_VERSION);
        let left = usize::try_from(reader.int32()?).ok()?;
        let topics = Self { rest: reader, left };
        for _ in 0..left {
            reader.text()?;
        }
        reader.nullable_bytes()?;
        if version >= 1 {
            reader.owned_partitions()?;
        }
        if version >= 2 {
            reader.int32()?;
        }
        if version >= 3 {
            reader.nullable_text()?;
        }
        Some(topics)
    }
}

impl<'a> Iterator for Topics<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.left = self.left.checked_sub(1)?;
        self.rest.text()
    }
}

/// Reads front to back. `None`: there is less than the layout says, or a text is not UTF-8.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn int16(&mut self) -> Option<i16> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i16::from_be_bytes(*taken))
    }

    fn int32(&mut self) -> Option<i32> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i32::from_be_bytes(*taken))
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.int16()?).ok()?;
        std::str::from_utf8(self.bytes(length)?).ok()
    }

    fn nullable_text(&mut self) -> Option<()> {
        match self.int16()? {
            -1 => Some(()),
            length => self.bytes(usize::try_from(length).ok()?).map(drop),
        }
    }

    fn nullable_bytes(&mut self) -> Option<()> {
        match self.int32()? {
            -1 => Some(()),
            length => self.bytes(usize::try_from(length).ok()?).map(drop),
        }
    }

    fn owned_partitions(&mut self) -> Option<()> {
        let topics = usize::try_from(self.int32()?).ok()?;
        for _ in 0..topics {
            self.text()?;
            let partitions = usize::try_from(self.int32()?).ok()?;
            self.bytes(partitions.checked_mul(4)?)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Version 0 with these topics and no user data.
    fn version_0(topics: &[&str]) -> Vec<u8> {
        let mut bytes = vec![0, 0];
        bytes.extend(i32::try_from(topics.len()).expect("few").to_be_bytes());
        for topic in topics {
            bytes.extend(i16::try_from(topic.len()).expect("short").to_be_bytes());
            bytes.extend(topic.as_bytes());
        }
        bytes.extend((-1_i32).to_be_bytes());
        bytes
    }

    /// Version 3 with everything there is.
    fn version_3() -> Vec<u8> {
        let mut bytes = version_0(&["a", "b"]);
        bytes[1] = 3;
        let user_data = bytes.len() - 4;
        bytes.truncate(user_data);
        bytes.extend([0, 0, 0, 2, 7, 7]);
        bytes.extend([0, 0, 0, 1, 0, 1, b'a', 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1]);
        bytes.extend([0, 0, 0, 9]);
        bytes.extend([0, 1, b'r']);
        bytes
    }

    fn of(metadata: &[&[u8]]) -> Subscription {
        let blobs: Vec<Blob> = metadata.iter().map(|bytes| Blob::from(*bytes)).collect();
        Subscription::of(blobs.iter())
    }

    fn topics(names: &[&str]) -> Subscription {
        Subscription::Topics(names.iter().map(|name| TopicName::from(*name)).collect())
    }

    #[test]
    fn the_union_of_what_members_read() {
        assert_eq!(of(&[]), Subscription::none());
        assert_eq!(of(&[&version_0(&["b", "a"]), &version_0(&["c", "a"])]), topics(&["a", "b", "c"]));
        let read = of(&[&version_0(&["b"]), &version_0(&["b"])]);
        assert_eq!(read, topics(&["b"]));
        assert!(read.may_contain(&"b".into()));
        assert!(!read.may_contain(&"a".into()));
    }

    #[test]
    fn what_cannot_be_read_reads_everything() {
        for metadata in [&[][..], &[0x0a], &[0, 0], &[0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]] {
            let read = of(&[&version_0(&["a"]), metadata]);
            assert_eq!(read, Subscription::Unknown, "{metadata:?}");
            assert!(read.may_contain(&"z".into()));
        }
    }

    #[test]
    fn every_version_and_newer_ones() {
        assert_eq!(of(&[&version_3()]), topics(&["a", "b"]));
        let mut newer = version_3();
        newer[1] = 9;
        newer.extend([1, 2, 3]);
        assert_eq!(of(&[&newer]), topics(&["a", "b"]));
    }

    #[test]
    fn cut_short_anywhere_it_is_no_subscription() {
        let whole = version_3();
        for length in 0..whole.len() {
            assert_eq!(of(&[&whole[..length]]), Subscription::Unknown, "{length} bytes");
        }
    }

    #[test]
    fn lengths_beyond_what_is_there_allocate_nothing_and_fail() {
        // 2^31 - 1 topics; a topic of 32,767 bytes; 2^31 - 1 bytes of user data; 2^31 - 1 owned partitions.
        let mut many_topics = version_0(&["a"]);
        many_topics[2..6].copy_from_slice(&i32::MAX.to_be_bytes());
        let mut long_topic = version_0(&["a"]);
        long_topic[6..8].copy_from_slice(&i16::MAX.to_be_bytes());
        let mut much_data = version_0(&["a"]);
        let at = much_data.len() - 4;
        much_data[at..].copy_from_slice(&i32::MAX.to_be_bytes());
        let mut many_owned = version_3();
        let at = many_owned.len() - 7 - 12;
        many_owned[at..at + 4].copy_from_slice(&i32::MAX.to_be_bytes());
        for metadata in [many_topics, long_topic, much_data, many_owned] {
            assert_eq!(of(&[&metadata]), Subscription::Unknown, "{metadata:?}");
        }
    }
}
