//! Medians, what the machine was doing meanwhile, and how many answers stand behind the figures.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;

/// Several takes of one figure.
#[derive(Debug, Default)]
pub(crate) struct Takes(Vec<f64>);

impl Takes {
    pub(crate) fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The value below which this part of all takes lies; no number if there are none.
    pub(crate) fn part(&mut self, part: f64) -> f64 {
        if self.0.is_empty() {
            return f64::NAN;
        }
        self.0.sort_by(f64::total_cmp);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small"
        )]
        let index = ((self.0.len() - 1) as f64 * part).round() as usize;
        self.0[index]
    }

    /// Prints `name: median unit (least, most, takes)`.
    pub(crate) fn print(&mut self, name: &str, unit: &str) {
        let (least, median, most) = (self.part(0.0), self.part(0.5), self.part(1.0));
        let count = self.0.len();
        println!(
            "{name:<44} {} {unit}  ({}..{}, {count} takes)",
            number(median),
            number(least),
            number(most)
        );
    }
}

/// With as many digits as say something.
fn number(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.3}")
    }
}

/// How many answers were counted, by error code.
#[derive(Debug, Default)]
pub(crate) struct Checksum(BTreeMap<i16, u64>);

impl Checksum {
    pub(crate) fn count(&mut self, code: i16, answers: u64) {
        *self.0.entry(code).or_default() += answers;
    }

    pub(crate) fn refused(&self) -> u64 {
        self.0.iter().filter(|(code, _)| **code != 0).map(|(_, answers)| answers).sum()
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "answers: {} good", self.0.get(&0).copied().unwrap_or(0))?;
        self.0
            .iter()
            .filter(|(code, _)| **code != 0)
            .try_for_each(|(code, n)| write!(f, ", {n} with error {code}"))
    }
}

/// Cores and load averages.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let averages: Vec<_> = load.split_whitespace().take(3).collect();
    format!("{cores} cores, load averages {}", averages.join(" "))
}
