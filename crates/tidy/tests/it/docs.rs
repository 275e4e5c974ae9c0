//! Docs that do not lie: commands name packages and targets that exist, links lead somewhere.

use tidy::{TextFile, code_lines, files, root};

use crate::none;

fn markdown() -> Vec<TextFile> {
    files().into_iter().filter(|file| file.has_extension("md")).collect()
}

/// The directory of a package.
fn package(name: &str) -> Option<&'static str> {
    let at = if name == "benches" { "benches" } else { "crates" };
    let manifest =
        if at == "crates" { format!("crates/{name}/Cargo.toml") } else { "benches/Cargo.toml".into() };
    root().join(manifest).is_file().then_some(at)
}

/// What is wrong with a `cargo` command, if anything.
fn fault(command: &str) -> Option<String> {
    let words: Vec<_> = command.split_whitespace().collect();
    let value = |flags: &[&str]| {
        let at = words.iter().position(|word| flags.contains(word))?;
        words.get(at + 1).copied()
    };
    let name = value(&["-p", "--package"]);
    if let Some(name) = name
        && package(name).is_none()
    {
        return Some(format!("there is no package {name}"));
    }
    let home = match name {
        Some("benches") => root().join("benches"),
        Some(name) => root().join("crates").join(name),
        None => return None,
    };
    // A target is a file of its name, beside the manifest or in the kind's directory.
    for (flag, places) in [
        ("--bench", &["", "benches"][..]),
        ("--example", &["", "examples"]),
        ("--bin", &["", "src", "src/bin"]),
        ("--test", &["tests"]),
    ] {
        let Some(target) = value(&[flag]) else { continue };
        let there = places.iter().any(|place| {
            let place = home.join(place);
            place.join(format!("{target}.rs")).is_file() || place.join(target).join("main.rs").is_file()
        });
        let is_main = flag == "--bin" && name == Some(target);
        if !there && !is_main {
            return Some(format!("{flag} {target} is not a file of that package"));
        }
    }
    None
}

#[test]
fn commands_name_what_exists() {
    let mut breaches = Vec::new();
    for file in markdown() {
        for (number, line) in code_lines(&file) {
            let command = line.trim().trim_start_matches("$ ");
            if command.starts_with("cargo ")
                && let Some(fault) = fault(command)
            {
                breaches.push(format!("{}:{number}: `{command}`: {fault}", file.path));
            }
        }
    }
    none("A command in the docs can be run.", &breaches);
}

#[test]
fn links_lead_somewhere() {
    let mut breaches = Vec::new();
    for file in markdown() {
        let directory = root().join(&file.path).parent().expect("a file is in a directory").to_owned();
        for (number, line) in file.numbered() {
            for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let target = link.split('#').next().unwrap_or_default();
                let elsewhere = target.is_empty() || target.contains("://") || target.starts_with("mailto:");
                if !elsewhere && !directory.join(target).exists() {
                    breaches.push(format!("{}:{number}: {link}", file.path));
                }
            }
        }
    }
    none("A link in the docs leads to a file.", &breaches);
}

#[test]
fn a_wrong_command_is_found() {
    assert_eq!(fault("cargo test -p purgatory"), None);
    assert_eq!(fault("cargo run --release -p groupd -- --topic a:1"), None);
    assert!(fault("cargo test -p nothing").is_some());
    assert!(fault("cargo bench -p benches --bench nothing").is_some());
    assert_eq!(fault("cargo test -p tidy --test it"), None);
}
