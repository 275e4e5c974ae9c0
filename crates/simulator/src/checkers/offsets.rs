//! No acknowledged commit is lost or replaced by an older one: each offset is a linearizable register.
//!
//! An offset within a transaction is one from when it is sent until its marker is written: which of two is the newer one is
//! decided by when they were pended. It must not be seen before its transaction has been decided, nor ever if that aborts.
//!
//! That there is no offset may be read if none was there for certain, or something removed it that did not end before the
//! commit began: a deletion of it or of its group, or its age (which is checked by itself). What was deleted must not be
//! seen again while the same coordinator owns the group; after that it may, since deletions are answered before they are
//! kept, as in Kafka.
//!
//! Every commit writes a number like no other, so a read names the commit it saw. A history of such a register is
//! linearizable exactly if its *zones* fit (Gibbons and Korach, Testing Shared Memories, 1997): the zone of a commit lies
//! between the earliest end and the latest begin among the commit and the reads that saw it; zones whose earliest end comes
//! first may not overlap, and none of the others may lie within one of them.

use coordinator::ids::OwnerEpoch;
use coordinator::messages::{FetchedOffset, GroupError, TransactionOutcome};

use super::{Findings, Rule};
use crate::agenda::{MS, Moment};

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

/// One deletion of some offsets of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletionId {
    group: usize,
    place: usize,
}

/// Whatever removes offsets.
#[derive(Clone, Debug)]
struct Deletion {
    begun: Moment,
    /// [`Moment::NEVER`]: it may still come.
    ended: Moment,
    /// A bit for each partition.
    partitions: u64,
    /// The coordinator that said so under this epoch was the owner.
    certain: Option<OwnerEpoch>,
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
    /// It was refused before it could be written, or its transaction was aborted.
    Refused,
    /// Its transaction has not been decided.
    Undecided,
}

impl ReadId {
    /// Of which group.
    pub fn group(self) -> usize {
        self.key / PARTITIONS
    }
}

/// The histories of all offsets.
#[derive(Debug)]
pub struct Offsets {
    keys: Vec<Vec<Write>>,
    deletions: Vec<Vec<Deletion>>,
    next: i64,
    /// Reads that were checked.
    pub reads: u64,
    /// Commits that were acknowledged, and those whose transactions were.
    pub acknowledged: u64,
    /// Offsets that were removed: deleted or expired.
    pub removed: u64,
}

/// Partitions of one group's topic, at most.
const PARTITIONS: usize = 32;

impl Offsets {
    /// For so many groups.
    pub fn new(groups: usize) -> Self {
        Self {
            keys: vec![Vec::new(); groups * PARTITIONS],
            deletions: vec![Vec::new(); groups],
            next: 0,
            reads: 0,
            acknowledged: 0,
            removed: 0,
        }
    }

    fn key(group: usize, partition: i32) -> usize {
        group * PARTITIONS + usize::try_from(partition).unwrap_or(0) % PARTITIONS
    }

    /// A commit is sent: the number it writes.
    pub fn begin_write(&mut self, now: Moment, group: usize, partition: i32) -> (WriteId, i64) {
        self.begin(now, (group, partition), Outcome::Unknown)
    }

    /// A commit within a transaction is sent: the number it writes.
    pub fn begin_transactional(&mut self, now: Moment, group: usize, partition: i32) -> (WriteId, i64) {
        self.begin(now, (group, partition), Outcome::Undecided)
    }

    /// The transaction of a commit is decided; that it committed is acknowledged later.
    pub fn decide(&mut self, id: WriteId, outcome: TransactionOutcome) {
        self.keys[id.key][id.place].outcome = match outcome {
            TransactionOutcome::Commit => Outcome::Unknown,
            TransactionOutcome::Abort => Outcome::Refused,
        };
    }

