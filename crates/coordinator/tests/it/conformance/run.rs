//! Runs scenarios, counts them, and tells a failing one as a transcript.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use super::scenario::Scenario;
use super::world::World;

/// What became of the scenarios of one file.
pub(crate) struct Report {
    file: String,
    passed: usize,
    /// Id and transcript.
    failed: Vec<(String, String)>,
    /// Id and reason.
    deviating: Vec<(String, String)>,
    /// Listed as deviating, but they pass.
    wrongly_listed: Vec<String>,
}

impl Report {
    pub(crate) fn total(&self) -> usize {
        self.passed + self.failed.len() + self.deviating.len() + self.wrongly_listed.len()
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.failed.is_empty() && self.wrongly_listed.is_empty()
    }

    /// `file: N passed, M failed`, then what is answered otherwise on purpose.
    fn summary(&self) -> String {
        let mut out = format!("{}: {} passed, {} failed", self.file, self.passed, self.failed.len());
        if !self.deviating.is_empty() {
            write!(out, ", {} otherwise on purpose", self.deviating.len()).expect("writing to a string");
        }
        for (id, reason) in &self.deviating {
            write!(out, "\n    {id}: {reason}").expect("writing to a string");
        }
        out
    }

    /// Prints the summary and every transcript.
    pub(crate) fn print(&self) {
        println!("{}", self.summary());
        for (_, transcript) in &self.failed {
            println!("\n{transcript}");
        }
    }

    /// Prints itself.
    ///
    /// # Panics
    ///
    /// Unless every scenario passed or is rightly listed as deviating.
    pub(crate) fn assert_clean(&self) {
        self.print();
        let failed: Vec<&str> = self.failed.iter().map(|(id, _)| id.as_str()).collect();
        assert!(failed.is_empty(), "{} scenarios of {} failed: {failed:#?}", failed.len(), self.file);
        assert!(
            self.wrongly_listed.is_empty(),
            "these pass and must not be listed: {:?}",
            self.wrongly_listed
        );
    }
}

/// Runs every scenario of `file`. Those in `deviations` must fail.
///
/// # Panics
///
/// If the file cannot be read.
pub(crate) fn run_file(file: &Path, deviations: &[(&str, &str)]) -> Report {
    let name = file.file_name().expect("a file has a name").to_string_lossy().into_owned();
    let mut report = Report {
        file: name,
        passed: 0,
        failed: Vec::new(),
        deviating: Vec::new(),
        wrongly_listed: Vec::new(),
    };
    for scenario in read(file) {
        let reason = deviations.iter().find(|(id, _)| *id == scenario.id).map(|(_, reason)| *reason);
        match (run(&scenario), reason) {
            (Ok(()), None) => report.passed += 1,
            (Ok(()), Some(_)) => report.wrongly_listed.push(scenario.id),
            (Err(_), Some(reason)) => report.deviating.push((scenario.id, reason.to_owned())),
            (Err(failure), None) => report.failed.push((scenario.id.clone(), failure.transcript(&scenario))),
        }
    }
    report
}

/// The scenarios of a file.
///
/// # Panics
///
/// If it cannot be read.
pub(crate) fn read(file: &Path) -> Vec<Scenario> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// Where and why a scenario failed, and all that happened up to there.
pub(crate) struct Failure {
    at: usize,
    why: String,
    happened: Vec<Vec<String>>,
}

/// Runs one scenario to its first failing step.
pub(crate) fn run(scenario: &Scenario) -> Result<(), Box<Failure>> {
    let mut world = World::new(scenario);
    let mut happened = Vec::new();
    for (at, step) in scenario.steps.iter().enumerate() {
        let result = world.step(step);
        happened.push(std::mem::take(&mut world.happened));
        if let Err(why) = result {
            return Err(Box::new(Failure { at, why, happened }));
        }
    }
    Ok(())
}

impl Failure {
    /// The scenario as a page: each step, what it brought about, and what is wrong with the last.
    fn transcript(&self, scenario: &Scenario) -> String {
        let mut out = format!("--- {}\n    {}\n", scenario.id, scenario.title);
        if let Some(note) = &scenario.note {
            writeln!(out, "    note: {note}").expect("writing to a string");
        }
        for (at, step) in scenario.steps.iter().enumerate().take(self.at + 1) {
            writeln!(out, "{at:>4}  {}", told(step)).expect("writing to a string");
            for line in self.happened.get(at).into_iter().flatten() {
                writeln!(out, "          | {line}").expect("writing to a string");
            }
        }
        writeln!(out, "    FAILED at step {}: {}", self.at, self.why).expect("writing to a string");
        out
    }
}

/// A step in one line: what is done first, its fields after.
fn told(step: &Value) -> String {
    let Some(fields) = step.as_object() else { return step.to_string() };
    let (first, word) = ["do", "expect", "expect_pending", "check"]
        .into_iter()
        .find_map(|key| Some((key, fields.get(key)?.as_str()?)))
        .unwrap_or(("?", "?"));
    let mut out = if first == "do" { word.to_owned() } else { format!("{first} {word}") };
    for (key, value) in fields.iter().filter(|(key, _)| *key != first) {
        write!(out, " {key}={value}").expect("writing to a string");
    }
    out
}
