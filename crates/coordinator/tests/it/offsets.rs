//! Offsets beyond what scenarios can say: late writes, many groups, what is told of it; and seeds against a replay.

mod reports;
mod slices;

use std::collections::{BTreeMap, VecDeque};

use coordinator::events::EventKind;
use coordinator::ids::{
    Generation, GroupId, MemberId, OffsetsPartition, OwnerEpoch, ProducerId, TopicPartition,
};
use coordinator::messages::{
    CommitOffset, DeleteGroups, FetchedOffset, GroupError, Input, OffsetCommit, OffsetDelete, OffsetFetch,
    Output, Record, Request, Response, StoreError, StoreId, Token, TransactionOutcome, TxnOffsetCommit,
};
use coordinator::{Config, Coordinator, Partitioner, Timestamp};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const PARTITION: OffsetsPartition = OffsetsPartition(0);

/// A host with one partition, whose log is a list.
struct Host {
    coordinator: Coordinator,
    now: Timestamp,
    epoch: i32,
    requests: u64,
    fetches: usize,
    responses: BTreeMap<u64, Response>,
    /// All writes in order; `None`: not reported yet.
    log: Vec<(StoreId, Vec<Record>, Option<bool>)>,
    /// Writes are reported at once.
    reports: bool,
    waiting: VecDeque<StoreId>,
    events: Vec<EventKind>,
}

impl Host {
    fn new(mut config: Config) -> Self {
        let now = Timestamp::from_ticks(1_000_000_000);
        config.partitioner = Partitioner::Kafka { partitions: 1 };
        let mut host = Self {
            coordinator: Coordinator::new(config, 5, now),
            now,
            epoch: 0,
            requests: 0,
            fetches: 0,
            responses: BTreeMap::new(),
            log: Vec::new(),
            reports: true,
            waiting: VecDeque::new(),
            events: Vec::new(),
        };
        host.restart();
        host
    }

    /// Loses the partition, with all that is in flight, and gets it back with what is stored.
    fn restart(&mut self) {
        self.epoch += 2;
        self.turn(Input::Unload(PARTITION, OwnerEpoch(self.epoch - 1)));
        self.turn(Input::BeginLoad(PARTITION, OwnerEpoch(self.epoch)));
        let stored = self.log.iter().filter(|(_, _, stored)| *stored == Some(true));
        let records = stored.flat_map(|(_, records, _)| records.clone()).collect();
        self.turn(Input::Load(PARTITION, records));
        self.turn(Input::FinishLoad(PARTITION));
    }

    fn turn(&mut self, input: Input) {
        self.coordinator.expire(self.now);
        self.coordinator.handle(self.now, input);
        self.drain();
    }

