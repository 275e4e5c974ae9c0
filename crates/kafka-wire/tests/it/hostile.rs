//! What a peer can send that is not a message: each is an error, and takes no more memory than it may.

use kafka_wire::schema::Kind;
use kafka_wire::{DescribeGroupsRequest, Fault, MetadataRequest, OffsetFetchRequest, WireError};

use crate::catalogue::{Entry, catalogue};
use crate::golden::corpus;
use crate::memory::{bound, peak_of};
use crate::sample::{Length, Of, Style, sample, uvarint};

/// Reads a body that is wrong, and returns what is wrong with it.
fn refused(entry: &Entry, version: i16, body: &[u8], what: &str) -> Fault {
    let (result, peak) = peak_of(|| (entry.decode)(version, body));
    assert!(peak <= bound(body.len()), "{} v{version} {what}: {peak} bytes", entry.name);
    match result {
        Err(WireError::Malformed { message, version: of, offset, fault }) => {
            assert_eq!((message, of), (entry.name, version));
            assert!(offset <= body.len());
            fault
        }
        other => panic!("{} v{version} {what}: {other:?}\n{body:02x?}", entry.name),
    }
}

#[test]
fn a_body_cut_anywhere_is_refused() {
    for entry in catalogue() {
        for (version, body) in corpus(entry.name) {
            for length in 0..body.len() {
                refused(&entry, version, &body[..length], "cut");
            }
        }
    }
}

#[test]
fn what_stands_behind_a_message_is_ignored() {
    for entry in catalogue() {
        for (version, body) in corpus(entry.name) {
            let longer = [&body[..], &[1, 0, 0]].concat();
            assert_eq!((entry.rewrite)(version, &longer), (entry.rewrite)(version, &body), "{}", entry.name);
        }
    }
}

#[test]
fn librdkafkas_question_for_all_topics_is_understood() {
    // As confluent-kafka 2.16.1 sends it: the null array takes one byte in version 13, and it writes four.
    let request = MetadataRequest::decode(13, &[0, 0, 0, 0, 1, 0, 0]).unwrap();
    assert!(request.topics.is_none());
}

#[test]
fn unknown_versions_are_refused() {
    for entry in catalogue() {
        for version in [i16::MIN, -1, entry.versions.start() - 1, entry.versions.end() + 1, i16::MAX] {
            let error = WireError::UnsupportedVersion { message: entry.name, version };
            assert_eq!((entry.decode)(version, &[]), Err(error));
            assert_eq!((entry.default)(version).map(drop), Err(error));
        }
    }
}

/// Lengths that are wrong where only `left` bytes are left: the bytes, and the claim that they make.
fn wrong_lengths(length: &Length, left: usize) -> Vec<(Vec<u8>, i64)> {
    let more = i64::try_from(left).unwrap() + 1;
    let (max, min) = (i64::from(i32::MAX), i64::from(i32::MIN));
    let bytes = |claim: &i64| match length.of {
        _ if length.compact => uvarint(u32::try_from(claim + 1).unwrap()),
        Of::String => i16::try_from(*claim).unwrap().to_be_bytes().to_vec(),
        Of::Bytes | Of::Array => i32::try_from(*claim).unwrap().to_be_bytes().to_vec(),
    };
    let claims = match length.of {
        _ if length.compact => vec![more, 1 << 20, max, max + 1, (1 << 32) - 2],
        Of::String => vec![more, 32767, -2, -32768],
        Of::Bytes | Of::Array => vec![more, 1 << 20, max, -2, min],
    };
    claims.iter().map(|claim| (bytes(claim), *claim)).collect()
}

