//! Input lines: what a client, an admin or the store does.

use coordinator::ids::{Blob, Generation, InstanceId, MemberId};
use coordinator::messages::{
    DeleteGroups, DescribeGroup, Heartbeat, Input, JoinGroup, LeaveGroup, LeavingMember, Request, StoreError,
    SyncGroup,
};

use super::{Client, Script, parse_ms};

/// `key=value` words.
struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.iter().filter_map(|word| word.split_once('=')).find(|(k, _)| *k == key).map(|(_, value)| value)
    }

    fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }

    fn ms(&self, key: &str, otherwise: &str) -> i32 {
        i32::try_from(parse_ms(self.get(key).unwrap_or(otherwise))).expect("a timeout")
    }
}

impl Script {
    pub(super) fn input(&mut self, what: &str) {
        let mut words = what.split(' ');
        let (who, verb) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let words = Words(words.collect());
        match (who, verb) {
            ("stored", id) => {
                let mut all = vec![id];
                all.extend(&words.0);
                self.stored(&all);
            }
            ("host", "restarts") => self.restart(),
            (_, "join") => self.join(who, &words),
            (_, "sync") => self.sync(who, &words),
            (_, "heartbeats") => self.heartbeat(who, &words),
            (_, "leaves") => self.leave(who, &[who]),
            (_, "removes") => self.leave(who, &words.0),
            (_, "gone") => self.gone(who),
            (_, "gives-up") => self.gives_up(who),
            (_, "describes") => {
                self.request(who, Request::DescribeGroup(DescribeGroup { group: Self::group() }));
            }
            (_, "deletes") => {
                self.request(who, Request::DeleteGroups(DeleteGroups { groups: vec![Self::group()] }));
            }
            _ => panic!("no such input: {what}"),
        }
    }

    /// `join [new] [v4] [v9] [as=<client>] [instance=i] [session=10s] [rebalance=30s] [type=t] [reason=r]
    /// [range=metadata,sticky=metadata]`: by default with the id the client knows, and one protocol.
    fn join(&mut self, who: &str, words: &Words<'_>) {
        let known = self.client(words.get("as").unwrap_or(who));
        let client = self.clients.entry(who.to_owned()).or_default();
        if let Some(instance) = words.get("instance") {
            client.instance = Some(instance.to_owned());
        }
        let instance = client.instance.as_deref().map(InstanceId::from);
        let protocols = words.get("can").unwrap_or("range").split(',').map(|protocol| {
            let (name, metadata) = protocol.split_once(':').unwrap_or((protocol, who));
            (name.into(), Blob::from(metadata.as_bytes()))
        });
        let join = JoinGroup {
            group: Self::group(),
            member: if words.has("new") { MemberId::default() } else { known.member },
            instance,
            client_id: who.into(),
            client_host: "/127.0.0.1".into(),
            protocol_type: words.get("type").unwrap_or("consumer").into(),
            protocols: protocols.collect(),
            session_timeout_ms: words.ms("session", "10s"),
            rebalance_timeout_ms: words.ms("rebalance", "30s"),
            require_known_member_id: words.has("v4"),
            supports_skipping_assignment: words.has("v9"),
            reason: words.get("reason").map(Into::into),
        };
        self.request(who, Request::JoinGroup(join));
    }

    /// `sync [generation=n] [as=<client>] m1=a m2=b`.
    fn sync(&mut self, who: &str, words: &Words<'_>) {
        let Client { member, instance, generation } = self.client(words.get("as").unwrap_or(who));
        let assignments = words.0.iter().filter_map(|word| word.split_once('='));
        let assignments = assignments.filter(|(key, _)| !["generation", "as"].contains(key));
        let assignments = assignments
            .map(|(member, assignment)| (self.member_called(member), Blob::from(assignment.as_bytes())));
        let sync = SyncGroup {
            group: Self::group(),
            generation: words
                .get("generation")
                .map_or(generation, |n| Generation(n.parse().expect("a generation"))),
            member,
            instance: instance.as_deref().map(InstanceId::from),
            protocol_type: None,
            protocol: None,
            assignments: assignments.collect(),
        };
        self.request(who, Request::SyncGroup(sync));
    }

    fn heartbeat(&mut self, who: &str, words: &Words<'_>) {
        let Client { member, instance, generation } = self.client(words.get("as").unwrap_or(who));
        let heartbeat = Heartbeat {
            group: Self::group(),
            generation: words
                .get("generation")
                .map_or(generation, |n| Generation(n.parse().expect("a generation"))),
            member,
            instance: instance.as_deref().map(InstanceId::from),
        };
        self.request(who, Request::Heartbeat(heartbeat));
    }

    fn leave(&mut self, who: &str, members: &[&str]) {
        let members = members.iter().map(|name| LeavingMember {
            member: self.member_called(name),
            instance: self.client(name).instance.as_deref().map(InstanceId::from),
            reason: None,
        });
        let members = members.collect();
        self.request(who, Request::LeaveGroup(LeaveGroup { group: Self::group(), members }));
    }

    /// The connection of the client's latest request is closed.
    fn gone(&mut self, who: &str) {
        let latest = self.tokens.iter().rposition(|(sender, _)| sender == who).expect("it sent something");
        self.tokens[latest].1 = true;
        self.turn(Input::Abandon(latest as u64));
    }

    /// The connection on which the client was given its id is closed.
    fn gives_up(&mut self, who: &str) {
        let member = self.client(who).member;
        self.turn(Input::GiveUp(Self::group(), member));
    }

    pub(super) fn client(&self, who: &str) -> Client {
        self.clients.get(who).cloned().unwrap_or_default()
    }

    /// The id of a client; the text itself if there is no such client.
    fn member_called(&self, name: &str) -> MemberId {
        self.clients.get(name).map_or_else(|| MemberId::from(name), |client| client.member.clone())
    }
}

pub(super) fn store_error(name: &str) -> StoreError {
    match name {
        "NotLeaderOrFollower" => StoreError::NotLeaderOrFollower,
        "NotEnoughReplicas" => StoreError::NotEnoughReplicas,
        "MessageTooLarge" => StoreError::MessageTooLarge,
        "RequestTimedOut" => StoreError::RequestTimedOut,
        _ => panic!("no such error here: {name}"),
    }
}