    fn advance(&mut self, ms: u64) {
        let end = self.now.saturating_add(ms);
        while let Some(deadline) = self.coordinator.next_deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.coordinator.expire(self.now);
            self.drain();
        }
        self.now = end;
    }

    fn drain(&mut self) {
        while let Some(output) = self.coordinator.poll_output() {
            match output {
                Output::Respond(token, response) => {
                    let before = self.responses.insert(token.number(), response);
                    assert!(before.is_none(), "answered twice");
                }
                Output::Superseded(_) => panic!("nobody joins here"),
                Output::Store(store) => {
                    let id = store.id;
                    let waits =
                        store.records.iter().any(|r| matches!(r, Record::Offset(_) | Record::TxnOffset(..)));
                    self.log.push((id, store.records, None));
                    if self.reports || !waits {
                        self.report(id, Ok(()));
                    } else {
                        self.waiting.push_back(id);
                    }
                }
                Output::Event(event) => self.events.push(event.kind),
            }
        }
    }

    fn report(&mut self, id: StoreId, outcome: Result<(), StoreError>) {
        self.waiting.retain(|waiting| *waiting != id);
        let write = self.log.iter_mut().find(|(other, ..)| *other == id).expect("a write");
        write.2 = Some(outcome.is_ok());
        self.turn(Input::Stored(id, outcome));
    }

    fn ask(&mut self, request: Request) -> u64 {
        self.requests += 1;
        self.turn(Input::Request(Token::new(self.requests), request));
        self.requests
    }

    fn commit(&mut self, group: &str, offsets: Vec<CommitOffset>) -> u64 {
        self.ask(Request::OffsetCommit(commit_of(group, offsets)))
    }

    fn txn_commit(&mut self, group: &str, producer: ProducerId, offsets: Vec<CommitOffset>) -> u64 {
        self.ask(Request::TxnOffsetCommit(TxnOffsetCommit {
            commit: commit_of(group, offsets),
            producer,
            producer_epoch: 0,
            verification: Ok(()),
        }))
    }

    fn errors(&self, request: u64) -> Option<Vec<Option<GroupError>>> {
        match self.responses.get(&request)? {
            Response::OffsetCommit(response) | Response::TxnOffsetCommit(response) => {
                Some(response.results.iter().map(|(_, error)| *error).collect())
            }
            other => panic!("{other:?}"),
        }
    }

    fn fetch(
        &mut self,
        group: &str,
        partitions: Option<Vec<TopicPartition>>,
        stable: bool,
    ) -> Vec<FetchedOffset> {
        let group = GroupId::from(group);
        let fetch = OffsetFetch { group, partitions, require_stable: stable };
        let request = self.ask(Request::OffsetFetch(fetch));
        self.fetches += 1;
        match self.responses.remove(&request) {
            Some(Response::OffsetFetch(response)) => {
                assert_eq!(response.error, None);
                response.offsets
            }
            other => panic!("{other:?}"),
        }
    }

    fn end_transaction(&mut self, producer: ProducerId, outcome: TransactionOutcome) {
        let id = StoreId(u64::MAX - self.log.len() as u64);
        self.log.push((id, vec![Record::TxnMarker(producer, outcome)], Some(true)));
        self.turn(Input::EndTransaction { producer, partitions: vec![PARTITION], outcome });
    }

    fn exists(&self, group: &str) -> bool {
        self.coordinator.group(&GroupId::from(group)).is_some()
    }
}

fn commit_of(group: &str, offsets: Vec<CommitOffset>) -> OffsetCommit {
    OffsetCommit {
        group: GroupId::from(group),
        generation: Generation::NONE,
        member: MemberId::default(),
        instance: None,
        retention_time_ms: -1,
        offsets,
    }
}

fn partition(topic: &str, partition: i32) -> TopicPartition {
    TopicPartition { topic: topic.into(), partition }
}

fn offset(partition: TopicPartition, offset: i64) -> CommitOffset {
    CommitOffset { partition, offset, leader_epoch: -1, metadata: "".into(), commit_timestamp_ms: -1 }
}

#[test]
fn a_write_that_takes_too_long_is_answered_in_time_and_counts_when_it_is_stored() {
    let mut host = Host::new(Config::default());
    host.reports = false;
    let plain = host.commit("g", vec![offset(partition("t", 0), 1)]);
    let transactional = host.txn_commit("g", ProducerId(1), vec![offset(partition("t", 1), 2)]);
    host.advance(4_999);
    assert_eq!((host.errors(plain), host.errors(transactional)), (None, None));
    host.advance(1);
    assert_eq!(host.errors(plain), Some(vec![Some(GroupError::RequestTimedOut)]));
    assert_eq!(host.errors(transactional), Some(vec![Some(GroupError::RequestTimedOut)]));
    // Nobody knows yet what will be in the log.
    let both = || Some(vec![partition("t", 0), partition("t", 1)]);
    let unstable = |fetched: &[FetchedOffset]| -> Vec<bool> {
        fetched.iter().map(|f| f.error == Some(GroupError::UnstableOffsetCommit)).collect()
    };
    assert_eq!(unstable(&host.fetch("g", both(), true)), [true, true]);
    while let Some(id) = host.waiting.front().copied() {
        host.report(id, Ok(()));
    }
    let fetched = host.fetch("g", both(), true);
    assert_eq!((fetched[0].offset, unstable(&fetched)), (1, vec![false, true]));
    host.end_transaction(ProducerId(1), TransactionOutcome::Commit);
    assert_eq!(host.fetch("g", both(), true)[1].offset, 2);
    let here = host.fetch("g", None, true);
    host.restart();
    assert_eq!(host.fetch("g", None, true), here);
}

