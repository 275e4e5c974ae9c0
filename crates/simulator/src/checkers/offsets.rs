//! No acknowledged commit is lost or replaced by an older one: each offset is a linearizable register.
//!
//! Every commit writes a number like no other, so a read names the commit it saw. A history of such a register is
//! linearizable exactly if its *zones* fit (Gibbons and Korach, Testing Shared Memories, 1997): the zone of a commit lies
//! between the earliest end and the latest begin among the commit and the reads that saw it; zones whose earliest end comes
//! first may not overlap, and none of the others may lie within one of them.

use coordinator::messages::{FetchedOffset, GroupError};

use super::{Findings, Rule};
use crate::agenda::Moment;

/// One commit of one offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteId {
    key: usize,
    place: usize,
}

/// One read of one offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadId {
    key: usize,
    begun: Moment,
}

#[derive(Clone, Debug)]
struct Write {
    value: i64,
    begun: Moment,
    outcome: Outcome,
    /// Of the reads that saw it.
    first_read_ended: Moment,
    last_read_begun: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It may be there, or come to be.
    Unknown,
    Acknowledged(Moment),
    /// It was refused before it could be written.
    Refused,
}

/// The histories of all offsets.
#[derive(Debug)]
pub struct Offsets {
    keys: Vec<Vec<Write>>,
    next: i64,
    /// Reads that were checked.
    pub reads: u64,
    /// Commits that were acknowledged.
    pub acknowledged: u64,
}

/// Partitions of one group's topic, at most.
const PARTITIONS: usize = 32;

impl Offsets {
    /// For so many groups.
    pub fn new(groups: usize) -> Self {
        let nothing = Write {
            value: -1,
            begun: Moment::default(),
            outcome: Outcome::Acknowledged(Moment::default()),
            first_read_ended: Moment::NEVER,
            last_read_begun: Moment::default(),
        };
        Self { keys: vec![vec![nothing]; groups * PARTITIONS], next: 0, reads: 0, acknowledged: 0 }
    }

    fn key(group: usize, partition: i32) -> usize {
        group * PARTITIONS + usize::try_from(partition).unwrap_or(0) % PARTITIONS
    }

    /// A commit is sent: the number it writes.
    pub fn begin_write(&mut self, now: Moment, group: usize, partition: i32) -> (WriteId, i64) {
        self.next += 1;
        let key = Self::key(group, partition);
        let place = self.keys[key].len();
        self.keys[key].push(Write {
            value: self.next,
            begun: now,
            outcome: Outcome::Unknown,
            first_read_ended: Moment::NEVER,
            last_read_begun: Moment::default(),
        });
        (WriteId { key, place }, self.next)
    }

    /// A commit is answered.
    pub fn end_write(
        &mut self,
        now: Moment,
        id: WriteId,
        error: Option<GroupError>,
        findings: &mut Findings,
    ) {
        let write = &mut self.keys[id.key][id.place];
        write.outcome = match error {
            None => Outcome::Acknowledged(now),
            // Decided before anything is written. All others may come from the store, too.
            Some(
                GroupError::UnknownMemberId
                | GroupError::IllegalGeneration
                | GroupError::RebalanceInProgress
                | GroupError::FencedInstanceId
                | GroupError::OffsetMetadataTooLarge
                | GroupError::InvalidGroupId,
            ) => Outcome::Refused,
            Some(_) => Outcome::Unknown,
        };
        self.acknowledged += u64::from(error.is_none());
        if write.outcome == Outcome::Refused && write.first_read_ended != Moment::NEVER {
            findings.broken(Rule::Linearizable, now, || {
                format!("commit {} of key {} was read and then refused: {error:?}", write.value, id.key)
            });
        }
    }

    /// A read is sent.
    pub fn begin_read(now: Moment, group: usize, partition: i32) -> ReadId {
        ReadId { key: Self::key(group, partition), begun: now }
    }

    /// A read is answered.
    pub fn end_read(&mut self, now: Moment, id: ReadId, fetched: &FetchedOffset, findings: &mut Findings) {
        if fetched.error.is_some() {
            return;
        }
        let writes = &mut self.keys[id.key];
        let found = writes.binary_search_by_key(&fetched.offset, |write| write.value);
        let Some(write) = found.ok().and_then(|place| writes.get_mut(place)) else {
            return findings.broken(Rule::Linearizable, now, || {
                format!("{} is read of key {}, and was never committed there", fetched.offset, id.key)
            });
        };
        if write.outcome == Outcome::Refused {
            return findings.broken(Rule::Linearizable, now, || {
                format!("commit {} of key {} was refused, and is read", write.value, id.key)
            });
        }
        self.reads += 1;
        write.first_read_ended = write.first_read_ended.min(now);
        write.last_read_begun = write.last_read_begun.max(id.begun);
    }

