//! Partitions of topics as people write them: `orders:3`, and many of them as `orders:0-3,7`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// `TOPIC` or `TOPIC:PARTITION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) topic: String,
    /// `None`: all of them.
    pub(super) partition: Option<i32>,
}

impl Selection {
    pub(super) fn covers(&self, topic: &str, partition: i32) -> bool {
        self.topic == topic && self.partition.is_none_or(|own| own == partition)
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.partition {
            Some(partition) => write!(f, "{}:{partition}", self.topic),
            None => f.write_str(&self.topic),
        }
    }
}

impl FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // No topic's name has a colon in it.
        let (topic, partition) = match text.split_once(':') {
            Some((topic, partition)) => (topic, Some(index(partition)?)),
            None => (text, None),
        };
        if topic.is_empty() {
            return Err("must be TOPIC or TOPIC:PARTITION".into());
        }
        Ok(Self { topic: topic.into(), partition })
    }
}

/// `TOPIC:PARTITION=OFFSET`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) offset: i64,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "must be TOPIC:PARTITION=OFFSET".to_owned();
        let (place, offset) = text.split_once('=').ok_or_else(form)?;
        let (topic, partition) =
            place.split_once(':').filter(|(topic, _)| !topic.is_empty()).ok_or_else(form)?;
        let offset = offset.parse().ok().filter(|offset| *offset >= 0);
        let offset = offset.ok_or_else(|| "an offset is a whole number from 0".to_owned())?;
        Ok(Self { topic: topic.into(), partition: index(partition)?, offset })
    }
}

fn index(text: &str) -> Result<i32, String> {
    text.parse().ok().filter(|index| *index >= 0).ok_or_else(|| "a partition is a whole number from 0".into())
}

/// Partitions of several topics, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PartitionSet(BTreeMap<String, BTreeSet<i32>>);

impl PartitionSet {
    pub(super) fn insert(&mut self, topic: &str, partition: i32) {
        self.0.entry(topic.to_owned()).or_default().insert(partition);
    }

    pub(super) fn contains(&self, topic: &str, partition: i32) -> bool {
        self.0.get(topic).is_some_and(|partitions| partitions.contains(&partition))
    }

    pub(super) fn topics(&self) -> impl Iterator<Item = (&str, &BTreeSet<i32>)> {
        self.0.iter().map(|(topic, partitions)| (topic.as_str(), partitions))
    }
}

impl fmt::Display for PartitionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (topic, partitions)) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{topic}:{}", ranges(partitions))?;
        }
        Ok(())
    }
}

/// `0-3,7` for 0, 1, 2, 3 and 7.
fn ranges(partitions: &BTreeSet<i32>) -> String {
    let mut runs: Vec<(i32, i32)> = Vec::new();
    for &partition in partitions {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(partition) => *last = partition,
            Some(_) | None => runs.push((partition, partition)),
        }
    }
    let run = |(first, last): (i32, i32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    runs.into_iter().map(run).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_written_short() {
        let text = |partitions: &[i32]| ranges(&partitions.iter().copied().collect());
        assert_eq!(text(&[]), "");
        assert_eq!(text(&[3, 1, 2, 0, 7, 9, 10]), "0-3,7,9,10");
        assert_eq!(text(&[i32::MAX - 1, i32::MAX]), "2147483646,2147483647");
    }

    #[test]
    fn what_is_typed_is_read_or_refused() {
        let set: Result<Assignment, _> = "orders:3=17".parse();
        assert_eq!(set, Ok(Assignment { topic: "orders".into(), partition: 3, offset: 17 }));
        for bad in [
            "orders",
            "orders=1",
            "orders:1",
            "orders:-1=1",
            "orders:1=-1",
            ":1=1",
            "a:x=1",
            "a:1=x",
            "a:1=",
            "",
        ] {
            assert!(bad.parse::<Assignment>().is_err(), "{bad}");
        }
        assert_eq!("a".parse(), Ok(Selection { topic: "a".into(), partition: None }));
        assert_eq!("a:2".parse(), Ok(Selection { topic: "a".into(), partition: Some(2) }));
        for bad in ["", ":1", "a:", "a:-1", "a:99999999999"] {
            assert!(bad.parse::<Selection>().is_err(), "{bad}");
        }
    }
}
