//! Where settings come from: gathers raw texts from flags, environment and file, and remembers the source.

use std::fmt;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::SettingsError;
use super::table::{self, Setting};
use crate::cli::ServeArgs;

/// The largest settings file, bytes.
const MAX_FILE: u64 = 1 << 20;

/// Variables with our prefix that are not settings of the server.
const OTHER_VARIABLES: &[&str] = &["GROUPD_CONFIG", "GROUPD_SERVER"];

/// Where a value came from, the strongest last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody gave one.
    Default,
    /// The file, at this line.
    File(PathBuf, usize),
    /// This variable.
    Environment(String),
    /// This flag.
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Environment(variable) => f.write_str(variable),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// The texts given, before anything reads them. The default value is "nothing given".
#[derive(Clone, Debug, Default)]
pub struct Raw {
    given: Vec<(&'static Setting, String, Source)>,
    problems: Vec<String>,
}

impl Raw {
    /// Gathers from the weakest source to the strongest.
    pub(super) fn gather(
        args: &ServeArgs,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        let mut raw = Self::default();
        let environment: Vec<_> =
            environment.into_iter().filter(|(name, _)| name.starts_with("GROUPD_")).collect();
        let from_environment = || environment.iter().find(|(name, _)| name == "GROUPD_CONFIG");
        let file = args.config.clone().or_else(|| from_environment().map(|(_, path)| PathBuf::from(path)));
        if let Some(path) = file {
            raw.add_file(&path)?;
        }
        for (name, text) in environment {
            raw.add_variable(name, text);
        }
        raw.add_flags(args);
        if raw.problems.is_empty() { Ok(raw) } else { Err(SettingsError { problems: raw.problems }) }
    }

    /// The text in force and where it came from.
    pub(super) fn get(&self, setting: &Setting) -> (&str, Source) {
        let given = self.given.iter().find(|(known, _, _)| known.name == setting.name);
        given.map_or((setting.default, Source::Default), |(_, text, source)| (text, source.clone()))
    }

    fn set(&mut self, setting: &'static Setting, text: String, source: Source) {
        let Some(slot) = self.given.iter_mut().find(|(known, _, _)| known.name == setting.name) else {
            self.given.push((setting, text, source));
            return;
        };
        let same_layer = std::mem::discriminant(&slot.2) == std::mem::discriminant(&source);
        if same_layer && slot.1 != text {
            let problem = format!(
                "{} is given twice: {:?} ({}) and {text:?} ({source}); give it once",
                setting.name, slot.1, slot.2
            );
            self.problems.push(problem);
        }
        *slot = (setting, text, source);
    }

    fn unknown(&mut self, name: &str, source: &Source) {
        let hint = match table::nearest(name) {
            Some(near) => format!("did you mean {near}?"),
            None => "`groupd settings` lists all there are".into(),
        };
        self.problems.push(format!("there is no setting called {name:?} (from {source}); {hint}"));
    }

    fn add_variable(&mut self, name: String, text: String) {
        if OTHER_VARIABLES.contains(&name.as_str()) || is_from_kubernetes(&name) {
            return;
        }
        let bare = name.strip_prefix("GROUPD_").unwrap_or(&name);
        if let Some(setting) = table::find(bare) {
            self.set(setting, text, Source::Environment(name));
            return;
        }
        let hint = table::nearest(bare).map_or("`groupd settings` lists all there are".into(), |near| {
            format!("did you mean {}?", table::known(near).environment())
        });
        self.problems.push(format!("{name} in the environment names no setting; {hint}"));
    }

    fn add_flags(&mut self, args: &ServeArgs) {
        for (flag, text) in args.flags() {
            let setting = table::SETTINGS.iter().find(|setting| setting.flag == Some(flag));
            let setting = setting.expect("invariant: each flag of the command line is in the table");
            self.set(setting, text, Source::Flag(flag));
        }
        for pair in &args.set {
            let source = Source::Flag("--set");
            match pair.split_once('=') {
                None => self.problems.push(format!("--set {pair:?} must be NAME=VALUE")),
                Some((name, text)) => match table::find(name) {
                    Some(setting) => self.set(setting, text.trim().into(), source),
                    None => self.unknown(name, &source),
                },
            }
        }
    }

    fn add_file(&mut self, path: &Path) -> Result<(), SettingsError> {
        let bad = |what: String| SettingsError::one(format!("the settings file {} {what}", path.display()));
        let size = std::fs::metadata(path).map_err(|error| bad(format!("cannot be read: {error}")))?.len();
        if size > MAX_FILE {
            return Err(bad(format!("is {size} bytes; a settings file has at most {MAX_FILE}")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
        let table = DeTable::parse(&text).map_err(|error| {
            let line =
                error.span().map_or(String::new(), |at| format!(" in line {}", line_of(&text, at.start)));
            bad(format!("is not TOML{line}: {}", error.message()))
        })?;
        self.add_table(path, &text, "", table.get_ref());
        Ok(())
    }

    /// Nested tables are dotted names: `[group.max] size = 3` is `group.max.size = 3`.
    fn add_table(&mut self, path: &Path, text: &str, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            if let DeValue::Table(inner) = value.get_ref() {
                self.add_table(path, text, &format!("{name}."), inner);
                continue;
            }
            let source = Source::File(path.to_owned(), line_of(text, key.span().start));
            match (table::find(&name), scalar(value)) {
                (None, _) => self.unknown(&name, &source),
                (Some(setting), Some(text)) => self.set(setting, text, source),
                (Some(setting), None) => {
                    let allowed = setting.allowed.describe();
                    self.problems.push(format!("{name} (from {source}) must be {allowed}"));
                }
            }
        }
    }
}

/// The number of the line that byte `at` is in.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

fn scalar(value: &Spanned<DeValue<'_>>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(&number.as_str().replace('_', ""), number.radix())
            .ok()
            .map(|number| number.to_string()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        DeValue::Array(items) => {
            items.iter().map(scalar).collect::<Option<Vec<_>>>().map(|all| all.join(","))
        }
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

/// A Kubernetes service called `groupd` puts these into every container beside it; they are not meant for us.
fn is_from_kubernetes(name: &str) -> bool {
    name == "GROUPD_PORT" || name.starts_with("GROUPD_PORT_") || name.starts_with("GROUPD_SERVICE_")
}

/// Our variables of this process' environment.
pub(super) fn process_environment() -> Vec<(String, String)> {
    let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
    let ours = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
    ours.filter(|(name, _)| name.starts_with("GROUPD_")).collect()
}
