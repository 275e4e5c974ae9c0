//! The five questions: start-up, memory, rebalance, heartbeats, commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kafka_wire::OffsetCommitRequest;
use kafka_wire::offset_commit::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};

use super::Sizes;
use super::client::{Connection, TOPIC};
use super::figures::{Checksum, Takes};
use super::members::{Member, each, form};
use super::server::{Data, Kind, Server};

/// Members of one group where many groups are wanted.
const GROUP: usize = 10;
/// For what is under way to arrive and be parked, before the clock starts.
const SETTLE: Duration = Duration::from_millis(200);

/// From the start of the process to its first answer, with an empty store.
pub(crate) fn startup(kind: &Kind, port: u16, sizes: &Sizes) {
    // The first start makes the store (and formats Kafka's disk): it is not counted.
    let mut data = Server::start_on(kind, port, Data::new()).stop();
    let mut takes = Takes::default();
    for _ in 0..sizes.rounds {
        let server = Server::start_on(kind, port, data);
        takes.add(server.startup.as_secs_f64() * 1000.0);
        data = server.stop();
    }
    takes.print("start to first answer", "ms");
}

/// Resident memory, idle and with idle members, each with a connection.
pub(crate) async fn memory(server: &Server, sizes: &Sizes, checksum: &mut Checksum) {
    tokio::time::sleep(Duration::from_secs(1)).await;
    let idle = server.resident_mib();
    let mut groups = Vec::new();
    for at in 0..sizes.members / GROUP {
        groups.push(form(server.address(), &format!("idle-{at}"), GROUP).await);
    }
    checksum.count(0, (groups.len() * GROUP) as u64);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let full = server.resident_mib();
    let members = groups.len() * GROUP;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let each_kib = (full - idle) * 1024.0 / members as f64;
    println!("{:<44} {idle:.1} MiB", "resident memory, idle");
    println!("{:<44} {full:.1} MiB  ({each_kib:.1} KiB a member)", format!("with {members} idle members"));
    for group in groups {
        dissolve(group).await;
    }
}

async fn dissolve(group: Vec<Member>) {
    each(group, |mut member| async move { member.leave().await }).await;
}

/// From the last `JoinGroup` of a round to the last answer to its `SyncGroup`s.
pub(crate) async fn rebalance(server: &Server, sizes: &Sizes, checksum: &mut Checksum) {
    for &size in sizes.groups {
        let mut members = form(server.address(), &format!("round-{size}"), size).await;
        let mut takes = Takes::default();
        for _ in 0..sizes.rounds {
            let (took, after) = round(members).await;
            takes.add(took.as_secs_f64() * 1000.0);
            checksum.count(0, after.len() as u64);
            members = after;
        }
        takes.print(&format!("last join to all synced, {size} members"), "ms");
        dissolve(members).await;
    }
}

/// One round: the leader begins it by joining again, the others follow, and the last of them ends it.
async fn round(mut members: Vec<Member>) -> (Duration, Vec<Member>) {
    members[0].send_join().await;
    tokio::time::sleep(SETTLE).await;
    let last = members.len() - 1;
    for member in &mut members[1..last] {
        member.send_join().await;
    }
    tokio::time::sleep(SETTLE).await;
    let begin = Instant::now();
    members[last].send_join().await;
    let mut members = each(members, |mut member| async {
        assert_eq!(member.joined().await, 0, "JoinGroup of a known member");
        assert_eq!(member.sync().await, 0, "SyncGroup of a joined member");
        (member, Instant::now())
    })
    .await;
    let end = members.iter().map(|(_, synced)| *synced).max().unwrap();
    // The leader begins the next round; whoever leads is first.
    members.sort_by_key(|(member, _)| !member.leads());
    (end - begin, members.into_iter().map(|(member, _)| member).collect())
}

