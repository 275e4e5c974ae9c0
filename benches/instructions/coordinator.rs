//! The coordinator: what clients ask most, and a round of rebalancing. The log acknowledges inline.

use std::hint::black_box;
use std::sync::Arc;

use coordinator::ids::{
    Blob, Generation, GroupId, MemberId, OffsetsPartition, OwnerEpoch, TopicName, TopicPartition,
};
use coordinator::messages::{
    CommitOffset, GroupRecord, Heartbeat, Input, JoinGroup, MemberRecord, OffsetCommit, OffsetFetch, Output,
    Record, Request, SyncGroup, Token,
};
use coordinator::{Config, Coordinator, Partitioner, Timestamp};
use gungraun::prelude::*;

use crate::limits::{CALLS, limited};

const MEMBERS: usize = 10;
const NOW: Timestamp = Timestamp::from_ticks(1_000_000);

/// A coordinator with stable groups of ten, and requests for it.
struct Work {
    coordinator: Coordinator,
    requests: Vec<Request>,
}

impl Work {
    /// As many groups as give each of [`CALLS`] requests a member of its own.
    fn new(request: impl Fn(usize) -> Request) -> Self {
        let config = Config { partitioner: Partitioner::Kafka { partitions: 1 }, ..Config::default() };
        let mut coordinator = Coordinator::new(config, 1, NOW);
        let partition = OffsetsPartition(0);
        coordinator.handle(NOW, Input::BeginLoad(partition, OwnerEpoch(1)));
        coordinator.handle(NOW, Input::Load(partition, (0..CALLS / MEMBERS).map(stable_group).collect()));
        coordinator.handle(NOW, Input::FinishLoad(partition));
        while coordinator.poll_output().is_some() {}
        Self { coordinator, requests: (0..CALLS).map(request).collect() }
    }

    fn run(mut self) -> Coordinator {
        for (request, number) in self.requests.into_iter().zip(0..) {
            self.coordinator.handle(NOW, Input::Request(Token::new(number), request));
            while let Some(output) = self.coordinator.poll_output() {
                match output {
                    Output::Store(store) => self.coordinator.handle(NOW, Input::Stored(store.id, Ok(()))),
                    other => drop(black_box(other)),
                }
            }
        }
        self.coordinator
    }
}

fn heartbeats() -> Work {
    Work::new(|n| {
        let (group, member) = (group(n / MEMBERS), member(n));
        Request::Heartbeat(Heartbeat { group, generation: Generation(1), member, instance: None })
    })
}

fn commits() -> Work {
    Work::new(|n| {
        Request::OffsetCommit(OffsetCommit {
            group: group(n / MEMBERS),
            generation: Generation(1),
            member: member(n),
            instance: None,
            retention_time_ms: -1,
            offsets: partitions().map(commit_of).collect(),
        })
    })
}

fn fetches() -> Work {
    let coordinator = commits().run();
    let fetch = |n| {
        let (group, partitions) = (group(n / MEMBERS), Some(partitions().collect()));
        Request::OffsetFetch(OffsetFetch { group, partitions, require_stable: true })
    };
    Work { coordinator, requests: (0..CALLS).map(fetch).collect() }
}

/// Each group rebalances as a whole: all rejoin, the leader first, then all sync.
fn rounds() -> Work {
    let mut work = Work::new(join);
    let mut requests = Vec::new();
    for group in 0..CALLS / MEMBERS {
        let members = group * MEMBERS..(group + 1) * MEMBERS;
        requests.extend(members.clone().map(join));
        requests.extend(members.map(sync));
    }
    work.requests = requests;
    work
}

#[library_benchmark(config = limited("coordinator_heartbeat"))]
#[bench::stable_groups_of_ten(heartbeats())]
fn coordinator_heartbeat(work: Work) -> Coordinator {
    work.run()
}

#[library_benchmark(config = limited("coordinator_offset_commit"))]
#[bench::ten_partitions(commits())]
fn coordinator_offset_commit(work: Work) -> Coordinator {
    work.run()
}

#[library_benchmark(config = limited("coordinator_offset_fetch"))]
#[bench::ten_partitions(fetches())]
fn coordinator_offset_fetch(work: Work) -> Coordinator {
    work.run()
}

// A thousand members: a JoinGroup and a SyncGroup each.
#[library_benchmark(config = limited("coordinator_round"))]
#[bench::groups_of_ten(rounds())]
fn coordinator_round(work: Work) -> Coordinator {
    work.run()
}

library_benchmark_group!(
    name = coordinator_calls,
    benchmarks =
        [coordinator_heartbeat, coordinator_offset_commit, coordinator_offset_fetch, coordinator_round]
);

fn group(n: usize) -> GroupId {
    GroupId::new(format!("orders-service-{n}"))
}

fn member(n: usize) -> MemberId {
    MemberId::new(format!("consumer-{n:04}-01234567-89ab-cdef-0123-456789abcdef"))
}

fn blob() -> Blob {
    Arc::from([7; 100])
}

fn partitions() -> impl Iterator<Item = TopicPartition> {
    let topic = TopicName::from("orders");
    (0..10).map(move |partition| TopicPartition { topic: topic.clone(), partition })
}

fn commit_of(partition: TopicPartition) -> CommitOffset {
    CommitOffset { partition, offset: 7, leader_epoch: 1, metadata: Arc::default(), commit_timestamp_ms: -1 }
}

fn join(n: usize) -> Request {
    Request::JoinGroup(JoinGroup {
        group: group(n / MEMBERS),
        member: member(n),
        instance: None,
        client_id: "consumer".into(),
        client_host: "/127.0.0.1".into(),
        protocol_type: "consumer".into(),
        protocols: vec![("range".into(), blob())],
        session_timeout_ms: 30_000,
        rebalance_timeout_ms: 300_000,
        require_known_member_id: true,
        supports_skipping_assignment: true,
        reason: None,
    })
}

fn sync(n: usize) -> Request {
    let first = n / MEMBERS * MEMBERS;
    let assignments =
        if n == first { (first..first + MEMBERS).map(|n| (member(n), blob())).collect() } else { Vec::new() };
    Request::SyncGroup(SyncGroup {
        group: group(n / MEMBERS),
        generation: Generation(2),
        member: member(n),
        instance: None,
        protocol_type: Some("consumer".into()),
        protocol: Some("range".into()),
        assignments,
    })
}

fn stable_group(n: usize) -> Record {
    let members = (n * MEMBERS..(n + 1) * MEMBERS).map(|n| MemberRecord {
        member: member(n),
        instance: None,
        client_id: "consumer".into(),
        client_host: "/127.0.0.1".into(),
        session_timeout_ms: 30_000,
        rebalance_timeout_ms: 300_000,
        subscription: blob(),
        assignment: blob(),
    });
    Record::Group(GroupRecord {
        group: group(n),
        generation: Generation(1),
        protocol_type: "consumer".into(),
        protocol: Some("range".into()),
        leader: Some(member(n * MEMBERS)),
        state_timestamp_ms: -1,
        members: members.collect(),
    })
}
