//! A client that is no member: a transactional producer that is its own transaction coordinator, and an administrator.
//!
//! Transactions follow KIP-447 and KIP-890: offsets are pended under the producer's id and epoch, the epoch rises with
//! every transaction, and what comes of an earlier one is refused before a group's coordinator hears of it. Once the end is
//! decided, the marker is written until somebody says that it is; only then does the next transaction begin.

use coordinator::ids::{GroupId, OffsetsPartition, ProducerId, TopicName, TopicPartition};
use coordinator::messages::{
    CommitOffset, DeleteGroups, OffsetCommit, OffsetDelete, OffsetFetch, Request, TransactionOutcome,
    TxnOffsetCommit,
};

use super::hostile::Rumour;
use crate::agenda::Moment;
use crate::checkers::offsets::WriteId;
use crate::random::Random;

/// Ids of producers begin here: hostile clients use smaller ones.
const PRODUCERS: i64 = 1_000;
/// Partitions that it commits and reads.
pub const PARTITIONS: i32 = 6;

/// How far its transaction has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// None.
    Idle,
    /// Offsets are on their way; it is given up if nobody has answered by then.
    Open(Moment),
    /// Its end is decided, and is to be written.
    Ending(TransactionOutcome),
}

/// The end of a transaction, on its way to be written.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Who is told when it is written.
    pub outsider: u32,
    /// Which of its attempts this is.
    pub attempt: u32,
    /// Whose transaction.
    pub producer: ProducerId,
    /// Where.
    pub partition: OffsetsPartition,
    /// How it ended.
    pub outcome: TransactionOutcome,
}

/// A client that is no member.
#[derive(Debug)]
pub struct Outsider {
    /// As which it produces.
    pub producer: ProducerId,
    /// Of the transaction that is open, or of the next one.
    pub epoch: i16,
    /// How far that has come.
    pub stage: Stage,
    /// The group whose offsets it commits.
    pub group: usize,
    /// What it has committed in this transaction.
    pub writes: Vec<WriteId>,
    /// The broker that was told of the end, and in which life of it.
    pub marking: Option<(usize, u32)>,
    /// Raised with every marker it asks for, so that late news of an earlier one is told from that of this.
    pub attempt: u32,
    /// An event is entered for it.
    pub is_awake: bool,
}

impl Outsider {
    /// The one of that number.
    pub fn new(number: u32) -> Self {
        Self {
            producer: ProducerId(PRODUCERS + i64::from(number)),
            epoch: 0,
            stage: Stage::Idle,
            group: 0,
            writes: Vec::new(),
            marking: None,
            attempt: 0,
            is_awake: false,
        }
    }

    /// Whether offsets of this producer are of its open transaction.
    pub fn is_open(&self, commit: &TxnOffsetCommit) -> bool {
        matches!(self.stage, Stage::Open(_)) && commit.producer_epoch == self.epoch
    }

    /// Commits some offsets within its transaction: as a member of the group, if it has heard of one, or as nobody.
    pub fn pend(
        &self,
        random: &mut Random,
        names: (&GroupId, &TopicName),
        member: Option<&Rumour>,
    ) -> Request {
        let mut commit = plain_commit(random, names);
        if let Some(member) = member {
            commit.member = member.member.clone();
            commit.generation = member.generation;
        }
        Request::TxnOffsetCommit(TxnOffsetCommit {
            commit,
            producer: self.producer,
            producer_epoch: self.epoch,
            // Asked when it arrives.
            verification: Ok(()),
        })
    }
}

/// A commit of some offsets by nobody.
pub fn plain_commit(random: &mut Random, (group, topic): (&GroupId, &TopicName)) -> OffsetCommit {
    let offset = |partition| CommitOffset {
        partition,
        offset: 0,
        leader_epoch: -1,
        metadata: "".into(),
        commit_timestamp_ms: -1,
    };
    OffsetCommit {
        group: group.clone(),
        generation: coordinator::ids::Generation::NONE,
        member: "".into(),
        instance: None,
        retention_time_ms: -1,
        offsets: some(random, topic).into_iter().map(offset).collect(),
    }
}

/// A read of all that it commits.
pub fn read(random: &mut Random, (group, topic): (&GroupId, &TopicName)) -> Request {
    let partitions = (0..PARTITIONS).map(|partition| TopicPartition { topic: topic.clone(), partition });
    Request::OffsetFetch(OffsetFetch {
        group: group.clone(),
        partitions: Some(partitions.collect()),
        require_stable: random.below(2) == 0,
    })
}

/// Deletes some offsets, or the whole group.
pub fn delete(random: &mut Random, (group, topic): (&GroupId, &TopicName)) -> Request {
    if random.below(3) == 0 {
        return Request::DeleteGroups(DeleteGroups { groups: vec![group.clone()] });
    }
    Request::OffsetDelete(OffsetDelete { group: group.clone(), partitions: some(random, topic) })
}

fn some(random: &mut Random, topic: &TopicName) -> Vec<TopicPartition> {
    let partition = |partition| TopicPartition { topic: topic.clone(), partition };
    let first = i32::try_from(random.below(3)).unwrap_or(0);
    let count = i32::try_from(random.between(1, 3)).unwrap_or(1);
    (first..first + count).map(partition).collect()
}
