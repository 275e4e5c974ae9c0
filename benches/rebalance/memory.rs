//! What does a member keep allocated, and what does a heartbeat allocate? Counted by the allocator, exactly.
//!
//! `cargo bench -p benches --bench membership_memory -- --members 100000`

mod drive;
#[expect(dead_code, reason = "shared with the bench of speed")]
mod work;

use std::alloc::System;

use coordinator::ids::MemberId;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--members").skip(1);
    let members: u32 = arguments.next().map_or(2_000, |value| value.parse().expect("a number of members"));
    for size in [10, 100, 1_000] {
        stable_members(members, size, false, false);
    }
    stable_members(members, 100, true, false);
    stable_members(members, 100, false, true);
    stable_members(members, 100, true, true);
}

/// 100 bytes of metadata and 100 of assignment included.
fn stable_members(members: u32, size: u32, own_hosts: bool, own_metadata: bool) {
    let mut world = drive::World::new();
    world.own_metadata = own_metadata;
    let region = Region::new(ALLOCATOR);
    let all = work::form(&mut world, members, size, 300_000, own_hosts);
    let kept = |change: stats_alloc::Stats| change.bytes_allocated - change.bytes_deallocated;
    // The list of members is the bench's own.
    let own: usize = all.iter().map(|member| size_of_val(member) + member.id.capacity()).sum();
    let bytes = kept(region.change()) - own;
    let beats: Vec<_> = all
        .iter()
        .take(1_000)
        .map(|member| world.heartbeat_of(member.group, MemberId::new(member.id.as_str())))
        .collect();
    let before = Region::new(ALLOCATOR);
    world.run(beats);
    let allocations = before.change().allocations;
    let hosts = if own_hosts { ", each on its own host" } else { "" };
    let metadata = if own_metadata { ", each with metadata of its own" } else { "" };
    println!(
        "{members} members in groups of {size}{hosts}{metadata}: {} bytes each; 1,000 heartbeats: {allocations} allocations",
        bytes / all.len()
    );
    let region = Region::new(ALLOCATOR);
    drop(world);
    drop(all);
    println!("  freed again: {} bytes each", region.change().bytes_deallocated / members as usize);
}
