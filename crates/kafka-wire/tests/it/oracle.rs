//! Byte identity with the public crate, for every message and every version it has.

use crate::catalogue::{Entry, catalogue};
use crate::debug_tree::plain;
use crate::sample::{Style, sample};

/// Random values per message and version.
const SEEDS: u64 = 16;

/// A field of a version that the public crate lacks altogether; in older versions it has its default.
const NOT_THEIRS: &str = ",transaction_version=0";

fn check_body(entry: &Entry, version: i16, body: &[u8], what: &str) {
    let name = entry.name;
    let (shown, written) =
        (entry.again)(version, body).unwrap_or_else(|error| panic!("{what}: {error}\n{body:02x?}"));
    assert_eq!(written, body, "{name} v{version} {what}: we write what we read\n{shown}");
    if !entry.their_versions.contains(&version) {
        return;
    }
    let (their_shown, their_written) = (entry.their_again)(version, body)
        .unwrap_or_else(|error| panic!("{name} v{version} {what}: {error}\n{shown}"));
    assert_eq!(
        plain(&shown).replace(NOT_THEIRS, ""),
        plain(&their_shown),
        "{name} v{version} {what}: the same value"
    );
    assert_eq!(their_written, body, "{name} v{version} {what}: they write the same\n{shown}");
}

#[test]
fn every_message_and_version_is_read_and_written_alike() {
    for entry in catalogue() {
        for version in entry.versions.clone() {
            for style in [Style::Filled, Style::Empty, Style::Null] {
                check_body(&entry, version, &sample(&entry, version, style, 1).bytes, &format!("{style:?}"));
            }
            for seed in 0..SEEDS {
                let body = sample(&entry, version, Style::Random, seed).bytes;
                check_body(&entry, version, &body, &format!("seed {seed}"));
            }
        }
    }
}

#[test]
fn defaults_are_the_same_and_are_written_alike() {
    for entry in catalogue() {
        for version in entry.versions.clone() {
            let name = entry.name;
            let (shown, written) = (entry.default)(version).unwrap();
            if !entry.their_versions.contains(&version) {
                continue;
            }
            let (their_shown, their_written) = (entry.their_default)(version)
                .unwrap_or_else(|error| panic!("{name} v{version} default: {error}\n{shown}"));
            assert_eq!(plain(&shown).replace(NOT_THEIRS, ""), plain(&their_shown), "{name} v{version}");
            assert_eq!(written, their_written, "{name} v{version}");
        }
    }
}

/// What the public crate lacks stands in `rules.rs`, byte by byte: this list must not grow unseen.
#[test]
fn what_the_public_crate_lacks_is_known() {
    let mut lacking = Vec::new();
    for entry in catalogue() {
        let ours = entry.versions.clone().filter(|version| !entry.their_versions.contains(version));
        lacking.extend(ours.map(|version| (entry.name, version)));
    }
    let known = [
        ("ListOffsetsRequest", 11),
        ("ListOffsetsResponse", 11),
        ("OffsetCommitRequest", 10),
        ("OffsetFetchRequest", 10),
        ("InitProducerIdRequest", 6),
        ("WriteTxnMarkersRequest", 2),
        ("WriteTxnMarkersResponse", 2),
    ];
    assert_eq!(lacking, known);
}
