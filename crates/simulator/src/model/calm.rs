//! What follows when nothing goes wrong any more: clients send when they have to, writes are kept at once, whoever was replaced is
//! told. The group has to come to rest within a bound that its timeouts give.

use coordinator::{Phase, Timestamp};

use super::client::{REBALANCE_MS, SESSION_MS, Stage};
use super::world::{INITIAL_DELAY_MS, STORE_TIMEOUT_MS, World};

/// Between two heartbeats, ms.
const HEARTBEAT_MS: u32 = SESSION_MS / 3;
/// How long it may take, ms. One round may be under way and lost: it waits for those who died (a session, or a rebalance
/// timeout each for joining and for syncing) and for a write that is never reported; and then another one.
pub(super) const REST_MS: u32 = INITIAL_DELAY_MS + 2 * (SESSION_MS + REBALANCE_MS + STORE_TIMEOUT_MS);
/// What clients and stores may do at one instant: more is a loop without end.
const BUSY: usize = 1_000;

/// Goes on without faults. Returns how long it took, ms.
///
/// # Errors
///
/// If the group does not come to rest, or what must hold does not.
pub(super) fn come_to_rest(world: &mut World) -> Result<u64, String> {
    world.tell();
    world.settle()?;
    let start = world.now;
    let limit = start.saturating_add(u64::from(REST_MS));
    let mut beats = vec![start; world.clients.len()];
    loop {
        let mut busy = 0;
        while act(world, &mut beats)? {
            busy += 1;
            if busy > BUSY {
                return Err("clients ask and are refused without end".into());
            }
        }
        if rests(world) {
            return Ok(world.now.ticks_since(start));
        }
        let stable = world.clients.iter().filter(|client| client.stage == Stage::Stable);
        let beat = stable.map(|client| beats[client.number]).min();
        let next = [beat, world.next_deadline()].into_iter().flatten().min().unwrap_or(Timestamp::MAX);
        if next > limit {
            return Err(format!(
                "the group is stuck: after {REST_MS} ms without faults it is\n{}",
                look(world)
            ));
        }
        world.advance(next)?;
        world.settle()?;
    }
}

/// Does what can be done now. Whether it was anything.
fn act(world: &mut World, beats: &mut [Timestamp]) -> Result<bool, String> {
    let mut acted = false;
    for owner in 0..world.owners.len() {
        while !world.owners[owner].writes.is_empty() {
            world.stored(owner);
            world.settle()?;
            acted = true;
        }
    }
    for (client, beat) in beats.iter_mut().enumerate() {
        let it = &world.clients[client];
        let is_due = it.stage != Stage::Stable || *beat <= world.now;
        if it.waits.is_none() && is_due {
            *beat = world.now.saturating_add(u64::from(HEARTBEAT_MS));
            world.send(client);
            world.settle()?;
            acted = true;
        }
    }
    Ok(acted)
}

/// Everybody who lives, and nobody else, is a member of one stable generation.
fn rests(world: &World) -> bool {
    let newest = world.owners.len() - 1;
    let Some(group) = world.owners[newest].coordinator.group(&world.group) else { return false };
    let is_in = |client: &super::client::Client| {
        client.owner == newest
            && client.stage == Stage::Stable
            && client.generation == group.generation
            && group.members.contains(&client.member)
    };
    group.phase == Phase::Stable
        && group.members.len() == world.clients.len()
        && world.clients.iter().all(is_in)
}

fn look(world: &World) -> String {
    let of_owner = |owner: &super::world::Owner| owner.coordinator.digest(&world.group);
    let owners: Vec<_> = world.owners.iter().map(of_owner).collect();
    format!("{}\n{:?}", owners.join("\n"), world.clients)
}
