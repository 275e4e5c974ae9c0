//! Waits until a fetch's patience ends: there are no records here, so only time or a deleted topic ends it.

use coordinator::ids::TopicName;
use hashbrown::HashMap;
use purgatory::{OperationId, Purgatory, Timestamp};
use tokio::sync::oneshot;

/// What a client's Fetch waits for.
#[derive(Debug)]
pub(crate) struct Fetch {
    /// How long, ms.
    pub(crate) max_wait_ms: u64,
    /// The topics it names: when one is deleted the client is told at once.
    pub(crate) topics: Vec<TopicName>,
}

/// A parked fetch: the way back to its client.
#[derive(Debug)]
struct DelayedFetch {
    number: u64,
    reply: oneshot::Sender<()>,
}

/// The fetches parked on one shard.
#[derive(Debug)]
pub(crate) struct Fetches {
    purgatory: Purgatory<TopicName, DelayedFetch>,
    by_number: HashMap<u64, OperationId>,
}

impl Fetches {
    /// None parked.
    pub(crate) fn new(now: Timestamp) -> Self {
        Self { purgatory: Purgatory::new(now), by_number: HashMap::new() }
    }

    /// Parks `fetch` until its time is over.
    pub(crate) fn park(&mut self, now: Timestamp, number: u64, fetch: Fetch, reply: oneshot::Sender<()>) {
        let deadline = now.saturating_add(fetch.max_wait_ms);
        let id = self.purgatory.watch(DelayedFetch { number, reply }, fetch.topics, deadline);
        self.by_number.insert(number, id);
    }

    /// Answers those whose time is over.
    pub(crate) fn expire(&mut self, now: Timestamp) {
        while let Some(fetch) = self.purgatory.expire_next(now) {
            self.answer(fetch);
        }
    }

    /// Answers those that wait for `topic`.
    pub(crate) fn topic_deleted(&mut self, topic: &TopicName) {
        while let Some(fetch) = self.purgatory.complete_next(topic, |_| true) {
            self.answer(fetch);
        }
    }

    /// The client is gone: its fetch is dropped.
    pub(crate) fn abandon(&mut self, number: u64) {
        if let Some(id) = self.by_number.remove(&number) {
            drop(self.purgatory.cancel(id));
        }
    }

    /// Answers all.
    pub(crate) fn finish(&mut self) {
        self.expire(Timestamp::MAX);
    }

    /// When [`Fetches::expire`] has something to do.
    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        self.purgatory.next_deadline()
    }

    /// How many are parked.
    pub(crate) fn parked(&self) -> usize {
        self.purgatory.pending()
    }

    fn answer(&mut self, fetch: DelayedFetch) {
        self.by_number.remove(&fetch.number);
        // Nobody there any more: its Abandon is on the way.
        let _ = fetch.reply.send(());
    }
}
