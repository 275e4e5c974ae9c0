//! Figures that outlive a run: a line of JSON each, so that a long measurement can be taken in parts.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::machine::Session;

/// What one participant took for one workload at one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Timers.
    pub size: u32,
    /// The workload's short name.
    pub work: String,
    /// Who did it.
    pub peer: String,
    /// Operations of one run.
    pub operations: u64,
    /// CPU time of each run, in ns an operation.
    pub cpu: Vec<f64>,
    /// Time by the clock of each run, in ns an operation.
    pub wall: Vec<f64>,
    /// The longest single call, in ns by the clock, where calls were timed.
    pub worst: Option<u64>,
    /// Of the work: what expired, and when.
    pub checksum: u64,
    /// Why there are no figures, or not all of them.
    pub why: Option<String>,
    /// The session they were taken in.
    pub session: String,
}

/// Memory of a participant with so many timers waiting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bytes {
    /// Timers.
    pub size: u32,
    /// Whose.
    pub peer: String,
    /// Bytes a timer after inserting all, payload excluded.
    pub fresh: f64,
    /// The same after four times as many cancellations, re-arms and inserts.
    pub used: f64,
    /// The session they were taken in.
    pub session: String,
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Record {
    /// A run of the benchmark.
    Session(Session),
    /// Time.
    Cell(Cell),
    /// Memory.
    Bytes(Bytes),
}

/// All figures, each the latest of its kind.
#[derive(Debug, Default)]
pub struct Figures {
    /// In order of their beginning.
    pub sessions: Vec<Session>,
    /// In the order in which they were first measured.
    pub cells: Vec<Cell>,
    /// In the order in which they were first measured.
    pub bytes: Vec<Bytes>,
}

/// A file of figures.
#[derive(Clone, Debug)]
pub struct Store(PathBuf);

impl Store {
    /// That of this name in the directory of build products.
    pub fn named(name: &str) -> Self {
        Self(Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(name))
    }

    /// Adds lines at the end.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn append(&self, records: &[Record]) -> io::Result<()> {
        let mut lines = String::new();
        for record in records {
            lines += &serde_json::to_string(record)?;
            lines.push('\n');
        }
        fs::OpenOptions::new().create(true).append(true).open(&self.0)?.write_all(lines.as_bytes())
    }

    /// All that is there. A figure that was taken again replaces the former one.
    ///
    /// # Errors
    ///
    /// If there is no such file, or a line is no record.
    pub fn read(&self) -> io::Result<Figures> {
        let mut figures = Figures::default();
        for line in fs::read_to_string(&self.0)?.lines() {
            figures.add(serde_json::from_str(line)?);
        }
        Ok(figures)
    }
}

impl Figures {
    /// Adds one, in the place of the former one of its kind.
    pub fn add(&mut self, record: Record) {
        match record {
            Record::Session(new) => put(&mut self.sessions, new, |old, new| old.id == new.id),
            Record::Cell(new) => put(&mut self.cells, new, |old, new| {
                (old.size, &old.work, &old.peer) == (new.size, &new.work, &new.peer)
            }),
            Record::Bytes(new) => {
                put(&mut self.bytes, new, |old, new| (old.size, &old.peer) == (new.size, &new.peer));
            }
        }
    }
}

fn put<T>(all: &mut Vec<T>, new: T, same: impl Fn(&T, &T) -> bool) {
    match all.iter_mut().find(|old| same(old, &new)) {
        Some(old) => *old = new,
        None => all.push(new),
    }
}

/// How many runs each gets of `seconds` altogether, if one run of each takes `costs`: `wanted` if it fits, fewer for the
/// slowest where it does not, and at least one.
///
/// ```
/// use benches::figures::share_out;
/// assert_eq!(share_out(5, 100.0, &[1.0, 2.0, 3.0]), [5, 5, 5]);
/// assert_eq!(share_out(5, 30.0, &[1.0, 2.0, 8.0]), [5, 4, 2]);
/// assert_eq!(share_out(5, 0.0, &[1.0, 2.0]), [1, 1]);
/// ```
pub fn share_out(wanted: usize, seconds: f64, costs: &[f64]) -> Vec<usize> {
    let mut runs = vec![1; costs.len()];
    let mut left = seconds - costs.iter().sum::<f64>();
    let mut cheapest_first: Vec<usize> = (0..costs.len()).collect();
    cheapest_first.sort_by(|&one, &other| costs[one].total_cmp(&costs[other]));
    // Round by round, so that a slow one gets its third before a fast one could take what is left.
    for _ in 1..wanted {
        for &at in &cheapest_first {
            if costs[at] <= left {
                left -= costs[at];
                runs[at] += 1;
            }
        }
    }
    runs
}