    fn begin(&mut self, now: Moment, (group, partition): (usize, i32), outcome: Outcome) -> (WriteId, i64) {
        self.next += 1;
        let key = Self::key(group, partition);
        let place = self.keys[key].len();
        self.keys[key].push(Write {
            value: self.next,
            begun: now,
            outcome,
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

    /// Some offsets of a group are to be deleted, while `epoch` is that of its owner.
    pub fn begin_deletion(
        &mut self,
        now: Moment,
        group: usize,
        partitions: impl IntoIterator<Item = i32>,
        epoch: OwnerEpoch,
    ) -> DeletionId {
        let bit = |partition| 1 << (Self::key(0, partition));
        let partitions =
            partitions.into_iter().take(PARTITIONS).fold(0, |all, partition| all | bit(partition));
        let deletions = &mut self.deletions[group];
        deletions.push(Deletion { begun: now, ended: Moment::NEVER, partitions, certain: Some(epoch) });
        DeletionId { group, place: deletions.len() - 1 }
    }

    /// A deletion is answered. `is_stale`: by a former owner, whose word does not count.
    pub fn end_deletion(&mut self, now: Moment, id: DeletionId, is_refused: bool, is_stale: bool) {
        let deletion = &mut self.deletions[id.group][id.place];
        deletion.ended = now;
        if is_refused {
            deletion.partitions = 0;
        } else {
            self.removed += u64::from(deletion.partitions.count_ones());
        }
        if is_stale {
            deletion.certain = None;
        }
    }

    /// The owner of a group says that an offset is too old. `retention` is how long it is kept at least, microseconds.
    pub fn expired(
        &mut self,
        now: Moment,
        group: usize,
        (partition, retention): (i32, u64),
        findings: &mut Findings,
    ) {
        self.removed += 1;
        let newest = self.keys[Self::key(group, partition)].iter().rev().find(|w| w.first_ended() <= now);
        if let Some(write) = newest.filter(|write| now.since(write.begun) + MS < retention) {
            findings.broken(Rule::Linearizable, now, || {
                format!("{} of group {group}, partition {partition} expires too early", write.tell())
            });
        }
        let partitions = 1 << Self::key(0, partition);
        self.deletions[group].push(Deletion { begun: now, ended: now, partitions, certain: None });
    }

    fn deletions_of(&self, key: usize) -> impl Iterator<Item = &Deletion> {
        let deletions = self.deletions[key / PARTITIONS].iter();
        deletions.filter(move |deletion| deletion.partitions & 1 << (key % PARTITIONS) != 0)
    }

    /// That there is no offset was read.
    fn none_read(&mut self, now: Moment, id: ReadId, findings: &mut Findings) {
        self.reads += 1;
        let certain = self.keys[id.key].iter().rev().find(|write| write.first_ended() < id.begun);
        let Some(write) = certain else { return };
        if !self.deletions_of(id.key).any(|deletion| deletion.ended >= write.begun) {
            findings.broken(Rule::Linearizable, now, || {
                format!("no offset is read of key {}, and nothing removed {}", id.key, write.tell())
            });
        }
    }

    /// Whether a deletion removed for certain what a read saw, under the epoch of its owner.
    fn deletion_before(&self, write: &Write, read: ReadId, epoch: OwnerEpoch) -> Option<&Deletion> {
        self.deletions_of(read.key).find(|deletion| {
            deletion.certain == Some(epoch)
                && deletion.ended < read.begun
                && write.first_ended() < deletion.begun
        })
    }

    /// A read is answered, while `epoch` is that of the group's owner.
    pub fn end_read(
        &mut self,
        now: Moment,
        id: ReadId,
        (fetched, epoch): (&FetchedOffset, OwnerEpoch),
        findings: &mut Findings,
    ) {
        if fetched.error.is_some() {
            return;
        }
        if fetched.offset == -1 {
            return self.none_read(now, id, findings);
        }
        let key = &self.keys[id.key];
        let found = key.binary_search_by_key(&fetched.offset, |write| write.value);
        if let Some(deletion) = found.ok().and_then(|at| self.deletion_before(&key[at], id, epoch)) {
            findings.broken(Rule::Linearizable, now, || {
                let (begun, ended) = (deletion.begun, deletion.ended);
                format!(
                    "{} of key {} is read, and was deleted from {begun} to {ended}",
                    fetched.offset, id.key
                )
            });
        }
        let writes = &mut self.keys[id.key];
        let found = writes.binary_search_by_key(&fetched.offset, |write| write.value);
        let Some(write) = found.ok().and_then(|place| writes.get_mut(place)) else {
            return findings.broken(Rule::Linearizable, now, || {
                format!("{} is read of key {}, and was never committed there", fetched.offset, id.key)
            });
        };
        if matches!(write.outcome, Outcome::Refused | Outcome::Undecided) {
            return findings
                .broken(Rule::Linearizable, now, || format!("{} of key {} is read", write.tell(), id.key));
        }
        self.reads += 1;
        write.first_read_ended = write.first_read_ended.min(now);
        write.last_read_begun = write.last_read_begun.max(id.begun);
    }

    /// Whether all histories are linearizable so far. Called at rest: no deletion is on its way any more.
    pub fn check(&mut self, now: Moment, findings: &mut Findings) {
        // Those that nobody answered have happened, or never will.
        for deletion in self.deletions.iter_mut().flatten().filter(|one| one.ended == Moment::NEVER) {
            (deletion.ended, deletion.certain) = (now, None);
        }
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
            Outcome::Unknown | Outcome::Refused | Outcome::Undecided => self.first_read_ended,
        }
    }

    fn last_begun(&self) -> Moment {
        self.begun.max(self.last_read_begun)
    }

    fn tell(&self) -> String {
        let outcome = match self.outcome {
            Outcome::Unknown => "not acknowledged".to_owned(),
            Outcome::Acknowledged(at) => format!("acknowledged at {at}"),
            Outcome::Refused => "refused or aborted".to_owned(),
            Outcome::Undecided => "of a transaction that goes on".to_owned(),
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
            offsets.end_read(Moment(*ended), id, (&fetched(value), OwnerEpoch(1)), &mut findings);
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
