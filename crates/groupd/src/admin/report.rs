//! What a command has to say: tables for people, JSON for programs, refusals for both.

use std::io;

use serde_json::Value;

use crate::{cli, shown};

/// For whom the outcome is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// For people.
    Tables,
    /// For programs.
    Json,
}

/// The outcome of a command that got its answers.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// For standard output.
    pub(super) text: String,
    /// What the server did not do: a sentence each.
    pub(super) refusals: Vec<String>,
}

impl Report {
    /// One line, where all is well: whatever is in the names that it repeats.
    pub(super) fn sentence(form: Form, text: impl FnOnce() -> String, json: impl FnOnce() -> Value) -> Self {
        Self::new(form, || shown::sentence(&text()), json)
    }

    /// Where all is well. Only the form that is wanted is made: there may be many groups.
    pub(super) fn new(form: Form, text: impl FnOnce() -> String, json: impl FnOnce() -> Value) -> Self {
        let text = match form {
            Form::Tables => text(),
            Form::Json => pretty(&json()),
        };
        Self { text, refusals: Vec::new() }
    }

    /// One line about each thing that was asked for: what was done, or why not.
    pub(super) fn of_each(form: Form, outcomes: Vec<(Value, Result<String, String>)>) -> Self {
        let mut report = Self::default();
        let mut done = Vec::new();
        let mut all = Vec::new();
        for (mut json, outcome) in outcomes {
            match outcome {
                Ok(sentence) => done.push(shown::sentence(&sentence)),
                Err(sentence) => {
                    json["error"] = Value::from(sentence.as_str());
                    report.refusals.push(sentence);
                }
            }
            all.push(json);
        }
        report.text = match form {
            Form::Tables => done.join("\n"),
            Form::Json => pretty(&Value::Array(all)),
        };
        report
    }

    /// To standard output, and what was refused to standard error.
    ///
    /// # Errors
    ///
    /// Those of [`cli::print`].
    pub(super) fn print(&self) -> io::Result<()> {
        let printed = if self.text.is_empty() { Ok(()) } else { cli::print(&self.text) };
        for refusal in &self.refusals {
            cli::complain(refusal);
        }
        printed
    }
}

fn pretty(json: &Value) -> String {
    shown::json(&format!("{json:#}")).into_owned()
}

/// `1 member`, `2 members`.
pub(super) fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
