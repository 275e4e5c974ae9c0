//! Who takes part, and how they take turns: each workload is done by all, round by round, so that noise hits all alike.

use std::time::Duration;

use benches::figures::{Cell, share_out};
use benches::measure::wall_nanos;

use crate::check::{Question, check};
use crate::meter::{Calls, Whole};
use crate::timers::Timers;
use crate::workloads::{self, Run, Workload};

/// A structure that takes part, its type forgotten.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    pub(crate) about: &'static str,
    /// The largest population it is asked to hold, unless it is asked for by name.
    pub(crate) largest: u32,
    reach: u64,
    says_next: bool,
    expires: bool,
    check: fn(Question) -> Result<(), String>,
    whole: fn(usize, u32) -> Run,
    by_calls: fn(usize, u32, &mut Calls) -> Run,
}

impl Peer {
    pub(crate) fn of<T: Timers>() -> Self {
        Self {
            name: T::NAME,
            package: T::CRATE,
            about: T::ABOUT,
            largest: u32::MAX,
            reach: T::REACH,
            says_next: T::SAYS_NEXT,
            expires: T::EXPIRES,
            check: check::<T>,
            whole: |at, count| workloads::run::<T, Whole>(at, count, Whole),
            by_calls: |at, count, calls| workloads::run::<T, &mut Calls>(at, count, calls),
        }
    }

    #[cfg(feature = "peers")]
    pub(crate) fn up_to(mut self, largest: u32) -> Self {
        self.largest = largest;
        self
    }

    /// Why it does not take part in this workload, if it does not.
    fn unfit(&self, workload: &Workload) -> Option<String> {
        if (workload.needs_expiry || workload.needs_next) && !self.expires {
            return Some("a yardstick expires nothing".to_owned());
        }
        if workload.needs_next && !self.says_next {
            return Some("it does not say when the next timer is due".to_owned());
        }
        if workload.longest > self.reach {
            return Some(format!("it keeps no delay above {} ms to the tick", self.reach));
        }
        None
    }
}

/// Who passed the check, and of those that did not, why.
pub(crate) struct Checked {
    pub(crate) peer: Peer,
    expiry: Result<(), String>,
    next: Result<(), String>,
}

impl Checked {
    pub(crate) fn new(peer: Peer) -> Self {
        let ask = |asked: bool, question| if asked { (peer.check)(question) } else { Ok(()) };
        let expiry = ask(peer.expires, Question::Expiry);
        let next = ask(peer.expires && peer.says_next && expiry.is_ok(), Question::Next);
        Self { peer, expiry, next }
    }

    pub(crate) fn faults(&self) -> impl Iterator<Item = &String> {
        [&self.expiry, &self.next].into_iter().filter_map(|result| result.as_ref().err())
    }

    fn unfit(&self, workload: &Workload, count: u32) -> Option<String> {
        if let Err(fault) = &self.expiry {
            return Some(format!("not timed, because it is not right: {fault}"));
        }
        if let (true, Err(fault)) = (workload.needs_next, &self.next) {
            return Some(format!("not timed, because it is not right: {fault}"));
        }
        if count > self.peer.largest {
            return Some(format!("left out above {} timers, to keep the whole short", self.peer.largest));
        }
        self.peer.unfit(workload)
    }
}

/// How often, and how long at most.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) runs: usize,
    /// For one workload at one size, all who take part together.
    pub(crate) at_most: Duration,
}

/// One who takes part in one workload.
struct Entry {
    name: &'static str,
    whole: fn(usize, u32) -> Run,
    by_calls: fn(usize, u32, &mut Calls) -> Run,
    expires: bool,
    calls: Calls,
    runs: Vec<Run>,
    checksum: u64,
    /// Seconds that a run takes, all that is not timed included.
    cost: f64,
    why: Option<String>,
}