#[test]
fn a_write_that_takes_too_long_and_fails_leaves_nothing() {
    let mut host = Host::new(Config::default());
    host.reports = false;
    host.commit("g", vec![offset(partition("t", 0), 1)]);
    host.advance(5_000);
    let id = host.waiting[0];
    host.report(id, Err(StoreError::NotEnoughReplicas));
    // Reported twice: nothing.
    host.report(id, Ok(()));
    assert_eq!(host.fetch("g", None, true), []);
    host.turn(Input::CleanUp);
    assert!(!host.exists("g"));
}

/// As in Kafka: a group is made for whoever may commit, and goes with the next clean-up if nothing was stored.
#[test]
fn a_group_without_offsets_goes_at_the_next_clean_up() {
    let mut host = Host::new(Config::default());
    let too_large = CommitOffset { metadata: "x".repeat(5_000).into(), ..offset(partition("t", 0), 1) };
    let request = host.commit("g", vec![too_large]);
    assert_eq!(host.errors(request), Some(vec![Some(GroupError::OffsetMetadataTooLarge)]));
    assert!(host.exists("g"));
    host.turn(Input::CleanUp);
    assert!(!host.exists("g"));
}

#[test]
fn refused_partitions_keep_their_places_in_the_answer() {
    let mut host = Host::new(Config { offset_metadata_max_size: 2, ..Config::default() });
    // In UTF-16 units, as Kafka counts: four bytes each, of which the first two fit.
    let metadata = ["é", "éé", "ééé", "𝄞", "𝄞é", ""];
    let offsets = metadata.iter().zip(0..).map(|(metadata, index)| CommitOffset {
        metadata: (*metadata).into(),
        ..offset(partition("t", index), i64::from(index))
    });
    let request = host.commit("g", offsets.collect());
    let too_large = Some(GroupError::OffsetMetadataTooLarge);
    assert_eq!(host.errors(request), Some(vec![None, None, too_large, None, too_large, None]));
    let Some(Response::OffsetCommit(response)) = host.responses.get(&request) else { panic!("answered") };
    assert!(response.results.iter().map(|(partition, _)| partition.partition).eq(0..6));
    assert!(host.fetch("g", None, true).iter().map(|f| f.partition.partition).eq([0, 1, 3, 5]));
}

/// A group with one offset takes little, and millions of them leave by themselves (redpanda#7624).
#[test]
fn short_lived_groups_do_not_pile_up() {
    let config = Config {
        offsets_retention_ms: 60_000,
        offsets_retention_check_interval_ms: Some(10_000),
        ..Config::default()
    };
    let mut host = Host::new(config);
    let mut most = 0;
    for n in 0..20_000 {
        host.commit(&format!("g{n}"), vec![offset(partition("t", 0), 1)]);
        host.responses.clear();
        host.advance(10);
        most = most.max(host.coordinator.stats().groups);
    }
    // 60 s of groups at 100 a second, the wait for the next pass, and its slices.
    assert!(most <= 7_100, "{most} groups at once");
    host.advance(80_000);
    assert_eq!(host.coordinator.stats().groups, 0);
    host.restart();
    assert_eq!(host.coordinator.stats().groups, 0);
}

