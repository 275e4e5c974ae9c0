//! What is measured.

use std::hint::black_box;

use benches::measure::{Numbers, Spread, cpu_nanos};
use coordinator::ids::{Blob, MemberId};
use coordinator::messages::{Input, Response};

use super::drive::{Member, World, blob};

/// Requests made at a time: what they take is in the caches as after decoding.
const BATCH: usize = 64;

/// Requests that are looked at side by side, as in groupd.
const AT_HAND: usize = 16;

/// Heartbeats of all members in random order, every three seconds: each for itself, then many at hand. Beside them what it
/// takes to drop the same requests, and to find one's way through as many cache lines.
///
/// The members' ids are computed, not looked up: in life a request's bytes come from a socket, and a table of all ids
/// would take the caches from the coordinator.
pub(crate) fn heartbeats(members: u32, group_size: u32, session_timeout_ms: i32, runs: usize) {
    let mut world = World::new();
    world.load(members / group_size, group_size, session_timeout_ms);
    let members = members / group_size * group_size;
    let what = format!("heartbeat, {members} members in groups of {group_size}, random order");
    let nothing = Heartbeats { world: &mut world, members, group_size, how: How::Drop }.run(runs);
    println!("{what}, requests dropped unread: {nothing} ns");
    let floor = floor(members, runs);
    println!(
        "floor, {members} members, a tag, an entry and a timer, each found by the one before: {floor} ns"
    );
    for (how, name) in [(How::Handle, "one by one"), (How::LookAhead, "16 at hand")] {
        let spread = Heartbeats { world: &mut world, members, group_size, how }.run(runs);
        let times = spread.median / floor.median;
        let checksum = world.checksum;
        println!("{what}, {name}: {spread} ns, {times:.1} times the floor; {checksum:x}");
    }
}

/// What nothing can be below that looks for each member by itself: as many lines as the coordinator reads, in tables as
/// large as its own, each of which says where the next one is.
fn floor(members: u32, runs: usize) -> Spread {
    let slots = members / 2 * 3;
    let slot_of = Numbers::new(11).shuffled(slots);
    let order = Numbers::new(12).shuffled(members);
    let tags = vec![0_u8; slots as usize];
    let mut entries = vec![[0_u32; 8]; slots as usize];
    let mut timers = vec![[0_u32; 4]; members as usize];
    for (at, &member) in order.iter().enumerate() {
        let next = order[(at + 1) % order.len()];
        entries[slot_of[member as usize] as usize][0] = member;
        timers[member as usize][0] = slot_of[next as usize];
    }
    let (mut spread, mut slot) = (Vec::new(), timers[0][0]);
    for _ in 0..runs {
        let start = cpu_nanos();
        for _ in 0..members {
            let entry = slot + u32::from(tags[slot as usize]);
            slot = timers[entries[entry as usize][0] as usize][0];
        }
        spread.push(to_f64(cpu_nanos() - start) / f64::from(members));
    }
    black_box(slot);
    Spread::of(spread)
}

#[derive(Clone, Copy)]
enum How {
    /// Not at all.
    Drop,
    /// Each for itself.
    Handle,
    /// Many are looked at side by side first.
    LookAhead,
}

struct Heartbeats<'w> {
    world: &'w mut World,
    members: u32,
    group_size: u32,
    how: How,
}

impl Heartbeats<'_> {
    /// Nanoseconds a heartbeat.
    fn run(&mut self, runs: usize) -> Spread {
        let Self { world, members, group_size, how } = self;
        let mut numbers = Numbers::new(7);
        let mut spread = Vec::new();
        // The first round is not counted: it brings the timers into the steady state.
        for run in 0..=runs {
            world.nanos = 0;
            let mut passed_us = 0_u64;
            for batch in numbers.shuffled(*members).chunks(BATCH) {
                let requests: Vec<Input> =
                    batch.iter().map(|&member| world.heartbeat(member / *group_size, member)).collect();
                passed_us += batch.len() as u64 * 3_000_000 / u64::from(*members);
                match how {
                    How::Drop => world.drop_unread(requests),
                    How::Handle => world.run_and_advance(requests, 1, passed_us / 1_000),
                    How::LookAhead => world.run_and_advance(requests, AT_HAND, passed_us / 1_000),
                }
                passed_us %= 1_000;
            }
            if run > 0 {
                spread.push(to_f64(world.nanos) / f64::from(*members));
            }
        }
        Spread::of(spread)
    }
}