/// Heartbeats answered per second of the server's CPU time; each member sends its next when it has an answer.
pub(crate) async fn heartbeat(server: &Server, sizes: &Sizes, checksum: &mut Checksum) {
    let mut members = Vec::new();
    for at in 0..sizes.heartbeaters / GROUP {
        members.extend(form(server.address(), &format!("beat-{at}"), GROUP).await);
    }
    let (mut per_cpu, mut per_second) = (Takes::default(), Takes::default());
    for _ in 0..sizes.rounds {
        let (cpu, begin) = (server.cpu_seconds(), Instant::now());
        let stop = stop_after(sizes.round);
        let done = each(members, |mut member| {
            let stop = Arc::clone(&stop);
            async move {
                let mut good = 0;
                let mut code = 0;
                while code == 0 && !stop.load(Ordering::Relaxed) {
                    code = member.heartbeat().await;
                    good += u64::from(code == 0);
                }
                (member, good, code)
            }
        })
        .await;
        let good = done.iter().map(|(_, good, _)| good).sum::<u64>();
        checksum.count(0, good);
        done.iter().filter(|(_, _, code)| *code != 0).for_each(|(_, _, code)| checksum.count(*code, 1));
        members = done.into_iter().map(|(member, _, _)| member).collect();
        #[expect(clippy::cast_precision_loss, reason = "a count of seconds' work")]
        let good = good as f64;
        per_cpu.add(good / (server.cpu_seconds() - cpu).max(0.01));
        per_second.add(good / begin.elapsed().as_secs_f64());
    }
    let connections = members.len();
    per_cpu.print("heartbeats per CPU-second of the server", "");
    per_second.print(&format!("heartbeats per second, {connections} connections"), "");
}

/// Acknowledged commits per second, each committer sending its next when it has an answer.
pub(crate) async fn commit(server: &Server, sizes: &Sizes, checksum: &mut Checksum) {
    for &committers in sizes.committers {
        let (mut rate, mut per_cpu) = (Takes::default(), Takes::default());
        let (mut half, mut tail) = (Takes::default(), Takes::default());
        let mut connections = Vec::new();
        for at in 0..committers {
            let mut connection = Connection::open(server.address()).await;
            // The first of a group waits for its coordinator, which may still be loading.
            while matches!(commit_one(&mut connection, &group(at), 0).await, 14..=16) {
                tokio::time::sleep(SETTLE).await;
            }
            connections.push((at, connection));
        }
        for _ in 0..sizes.rounds {
            let (cpu, begin) = (server.cpu_seconds(), Instant::now());
            let stop = stop_after(sizes.round);
            let done = each(connections, |(at, connection)| commits(at, connection, Arc::clone(&stop))).await;
            let took = begin.elapsed().as_secs_f64();
            let mut latencies = Takes::default();
            let mut good = 0.0;
            connections = Vec::new();
            for (at, connection, times, code) in done {
                checksum.count(0, times.len() as u64);
                if code != 0 {
                    checksum.count(code, 1);
                }
                for time in times {
                    good += 1.0;
                    latencies.add(time);
                }
                connections.push((at, connection));
            }
            rate.add(good / took);
            per_cpu.add(good / (server.cpu_seconds() - cpu).max(0.01));
            half.add(latencies.part(0.5));
            tail.add(latencies.part(0.99));
        }
        rate.print(&format!("commits per second, committers: {committers}"), "");
        per_cpu.print("  per CPU-second of the server", "");
        half.print("  half of them within", "ms");
        tail.print("  99 % of them within", "ms");
    }
}

/// Commits one offset after the other until told to stop: how long each took, in ms, and the first error.
async fn commits(
    at: usize,
    mut connection: Connection,
    stop: Arc<AtomicBool>,
) -> (usize, Connection, Vec<f64>, i16) {
    let group = group(at);
    let mut times = Vec::new();
    let mut offset = 0;
    while !stop.load(Ordering::Relaxed) {
        let begin = Instant::now();
        let code = commit_one(&mut connection, &group, offset).await;
        if code != 0 {
            return (at, connection, times, code);
        }
        times.push(begin.elapsed().as_secs_f64() * 1000.0);
        offset += 1;
    }
    (at, connection, times, 0)
}

fn group(at: usize) -> String {
    format!("commit-{at}")
}

async fn commit_one(connection: &mut Connection, group: &str, offset: i64) -> i16 {
    let partition = OffsetCommitRequestPartition {
        partition_index: 0,
        committed_offset: offset,
        committed_metadata: Some(""),
        ..Default::default()
    };
    let topic = OffsetCommitRequestTopic { name: TOPIC, partitions: vec![partition], ..Default::default() };
    let request = OffsetCommitRequest { group_id: group, topics: vec![topic], ..Default::default() };
    connection.ask(8, &request, |answer| answer.topics[0].partitions[0].error_code).await
}

fn stop_after(duration: Duration) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    tokio::spawn(async move {
        tokio::time::sleep(duration).await;
        told.store(true, Ordering::Relaxed);
    });
    stop
}
