//! A store that is slow to load, slow to write, or refuses: what clients are told meanwhile.

use std::sync::Arc;

use coordinator::Partitioner;
use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::StoreError;
use crossbeam_channel::{Receiver, Sender, bounded};
use groupd::server::{Opened, Server};
use groupd::store::{Batch, MemoryStore, PartitionReader, ReadPartition, Store, StoreFailure};
use groupd::telemetry::Readiness;
use kafka_wire::offset_commit::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_wire::offset_delete::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use kafka_wire::{
    DeleteGroupsRequest, DeleteGroupsResponse, DescribeGroupsRequest, DescribeGroupsResponse,
    HeartbeatRequest, HeartbeatResponse, ListGroupsRequest, ListGroupsResponse, OffsetCommitRequest,
    OffsetCommitResponse, OffsetDeleteRequest, OffsetDeleteResponse,
};
use parking_lot::Mutex;

use super::groups::{Member, committed, stable};
use super::{Client, Sent, read, settings};

const COORDINATOR_LOAD_IN_PROGRESS: i16 = 14;
const COORDINATOR_NOT_AVAILABLE: i16 = 15;
const NOT_COORDINATOR: i16 = 16;
const UNKNOWN_MEMBER_ID: i16 = 25;
const GROUP_ID_NOT_FOUND: i16 = 69;

/// What happens to the next writes.
#[derive(Clone)]
enum Writes {
    Succeed,
    /// They are refused.
    Fail(StoreError),
    /// Each says that it is here, waits until the sender is dropped, then succeeds.
    Wait(Sender<()>, Receiver<()>),
    /// The store itself fails, for good.
    Break,
}

/// A memory store with a hand on it. Loading waits until the sender of `gate` is dropped.
struct Handled {
    inner: MemoryStore,
    gated: Gates,
    writes: Arc<Mutex<Writes>>,
    gate: Receiver<()>,
}

impl Hand {
    /// Holds writes: what tells that one is held, and what lets them go when dropped.
    fn hold(&self) -> (Receiver<()>, Sender<()>) {
        let (here, held) = bounded(1);
        let (release, gate) = bounded(0);
        *self.writes.lock() = Writes::Wait(here, gate);
        (held, release)
    }
}

/// What waits at the gate.
#[derive(Clone, Copy)]
enum Gates {
    All,
    /// That of one partition.
    One(OffsetsPartition),
}

/// The test's end of it.
struct Hand {
    writes: Arc<Mutex<Writes>>,
    gate: Option<Sender<()>>,
}

impl Store for Handled {
    fn acquire(&mut self, partitions: &[OffsetsPartition]) -> Result<Vec<OwnerEpoch>, StoreFailure> {
        self.inner.acquire(partitions)
    }

    fn load(
        &mut self,
        partition: OffsetsPartition,
        epoch: OwnerEpoch,
    ) -> Result<PartitionReader, StoreFailure> {
        let reader = self.inner.load(partition, epoch)?;
        // The catalog, and what else belongs to no group, is read before anybody is let in.
        let passes = match self.gated {
            Gates::All => partition.0 < 0,
            Gates::One(gated) => partition != gated,
        };
        if passes {
            return Ok(reader);
        }
        Ok(PartitionReader::new(Box::new(Gated { gate: self.gate.clone() })))
    }

    fn append(&mut self, batches: &[Batch]) -> Result<Vec<Result<(), StoreError>>, StoreFailure> {
        let writes = self.writes.lock().clone();
        match writes {
            Writes::Succeed => self.inner.append(batches),
            Writes::Fail(error) => Ok(batches.iter().map(|_| Err(error)).collect()),
            Writes::Wait(here, gate) => {
                let _ = here.send(());
                let _ = gate.recv();
                self.inner.append(batches)
            }
            Writes::Break => Err(StoreFailure::Io("the disk is on fire".into())),
        }
    }
}

/// Nothing, after a while.
struct Gated {
    gate: Receiver<()>,
}

impl ReadPartition for Gated {
    fn read(&mut self, _limit: usize, _out: &mut Vec<u8>) -> Result<(), StoreFailure> {
        let _ = self.gate.recv();
        Ok(())
    }
}

/// A server on a store with a hand on it, still loading.
fn start() -> (Server, Hand) {
    start_gated(Gates::All)
}

fn start_gated(gated: Gates) -> (Server, Hand) {
    let (open, gate) = bounded(0);
    let writes = Arc::new(Mutex::new(Writes::Succeed));
    let store = Handled { inner: MemoryStore::new(), gated, writes: Arc::clone(&writes), gate };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let opened = || Ok(Opened { store: Box::new(store), cluster_id: "handled".into() });
    let server = Server::start_with(runtime, &settings(), opened).unwrap();
    (server, Hand { writes, gate: Some(open) })
}

/// The same, loaded.
fn start_loaded() -> (Server, Hand) {
    let (mut server, mut hand) = start();
    hand.gate = None;
    server.wait_until_loaded().unwrap();
    (server, hand)
}

