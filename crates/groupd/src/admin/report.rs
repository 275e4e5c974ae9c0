//! What a command has to say: tables for people, JSON for programs, refusals for both.

use std::io;

use serde_json::Value;

use crate::cli;

/// The outcome of a command that got its answers.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// For people.
    pub(super) text: String,
    /// For programs; null where the text is for both.
    pub(super) json: Value,
    /// What the server did not do: a sentence each.
    pub(super) refusals: Vec<String>,
}

impl Report {
    pub(super) fn new(text: String, json: Value) -> Self {
        Self { text, json, refusals: Vec::new() }
    }

    /// One line about each thing that was asked for: what was done, or why not.
    pub(super) fn of_each(outcomes: Vec<(Value, Result<String, String>)>) -> Self {
        let mut report = Self::default();
        let mut done = Vec::new();
        let mut all = Vec::new();
        for (mut json, outcome) in outcomes {
            match outcome {
                Ok(sentence) => done.push(sentence),
                Err(sentence) => {
                    json["error"] = Value::from(sentence.as_str());
                    report.refusals.push(sentence);
                }
            }
            all.push(json);
        }
        report.text = done.join("\n");
        report.json = Value::Array(all);
        report
    }

    /// To standard output, and what was refused to standard error.
    ///
    /// # Errors
    ///
    /// Those of [`cli::print`].
    pub(super) fn print(&self, json: bool) -> io::Result<()> {
        let text = if json && !self.json.is_null() { format!("{:#}", self.json) } else { self.text.clone() };
        let printed = if text.is_empty() { Ok(()) } else { cli::print(&text) };
        for refusal in &self.refusals {
            cli::complain(refusal);
        }
        printed
    }
}

/// `1 member`, `2 members`.
pub(super) fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