/// One workload at one size, done by all.
pub(crate) fn hold(all: &[Checked], workload: &Workload, at: usize, count: u32, effort: Effort) -> Vec<Cell> {
    let begun = wall_nanos();
    let mut entries: Vec<Entry> = all.iter().map(|one| Entry::new(one, workload, count)).collect();
    for entry in &mut entries {
        let left = effort.at_most.as_secs_f64() - seconds_since(begun);
        entry.go_through(at, count, left);
    }
    disqualify(&mut entries);
    let fit: Vec<usize> = (0..entries.len()).filter(|&at| entries[at].why.is_none()).collect();
    let costs: Vec<f64> = fit.iter().map(|&at| entries[at].cost).collect();
    let left = effort.at_most.as_secs_f64() - seconds_since(begun);
    // The last of the runs is by calls again.
    let shares = share_out(effort.runs + 1, left, &costs);
    for round in 0..effort.runs {
        for turn in 0..fit.len() {
            // Nobody is always the one who comes after the same neighbour.
            let who = (turn + round) % fit.len();
            if round < shares[who] {
                entries[fit[who]].run(at, count);
            }
        }
    }
    for (who, share) in fit.into_iter().zip(shares) {
        if share > effort.runs {
            entries[who].go_again(at, count);
        }
    }
    entries.into_iter().map(|entry| entry.cell(workload, count)).collect()
}

fn seconds_since(begun: u64) -> f64 {
    Duration::from_nanos(wall_nanos() - begun).as_secs_f64()
}

/// Who did other work than the first is out.
fn disqualify(entries: &mut [Entry]) {
    let fit = |entry: &Entry| entry.expires && entry.why.is_none();
    let Some(right) = entries.iter().find(|entry| fit(entry)).map(|entry| entry.checksum) else { return };
    for entry in entries {
        if fit(entry) && entry.checksum != right {
            entry.why =
                Some("not timed, because what expired differs from what the first expired".to_owned());
        }
    }
}

impl Entry {
    fn new(one: &Checked, workload: &Workload, count: u32) -> Self {
        let peer = &one.peer;
        Self {
            name: peer.name,
            whole: peer.whole,
            by_calls: peer.by_calls,
            expires: peer.expires,
            calls: Calls::default(),
            runs: Vec::new(),
            checksum: 0,
            cost: 0.0,
            why: one.unfit(workload, count),
        }
    }

    /// The first run: by calls, and to the end.
    fn go_through(&mut self, at: usize, count: u32, seconds: f64) {
        if self.why.is_some() {
            return;
        }
        if seconds <= 0.0 {
            self.why = Some("left out: the time for this workload was used up".to_owned());
            return;
        }
        let begun = wall_nanos();
        self.checksum = (self.by_calls)(at, count, &mut self.calls).checksum;
        self.cost = seconds_since(begun);
    }

    fn run(&mut self, at: usize, count: u32) {
        let run = (self.whole)(at, count);
        let first = self.runs.first().unwrap_or(&run);
        assert_eq!(run.within, first.within, "{}: the same work gave different sums", self.name);
        self.runs.push(run);
    }

    fn go_again(&mut self, at: usize, count: u32) {
        self.calls.again();
        let checksum = (self.by_calls)(at, count, &mut self.calls).checksum;
        assert_eq!(checksum, self.checksum, "{}: the same work gave different sums", self.name);
    }

    #[expect(clippy::cast_precision_loss, reason = "figures to read")]
    fn cell(self, workload: &Workload, size: u32) -> Cell {
        let each = |of: fn(&Run) -> u64| {
            self.runs.iter().map(|run| of(run) as f64 / run.operations as f64).collect::<Vec<_>>()
        };
        Cell {
            size,
            work: workload.code.to_owned(),
            peer: self.name.to_owned(),
            operations: self.runs.first().map_or(0, |run| run.operations),
            cpu: each(|run| run.cpu),
            wall: each(|run| run.wall),
            worst: self.calls.worst(),
            checksum: self.checksum,
            why: self.why,
            session: String::new(),
        }
    }
}