fn heartbeat(client: &mut Client) -> i16 {
    let request = HeartbeatRequest { group_id: "orders-app", member_id: "m", ..Default::default() };
    let body = client.ask(4, &request);
    read::<HeartbeatResponse>(4, &body).error_code
}

#[test]
fn clients_are_answered_while_groups_load() {
    let (mut server, mut hand) = start();
    let mut client = Client::connect(server.address());
    // A member is not disturbed; who needs the group's state is told to ask again.
    assert_eq!(heartbeat(&mut client), 0);
    let group = DescribeGroupsRequest { groups: vec!["orders-app"], ..Default::default() };
    let body = client.ask(5, &group);
    let described: DescribeGroupsResponse<'_> = read(5, &body);
    assert_eq!(described.groups[0].error_code, COORDINATOR_LOAD_IN_PROGRESS);
    let body = client.ask(5, &ListGroupsRequest::default());
    assert_eq!(read::<ListGroupsResponse<'_>>(5, &body).error_code, COORDINATOR_LOAD_IN_PROGRESS);
    assert_eq!(server.health().readiness(), Readiness::Loading);
    hand.gate = None;
    server.wait_until_loaded().unwrap();
    assert_eq!(server.health().readiness(), Readiness::Ready);
    assert_eq!(heartbeat(&mut client), UNKNOWN_MEMBER_ID);
    server.stop();
}

/// What a commit of this group, from outside of it, is answered.
fn commit_to(client: &mut Client, group: &str) -> i16 {
    let partition =
        OffsetCommitRequestPartition { partition_index: 0, committed_offset: 7, ..Default::default() };
    let topics =
        vec![OffsetCommitRequestTopic { name: "orders", partitions: vec![partition], ..Default::default() }];
    let body = client.ask(9, &OffsetCommitRequest { group_id: group, topics, ..Default::default() });
    read::<OffsetCommitResponse<'_>>(9, &body).topics[0].partitions[0].error_code
}

#[test]
fn groups_whose_partition_is_loaded_are_served_while_others_load() {
    let partition = |group: &str| Partitioner::Kafka { partitions: 50 }.partition(&group.into());
    let (mut server, mut hand) = start_gated(Gates::One(partition("orders-app")));
    // On the other of two shards, and so not behind it.
    let loaded = (0..1_000)
        .map(|n| format!("group-{n}"))
        .find(|name| (partition(name).0 ^ partition("orders-app").0) & 1 == 1);
    let loaded = loaded.unwrap();
    let mut client = Client::connect(server.address());
    while commit_to(&mut client, &loaded) == COORDINATOR_LOAD_IN_PROGRESS {}
    for _ in 0..3 {
        assert_eq!(commit_to(&mut client, "orders-app"), COORDINATOR_LOAD_IN_PROGRESS);
        assert_eq!(commit_to(&mut client, &loaded), 0);
    }
    assert_eq!(server.health().readiness(), Readiness::Loading);
    hand.gate = None;
    server.wait_until_loaded().unwrap();
    assert_eq!(commit_to(&mut client, "orders-app"), 0);
    server.stop();
}

/// A store of which one partition cannot be read.
struct Unreadable(MemoryStore);

struct Panics;

impl ReadPartition for Panics {
    fn read(&mut self, _limit: usize, _out: &mut Vec<u8>) -> Result<(), StoreFailure> {
        panic!("a page is not what it should be");
    }
}

impl Store for Unreadable {
    fn acquire(&mut self, partitions: &[OffsetsPartition]) -> Result<Vec<OwnerEpoch>, StoreFailure> {
        self.0.acquire(partitions)
    }

    fn load(
        &mut self,
        partition: OffsetsPartition,
        epoch: OwnerEpoch,
    ) -> Result<PartitionReader, StoreFailure> {
        if partition == OffsetsPartition(7) {
            return Ok(PartitionReader::new(Box::new(Panics)));
        }
        self.0.load(partition, epoch)
    }

    fn append(&mut self, batches: &[Batch]) -> Result<Vec<Result<(), StoreError>>, StoreFailure> {
        self.0.append(batches)
    }
}

#[test]
fn a_partition_that_cannot_be_read_is_named_and_never_served_by_half() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let opened =
        || Ok(Opened { store: Box::new(Unreadable(MemoryStore::new())), cluster_id: "unreadable".into() });
    let mut server = Server::start_with(runtime, &settings(), opened).unwrap();
    let told = format!("{:#}", server.wait_until_loaded().unwrap_err());
    assert!(told.contains("offsets partition 7 cannot be loaded: the store is damaged"), "{told}");
    assert_ne!(server.health().readiness(), Readiness::Ready);
    server.stop();
}

#[test]
fn a_server_that_is_stopped_while_it_loads_stops() {
    let (server, hand) = start();
    server.stop();
    drop(hand);
}

#[test]
fn a_commit_is_answered_when_it_is_stored_and_not_before() {
    let (server, hand) = start_loaded();
    let mut member = stable(&server);
    let (held, release) = hand.hold();
    let sent = member.send_commit(42);
    held.recv().unwrap();
    // Reads go on meanwhile, and do not see what may yet be lost.
    let mut reader = Client::connect(server.address());
    assert_eq!(committed(&mut reader), [-1, -1]);
    *hand.writes.lock() = Writes::Succeed;
    drop(release);
    assert_eq!(member.committed(sent), 0);
    assert_eq!(committed(&mut reader), [42, -1]);
    server.stop();
}