/// Groups of one size, one after the other: formed, then all rejoin because the leader does.
pub(crate) fn rounds(size: u32, members: u32, runs: usize) {
    let groups = (members / size).max(1);
    let (mut formed, mut rejoined) = (Vec::new(), Vec::new());
    let mut checksum = 0_u64;
    for _ in 0..runs {
        let mut world = World::new();
        let (mut form_nanos, mut rejoin_nanos) = (0, 0);
        for group in 0..groups {
            world.nanos = 0;
            let members = form_one(&mut world, group, size);
            form_nanos += world.nanos;
            world.nanos = 0;
            rejoin(&mut world, group, &members);
            rejoin_nanos += world.nanos;
        }
        formed.push(to_f64(form_nanos) / f64::from(groups * size));
        rejoined.push(to_f64(rejoin_nanos) / f64::from(groups * size));
        checksum = world.checksum.wrapping_add(checksum);
    }
    println!(
        "round, {groups} groups of {size}, per member: formed {} ns, rejoined {} ns; {checksum:x}",
        Spread::of(formed),
        Spread::of(rejoined)
    );
}

/// Many small groups formed, all in the coordinator at the end.
pub(crate) fn small_groups(groups: u32, size: u32, runs: usize) {
    let mut spread = Vec::new();
    let mut checksum = 0_u64;
    for _ in 0..runs {
        let mut world = World::new();
        form(&mut world, groups * size, size, 300_000, false);
        spread.push(f64::from(groups) * 1e9 / to_f64(world.nanos));
        checksum = world.checksum.wrapping_add(checksum);
    }
    println!("{groups} groups of {size} formed: {} groups/s; {checksum:x}", Spread::of(spread));
}

/// Forms groups side by side. What is measured is in `world.nanos`.
pub(crate) fn form(
    world: &mut World,
    members: u32,
    size: u32,
    session_timeout_ms: i32,
    own_hosts: bool,
) -> Vec<Member> {
    let members = members / size * size;
    let mut ids = vec![String::new(); members as usize];
    let first = world.next_token();
    let everyone: Vec<u32> = (0..members).collect();
    for batch in everyone.chunks(BATCH) {
        let join = |&n: &u32| {
            let host = if own_hosts { n } else { 1 };
            world.join(n / size, MemberId::default(), host, session_timeout_ms)
        };
        let joins: Vec<Input> = batch.iter().map(join).collect();
        world.run(joins);
    }
    // The first round waits for three seconds, and for as long again if more came.
    world.advance(6_000, &mut |token, response| {
        if let Response::JoinGroup(joined) = response {
            joined.member.as_str().clone_into(&mut ids[usize::try_from(token - first).expect("an index")]);
        }
    });
    let members: Vec<Member> =
        ids.into_iter().zip(0..).map(|(id, n): (_, u32)| Member { group: n / size, id }).collect();
    for group in members.chunks(size as usize) {
        sync(world, group, 1);
    }
    members
}

/// Forms one group: as [`form`], of groups formed one after the other.
fn form_one(world: &mut World, group: u32, size: u32) -> Vec<Member> {
    let first = world.next_token();
    let joins: Vec<Input> = (0..size).map(|_| world.join(group, MemberId::default(), 1, 300_000)).collect();
    world.run(joins);
    let mut ids = vec![String::new(); size as usize];
    world.advance(6_000, &mut |token, response| {
        if let Response::JoinGroup(joined) = response {
            joined.member.as_str().clone_into(&mut ids[usize::try_from(token - first).expect("an index")]);
        }
    });
    let members: Vec<Member> = ids.into_iter().map(|id| Member { group, id }).collect();
    sync(world, &members, 1);
    members
}

fn rejoin(world: &mut World, group: u32, members: &[Member]) {
    let joins: Vec<Input> = members
        .iter()
        .map(|member| world.join(group, MemberId::new(member.id.as_str()), 1, 300_000))
        .collect();
    world.run(joins);
    sync(world, members, 2);
}

fn sync(world: &mut World, members: &[Member], generation: i32) {
    let syncs: Vec<Input> = members
        .iter()
        .enumerate()
        .map(|(at, member)| {
            let assignments: Vec<(MemberId, Blob)> = if at == 0 {
                members.iter().map(|member| (MemberId::new(member.id.as_str()), blob(100))).collect()
            } else {
                Vec::new()
            };
            world.sync(member, generation, assignments)
        })
        .collect();
    world.run(syncs);
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of one run")]
fn to_f64(nanos: u64) -> f64 {
    nanos as f64
}
