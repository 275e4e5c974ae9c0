//! How late, in microseconds: all that happened, not a sample.

use std::fmt;

use crate::each;

/// Beyond this it counts as this.
const LONGEST: usize = 200_000;

#[derive(Clone)]
pub(crate) struct Histogram {
    counts: Vec<u32>,
    early: u64,
    most: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; LONGEST + 1], early: 0, most: 0 }
    }

    /// Something came at `at` that was to come at `due`, never before.
    pub(crate) fn add(&mut self, due: u64, at: u64) {
        self.early += u64::from(at < due);
        let late = at.saturating_sub(due);
        self.most = self.most.max(late);
        self.counts[usize::try_from(late).unwrap_or(LONGEST).min(LONGEST)] += 1;
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// How many came before they were due.
    pub(crate) fn early(&self) -> u64 {
        self.early
    }

    /// How many came no later than 1 ms, 2 ms, 4 ms and so on up to all, a line.
    pub(crate) fn shape(&self) -> String {
        let within =
            |limit: usize| -> u64 { self.counts.iter().take(limit + 1).map(|&count| u64::from(count)).sum() };
        let limits = (0..8).map(|power| 1_000 << power);
        let shares = limits.map(|limit| (limit, within(limit), self.count().max(1)));
        let parts =
            shares.map(|(limit, part, all)| format!("{} ms {:.2} %", limit / 1_000, each(part * 100, all)));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// What this share of all does not exceed.
    fn quantile(&self, thousandths: u64) -> usize {
        let wanted = (self.count() * thousandths).div_ceil(1_000);
        let mut seen = 0;
        let reached = |count: &u32| {
            seen += u64::from(*count);
            seen >= wanted
        };
        self.counts.iter().position(reached).unwrap_or(LONGEST)
    }
}

impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [half, most, nearly] = [500, 990, 999].map(|thousandths| self.quantile(thousandths));
        write!(f, "50 % {half}, 99 % {most}, 99.9 % {nearly}, worst {}", self.most)
    }
}
