//! Which connections there are, and for which members they have spoken.
//!
//! A client heartbeats by its own clock, which a jump of the server's does not move. So a member whose connection is open
//! is taken to heartbeat all through a jump, in its last words; one that was killed, and one that is named, is not.

use std::sync::Arc;

use coordinator::ids::{Generation, GroupId, InstanceId, MemberId};
use coordinator::messages::{Heartbeat, Request};
use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::fault::{Asks, Scope};

/// Members that one connection is remembered to speak for; the first is forgotten for one too many.
const OF_ONE: usize = 16;

/// Who has spoken on which connection, by its number.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    connections: Mutex<HashMap<u64, Known>>,
}

/// One connection.
#[derive(Debug, Default)]
struct Known {
    client_id: String,
    speakers: Vec<Speaker>,
    /// Ends it.
    dismissal: Arc<Notify>,
}

/// A member, and the last that it said.
#[derive(Clone, Debug)]
struct Speaker {
    group: GroupId,
    /// The one it believes in, if it has said so.
    generation: Option<Generation>,
    member: MemberId,
    instance: Option<InstanceId>,
}

/// Which members say nothing while the clock jumps, though their connections are open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Silent {
    /// None but those without a connection.
    #[default]
    Gone,
    /// Those called so: by member id, `group.instance.id` or `client.id`.
    Named(Vec<String>),
    /// All.
    All,
}

impl Heard {
    /// A connection has begun; it is to end when it is notified.
    pub(crate) fn begin(&self, connection: u64) -> Arc<Notify> {
        let known = Known::default();
        let dismissal = Arc::clone(&known.dismissal);
        self.connections.lock().insert(connection, known);
        dismissal
    }

    /// `request` came on connection number `connection`.
    pub(crate) fn note(&self, connection: u64, client_id: &str, request: &Request) {
        let (group, generation, member, instance) = match request {
            Request::Heartbeat(said) => (&said.group, Some(said.generation), &said.member, &said.instance),
            Request::SyncGroup(said) => (&said.group, Some(said.generation), &said.member, &said.instance),
            Request::OffsetCommit(said) => (&said.group, None, &said.member, &said.instance),
            Request::JoinGroup(said) => (&said.group, None, &said.member, &said.instance),
            Request::LeaveGroup(_)
            | Request::TxnOffsetCommit(_)
            | Request::OffsetFetch(_)
            | Request::OffsetDelete(_)
            | Request::DescribeGroup(_)
            | Request::ListGroups(_)
            | Request::DeleteGroups(_) => return,
        };
        let mut connections = self.connections.lock();
        let Some(known) = connections.get_mut(&connection) else { return };
        if known.client_id != client_id {
            client_id.clone_into(&mut known.client_id);
        }
        known.speaks(Speaker {
            group: group.clone(),
            generation,
            member: member.clone(),
            instance: instance.clone(),
        });
    }

    /// Ends the connections that fit `scope`; how many.
    pub(super) fn dismiss(&self, scope: &Scope) -> usize {
        let connections = self.connections.lock();
        let fitting = connections.values().filter(|known| known.fits(scope));
        fitting.map(|known| known.dismissal.notify_one()).count()
    }

    /// That connection has ended.
    pub(crate) fn forget(&self, connection: u64) {
        self.connections.lock().remove(&connection);
    }

    /// The heartbeats of all who are there and not silent, in the order of their connections.
    pub(super) fn heartbeats(&self, silent: &Silent) -> Vec<Heartbeat> {
        if *silent == Silent::All {
            return Vec::new();
        }
        let connections = self.connections.lock();
        let mut numbers: Vec<_> = connections.keys().copied().collect();
        numbers.sort_unstable();
        let known = numbers.iter().map(|number| &connections[number]);
        // A client may speak for one member on several connections: its last connection has its last words.
        let mut seen = HashSet::new();
        let mut heartbeats: Vec<Heartbeat> = known.flat_map(|known| known.heartbeats(silent)).collect();
        heartbeats.reverse();
        heartbeats.retain(|beat| seen.insert((beat.group.clone(), beat.member.clone())));
        heartbeats.reverse();
        heartbeats
    }
}

impl Known {
    /// Somebody spoke. What it does not say now it may have said before.
    fn speaks(&mut self, mut said: Speaker) {
        let same = |known: &mut Speaker| (&known.group, &known.member) == (&said.group, &said.member);
        let before = self.speakers.extract_if(.., same).next();
        said.generation = said.generation.or(before.and_then(|before| before.generation));
        if self.speakers.len() == OF_ONE {
            self.speakers.remove(0);
        }
        self.speakers.push(said);
    }

    fn fits(&self, scope: &Scope) -> bool {
        let of = |group, member| scope.fits(Asks { group, member, client_id: &self.client_id });
        let mut speakers = self.speakers.iter();
        of(None, None)
            || speakers.any(|speaker| of(Some(speaker.group.as_str()), Some(speaker.member.as_str())))
    }

    fn heartbeats(&self, silent: &Silent) -> impl Iterator<Item = Heartbeat> {
        let heard = self.speakers.iter().filter(|speaker| !speaker.is_among(silent, &self.client_id));
        heard.filter_map(Speaker::heartbeat)
    }
}

impl Speaker {
    fn is_among(&self, silent: &Silent, client_id: &str) -> bool {
        match silent {
            Silent::Gone => false,
            Silent::All => true,
            Silent::Named(names) => names.iter().any(|name| {
                name == client_id
                    || name == self.member.as_str()
                    || self.instance.as_ref().is_some_and(|instance| name == instance.as_str())
            }),
        }
    }

    fn heartbeat(&self) -> Option<Heartbeat> {
        Some(Heartbeat {
            group: self.group.clone(),
            generation: self.generation?,
            member: self.member.clone(),
            instance: self.instance.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(member: &str, generation: i32) -> Request {
        Request::Heartbeat(Heartbeat {
            group: GroupId::from("g"),
            generation: Generation(generation),
            member: MemberId::from(member),
            instance: None,
        })
    }

    #[test]
    fn the_last_words_of_a_bounded_number_of_members_are_known() {
        let heard = Heard::default();
        let _dismissal = heard.begin(7);
        for generation in 0..3 {
            heard.note(7, "app", &said("m", generation));
        }
        let all = heard.heartbeats(&Silent::Gone);
        assert_eq!(all.iter().map(|beat| beat.generation.0).collect::<Vec<_>>(), [2]);
        for name in ["m", "app"] {
            assert!(heard.heartbeats(&Silent::Named(vec![name.into()])).is_empty());
        }
        assert_eq!(heard.heartbeats(&Silent::Named(vec!["other".into()])).len(), 1);
        assert!(heard.heartbeats(&Silent::All).is_empty());
        for member in 0..100 {
            heard.note(7, "app", &said(&format!("m-{member}"), 1));
        }
        assert_eq!(heard.heartbeats(&Silent::Gone).len(), OF_ONE);
        let _dismissal = heard.begin(8);
        heard.note(8, "app", &said("m-99", 2));
        let both = heard.heartbeats(&Silent::Gone);
        assert_eq!((both.len(), both[OF_ONE - 1].generation), (OF_ONE, Generation(2)), "once, as said last");
        heard.forget(8);
        heard.forget(7);
        assert!(heard.heartbeats(&Silent::Gone).is_empty());
    }
}