#[test]
fn a_refused_write_is_told_and_nothing_is_kept_of_it() {
    let (server, hand) = start_loaded();
    let mut member = stable(&server);
    *hand.writes.lock() = Writes::Fail(StoreError::NotEnoughReplicas);
    assert_eq!(member.commit(42), COORDINATOR_NOT_AVAILABLE);
    assert_eq!(committed(&mut member.client), [-1, -1]);
    *hand.writes.lock() = Writes::Succeed;
    assert_eq!(member.commit(43), 0);
    assert_eq!(committed(&mut member.client), [43, -1]);
    server.stop();
}

/// A deletion of the member's offset, on its way.
fn send_delete(client: &mut Client) -> Sent {
    let partitions = vec![OffsetDeleteRequestPartition { partition_index: 2 }];
    let topics = vec![OffsetDeleteRequestTopic { name: "orders", partitions }];
    client.send(0, &OffsetDeleteRequest { group_id: "orders-app", topics })
}

fn deleted(client: &mut Client, sent: Sent) -> i16 {
    read::<OffsetDeleteResponse<'_>>(0, &client.receive(sent)).error_code
}

/// A group with an offset and no members.
fn left_behind(server: &Server) -> Client {
    let mut member = stable(server);
    assert_eq!(member.commit(42), 0);
    let leave = member.send_leave();
    assert_eq!(member.left(leave), 0);
    super::groups::until(server, |group| group.group_state == "Empty");
    member.client
}

#[test]
fn a_deletion_is_answered_when_it_is_stored_and_not_before() {
    let (server, hand) = start_loaded();
    let mut admin = left_behind(&server);
    let (held, release) = hand.hold();
    let sent = send_delete(&mut admin);
    held.recv().unwrap();
    // The shard has answered others since.
    assert_eq!(committed(&mut Client::connect(server.address())), [-1, -1]);
    assert!(!admin.has_answer(), "told before it was durable");
    *hand.writes.lock() = Writes::Succeed;
    drop(release);
    assert_eq!(deleted(&mut admin, sent), 0);
    server.stop();
}

#[test]
fn a_deletion_that_is_not_kept_is_told() {
    let (server, hand) = start_loaded();
    let mut admin = left_behind(&server);
    *hand.writes.lock() = Writes::Fail(StoreError::NotEnoughReplicas);
    let sent = send_delete(&mut admin);
    assert_eq!(deleted(&mut admin, sent), COORDINATOR_NOT_AVAILABLE);
    server.stop();
    let (server, hand) = start_loaded();
    let mut admin = left_behind(&server);
    *hand.writes.lock() = Writes::Break;
    let body = admin.ask(2, &DeleteGroupsRequest { groups_names: vec!["orders-app", "nosuch"] });
    let response: DeleteGroupsResponse<'_> = read(2, &body);
    let codes: Vec<_> = response.results.iter().map(|result| result.error_code).collect();
    assert_eq!(codes, [NOT_COORDINATOR, GROUP_ID_NOT_FOUND]);
    server.stop();
}

#[test]
fn what_is_being_written_is_answered_before_the_server_stops() {
    let (server, hand) = start_loaded();
    let mut member = stable(&server);
    let (held, release) = hand.hold();
    let sent = member.send_commit(42);
    held.recv().unwrap();
    let behind = std::thread::spawn(move || server.stop());
    drop(release);
    assert_eq!(member.committed(sent), 0);
    behind.join().unwrap();
}

#[test]
fn a_broken_store_acknowledges_nothing_more() {
    let (server, hand) = start_loaded();
    let mut member = stable(&server);
    *hand.writes.lock() = Writes::Break;
    assert_ne!(member.commit(42), 0);
    *hand.writes.lock() = Writes::Succeed;
    assert_ne!(member.commit(43), 0, "what a failed disk says later is not to be believed");
    assert_eq!(member.heartbeat(), 0, "members are not lost for it");
    // Told by another thread, soon.
    while server.health().readiness() == Readiness::Ready {
        assert_eq!(member.heartbeat(), 0);
    }
    let readiness = server.health().readiness();
    assert!(readiness.describe().contains("the disk is on fire"), "{readiness:?}");
    server.stop();
}

#[test]
fn a_second_join_of_the_same_member_takes_the_place_of_the_first() {
    let (server, _hand) = start_loaded();
    let mut first = stable(&server);
    let mut second = Member::new(&server);
    let superseded = second.send_join();
    super::groups::until(&server, |group| group.group_state == "PreparingRebalance");
    let mut again = second.on_another_connection(&server);
    let join = again.send_join();
    // Whoever waits on the old connection is sent away.
    assert_eq!(second.client.receive_frame(), None);
    drop(superseded);
    let rejoin = first.send_join();
    assert_eq!(first.joined(rejoin).members.len(), 2);
    assert_eq!(again.joined(join).error, 0);
    server.stop();
}