/// No turn looks at more than some groups; the rest follow tick by tick.
#[test]
fn a_pass_over_many_groups_is_made_in_slices() {
    let config = Config {
        offsets_retention_ms: 1_000,
        offsets_retention_check_interval_ms: None,
        ..Config::default()
    };
    let mut host = Host::new(config);
    for n in 0..3_500 {
        host.commit(&format!("g{n}"), vec![offset(partition("t", 0), 1), offset(partition("u", 0), 1)]);
    }
    host.turn(Input::TopicPartitionsDeleted(vec![partition("u", 0), partition("u", 1)]));
    host.advance(3);
    for n in [0, 1_234, 3_499] {
        let left = host.fetch(&format!("g{n}"), None, true);
        assert_eq!(left.len(), 1, "u:0 is gone");
    }
    host.advance(1_000);
    let mut before = host.coordinator.stats().groups;
    host.turn(Input::CleanUp);
    let mut ticks = 0;
    while host.coordinator.stats().groups > 0 {
        let now = host.coordinator.stats().groups;
        assert!(before - now <= 1_000, "a slice");
        before = now;
        host.advance(1);
        ticks += 1;
    }
    assert_eq!(ticks, 3);
}

/// Who has reset, expired or deleted an offset, and why, can be told (elixir-broadway#27).
#[test]
fn what_happens_to_offsets_is_told() {
    let config = Config {
        offsets_retention_ms: 1_000,
        offsets_retention_check_interval_ms: None,
        ..Config::default()
    };
    let mut host = Host::new(config);
    host.commit("g", (0..4).map(|index| offset(partition("t", index), 1)).collect());
    host.turn(Input::TopicPartitionsDeleted(vec![partition("t", 0)]));
    let partitions = vec![partition("t", 1), partition("t", 9)];
    host.ask(Request::OffsetDelete(OffsetDelete { group: "g".into(), partitions }));
    host.advance(1_000);
    host.turn(Input::CleanUp);
    let told: Vec<String> = host.events.iter().map(|event| format!("{event:?}")).collect();
    let told: Vec<&str> =
        told.iter().map(|event| event.split(['{', '(']).next().unwrap_or_default().trim()).collect();
    assert_eq!(told, ["OffsetDeleted", "OffsetDeleted", "OffsetExpired", "OffsetExpired", "GroupRemoved"]);
}

/// Any mix of commits, transactions, deletions, failures and clean-ups, in any order of reports, then a restart: what is
/// served after it is what was served before.
#[test]
fn a_restart_serves_what_was_served_before() {
    for seed in 0..60 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let config = Config { offsets_retention_ms: 3_000, store_timeout_ms: Some(50), ..Config::default() };
        let mut host = Host::new(config);
        host.reports = false;
        for _ in 0..200 {
            random_step(&mut host, &mut random);
        }
        while let Some(id) = host.waiting.front().copied() {
            host.report(id, Ok(()));
        }
        let before = served(&mut host);
        assert_eq!(
            (host.responses.len() + host.fetches) as u64,
            host.requests,
            "all are answered, seed {seed}"
        );
        host.restart();
        assert_eq!(served(&mut host), before, "seed {seed}");
        // Open transactions have survived too: they end alike.
        for producer in 0..3 {
            host.end_transaction(ProducerId(producer), TransactionOutcome::Commit);
        }
        let ended = served(&mut host);
        assert!(ended.iter().flatten().all(|fetched| fetched.error.is_none()), "seed {seed}");
        host.restart();
        assert_eq!(served(&mut host), ended, "seed {seed}");
    }
}

