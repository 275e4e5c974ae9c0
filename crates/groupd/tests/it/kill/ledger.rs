//! What a client did to its offsets and what it was told: all that a server which comes back is held to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Partition to the number of the commit that was there last.
pub(super) type Offsets = BTreeMap<i32, i64>;

/// One request that changes offsets: wholly or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// This number for each of these partitions.
    Commit(i64, BTreeSet<i32>),
    /// No offset for any of these.
    Delete(BTreeSet<i32>),
}

impl Change {
    fn apply(&self, offsets: &mut Offsets) {
        match self {
            Self::Commit(number, partitions) => offsets.extend(partitions.iter().map(|&p| (p, *number))),
            Self::Delete(partitions) => offsets.retain(|partition, _| !partitions.contains(partition)),
        }
    }
}

/// A client's own account. Requests are sent, and answered, in order.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    acknowledged: Offsets,
    unanswered: VecDeque<Change>,
    /// Acknowledged since the server last came back.
    since: u64,
}

impl Ledger {
    /// A request is about to be sent.
    pub(super) fn begin(&mut self, change: Change) {
        self.unanswered.push_back(change);
    }

    /// What is there by what was acknowledged.
    pub(super) fn acknowledged(&self) -> &Offsets {
        &self.acknowledged
    }

    /// Requests that are not answered.
    pub(super) fn waiting(&self) -> usize {
        self.unanswered.len()
    }

    /// The oldest of them.
    pub(super) fn next(&self) -> Option<&Change> {
        self.unanswered.front()
    }

    /// The oldest one was acknowledged.
    pub(super) fn acknowledge(&mut self) {
        let change = self.unanswered.pop_front().expect("an answer is to a request");
        change.apply(&mut self.acknowledged);
        self.since += 1;
    }

    /// The oldest one was refused: it must never be seen.
    pub(super) fn refuse(&mut self) {
        self.unanswered.pop_front().expect("an answer is to a request");
    }

    /// Holds what a server found against what it had said: all that was acknowledged must be there, and of what was
    /// not answered the first few, each wholly. What was found is what it is held to from now on.
    pub(super) fn settle(&mut self, found: &Offsets) -> Result<Settled, String> {
        let mut expected = self.acknowledged.clone();
        let mut kept = 0;
        while expected != *found {
            let Some(change) = self.unanswered.get(kept) else {
                return Err(self.difference(found));
            };
            change.apply(&mut expected);
            kept += 1;
        }
        let settled = Settled {
            acknowledged: std::mem::take(&mut self.since),
            unanswered: self.unanswered.len() as u64,
            kept: kept as u64,
        };
        self.acknowledged = expected;
        self.unanswered.clear();
        Ok(settled)
    }

    fn difference(&self, found: &Offsets) -> String {
        let both: BTreeSet<_> = self.acknowledged.keys().chain(found.keys()).collect();
        let differ = both.into_iter().filter(|p| self.acknowledged.get(p) != found.get(p));
        let list: Vec<_> = differ
            .map(|p| format!("{p}: {:?} acknowledged, {:?} found", self.acknowledged.get(p), found.get(p)))
            .collect();
        format!("{}; not answered: {:?}", list.join(", "), self.unanswered)
    }
}

/// How many requests were held against what was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) acknowledged: u64,
    pub(super) unanswered: u64,
    /// Of the unanswered: those that were there, each wholly.
    pub(super) kept: u64,
}

impl std::ops::AddAssign for Settled {
    fn add_assign(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.unanswered += other.unanswered;
        self.kept += other.kept;
    }
}

/// A client that was told of commits 1 and 2, and not of 3 and 4.
fn told_of_two_of_four() -> Ledger {
    let mut ledger = Ledger::default();
    for number in 1..5 {
        ledger.begin(Change::Commit(number, [0, i32::try_from(number).unwrap()].into()));
    }
    ledger.acknowledge();
    ledger.acknowledge();
    ledger
}

#[test]
fn what_was_told_and_some_of_what_was_not_may_be_found() {
    for (kept, found) in [
        (0, Offsets::from([(0, 2), (1, 1), (2, 2)])),
        (1, Offsets::from([(0, 3), (1, 1), (2, 2), (3, 3)])),
        (2, Offsets::from([(0, 4), (1, 1), (2, 2), (3, 3), (4, 4)])),
    ] {
        let settled = Settled { acknowledged: 2, unanswered: 2, kept };
        let mut ledger = told_of_two_of_four();
        assert_eq!(ledger.settle(&found), Ok(settled));
        // What was found once must not be lost later.
        assert_eq!(ledger.settle(&found), Ok(Settled::default()));
        assert!(ledger.settle(&Offsets::new()).is_err());
    }
}

#[test]
fn what_was_told_and_is_not_found_is_a_fault_and_so_is_half_of_a_commit() {
    for (fault, found) in [
        ("all lost", Offsets::new()),
        ("the last one lost", Offsets::from([(0, 1), (1, 1)])),
        ("the first one lost", Offsets::from([(0, 2), (2, 2)])),
        ("an older value", Offsets::from([(0, 1), (1, 1), (2, 2)])),
        ("half of one that was not answered", Offsets::from([(0, 2), (1, 1), (2, 2), (3, 3)])),
        ("one that was not answered without the one before", Offsets::from([(0, 4), (1, 1), (2, 2), (4, 4)])),
        ("one that was never sent", Offsets::from([(0, 2), (1, 1), (2, 2), (9, 9)])),
    ] {
        assert!(told_of_two_of_four().settle(&found).is_err(), "{fault}");
    }
}

#[test]
fn what_was_deleted_stays_so_and_what_was_refused_is_never_there() {
    let mut ledger = told_of_two_of_four();
    ledger.refuse();
    ledger.acknowledge();
    ledger.begin(Change::Delete([0, 1].into()));
    ledger.acknowledge();
    assert!(ledger.settle(&Offsets::from([(0, 4), (1, 1), (2, 2), (4, 4)])).is_err());
    assert!(ledger.settle(&Offsets::from([(2, 2), (3, 3), (4, 4)])).is_err());
    assert!(ledger.settle(&Offsets::from([(2, 2), (4, 4)])).is_ok());
}
