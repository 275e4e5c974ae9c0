//! Checked-in bytes of every message and version: what must never change.
//!
//! `golden.txt` holds a filled-in value (from the table and a fixed seed) and the default value of each.
//! `tests/java/run` shows them to Kafka's own classes. `WIRE_GOLDEN=write` writes the file anew, for a version that
//! was added.

use std::fmt::Write;

use crate::catalogue::{Entry, catalogue};
use crate::sample::{Style, sample};

const GOLDEN: &str = include_str!("golden.txt");

/// The bodies of one message and version, by what they are.
fn bodies(entry: &Entry, version: i16) -> [(&'static str, Vec<u8>); 2] {
    let (_, default) = (entry.default)(version).unwrap();
    [("filled", sample(entry, version, Style::Filled, 42).bytes), ("default", default)]
}

fn golden() -> String {
    let mut text = String::new();
    for entry in catalogue() {
        for version in entry.versions.clone() {
            for (what, body) in bodies(&entry, version) {
                writeln!(text, "{} {version} {what} {}", entry.name, hex(&body)).unwrap();
            }
        }
    }
    text
}

#[test]
fn every_message_and_version_is_as_it_was() {
    let now = golden();
    if std::env::var("WIRE_GOLDEN").is_ok_and(|value| value == "write") {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/golden.txt");
        std::fs::write(path, &now).unwrap();
        return;
    }
    for (was, is) in GOLDEN.lines().zip(now.lines()) {
        assert_eq!(was, is);
    }
    assert_eq!(GOLDEN.lines().count(), now.lines().count(), "messages or versions came or went");
}

#[test]
fn golden_bytes_are_read_and_written() {
    for entry in catalogue() {
        for (version, body) in corpus(entry.name) {
            let (shown, written) = (entry.again)(version, &body).unwrap();
            assert_eq!(hex(&written), hex(&body), "{} v{version}: {shown}", entry.name);
        }
    }
}

/// The checked-in bodies of a message.
pub(crate) fn corpus(name: &str) -> Vec<(i16, Vec<u8>)> {
    let mut bodies = Vec::new();
    for line in GOLDEN.lines() {
        let [message, version, _, hex] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if message == name {
            bodies.push((version.parse().unwrap(), unhex(hex)));
        }
    }
    bodies
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Bytes from hexadecimal digits; white space is for the reader.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digits = text.split_whitespace().collect::<String>();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}
