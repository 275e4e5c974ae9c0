//! Which members are there: those whose connection is open and has spoken for them.
//!
//! A client heartbeats by its own clock, which a jump of the server's does not move. So a member whose connection is open
//! is taken to heartbeat all through a jump, in its last words; one that was killed, and one that is named, is not.

use coordinator::ids::{Generation, GroupId, InstanceId, MemberId};
use coordinator::messages::{Heartbeat, Request};
use hashbrown::HashMap;
use parking_lot::Mutex;

/// Members that one connection is remembered to speak for; the first is forgotten for one too many.
const OF_ONE: usize = 16;

/// Who has spoken on which connection, by its number.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    connections: Mutex<HashMap<u64, Vec<Speaker>>>,
}

/// A member, and the last that it said.
#[derive(Clone, Debug)]
pub(super) struct Speaker {
    client_id: String,
    group: GroupId,
    generation: Generation,
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
    /// `request` came on connection number `connection`.
    pub(crate) fn note(&self, connection: u64, client_id: &str, request: &Request) {
        let (group, generation, member, instance) = match request {
            Request::Heartbeat(said) => (&said.group, said.generation, &said.member, &said.instance),
            Request::SyncGroup(said) => (&said.group, said.generation, &said.member, &said.instance),
            Request::JoinGroup(_)
            | Request::LeaveGroup(_)
            | Request::OffsetCommit(_)
            | Request::TxnOffsetCommit(_)
            | Request::OffsetFetch(_)
            | Request::OffsetDelete(_)
            | Request::DescribeGroup(_)
            | Request::ListGroups(_)
            | Request::DeleteGroups(_) => return,
        };
        let said = Speaker {
            client_id: client_id.to_owned(),
            group: group.clone(),
            generation,
            member: member.clone(),
            instance: instance.clone(),
        };
        let mut connections = self.connections.lock();
        let speakers = connections.entry(connection).or_default();
        speakers.retain(|known| (&known.group, &known.member) != (&said.group, &said.member));
        if speakers.len() == OF_ONE {
            speakers.remove(0);
        }
        speakers.push(said);
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
        let speakers = numbers.iter().flat_map(|number| &connections[number]);
        speakers.filter(|speaker| !speaker.is_among(silent)).map(Speaker::heartbeat).collect()
    }
}

impl Speaker {
    fn is_among(&self, silent: &Silent) -> bool {
        match silent {
            Silent::Gone => false,
            Silent::All => true,
            Silent::Named(names) => names.iter().any(|name| {
                *name == self.client_id
                    || name == self.member.as_str()
                    || self.instance.as_ref().is_some_and(|instance| name == instance.as_str())
            }),
        }
    }

    fn heartbeat(&self) -> Heartbeat {
        Heartbeat {
            group: self.group.clone(),
            generation: self.generation,
            member: self.member.clone(),
            instance: self.instance.clone(),
        }
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
        heard.forget(7);
        assert!(heard.heartbeats(&Silent::Gone).is_empty());
    }
}
