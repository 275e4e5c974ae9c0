//! Who gets which partitions: what a leader computes, and how subscriptions and assignments are written.

use std::sync::Arc;

use coordinator::ids::{Blob, MemberId};
use coordinator::messages::JoinedMember;

use crate::scenario::Strategy;

/// A subscription as the consumer protocol writes it (version 1): topics, no user data, partitions owned.
pub fn subscription(topic: &str, also: u32, owned: &[u16]) -> Blob {
    let mut bytes = Vec::with_capacity(48 + 4 * owned.len());
    bytes.extend_from_slice(&1_i16.to_be_bytes());
    let topics =
        if also == 0 { vec![topic.to_owned()] } else { vec![topic.to_owned(), format!("also-{also}")] };
    count(&mut bytes, topics.len());
    for topic in topics {
        text(&mut bytes, &topic);
    }
    bytes.extend_from_slice(&(-1_i32).to_be_bytes());
    count(&mut bytes, 1);
    text(&mut bytes, topic);
    count(&mut bytes, owned.len());
    for partition in owned {
        bytes.extend_from_slice(&i32::from(*partition).to_be_bytes());
    }
    bytes.into()
}

fn count(bytes: &mut Vec<u8>, length: usize) {
    bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// The partitions that a subscription says are owned: its last numbers.
fn owned_in(subscription: &[u8], topic: &str) -> Vec<u16> {
    // Behind the last naming of the topic stand the count and the numbers.
    let name = topic.as_bytes();
    let Some(at) = subscription.windows(name.len()).rposition(|part| part == name) else { return Vec::new() };
    let numbers = subscription.get(at + name.len() + 4..).unwrap_or_default();
    let number = |bytes: &[u8]| u16::from_be_bytes([bytes[2], bytes[3]]);
    numbers.chunks_exact(4).map(number).collect()
}

/// An assignment: a nonce of the leader's and the partitions.
pub fn assignment(nonce: u64, partitions: &[u16]) -> Blob {
    let mut bytes = Vec::with_capacity(8 + 2 * partitions.len());
    bytes.extend_from_slice(&nonce.to_be_bytes());
    for partition in partitions {
        bytes.extend_from_slice(&partition.to_be_bytes());
    }
    bytes.into()
}

/// The partitions of an assignment; none of an empty or foreign one.
pub fn partitions_of(assignment: &[u8]) -> Vec<u16> {
    let numbers = assignment.get(8..).unwrap_or_default();
    numbers.chunks_exact(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]])).collect()
}

/// What a leader gives to the members of its group.
pub fn assign(
    members: &[JoinedMember],
    topic: &str,
    partitions: u16,
    strategy: Strategy,
    nonce: u64,
) -> Vec<(MemberId, Blob)> {
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_unstable_by(|&one, &other| members[one].member.cmp(&members[other].member));
    let shares = match strategy {
        Strategy::Eager => deal(&order, partitions),
        Strategy::Cooperative => keep_and_move(members, &order, topic, partitions),
    };
    let given =
        |(member, share): (&JoinedMember, Vec<u16>)| (member.member.clone(), assignment(nonce, &share));
    members.iter().zip(shares).map(given).collect()
}

/// In turn, in the order of the members' ids.
fn deal(order: &[usize], partitions: u16) -> Vec<Vec<u16>> {
    let mut shares = vec![Vec::new(); order.len()];
    for (partition, &place) in (0..partitions).zip(order.iter().cycle()) {
        shares[place].push(partition);
    }
    shares
}

/// Everybody keeps what is owned, up to a fair share; what somebody has to give up goes to nobody in this round.
fn keep_and_move(members: &[JoinedMember], order: &[usize], topic: &str, partitions: u16) -> Vec<Vec<u16>> {
    let mut shares = vec![Vec::new(); members.len()];
    let mut claimed = vec![false; usize::from(partitions)];
    let (fair, more) = (usize::from(partitions) / members.len(), usize::from(partitions) % members.len());
    let quota = |place: usize| fair + usize::from(order.iter().take(more).any(|&early| early == place));
    for &place in order {
        for partition in owned_in(&members[place].metadata, topic) {
            let Some(claim) = claimed.get_mut(usize::from(partition)) else { continue };
            if !*claim && shares[place].len() < quota(place) {
                shares[place].push(partition);
            }
            *claim = true;
        }
    }
    let mut hungry: Vec<usize> = order.iter().copied().filter(|&p| shares[p].len() < quota(p)).collect();
    for partition in (0..partitions).rev().filter(|partition| !claimed[usize::from(*partition)]) {
        let Some(&place) = hungry.last() else { break };
        shares[place].push(partition);
        if shares[place].len() >= quota(place) {
            hungry.pop();
        }
    }
    shares
}

/// The name of a group's topic.
pub fn topic_of(group: &str) -> Arc<str> {
    format!("topic-of-{group}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, owned: &[u16]) -> JoinedMember {
        JoinedMember { member: name.into(), instance: None, metadata: subscription("t", 0, owned) }
    }

    fn shares(members: &[JoinedMember], strategy: Strategy) -> Vec<Vec<u16>> {
        let assigned = assign(members, "t", 4, strategy, 9);
        assigned.iter().map(|(_, assignment)| partitions_of(assignment)).collect()
    }

    #[test]
    fn eager_members_are_dealt_to_in_turn() {
        let members = [member("b", &[]), member("a", &[])];
        assert_eq!(shares(&members, Strategy::Eager), [[1, 3], [0, 2]]);
    }

    #[test]
    fn a_partition_moves_only_when_its_owner_has_given_it_up() {
        let before = [member("a", &[0, 1, 2, 3]), member("b", &[])];
        assert_eq!(shares(&before, Strategy::Cooperative), [vec![0, 1], vec![]]);
        let after = [member("a", &[0, 1]), member("b", &[])];
        assert_eq!(shares(&after, Strategy::Cooperative), [[0, 1], [3, 2]]);
    }
}
