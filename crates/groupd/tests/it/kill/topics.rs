//! A client that creates and deletes topics.

use std::net::SocketAddr;
use std::sync::mpsc::Sender;

use kafka_wire::create_topics::CreatableTopic;
use kafka_wire::delete_topics::DeleteTopicState;
use kafka_wire::{
    CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest, DeleteTopicsResponse, MetadataRequest,
    MetadataResponse,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::account::Account;
use super::connection::{Connection, Life, wrong};
use super::ledger::{Change, Ledger, Offsets, Settled};
use crate::serve::read;

const CREATE: i16 = 7;
const DELETE: i16 = 6;
const METADATA: i16 = 13;
/// Topics that are there, or not.
const TOPICS: i32 = 8;
const PREFIX: &str = "made-";

/// Its account has, for each topic that is there, how many partitions it was made with.
pub(super) struct TopicMaker {
    rng: ChaCha8Rng,
    ledger: Ledger,
    number: i64,
}

impl TopicMaker {
    pub(super) fn new(rng: ChaCha8Rng) -> Self {
        Self { rng, ledger: Ledger::default(), number: 0 }
    }

    fn create(&mut self, connection: &mut Connection, topic: i32) -> Life<i16> {
        // Another count than the last time, so that an old topic come back shows.
        self.number = self.number % 97 + 1;
        self.ledger.begin(Change::Commit(self.number, [topic].into()));
        let name = format!("{PREFIX}{topic}");
        let topic = CreatableTopic {
            name: &name,
            num_partitions: i32::try_from(self.number).unwrap(),
            replication_factor: 1,
            ..Default::default()
        };
        let request = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
        let body = connection.ask(CREATE, &request)?;
        Ok(read::<CreateTopicsResponse<'_>>(CREATE, &body).topics[0].error_code)
    }

    fn delete(&mut self, connection: &mut Connection, topic: i32) -> Life<i16> {
        self.ledger.begin(Change::Delete([topic].into()));
        let name = format!("{PREFIX}{topic}");
        let topic = DeleteTopicState { name: Some(&name), ..Default::default() };
        let request = DeleteTopicsRequest { topics: vec![topic], ..Default::default() };
        let body = connection.ask(DELETE, &request)?;
        Ok(read::<DeleteTopicsResponse<'_>>(DELETE, &body).responses[0].error_code)
    }
}

impl Account for TopicMaker {
    fn kind(&self) -> &'static str {
        "topics made and deleted"
    }

    fn run(&mut self, address: SocketAddr, answers: &Sender<()>, most: u64) -> Life<()> {
        let mut connection = Connection::open(address)?;
        for _ in 0..most {
            let topic = self.rng.random_range(0..TOPICS);
            let is_there = self.ledger.acknowledged().contains_key(&topic);
            let code = if is_there {
                self.delete(&mut connection, topic)?
            } else {
                self.create(&mut connection, topic)?
            };
            if code != 0 {
                return wrong(format!("topic {topic}, there: {is_there}: answered {code}"));
            }
            self.ledger.acknowledge();
            let _ = answers.send(());
        }
        Ok(())
    }

    fn settle(&mut self, connection: &mut Connection) -> Life<Settled> {
        let body = connection.ask(METADATA, &MetadataRequest { topics: None, ..Default::default() })?;
        let response: MetadataResponse<'_> = read(METADATA, &body);
        let ours = response.topics.iter().filter_map(|topic| {
            let number = topic.name?.strip_prefix(PREFIX)?;
            Some((number.parse().unwrap(), i64::try_from(topic.partitions.len()).unwrap()))
        });
        let found: Offsets = ours.collect();
        self.ledger.settle(&found).or_else(|what| wrong(format!("topics: {what}")))
    }
}
