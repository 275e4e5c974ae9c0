//! A state as text that is the same for all states with the same future: clients are interchangeable, member ids are named by
//! whose they are, times are relative.

use std::fmt::Write;

use super::client::{Client, Stage};
use super::world::World;

/// The canonical text of `world`: the least over all orders of the clients.
pub(super) fn canonical(world: &World) -> String {
    let mut least: Option<String> = None;
    let mut order: Vec<usize> = (0..world.clients.len()).collect();
    permutations(&mut order, 0, &mut |order| {
        let text = rendered(world, order);
        if least.as_ref().is_none_or(|least| text < *least) {
            least = Some(text);
        }
    });
    least.unwrap_or_default()
}

fn permutations(order: &mut [usize], from: usize, visit: &mut impl FnMut(&[usize])) {
    if from + 1 >= order.len() {
        return visit(order);
    }
    for other in from..order.len() {
        order.swap(from, other);
        permutations(order, from + 1, visit);
        order.swap(from, other);
    }
}

/// `world` with its clients in this order.
fn rendered(world: &World, order: &[usize]) -> String {
    let mut text = String::with_capacity(2_048);
    for client in order.iter().map(|number| &world.clients[*number]) {
        write_client(client, &mut text);
    }
    let bounds = &world.bounds;
    let spent = (bounds.crashes, bounds.leaves, bounds.store_faults, bounds.moves);
    let written = (|| {
        writeln!(text, "{spent:?} {}", world.kept.epoch.0)?;
        for owner in &world.owners {
            let group = owner.coordinator.group(&world.group);
            let generation = group.map_or(0, |group| group.generation.0);
            writeln!(text, "owner {generation} {}", owner.is_deceived)?;
            writeln!(text, "{}", owner.coordinator.digest(&world.group))?;
            for write in &owner.writes {
                for record in &write.records {
                    write_record(record, &mut text)?;
                }
            }
        }
        if let Some(group) = &world.kept.group {
            write_record(&coordinator::messages::Record::Group(group.clone()), &mut text)?;
        }
        for ((owner, generation), leader) in &world.leaders {
            writeln!(text, "{owner} {} led by {leader}", generation.0)?;
        }
        for (generation, leader) in &world.assigned {
            writeln!(text, "{} by {leader}", generation.0)?;
        }
        Ok::<_, std::fmt::Error>(())
    })();
    written.unwrap_or_else(|_| unreachable!("writing to a String cannot fail"));
    named(world, order, text)
}

fn write_client(client: &Client, text: &mut String) {
    let stage = match &client.stage {
        Stage::Out => "out".into(),
        Stage::Joined(members) => format!("joined {members:?}"),
        Stage::Stable => "stable".into(),
    };
    let waits = client.waits.is_some();
    let line = format!("{} {stage} {} {waits} of {}\n", client.member, client.generation.0, client.owner);
    text.push_str(&line);
}

fn write_record(record: &coordinator::messages::Record, text: &mut String) -> std::fmt::Result {
    match record {
        coordinator::messages::Record::Group(group) => {
            write!(text, "record {} {:?}", group.generation.0, group.leader)?;
            for member in &group.members {
                write!(text, " {} {:?}", member.member, String::from_utf8_lossy(&member.assignment))?;
            }
            writeln!(text)
        }
        other => writeln!(text, "record {other:?}"),
    }
}

/// Puts the place of the client for each token, and whether it is of an earlier life.
fn with_tokens(world: &World, order: &[usize], text: &str) -> String {
    let mut parts = text.split("Token(");
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_once(')').unwrap_or((part, ""));
        let number: u64 = number.parse().unwrap_or(u64::MAX);
        let client = usize::try_from(number & 0xff).unwrap_or(usize::MAX);
        let place = order.iter().position(|other| *other == client).unwrap_or(usize::MAX);
        let is_old = world.clients.get(client).is_none_or(|client| client.life != number >> 8);
        named.extend(["Token(", &place.to_string(), if is_old { " old)" } else { ")" }, rest]);
    }
    named
}

/// Puts names for member ids: the place of the client whose it is, and how manieth of its ids this is in the text.
fn named(world: &World, order: &[usize], mut text: String) -> String {
    let mut places: Vec<(usize, usize, &str)> = Vec::new();
    for (id, client) in &world.ids {
        if let Some(at) = text.find(id.as_str()) {
            let place = order.iter().position(|number| number == client).unwrap_or(usize::MAX);
            places.push((at, place, id.as_str()));
        }
    }
    places.sort_unstable();
    text = with_tokens(world, order, &text);
    let mut counts = vec![0; order.len()];
    for (_, place, id) in places {
        let name = format!("m{place}.{}", counts[place]);
        counts[place] += 1;
        text = text.replace(id, &name);
    }
    text
}
