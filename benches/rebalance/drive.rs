//! A coordinator whose log acknowledges inline, and the requests of its clients.

use std::hint::black_box;
use std::sync::Arc;

use benches::measure::{Numbers, cpu_nanos};
use coordinator::ids::{Blob, Generation, GroupId, MemberId, OffsetsPartition, OwnerEpoch};
use coordinator::messages::{
    GroupRecord, Heartbeat, Input, JoinGroup, MemberRecord, Output, Record, Request, Response, SyncGroup,
    Token,
};
use coordinator::{Config, Coordinator, Partitioner, Timestamp};

const PARTITION: OffsetsPartition = OffsetsPartition(0);

/// One partition, everything in it.
pub(crate) struct World {
    pub(crate) coordinator: Coordinator,
    pub(crate) now: Timestamp,
    token: u64,
    /// Folds in every answer.
    pub(crate) checksum: u64,
    /// Each member's metadata is its own; else all members' is the same, as where all read the same topics.
    pub(crate) own_metadata: bool,
    /// CPU time spent in the coordinator, ns.
    pub(crate) nanos: u64,
}

/// Where a member is and who.
pub(crate) struct Member {
    pub(crate) group: u32,
    /// Its own copy: the coordinator's is not touched before it looks.
    pub(crate) id: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let config = Config {
            partitioner: Partitioner::Table { groups: hashbrown_map(), otherwise: PARTITION },
            offsets_retention_check_interval_ms: None,
            ..Config::default()
        };
        let now = Timestamp::from_ticks(1_000_000_000);
        let mut coordinator = Coordinator::new(config, 42, now);
        coordinator.handle(now, Input::BeginLoad(PARTITION, OwnerEpoch(1)));
        coordinator.handle(now, Input::FinishLoad(PARTITION));
        Self { coordinator, now, token: 0, checksum: 0, own_metadata: false, nanos: 0 }
    }

    /// Loads groups that were stable in their first generation, with members whose ids [`member_id`] computes.
    pub(crate) fn load(&mut self, groups: u32, size: u32, session_timeout_ms: i32) {
        self.coordinator.handle(self.now, Input::BeginLoad(PARTITION, OwnerEpoch(2)));
        for group in 0..groups {
            let members = (group * size..(group + 1) * size).map(|member| MemberRecord {
                member: member_id(member),
                instance: None,
                client_id: "consumer-1".into(),
                client_host: "/10.0.0.1".into(),
                session_timeout_ms,
                rebalance_timeout_ms: 300_000,
                subscription: blob(100),
                assignment: blob(100),
            });
            let record = Record::Group(GroupRecord {
                group: group_id(group),
                generation: Generation(1),
                protocol_type: "consumer".into(),
                protocol: Some("range".into()),
                leader: None,
                state_timestamp_ms: -1,
                members: members.collect(),
            });
            self.coordinator.handle(self.now, Input::Load(PARTITION, vec![record]));
        }
        self.coordinator.handle(self.now, Input::FinishLoad(PARTITION));
        self.drain(&mut |_, _| {});
    }

    pub(crate) fn token(&mut self) -> Token {
        self.token += 1;
        Token::new(self.token)
    }

    /// The number of the next request.
    pub(crate) fn next_token(&self) -> u64 {
        self.token + 1
    }

    /// Handles requests made beforehand, acknowledges the writes inline, and drops the answers.
    pub(crate) fn run(&mut self, requests: Vec<Input>) {
        self.measure(|world| world.handle(requests));
    }

    /// Lets time pass, deadline by deadline.
    pub(crate) fn advance(&mut self, ms: u64, see: &mut impl FnMut(u64, Response)) {
        self.measure(|world| world.pass(ms, see));
    }

    /// Handles requests as [`World::run`] does and lets time pass, under one look at the clock. `at_hand` at a time are
    /// looked at before they are handled, as groupd does with what is in its inbox; none if it is 1.
    pub(crate) fn run_and_advance(&mut self, requests: Vec<Input>, at_hand: usize, ms: u64) {
        self.measure(|world| {
            let mut rest = requests.into_iter();
            while !rest.as_slice().is_empty() {
                if at_hand > 1 {
                    let ahead = rest.as_slice().iter().take(at_hand);
                    world.coordinator.look_ahead(ahead.filter_map(|input| match input {
                        Input::Request(_, request) => Some(request),
                        _ => None,
                    }));
                }
                world.handle(rest.by_ref().take(at_hand));
            }
            world.pass(ms, &mut |_, _| {});
        });
    }

    /// What handling the requests is measured with, without handling them.
    pub(crate) fn drop_unread(&mut self, requests: Vec<Input>) {
        self.measure(|_| requests.into_iter().for_each(|request| drop(black_box(request))));
    }

    /// Adds the CPU time of `work` to `nanos`.
    fn measure(&mut self, work: impl FnOnce(&mut Self)) {
        let start = cpu_nanos();
        work(self);
        self.nanos += cpu_nanos() - start;
    }

    fn handle(&mut self, requests: impl IntoIterator<Item = Input>) {
        for request in requests {
            self.coordinator.handle(self.now, request);
            self.drain(&mut |_, _| {});
        }
    }

    fn pass(&mut self, ms: u64, see: &mut impl FnMut(u64, Response)) {
        let until = self.now.saturating_add(ms);
        while let Some(due) = self.coordinator.next_deadline().filter(|&due| due <= until) {
            self.now = due.max(self.now);
            self.coordinator.expire(self.now);
            self.drain(see);
        }
        self.now = until;
        self.coordinator.expire(until);
        self.drain(see);
    }

    fn drain(&mut self, see: &mut impl FnMut(u64, Response)) {
        while let Some(output) = self.coordinator.poll_output() {
            match output {
                Output::Respond(token, response) => {
                    self.checksum =
                        self.checksum.wrapping_mul(31).wrapping_add(token.number()) ^ code(&response);
                    see(token.number(), response);
                }
                Output::Superseded(token) => panic!("{token:?} was superseded"),
                Output::Store(store) => {
                    let id = store.id;
                    drop(black_box(store));
                    self.coordinator.handle(self.now, Input::Stored(id, Ok(())));
                }
                Output::Event(event) => drop(black_box(event)),
            }
        }
    }

    pub(crate) fn join(&mut self, group: u32, member: MemberId, host: u32, session_timeout_ms: i32) -> Input {
        let mut metadata = [0; 100];
        if self.own_metadata {
            metadata[92..].copy_from_slice(&self.next_token().to_be_bytes());
        }
        let join = JoinGroup {
            group: group_id(group),
            member,
            instance: None,
            client_id: "consumer-1".into(),
            client_host: format!("/10.0.{}.{}", host / 256 % 256, host % 256).into(),
            protocol_type: "consumer".into(),
            protocols: vec![("range".into(), Arc::from(metadata))],
            session_timeout_ms,
            rebalance_timeout_ms: 300_000,
            require_known_member_id: false,
            supports_skipping_assignment: true,
            reason: None,
        };
        Input::Request(self.token(), Request::JoinGroup(join))
    }

    pub(crate) fn sync(
        &mut self,
        member: &Member,
        generation: i32,
        assignments: Vec<(MemberId, Blob)>,
    ) -> Input {
        let sync = SyncGroup {
            group: group_id(member.group),
            generation: Generation(generation),
            member: MemberId::new(member.id.as_str()),
            instance: None,
            protocol_type: Some("consumer".into()),
            protocol: Some("range".into()),
            assignments,
        };
        Input::Request(self.token(), Request::SyncGroup(sync))
    }

    /// Of a member that was [loaded](World::load).
    pub(crate) fn heartbeat(&mut self, group: u32, member: u32) -> Input {
        self.heartbeat_of(group, member_id(member))
    }

    pub(crate) fn heartbeat_of(&mut self, group: u32, member: MemberId) -> Input {
        let heartbeat =
            Heartbeat { group: group_id(group), generation: Generation(1), member, instance: None };
        Input::Request(self.token(), Request::Heartbeat(heartbeat))
    }
}

