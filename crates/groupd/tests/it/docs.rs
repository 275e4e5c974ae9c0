//! The docs say what the code does: tables are made from it, commands are read by it.
//!
//! After a change, `UPDATE_DOCS=1 cargo test -p groupd docs` writes the tables anew.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use groupd::cli::Cli;
use groupd::settings::SETTINGS;
use groupd::telemetry::METRICS;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Checks, or writes, what stands in the document `name` under `<!-- heading: made by a test -->`.
#[track_caller]
pub(crate) fn made(name: &str, heading: &str, table: &str) {
    let text = read(name);
    let start = format!("<!-- {heading}: made by a test -->\n");
    let (before, rest) = text.split_once(&start).expect("the mark is there");
    let (old, after) = rest.split_once("<!-- end -->").expect("its end is there");
    if old == table {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_DOCS").is_some(),
        "the {heading} in {name} are out of date: UPDATE_DOCS=1 cargo test -p groupd docs -- --test-threads=1"
    );
    fs::write(path(name), format!("{before}{start}{table}<!-- end -->{after}")).expect("is written");
}

#[test]
fn settings_are_listed() {
    let mut table =
        "\n| setting | flag | default | may be | is |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for setting in SETTINGS {
        let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
        let flag = setting.flag.map(code).unwrap_or_default();
        let (name, default) = (code(setting.name), code(setting.default));
        let row =
            format!("| {name} | {flag} | {default} | {} | {} |\n", setting.allowed.describe(), setting.about);
        table.push_str(&row);
    }
    table.push('\n');
    made("docs/operations.md", "settings", &table);
}

#[test]
fn metrics_are_listed() {
    let mut table = "\n| metric | kind | is |\n| --- | --- | --- |\n".to_owned();
    for metric in METRICS {
        let row = format!("| `{}` | {} | {} |\n", metric.name, metric.kind.as_str(), metric.help);
        table.push_str(&row);
    }
    table.push('\n');
    made("docs/operations.md", "metrics", &table);
}

/// A metric that nobody counts would stay silent for ever.
#[test]
fn what_is_listed_is_counted() {
    let table = read("crates/groupd/src/telemetry/metrics.rs");
    let mut sources = String::new();
    gather(&path("crates/groupd/src"), &mut sources);
    for line in table.lines().filter_map(|line| line.trim().strip_prefix("pub const ")) {
        let constant = line.split(':').next().expect("a name");
        let uses = sources.matches(&format!("name::{constant}")).count();
        // One is the table's own.
        assert!(uses > 1 || constant == "METRICS", "nobody counts {constant}");
    }
}

fn gather(directory: &Path, sources: &mut String) {
    for entry in fs::read_dir(directory).expect("can be read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, sources);
        } else {
            sources.push_str(&fs::read_to_string(&path).expect("is text"));
        }
    }
}

#[test]
fn commands_can_be_typed() {
    for name in ["README.md", "docs/operations.md", "docs/testing.md"] {
        let text = read(name);
        for block in text.split("```").skip(1).step_by(2) {
            let commands = block.lines().map(|line| line.trim_start_matches("$ "));
            for line in commands.filter(|line| line.starts_with("groupd ")) {
                let words = words(line);
                if let Err(error) = Cli::try_parse_from(&words) {
                    panic!("{name}: `{line}`: {error}");
                }
            }
        }
    }
}

/// As a shell would split them: up to a comment, a pipe or a redirection, with double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            '#' | '>' | '|' if !quoted => break,
            ' ' if !quoted => words.push(String::new()),
            letter => words.last_mut().expect("is never empty").push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
