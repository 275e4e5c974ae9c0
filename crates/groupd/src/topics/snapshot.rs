//! All topics at one moment.

use std::collections::BTreeMap;

use coordinator::ids::{TopicName, TopicPartition};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::name::collision_key;
use super::{MAX_PARTITIONS, MAX_TOTAL_PARTITIONS, NewTopic, Topic, TopicError, TopicId, check_name};

/// All topics as they were when this was taken. In the order of their names.
#[derive(Clone, Debug, Default)]
pub struct Topics {
    by_name: BTreeMap<TopicName, Topic>,
    names: HashMap<TopicId, TopicName, RandomState>,
    taken: HashMap<Box<str>, TopicName, RandomState>,
    partitions: i64,
}

impl Topics {
    /// The topic of this name.
    pub fn get(&self, name: &str) -> Option<&Topic> {
        self.by_name.get(name)
    }

    /// The topic with this id.
    pub fn by_id(&self, id: TopicId) -> Option<&Topic> {
        self.by_name.get(self.names.get(&id)?)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Topic> {
        self.by_name.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// How many partitions they have together.
    pub fn partitions(&self) -> i64 {
        self.partitions
    }

    /// Whether `new` could be created now.
    ///
    /// # Errors
    /// [`TopicError`], all but [`TopicError::Store`].
    pub fn check_new(&self, new: &NewTopic) -> Result<(), TopicError> {
        check_name(new.name.as_str())?;
        if self.by_name.contains_key(&new.name) {
            return Err(TopicError::TopicAlreadyExists(new.name.clone()));
        }
        if let Some(other) = self.taken.get(&collision_key(new.name.as_str())) {
            return Err(TopicError::Collision(new.name.clone(), other.clone()));
        }
        self.check_room(new.partitions, new.partitions)
    }

    /// Whether the topic `name` could grow to `count` partitions now: the topic as it would be.
    ///
    /// # Errors
    /// [`TopicError`], all but [`TopicError::Store`].
    pub fn check_expansion(&self, name: &TopicName, count: i32) -> Result<Topic, TopicError> {
        let unknown = || TopicError::UnknownTopicOrPartition(name.clone());
        let topic = self.by_name.get(name).ok_or_else(unknown)?;
        if count <= topic.partitions {
            return Err(TopicError::NotMore { name: name.clone(), current: topic.partitions, asked: count });
        }
        self.check_room(count, count - topic.partitions)?;
        Ok(Topic { partitions: count, ..topic.clone() })
    }

    fn check_room(&self, count: i32, more: i32) -> Result<(), TopicError> {
        if !(1..=MAX_PARTITIONS).contains(&count) {
            return Err(TopicError::InvalidPartitions(count));
        }
        if self.partitions + i64::from(more) > MAX_TOTAL_PARTITIONS {
            return Err(TopicError::TooManyPartitions);
        }
        Ok(())
    }

    /// Puts a topic in, in the place of one of its name.
    pub(super) fn put(&mut self, topic: Topic) {
        self.remove(&topic.name);
        self.partitions += i64::from(topic.partitions);
        self.names.insert(topic.id, topic.name.clone());
        self.taken.insert(collision_key(topic.name.as_str()), topic.name.clone());
        self.by_name.insert(topic.name.clone(), topic);
    }

    /// Takes a topic out.
    pub(super) fn remove(&mut self, name: &TopicName) -> Option<Topic> {
        let topic = self.by_name.remove(name)?;
        self.partitions -= i64::from(topic.partitions);
        self.names.remove(&topic.id);
        self.taken.remove(&collision_key(name.as_str()));
        Some(topic)
    }
}

impl Topic {
    /// All its partitions.
    pub fn topic_partitions(&self) -> impl Iterator<Item = TopicPartition> + use<'_> {
        (0..self.partitions).map(|partition| TopicPartition { topic: self.name.clone(), partition })
    }
}
