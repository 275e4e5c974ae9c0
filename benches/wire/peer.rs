//! The public crate, at the same work.

use std::hint::black_box;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{
    HeartbeatRequest, HeartbeatResponse, JoinGroupResponse, OffsetCommitRequest, SyncGroupRequest,
};
use kafka_protocol::protocol::{Decodable, Encodable};

use crate::{Options, report};

const WHO: &str = "kafka-protocol";

/// Measures the message of this name.
pub(crate) fn work(options: &Options, name: &str, version: i16, body: &'static [u8]) {
    match name {
        "HeartbeatRequest" => both::<HeartbeatRequest>(options, version, body),
        "HeartbeatResponse" => both::<HeartbeatResponse>(options, version, body),
        "JoinGroupResponse" => both::<JoinGroupResponse>(options, version, body),
        "SyncGroupRequest" => both::<SyncGroupRequest>(options, version, body),
        "OffsetCommitRequest" => both::<OffsetCommitRequest>(options, version, body),
        other => panic!("{other} is not compared"),
    }
}

fn both<M: Decodable + Encodable>(options: &Options, version: i16, body: &'static [u8]) {
    // A frame from a socket is a buffer of its own, which strings then share.
    let frame = Bytes::copy_from_slice(body);
    let decode = || M::decode(&mut black_box(frame.clone()), version);
    report(options, "decode", WHO, || decode().map(drop));
    let message = decode().expect("the bench reads what it wrote");
    let mut out = BytesMut::with_capacity(body.len());
    report(options, "encode", WHO, || {
        out.clear();
        black_box(&message).encode(black_box(&mut out), version)
    });
    assert_eq!(out, body, "the same bytes at the end");
}
