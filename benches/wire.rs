//! How fast is the codec? Ours beside `kafka-protocol`, the same bodies in the same process, one thread.
//!
//! Both read from a frame that is in memory and write to a buffer that is used again; both borrow strings and bytes from
//! the frame. A decoded message is dropped within the time measured.
//!
//! `cargo bench -p benches --bench wire` runs small, so that CI keeps it alive. For figures:
//! `cargo bench -p benches --features peers --bench wire -- --messages 100000 --runs 11`

use std::hint::black_box;

use benches::measure::{Spread, cpu_nanos};
use kafka_wire::{
    HeartbeatRequest, HeartbeatResponse, JoinGroupResponse, JoinGroupResponseMember, Message,
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, SyncGroupRequest,
    SyncGroupRequestAssignment, WireError,
};

#[cfg(feature = "peers")]
#[path = "wire/peer.rs"]
mod peer;

struct Options {
    messages: u32,
    runs: usize,
}

fn main() -> Result<(), WireError> {
    let options = options();
    println!(
        "Thread CPU time, ns a message, {} messages, {} runs: min / median / max.",
        options.messages, options.runs
    );
    let heartbeat = HeartbeatRequest {
        group_id: "orders-service",
        generation_id: 7,
        member_id: "consumer-1-4b1f5c2e-8f0e-4e0e-9d8e-2f6f3f1f9f3a",
        group_instance_id: None,
    };
    work(&options, "Heartbeat v4 request", 4, &heartbeat)?;
    work(&options, "Heartbeat v4 response", 4, &HeartbeatResponse::default())?;
    let ids = (0..100).map(|member| format!("{}-{member}", heartbeat.member_id)).collect::<Vec<_>>();
    work(&options, "JoinGroup v9 response, 100 members", 9, &join(&ids))?;
    work(&options, "SyncGroup v5 request, 100 assignments", 5, &sync(&ids))?;
    let topics = (0..10).map(|topic| format!("topic-number-{topic}")).collect::<Vec<_>>();
    work(&options, "OffsetCommit v9 request, 10 x 10", 9, &commit(&topics))
}

fn options() -> Options {
    let mut options = Options { messages: 200, runs: 3 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--bench" {
            continue;
        }
        let value = arguments.next().and_then(|value| value.parse().ok());
        let value: u32 = value.unwrap_or_else(|| panic!("{name} needs a number"));
        match name.as_str() {
            "--messages" => options.messages = value,
            "--runs" => options.runs = value as usize,
            other => panic!("unknown option {other}"),
        }
    }
    options
}

fn join(ids: &[String]) -> JoinGroupResponse<'_> {
    let member = |id| JoinGroupResponseMember { member_id: id, group_instance_id: None, metadata: &[7; 60] };
    JoinGroupResponse {
        generation_id: 7,
        protocol_type: Some("consumer"),
        protocol_name: Some("range"),
        leader: &ids[0],
        member_id: &ids[0],
        members: ids.iter().map(|id| member(id)).collect(),
        ..Default::default()
    }
}

fn sync(ids: &[String]) -> SyncGroupRequest<'_> {
    let assignment = |id| SyncGroupRequestAssignment { member_id: id, assignment: &[7; 60] };
    SyncGroupRequest {
        group_id: "orders-service",
        generation_id: 7,
        member_id: &ids[0],
        protocol_type: Some("consumer"),
        protocol_name: Some("range"),
        assignments: ids.iter().map(|id| assignment(id)).collect(),
        ..Default::default()
    }
}

fn commit(topics: &[String]) -> OffsetCommitRequest<'_> {
    let partition = |index| OffsetCommitRequestPartition {
        partition_index: index,
        committed_offset: 1_000_000 + i64::from(index),
        committed_metadata: Some(""),
        ..Default::default()
    };
    let topic = |name| OffsetCommitRequestTopic {
        name,
        partitions: (0..10).map(partition).collect(),
        ..Default::default()
    };
    OffsetCommitRequest {
        group_id: "orders-service",
        generation_id_or_member_epoch: 7,
        member_id: "consumer-1-4b1f5c2e-8f0e-4e0e-9d8e-2f6f3f1f9f3a",
        topics: topics.iter().map(|name| topic(name)).collect(),
        ..Default::default()
    }
}

/// Measures one message both ways, and the peer at the same.
fn work<'a, M: Message<'a>>(
    options: &Options,
    name: &str,
    version: i16,
    message: &M,
) -> Result<(), WireError> {
    let mut body = Vec::new();
    message.encode(version, &mut body)?;
    println!("{name}: {} bytes", body.len());
    // The body lives as long as the process, as the messages of the trait may borrow from it.
    let body: &'static [u8] = body.leak();
    let mut out = Vec::with_capacity(body.len());
    report(options, "decode", "kafka-wire", || M::decode(version, black_box(body)).map(drop));
    report(options, "encode", "kafka-wire", || {
        out.clear();
        black_box(message).encode(version, black_box(&mut out))
    });
    assert_eq!(out, body, "{name}: the same bytes at the end");
    #[cfg(feature = "peers")]
    peer::work(options, M::NAME, version, body);
    Ok(())
}

fn report<E>(options: &Options, direction: &str, who: &str, mut once: impl FnMut() -> Result<(), E>) {
    let mut run = || {
        let start = cpu_nanos();
        let failed = (0..options.messages).filter(|_| once().is_err()).count();
        let nanos = cpu_nanos() - start;
        assert_eq!(failed, 0, "{who}: {direction} fails");
        #[expect(clippy::cast_precision_loss, reason = "figures to read")]
        let each = nanos as f64 / f64::from(options.messages);
        each
    };
    let spread = Spread::of((0..options.runs).map(|_| run()).collect());
    println!("  {direction} {who:<20}{:>30}", spread.to_string());
}
