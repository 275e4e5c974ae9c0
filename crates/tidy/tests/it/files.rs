//! What a file looks like: its first line, its size, its name, and words it does not say.

use tidy::{TextFile, files};

use crate::none;

/// The most lines of a source file.
const MAX_LINES: usize = 500;
/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] =
    &["utils", "util", "common", "types", "helpers", "helper", "manager", "misc", "mod"];

fn sources() -> Vec<TextFile> {
    files().into_iter().filter(|file| file.has_extension("rs")).collect()
}

#[test]
fn the_first_line_says_what_a_file_is_for() {
    let silent = |file: &TextFile| !file.text.lines().next().unwrap_or_default().starts_with("//! ");
    let breaches: Vec<_> = sources().into_iter().filter(silent).map(|file| file.path).collect();
    none("The first line of a source file is `//! ` and what it is for.", &breaches);
}

#[test]
fn no_file_is_too_long() {
    let lines = |file: &TextFile| file.text.lines().count();
    let long = sources().into_iter().filter(|file| lines(file) > MAX_LINES);
    let breaches: Vec<_> = long.map(|file| format!("{}: {} lines", file.path, lines(&file))).collect();
    none("A source file has at most 500 lines: split it by idea.", &breaches);
}

#[test]
fn names_say_what_is_inside() {
    let stem =
        |file: &TextFile| file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
    let empty = sources().into_iter().filter(|file| EMPTY_NAMES.contains(&stem(file).as_str()));
    let breaches: Vec<_> = empty.map(|file| file.path).collect();
    none("`foo.rs` stands beside `foo/`, and its name is an idea.", &breaches);
}

#[test]
fn what_is_allowed_has_a_reason() {
    let mut breaches = Vec::new();
    for file in sources() {
        for (number, line) in file.numbered() {
            let line = line.trim_start();
            let starts =
                ["#[allow(", "#![allow(", "#[expect(", "#![expect("].iter().any(|a| line.starts_with(a));
            // A long attribute is broken into lines: its reason is within the next dozen.
            let whole: String = file
                .text
                .lines()
                .skip(number - 1)
                .take(12)
                .scan(false, |done, part| {
                    let show = !*done;
                    *done |= part.contains(")]");
                    show.then_some(part)
                })
                .collect();
            if starts && !whole.contains("reason = ") {
                breaches.push(format!("{}:{number}: {line}", file.path));
            }
        }
    }
    none("A lint is silenced with a reason: `#[expect(lint, reason = \"...\")]`.", &breaches);
}

/// Words of a workshop, not of the work. In pieces, so that this file does not say them.
fn workshop_words() -> Vec<String> {
    [["/wo", "rk/"], ["/roo", "t/"], ["/home", "/"], ["sub", "agent"], ["issue", " #"], ["as an", " AI"]]
        .map(|pieces| pieces.concat())
        .to_vec()
}

#[test]
fn files_speak_of_the_project_alone() {
    let words = workshop_words();
    let mut breaches = Vec::new();
    for file in files() {
        for (number, line) in file.numbered() {
            if let Some(word) = words.iter().find(|word| line.contains(word.as_str())) {
                breaches.push(format!("{}:{number}: {word:?}", file.path));
            }
            if names_an_issue(line) {
                breaches.push(format!("{}:{number}: the number of an issue", file.path));
            }
        }
    }
    none("Docs, comments and code name no machine, no issue and no workshop.", &breaches);
}

/// The sign and a digit, where a word could begin; not `{:#010x}` and not `&#39;`.
fn names_an_issue(line: &str) -> bool {
    let bytes = line.as_bytes();
    let starts_word = |at: usize| at == 0 || matches!(bytes[at - 1], b' ' | b'(');
    let digit = |at: usize| bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
    bytes.iter().enumerate().any(|(at, byte)| *byte == b'#' && starts_word(at) && digit(at))
}

#[test]
fn issues_are_told_from_other_uses_of_the_sign() {
    assert!(names_an_issue(&["as said in ", "#12"].concat()));
    assert!(names_an_issue(&["(", "#3)"].concat()));
    assert!(!names_an_issue("{:#010x}"));
    assert!(!names_an_issue("# 2 things"));
    assert!(!names_an_issue("a#1"));
}
