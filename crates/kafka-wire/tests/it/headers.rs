//! The headers, above all those of requests that we do not know.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use kafka_wire::{
    ApiKey, ApiVersionsResponse, Fault, HeartbeatRequest, RequestHeader, ResponseHeader, WireError,
};

use crate::golden::unhex;
use crate::memory::{bound, peak_of};
use crate::sample::Numbers;

fn header(api_key: i16, api_version: i16, client_id: Option<&str>) -> RequestHeader<'_> {
    RequestHeader { api_key, api_version, correlation_id: 0x0102_0304, client_id }
}

fn written(header: &RequestHeader<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    header.encode(&mut out).unwrap();
    out
}

#[test]
fn every_api_and_version_has_the_header_of_the_public_crate() {
    for api in ApiKey::ALL {
        let their_key = theirs::ApiKey::try_from(api.code()).unwrap();
        assert_eq!(ApiKey::from_code(api.code()), Some(*api));
        assert_eq!(format!("{their_key:?}"), api.name());
        for version in api.versions() {
            assert_eq!(api.request_header_version(version), their_key.request_header_version(version));
            assert_eq!(api.response_header_version(version), their_key.response_header_version(version));
            for client_id in [None, Some(""), Some("consumer-é")] {
                same_as_theirs(&header(api.code(), version, client_id), api.request_header_version(version));
            }
        }
    }
}

fn same_as_theirs(header: &RequestHeader<'_>, version: i16) {
    let bytes = written(header);
    let mut rest = Bytes::from(bytes.clone());
    let read = theirs::RequestHeader::decode(&mut rest, version).unwrap();
    assert!(rest.is_empty());
    assert_eq!((read.request_api_key, read.request_api_version), (header.api_key, header.api_version));
    assert_eq!(read.correlation_id, header.correlation_id);
    assert_eq!(read.client_id.as_ref().map(StrBytes::as_str), header.client_id);
    let mut again = BytesMut::new();
    read.encode(&mut again, version).unwrap();
    assert_eq!(again, bytes);
    assert_eq!(RequestHeader::decode(&bytes), Ok((header.clone(), &[][..])));
}

#[test]
fn the_response_to_api_versions_has_the_oldest_header_for_ever() {
    for version in 0..=ApiVersionsResponse::MAX_VERSION + 100 {
        assert_eq!(ApiVersionsResponse::header_version(version), 0);
    }
    let mut out = Vec::new();
    ResponseHeader { correlation_id: 7 }.encode(0, &mut out);
    assert_eq!(out, [0, 0, 0, 7]);
    ResponseHeader { correlation_id: 7 }.encode(1, &mut out);
    assert_eq!(out[4..], [0, 0, 0, 7, 0]);
    assert_eq!(ResponseHeader::decode(0, &out).unwrap(), (ResponseHeader { correlation_id: 7 }, &out[4..]));
    // A tag that a later header may have is skipped.
    let tagged = unhex("00000007 01 05 02 abcd 99");
    assert_eq!(
        ResponseHeader::decode(1, &tagged).unwrap(),
        (ResponseHeader { correlation_id: 7 }, &[0x99][..])
    );
}

#[test]
fn api_versions_of_the_future_is_still_seen() {
    // A header of a layout that nobody knows yet.
    let frame = unhex("0012 0063 01020304 7fff ffff ffff");
    assert_eq!(RequestHeader::decode(&frame), Ok((header(18, 99, None), &[][..])));
    // The layout of today, with a body of tomorrow.
    let frame = unhex("0012 0063 01020304 0002 6d65 00 abcdef");
    let body = &[0xab, 0xcd, 0xef][..];
    assert_eq!(RequestHeader::decode(&frame), Ok((header(18, 99, Some("me")), body)));
    // Nothing but what an answer needs.
    let frame = unhex("0012 0063 01020304");
    assert_eq!(RequestHeader::decode(&frame), Ok((header(18, 99, None), &[][..])));
}

#[test]
fn unknown_apis_are_seen_too() {
    let frame = unhex("7fff 0001 01020304 ffff 00");
    assert_eq!(RequestHeader::decode(&frame), Ok((header(0x7fff, 1, None), &[0][..])));
    assert_eq!(ApiKey::from_code(0x7fff), None);
    assert_eq!(ApiKey::from_code(-1), None);
    // The only request that never had a client id.
    let frame = unhex("0007 0000 01020304 00000005");
    assert_eq!(RequestHeader::decode(&frame), Ok((header(7, 0, None), &[0, 0, 0, 5][..])));
    assert_eq!(written(&header(7, 0, Some("nobody"))), frame[..8]);
}

#[test]
fn a_known_request_must_have_a_whole_header() {
    let malformed = |version, offset, fault| {
        Err(WireError::Malformed { message: "RequestHeader", version, offset, fault })
    };
    let frame = unhex("000c 0004 01020304 0002 6d65 00");
    for length in 0..frame.len() {
        assert!(RequestHeader::decode(&frame[..length]).is_err(), "cut at {length}");
    }
    let not_utf8 = unhex("000c 0004 01020304 0002 ff65 00");
    assert_eq!(RequestHeader::decode(&not_utf8), malformed(2, 12, Fault::NotUtf8));
    let negative = unhex("000c 0000 01020304 fffe");
    assert_eq!(RequestHeader::decode(&negative), malformed(1, 10, Fault::Length(-2)));
    let many_tags = unhex("000c 0004 01020304 ffff ffffffff0f");
    let (result, peak) = peak_of(|| RequestHeader::decode(&many_tags));
    assert_eq!(result, malformed(2, 15, Fault::Truncated { needed: 1, left: 0 }));
    assert!(peak <= bound(0));
    assert_eq!(HeartbeatRequest::header_version(4), 2);
}

#[test]
fn a_client_id_that_cannot_be_written_leaves_nothing() {
    let long = "x".repeat(32768);
    let mut out = vec![1, 2, 3];
    let error = header(12, 4, Some(&long)).encode(&mut out).unwrap_err();
    assert_eq!(error.to_string(), "RequestHeader v2: `client_id` is too long");
    assert_eq!(out, [1, 2, 3]);
}

#[test]
fn noise_is_a_header_or_an_error() {
    let mut numbers = Numbers(5);
    let mut known = 0;
    for _ in 0..20_000 {
        let mut frame = written(&header(12, 4, Some("me")));
        frame[1] = numbers.next().to_be_bytes()[0] & 0x4f;
        frame[3] = numbers.next().to_be_bytes()[0] & 0x0f;
        for _ in 0..numbers.below(4) {
            let at = numbers.below(frame.len());
            frame[at] = numbers.next().to_be_bytes()[0];
        }
        frame.truncate(numbers.below(2 * frame.len()));
        let (result, peak) =
            peak_of(|| RequestHeader::decode(&frame).map(|(header, body)| (header, body.len())));
        assert_eq!(peak, 0, "a header takes no memory");
        known += usize::from(result.is_ok());
        let (_, peak) = peak_of(|| ResponseHeader::decode(1, &frame).map(drop));
        assert_eq!(peak, 0);
    }
    assert!((2_000..18_000).contains(&known), "{known}");
}
