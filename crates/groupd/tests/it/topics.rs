//! Topics: names, bounds, ids, and that they are there after a restart.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

use coordinator::ids::OwnerEpoch;
use coordinator::messages::StoreError;
use groupd::store::layout::RawRecord;
use groupd::store::{CommitSettings, CommitThread, MemoryStore, StoreClient};
use groupd::topics::{
    CATALOG_PARTITION, MAX_PARTITIONS, MAX_TOTAL_PARTITIONS, NameError, NewTopic, TopicCatalog, TopicError,
    TopicId, TopicIds, check_name, decode_topic, encode_topic,
};

fn start() -> CommitThread {
    CommitThread::start(Box::new(MemoryStore::new()), CommitSettings::default()).unwrap()
}

fn catalog(client: StoreClient) -> (TopicCatalog, OwnerEpoch) {
    let epoch = client.acquire(&[CATALOG_PARTITION]).unwrap()[0];
    let seed = [7, epoch.0.unsigned_abs().into()];
    (TopicCatalog::load(client, epoch, TopicIds::seeded(seed)).unwrap(), epoch)
}

fn new(name: &str, partitions: i32) -> NewTopic {
    NewTopic::new(name, partitions)
}

#[test]
fn names_are_kafkas() {
    for good in ["a", "...", "A-z_0.9", &"x".repeat(249)] {
        assert_eq!(check_name(good), Ok(()), "{good}");
    }
    assert_eq!(check_name(""), Err(NameError::Empty));
    assert_eq!(check_name("."), Err(NameError::Dots));
    assert_eq!(check_name(".."), Err(NameError::Dots));
    assert_eq!(check_name(&"x".repeat(250)), Err(NameError::TooLong(250)));
    for bad in [' ', '/', '\0', 'ü', '\u{1F600}', ','] {
        assert_eq!(check_name(&format!("a{bad}b")), Err(NameError::Illegal(bad)));
    }
}

#[test]
fn a_restart_finds_every_change() {
    let thread = start();
    let (catalog, _) = self::catalog(thread.client());
    let created = catalog.create(&[new("a", 1), new("b", 2), new("c", 3)]);
    let ids: Vec<TopicId> = created.into_iter().map(|topic| topic.unwrap().id).collect();
    catalog.expand(&[new("b", 5)])[0].as_ref().unwrap();
    catalog.delete(&["c".into()])[0].as_ref().unwrap();
    let (again, _) = self::catalog(thread.client());
    for topics in [catalog.topics(), again.topics()] {
        let list: Vec<_> = topics.iter().map(|t| (t.name.as_str(), t.id, t.partitions)).collect();
        assert_eq!(list, [("a", ids[0], 1), ("b", ids[1], 5)]);
        assert_eq!((topics.len(), topics.partitions()), (2, 6));
        assert_eq!(topics.by_id(ids[1]).map(|t| t.name.as_str()), Some("b"));
        assert_eq!(topics.by_id(ids[2]), None);
    }
}

#[test]
fn a_topic_created_again_is_another_one() {
    let thread = start();
    let (catalog, _) = self::catalog(thread.client());
    let first = catalog.create(&[new("a", 1)])[0].clone().unwrap();
    catalog.delete(&["a".into()])[0].as_ref().unwrap();
    let second = catalog.create(&[new("a", 1)])[0].clone().unwrap();
    assert_ne!(first.id, second.id);
}

#[test]
fn each_item_of_a_request_stands_alone() {
    let thread = start();
    let (catalog, _) = self::catalog(thread.client());
    let answers =
        catalog.create(&[new("a.b", 1), new("a.b", 1), new("a_b", 1), new("", 1), new("x", 0), new("y", 1)]);
    assert!(answers[0].is_ok() && answers[5].is_ok());
    assert_eq!(answers[1], Err(TopicError::TopicAlreadyExists("a.b".into())));
    assert_eq!(answers[2], Err(TopicError::Collision("a_b".into(), "a.b".into())));
    assert_eq!(answers[3], Err(TopicError::InvalidTopic(NameError::Empty)));
    assert_eq!(answers[4], Err(TopicError::InvalidPartitions(0)));
    assert_eq!(catalog.topics().len(), 2);

    let answers = catalog.delete(&["nope".into(), "y".into(), "y".into()]);
    assert_eq!(answers[0], Err(TopicError::UnknownTopicOrPartition("nope".into())));
    assert_eq!(answers[1].as_ref().map(Vec::len), Ok(1));
    assert_eq!(answers[2], Err(TopicError::UnknownTopicOrPartition("y".into())));
}