fn random_step(host: &mut Host, random: &mut ChaCha8Rng) {
    let group = *["g", "h", "i"].choose(random).expect("not empty");
    let producer = ProducerId(random.random_range(0..3));
    match random.random_range(0..20) {
        0..=4 => drop(host.commit(group, random_offsets(random))),
        5..=8 => drop(host.txn_commit(group, producer, random_offsets(random))),
        9..=12 => {
            let Some(id) = host.waiting.iter().copied().collect::<Vec<_>>().choose(random).copied() else {
                return;
            };
            let stored = random.random_bool(0.7);
            host.report(id, if stored { Ok(()) } else { Err(StoreError::NotEnoughReplicas) });
        }
        13..=14 => {
            let commits = random.random_bool(0.6);
            let outcome = if commits { TransactionOutcome::Commit } else { TransactionOutcome::Abort };
            host.end_transaction(producer, outcome);
        }
        15 => {
            let partitions = random_offsets(random).into_iter().map(|offset| offset.partition).collect();
            host.ask(Request::OffsetDelete(OffsetDelete { group: group.into(), partitions }));
        }
        16 => {
            let partitions = random_offsets(random).into_iter().map(|offset| offset.partition).collect();
            host.turn(Input::TopicPartitionsDeleted(partitions));
        }
        17 => host.turn(Input::CleanUp),
        18 => drop(host.ask(Request::DeleteGroups(DeleteGroups { groups: vec![group.into()] }))),
        _ => host.advance(random.random_range(1..200)),
    }
}

fn random_offsets(random: &mut ChaCha8Rng) -> Vec<CommitOffset> {
    (0..random.random_range(1..4))
        .map(|_| {
            let topic = *["t", "u"].choose(random).expect("not empty");
            let metadata = *["", "m"].choose(random).expect("not empty");
            let value = random.random_range(0..1_000);
            CommitOffset {
                metadata: metadata.into(),
                ..offset(partition(topic, random.random_range(0..3)), value)
            }
        })
        .collect()
}

fn served(host: &mut Host) -> Vec<Vec<FetchedOffset>> {
    let every = || ["t", "u"].into_iter().flat_map(|topic| (0..3).map(move |index| partition(topic, index)));
    let mut all = Vec::new();
    for group in ["g", "h", "i"] {
        all.push(host.fetch(group, Some(every().collect()), true));
        all.push(host.fetch(group, None, false));
    }
    all
}

/// What one client can make of one group costs what it sends, not the square of it.
#[test]
fn hostile_sizes_stay_linear() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut host = Host::new(Config::default());
    host.reports = false;
    // 20,000 partitions in no order, half of them of topics of their own, every other with metadata that is refused.
    let mut indexes: Vec<i32> = (0..20_000).collect();
    indexes.shuffle(&mut random);
    let too_large: std::sync::Arc<str> = "x".repeat(4_097).into();
    let offsets: Vec<CommitOffset> = indexes
        .iter()
        .map(|&index| {
            let partition =
                if index % 2 == 0 { partition("t", index) } else { partition(&format!("t{index}"), 0) };
            let metadata = if index % 4 < 2 { too_large.clone() } else { "".into() };
            CommitOffset { metadata, ..offset(partition, i64::from(index)) }
        })
        .collect();
    let accepted: Vec<TopicPartition> = offsets
        .iter()
        .filter(|offset| offset.metadata.is_empty())
        .map(|offset| offset.partition.clone())
        .collect();
    let request = host.commit("g", offsets);
    // In flight in 200 transactions as well, a few partitions each, when all is deleted.
    for producer in 0..200 {
        let some = accepted.iter().skip(producer).step_by(500).map(|partition| offset(partition.clone(), 1));
        host.txn_commit("g", ProducerId(i64::try_from(producer).expect("small")), some.collect());
    }
    host.turn(Input::TopicPartitionsDeleted(accepted.clone()));
    host.advance(10);
    while let Some(id) = host.waiting.front().copied() {
        host.report(id, Ok(()));
    }
    let errors = host.errors(request).expect("answered");
    assert_eq!(errors.iter().filter(|error| error.is_none()).count(), accepted.len());
    assert_eq!(
        host.fetch("g", Some(accepted), true).iter().filter(|f| f.error.is_some() || f.offset >= 0).count(),
        0
    );
    host.turn(Input::CleanUp);
    assert!(!host.exists("g"));
}