#[test]
fn every_length_and_count_is_doubted() {
    let mut tried = 0;
    for entry in catalogue() {
        for version in entry.versions.clone() {
            let sample = sample(&entry, version, Style::Filled, 7);
            for length in &sample.lengths {
                let (before, rest) = sample.bytes.split_at(length.offset);
                let rest = &rest[length.size..];
                for (wrong, claim) in wrong_lengths(length, rest.len()) {
                    let left = rest.len();
                    let fault = refused(&entry, version, &[before, &wrong, rest].concat(), "a wrong length");
                    let expected = match length.of {
                        _ if claim < 0 => Fault::Length(claim),
                        Of::String if claim > 32767 => Fault::Length(claim),
                        Of::Array => Fault::Count { claimed: claim, left },
                        Of::String | Of::Bytes => {
                            Fault::Truncated { needed: claim.try_into().unwrap(), left }
                        }
                    };
                    assert_eq!(fault, expected, "{} v{version} {length:?}", entry.name);
                    // A claim with nothing behind it.
                    refused(&entry, version, &[before, &wrong].concat(), "a wrong length at the end");
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 10_000, "{tried}");
}

#[test]
fn every_compact_length_must_end() {
    for entry in catalogue() {
        for version in entry.versions.clone().filter(|version| entry.is_flexible(*version)) {
            let sample = sample(&entry, version, Style::Filled, 7);
            for length in &sample.lengths {
                let (before, rest) = sample.bytes.split_at(length.offset);
                for endless in [&[0x80; 300][..], &[0xff; 300], &[0xff, 0xff, 0xff, 0xff, 0x1f]] {
                    let body = [before, endless, &rest[length.size..]].concat();
                    assert_eq!(refused(&entry, version, &body, "a varint"), Fault::Varint);
                }
            }
        }
    }
}

#[test]
fn every_string_must_be_utf8() {
    for entry in catalogue() {
        for version in entry.versions.clone() {
            let sample = sample(&entry, version, Style::Filled, 8);
            for length in sample.lengths.iter().filter(|length| length.of == Of::String) {
                let mut body = sample.bytes.clone();
                body[length.offset + length.size] = 0xff;
                assert_eq!(refused(&entry, version, &body, "ff"), Fault::NotUtf8);
            }
        }
    }
}

/// The last byte of an empty flexible message is the count of its tagged fields.
fn with_tags(entry: &Entry, version: i16, tags: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let empty = sample(entry, version, Style::Empty, 0).bytes;
    assert_eq!(empty.last(), Some(&0));
    let tagged = [&empty[..empty.len() - 1], tags].concat();
    (empty, tagged)
}

#[test]
fn unknown_tagged_fields_are_skipped_and_lost() {
    for entry in catalogue() {
        for version in entry.versions.clone().filter(|version| entry.is_flexible(*version)) {
            let (empty, tagged) = with_tags(&entry, version, &[2, 100, 3, 1, 2, 3, 0xe8, 0x07, 0]);
            assert_eq!((entry.rewrite)(version, &tagged), Ok(empty), "{} v{version}", entry.name);
        }
    }
}

#[test]
fn tagged_fields_are_bounded() {
    for entry in catalogue() {
        for version in entry.versions.clone().filter(|version| entry.is_flexible(*version)) {
            let wrong =
                |tags: &[u8], what| refused(&entry, version, &with_tags(&entry, version, tags).1, what);
            let cut = Fault::Truncated { needed: 1, left: 0 };
            assert_eq!(wrong(&[0xff, 0xff, 0xff, 0xff, 0x0f], "4,294,967,295 tags"), cut);
            assert_eq!(wrong(&[0xff, 0xff, 0xff, 0xff, 0xff, 0x0f], "a count without end"), Fault::Varint);
            assert_eq!(wrong(&[1, 100, 0x80], "half a size"), cut);
            assert_eq!(wrong(&[1, 100, 5, 0], "a size too long"), Fault::Truncated { needed: 5, left: 1 });
            for field in entry.schema.fields.iter().filter(|field| (field.present)(version)) {
                if let (Some(tag), Kind::Int64) = (field.tag, field.kind) {
                    let tag_byte = u8::try_from(tag).unwrap();
                    let short = [1, tag_byte, 7, 0, 0, 0, 0, 0, 0, 0, 1];
                    assert_eq!(wrong(&short, "7 of 8"), Fault::TagSize { tag, said: 7, took: 8 });
                }
            }
        }
    }
}

#[test]
fn a_frame_of_short_names_fits_and_a_frame_of_nothing_does_not() {
    const COUNT: u32 = 500_000;
    let of = |element: &[u8]| {
        let elements = element.repeat(COUNT as usize);
        [&uvarint(COUNT + 1), &elements[..], &[0, 0]].concat()
    };
    let names = of(b"\x02a");
    let (request, peak) = peak_of(|| DescribeGroupsRequest::decode(5, &names).unwrap().groups.len());
    assert_eq!(request, COUNT as usize);
    assert!(peak <= bound(names.len()), "{peak} bytes for {}", names.len());

    let over_budget = |result: Result<(), WireError>| {
        assert!(matches!(result, Err(WireError::Malformed { fault: Fault::OverBudget, .. })), "{result:?}");
    };
    let nothing = of(b"\x01");
    let (result, peak) = peak_of(|| DescribeGroupsRequest::decode(5, &nothing).map(drop));
    over_budget(result);
    assert!(peak <= bound(nothing.len()), "{peak} bytes for {}", nothing.len());

    // Groups without a name, topics or tags: three bytes on the wire, 64 in memory.
    let groups = of(b"\x01\x01\x00");
    let (result, peak) = peak_of(|| OffsetFetchRequest::decode(8, &groups).map(drop));
    over_budget(result);
    assert!(peak <= bound(groups.len()), "{peak} bytes for {}", groups.len());
}

/// No array of the frame is over the budget, but all of them are.
#[test]
fn what_arrays_take_adds_up() {
    const TOPICS: u32 = 50_000;
    const GROUPS: u8 = 4;
    // A topic without a name or partitions: three bytes on the wire, 56 in memory.
    let topics = b"\x01\x01\x00".repeat(TOPICS as usize);
    let group = [&b"\x01"[..], &uvarint(TOPICS + 1), &topics, b"\x00"].concat();
    let body = [&[GROUPS + 1][..], &group.repeat(usize::from(GROUPS)), b"\x00\x00"].concat();
    let (result, peak) = peak_of(|| OffsetFetchRequest::decode(8, &body).map(drop));
    assert!(matches!(result, Err(WireError::Malformed { fault: Fault::OverBudget, .. })), "{result:?}");
    assert!(peak <= bound(body.len()), "{peak} bytes for {}", body.len());
}

/// A claim is not believed: the first reservation is no bigger than what was sent.
#[test]
fn a_count_alone_reserves_no_more_than_was_sent() {
    let count = 1_000_000_u32;
    // A million topics claimed, a megabyte there, and the first topic is broken.
    let body = [&count.to_be_bytes()[..], &vec![0xff; 1_000_000]].concat();
    let (result, peak) = peak_of(|| MetadataRequest::decode(0, &body).map(drop));
    assert!(result.is_err());
    assert!(peak <= body.len(), "{peak} bytes for {}", body.len());
}