#[test]
fn checking_changes_nothing() {
    let thread = start();
    let (catalog, _) = self::catalog(thread.client());
    let answers = catalog.check_create(&[new("a", 1), new("a", 1)]);
    assert_eq!(answers, [Ok(()), Err(TopicError::TopicAlreadyExists("a".into()))]);
    assert!(catalog.topics().is_empty());
}

#[test]
fn topics_only_grow() {
    let thread = start();
    let (catalog, _) = self::catalog(thread.client());
    catalog.create(&[new("a", 4)]);
    for asked in [4, 3, 0, -1] {
        let refused = TopicError::NotMore { name: "a".into(), current: 4, asked };
        assert_eq!(catalog.expand(&[new("a", asked)])[0], Err(refused));
    }
    let too_many = Err(TopicError::InvalidPartitions(MAX_PARTITIONS + 1));
    assert_eq!(catalog.expand(&[new("a", MAX_PARTITIONS + 1)])[0], too_many);
    assert_eq!(
        catalog.ensure(&[new("a", 2), new("b", 2), new("a", 6)]).iter().filter(|a| a.is_ok()).count(),
        3
    );
    assert_eq!(catalog.topics().get("a").unwrap().partitions, 6);
}

#[test]
fn all_topics_together_are_bounded() {
    let thread = start();
    let (catalog, _) = self::catalog(thread.client());
    let full = MAX_TOTAL_PARTITIONS / i64::from(MAX_PARTITIONS);
    let many: Vec<_> = (0..=full).map(|i| new(&format!("t{i}"), MAX_PARTITIONS)).collect();
    let answers = catalog.create(&many);
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), usize::try_from(full).unwrap());
    assert_eq!(answers.last().unwrap(), &Err(TopicError::TooManyPartitions));
}

#[test]
fn what_is_not_durable_is_not_seen() {
    let thread = start();
    let (fenced, _) = self::catalog(thread.client());
    let (owner, _) = self::catalog(thread.client());
    let stale = Err(TopicError::Store(StoreError::NotLeaderOrFollower));
    assert_eq!(fenced.create(&[new("a", 1)])[0], stale);
    assert!(fenced.topics().is_empty() && owner.topics().is_empty());
    let mut seen = owner.create(&[new("a", 1)]);
    assert_eq!(fenced.create(&[new("a", 1)])[0], stale);
    assert_eq!(owner.topics().get("a"), seen.remove(0).ok().as_ref());
}

#[test]
fn deletion_names_every_partition() {
    let thread = start();
    let (catalog, _) = self::catalog(thread.client());
    catalog.create(&[new("a", 3)]);
    let gone = catalog.delete(&["a".into()]).remove(0).unwrap();
    let printed: Vec<_> = gone.iter().map(ToString::to_string).collect();
    assert_eq!(printed, ["a:0", "a:1", "a:2"]);
}

#[test]
fn ids_are_uuids_that_command_lines_take() {
    let mut ids = TopicIds::seeded([1, 2]);
    let many: std::collections::BTreeSet<_> = (0..10_000).map(|_| ids.next_id()).collect();
    assert_eq!(many.len(), 10_000);
    for id in many {
        assert_eq!((id.0[6] >> 4, id.0[8] >> 6), (4, 2));
        assert!(!id.to_string().starts_with('-') && id.to_string().len() == 22);
    }
    assert_eq!(TopicId([0xff; 16]).to_string(), "_____________________w");
    assert_eq!(TopicId(*b"0123456789abcdef").to_string(), "MDEyMzQ1Njc4OWFiY2RlZg");
}

#[test]
fn damaged_topics_are_refused() {
    let thread = start();
    let (catalog, _) = self::catalog(thread.client());
    let topic = catalog.create(&[new("a", 300)]).remove(0).unwrap();
    let mut bytes = Vec::new();
    encode_topic(&topic, &mut bytes);
    assert_eq!(decode_topic(&RawRecord::all(&bytes).next().unwrap().unwrap()), Ok(Ok(topic)));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            for raw in RawRecord::all(&damaged).flatten() {
                if let Ok(Ok(topic)) = decode_topic(&raw) {
                    assert!((1..=MAX_PARTITIONS).contains(&topic.partitions));
                }
            }
        }
    }
}