    /// Whether all histories are linearizable so far.
    pub fn check(&self, now: Moment, findings: &mut Findings) {
        for (key, writes) in self.keys.iter().enumerate() {
            if let Err(what) = check(writes) {
                return findings.broken(Rule::Linearizable, now, || {
                    let (group, partition) = (key / PARTITIONS, key % PARTITIONS);
                    format!("offset of group {group}, partition {partition}: {what}")
                });
            }
        }
    }
}

impl Write {
    fn first_ended(&self) -> Moment {
        match self.outcome {
            Outcome::Acknowledged(at) => at.min(self.first_read_ended),
            Outcome::Unknown | Outcome::Refused => self.first_read_ended,
        }
    }

    fn last_begun(&self) -> Moment {
        self.begun.max(self.last_read_begun)
    }

    fn tell(&self) -> String {
        let outcome = match self.outcome {
            Outcome::Unknown => "not acknowledged".to_owned(),
            Outcome::Acknowledged(at) => format!("acknowledged at {at}"),
            Outcome::Refused => "refused".to_owned(),
        };
        let reads = if self.first_read_ended == Moment::NEVER {
            "never read".to_owned()
        } else {
            format!("read from {} to {}", self.first_read_ended, self.last_read_begun)
        };
        format!("commit {} (sent at {}, {outcome}, {reads})", self.value, self.begun)
    }
}

fn check(writes: &[Write]) -> Result<(), String> {
    // What was neither acknowledged nor seen may never have happened.
    let happened = |write: &&Write| write.first_ended() != Moment::NEVER;
    let (mut forward, mut backward) = (Vec::new(), Vec::new());
    for write in writes.iter().filter(happened) {
        if write.first_ended() < write.last_begun() { forward.push(write) } else { backward.push(write) }
    }
    forward.sort_unstable_by_key(|write| write.first_ended());
    for pair in forward.windows(2) {
        if pair[1].first_ended() < pair[0].last_begun() {
            return Err(format!("{} and {} were each seen after the other", pair[0].tell(), pair[1].tell()));
        }
    }
    for write in backward {
        // The last forward zone that begins before this one.
        let before = forward.partition_point(|zone| zone.first_ended() < write.last_begun());
        let Some(zone) = before.checked_sub(1).map(|place| forward[place]) else { continue };
        if write.first_ended() < zone.last_begun() {
            return Err(format!(
                "{} lies within {}, which was seen on both sides",
                write.tell(),
                zone.tell()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetched(offset: i64) -> FetchedOffset {
        let partition =
            coordinator::ids::TopicPartition { topic: coordinator::ids::TopicName::from("t"), partition: 0 };
        FetchedOffset { partition, offset, leader_epoch: -1, metadata: "".into(), error: None }
    }

    /// Commits (begun, acknowledged or 0) and reads (begun, ended, place of what was seen; 0 is nothing), in order.
    fn verdict(writes: &[(u64, u64)], reads: &[(u64, u64, usize)]) -> bool {
        let mut offsets = Offsets::new(1);
        let mut findings = Findings::default();
        for (begun, ended) in writes {
            let (id, _) = offsets.begin_write(Moment(*begun), 0, 0);
            if *ended > 0 {
                offsets.end_write(Moment(*ended), id, None, &mut findings);
            }
        }
        for (begun, ended, place) in reads {
            let value = if *place == 0 { -1 } else { i64::try_from(*place).unwrap() };
            let id = Offsets::begin_read(Moment(*begun), 0, 0);
            offsets.end_read(Moment(*ended), id, &fetched(value), &mut findings);
        }
        offsets.check(Moment(1_000), &mut findings);
        !findings.any()
    }

    #[test]
    fn histories_are_told_apart() {
        // The newest is read.
        assert!(verdict(&[(1, 2), (3, 4)], &[(5, 6, 2)]));
        // An acknowledged commit is lost.
        assert!(!verdict(&[(1, 2), (3, 4)], &[(5, 6, 1)]));
        assert!(!verdict(&[(1, 2)], &[(5, 6, 0)]));
        // Both at once: either may win, but only one.
        assert!(verdict(&[(1, 9), (2, 8)], &[(10, 11, 1), (12, 13, 1)]));
        assert!(!verdict(&[(1, 9), (2, 8)], &[(10, 11, 1), (12, 13, 2)]));
        // One that was never acknowledged may come late, but not go again.
        assert!(verdict(&[(1, 0), (3, 4)], &[(5, 6, 2), (7, 8, 1)]));
        assert!(!verdict(&[(1, 0), (3, 4)], &[(5, 6, 1), (7, 8, 2)]));
    }
}
