//! The catalog: the topics of now, and the way to change them.

use std::sync::Arc;

use coordinator::ids::{OwnerEpoch, TopicName, TopicPartition};
use coordinator::messages::StoreError;
use parking_lot::{Mutex, RwLock};

use super::layout::{decode_topic, encode_tombstone, encode_topic};
use super::{CATALOG_PARTITION, NewTopic, Topic, TopicError, TopicIds, Topics};
use crate::store::layout::RawRecord;
use crate::store::{Batch, StoreClient, StoreFailure};

/// All topics. Shared by reference; see the [module](super).
#[derive(Debug)]
pub struct TopicCatalog {
    current: RwLock<Arc<Topics>>,
    changer: Mutex<Changer>,
}

/// What only the one who changes topics has.
#[derive(Debug)]
struct Changer {
    store: StoreClient,
    epoch: OwnerEpoch,
    ids: TopicIds,
}

/// One change, as it is to be stored and then seen.
enum Change {
    Put(Topic),
    Remove(TopicName),
}

impl TopicCatalog {
    /// The catalog as it is kept. `epoch` is what acquiring [`CATALOG_PARTITION`] gave.
    ///
    /// # Errors
    /// [`StoreFailure`].
    pub fn load(store: StoreClient, epoch: OwnerEpoch, ids: TopicIds) -> Result<Self, StoreFailure> {
        let mut topics = Topics::default();
        let mut reader = store.load(CATALOG_PARTITION, epoch)?;
        while let Some(chunk) = reader.next_encoded()? {
            for raw in RawRecord::all(&chunk) {
                match decode_topic(&raw?)? {
                    Ok(topic) => topics.put(topic),
                    Err(gone) => drop(topics.remove(&gone)),
                }
            }
        }
        let changer = Mutex::new(Changer { store, epoch, ids });
        Ok(Self { current: RwLock::new(Arc::new(topics)), changer })
    }

    /// The topics of now.
    pub fn topics(&self) -> Arc<Topics> {
        Arc::clone(&self.current.read())
    }

    /// Creates topics, each or not, and answers for each in order once they are durable.
    pub fn create(&self, new: &[NewTopic]) -> Vec<Result<Topic, TopicError>> {
        self.change(new, |topics, ids, new| {
            topics.check_new(new)?;
            let topic = Topic { name: new.name.clone(), id: ids.next_id(), partitions: new.partitions };
            Ok((Change::Put(topic.clone()), topic))
        })
    }

    /// What [`TopicCatalog::create`] would say, without doing it.
    pub fn check_create(&self, new: &[NewTopic]) -> Vec<Result<(), TopicError>> {
        let mut topics = Topics::clone(&self.topics());
        let mut ids = TopicIds::seeded([0, 0]);
        let check = |new: &NewTopic| {
            topics.check_new(new)?;
            topics.put(Topic { name: new.name.clone(), id: ids.next_id(), partitions: new.partitions });
            Ok(())
        };
        new.iter().map(check).collect()
    }

    /// Lets topics grow to these counts, each or not; answers when durable.
    pub fn expand(&self, counts: &[NewTopic]) -> Vec<Result<Topic, TopicError>> {
        self.change(counts, |topics, _, count| {
            let topic = topics.check_expansion(&count.name, count.partitions)?;
            Ok((Change::Put(topic.clone()), topic))
        })
    }

    /// Makes sure that topics exist with at least these counts: creates, lets grow, or leaves as it is.
    pub fn ensure(&self, wanted: &[NewTopic]) -> Vec<Result<Topic, TopicError>> {
        self.change(wanted, |topics, ids, new| {
            let topic = match topics.get(new.name.as_str()) {
                Some(topic) if topic.partitions >= new.partitions => topic.clone(),
                Some(_) => topics.check_expansion(&new.name, new.partitions)?,
                None => {
                    topics.check_new(new)?;
                    Topic { name: new.name.clone(), id: ids.next_id(), partitions: new.partitions }
                }
            };
            Ok((Change::Put(topic.clone()), topic))
        })
    }

    /// Deletes topics, each or not. Answers when durable, with what coordinators must be told is gone
    /// (`Input::TopicPartitionsDeleted`).
    pub fn delete(&self, names: &[TopicName]) -> Vec<Result<Vec<TopicPartition>, TopicError>> {
        self.change(names, |topics, _, name| {
            let unknown = || TopicError::UnknownTopicOrPartition(name.clone());
            let topic = topics.get(name.as_str()).ok_or_else(unknown)?;
            Ok((Change::Remove(name.clone()), topic.topic_partitions().collect()))
        })
    }

    /// Decides for each item in order, each seeing what the ones before it changed; makes all changes durable in
    /// one write; then lets them be seen.
    fn change<I, T>(
        &self,
        items: &[I],
        mut decide: impl FnMut(&Topics, &mut TopicIds, &I) -> Result<(Change, T), TopicError>,
    ) -> Vec<Result<T, TopicError>> {
        let mut changer = self.changer.lock();
        let mut topics = Topics::clone(&self.topics());
        let mut records = Vec::new();
        let mut count = 0;
        let mut answers = Vec::with_capacity(items.len());
        for item in items {
            let decided = decide(&topics, &mut changer.ids, item);
            answers.push(decided.map(|(change, answer)| {
                count += usize::from(apply(&mut topics, change, &mut records));
                answer
            }));
        }
        if count == 0 {
            return answers;
        }
        match changer.store(count, records) {
            Ok(()) => {
                *self.current.write() = Arc::new(topics);
                answers
            }
            Err(error) => answers.into_iter().map(|a| a.and(Err(TopicError::Store(error)))).collect(),
        }
    }
}

/// Makes the change and appends its record. False: there was nothing to change.
fn apply(topics: &mut Topics, change: Change, records: &mut Vec<u8>) -> bool {
    match change {
        Change::Put(topic) if topics.get(topic.name.as_str()) == Some(&topic) => return false,
        Change::Put(topic) => {
            encode_topic(&topic, records);
            topics.put(topic);
        }
        Change::Remove(name) => {
            encode_tombstone(&name, records);
            topics.remove(&name);
        }
    }
    true
}

impl Changer {
    fn store(&self, count: usize, records: Vec<u8>) -> Result<(), StoreError> {
        let batch = Batch::from_encoded(CATALOG_PARTITION, self.epoch, count, records)?;
        self.store.append(batch)
    }
}