/// As a coordinator would make it.
fn member_id(member: u32) -> MemberId {
    let id = Numbers::new(u64::from(member)).any();
    MemberId::new(format!("consumer-1-{:08x}-a1b2-4c3d-8e4f-{:012x}", id >> 32, id & 0xFFFF_FFFF_FFFF))
}

fn hashbrown_map<K, V, S: Default>() -> hashbrown::HashMap<K, V, S> {
    hashbrown::HashMap::default()
}

pub(crate) fn group_id(group: u32) -> GroupId {
    GroupId::new(format!("orders-service-{group}"))
}

/// Metadata or an assignment, made anew as a decoder does.
pub(crate) fn blob(bytes: usize) -> Blob {
    let blank = vec![0_u8; bytes];
    Arc::from(blank)
}

fn code(response: &Response) -> u64 {
    match response {
        Response::JoinGroup(joined) => {
            assert!(joined.error.is_none(), "{:?}", joined.error);
            u64::from(joined.generation.0.unsigned_abs()) + joined.members.len() as u64
        }
        Response::SyncGroup(synced) => {
            assert!(synced.error.is_none(), "{:?}", synced.error);
            synced.assignment.len() as u64
        }
        Response::Heartbeat(heartbeat) => {
            assert!(heartbeat.error.is_none(), "{:?}", heartbeat.error);
            1
        }
        other => panic!("not asked for: {other:?}"),
    }
}
