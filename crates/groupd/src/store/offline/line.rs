//! One kept record as a line of JSON.

mod transaction;

use anyhow::{Context, bail, ensure};
use coordinator::ids::{
    Generation, GroupId, InstanceId, MemberId, OffsetsPartition, ProducerId, TopicPartition,
};
use coordinator::messages::{GroupRecord, MemberRecord, OffsetRecord, Record};
use serde::{Deserialize, Serialize};

use crate::store::layout::{
    RawRecord, RecordKind, decode_producer_ids, decode_record, decode_transaction, encode_producer_ids,
    encode_record, encode_transaction,
};
use crate::store::{CATALOG_PARTITION, PRODUCER_IDS_PARTITION};
use crate::topics::{Topic, TopicId, check_name, decode_topic, encode_topic};
use transaction::Transaction;

/// A kept record. Bytes are written in hexadecimal.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line {
    /// A group between rounds.
    Group {
        partition: i32,
        group: String,
        generation: i32,
        protocol_type: String,
        protocol: Option<String>,
        leader: Option<String>,
        state_timestamp_ms: i64,
        members: Vec<Member>,
    },
    /// A committed offset.
    Offset {
        partition: i32,
        #[serde(flatten)]
        offset: Offset,
    },
    /// An offset that waits for the end of its producer's transaction.
    PendingOffset {
        partition: i32,
        producer: i64,
        #[serde(flatten)]
        offset: Offset,
    },
    /// A topic of the catalog.
    Topic { name: String, id: String, partitions: i32 },
    /// A transactional id.
    Transaction(Transaction),
    /// No producer id below this one is free.
    ProducerIds { next: i64 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the names of the record's fields")]
pub(super) struct Member {
    member: String,
    instance: Option<String>,
    client_id: String,
    client_host: String,
    session_timeout_ms: i32,
    rebalance_timeout_ms: i32,
    subscription: String,
    assignment: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names of the record's fields")]
pub(super) struct Offset {
    group: String,
    topic: String,
    topic_partition: i32,
    offset: i64,
    leader_epoch: i32,
    metadata: String,
    commit_timestamp_ms: i64,
    expire_timestamp_ms: Option<i64>,
}

impl Line {
    /// Where it is kept.
    pub(super) fn partition(&self) -> OffsetsPartition {
        match self {
            Self::Group { partition, .. }
            | Self::Offset { partition, .. }
            | Self::PendingOffset { partition, .. } => OffsetsPartition(*partition),
            Self::Topic { .. } => CATALOG_PARTITION,
            Self::Transaction(transaction) => transaction.partition(),
            Self::ProducerIds { .. } => PRODUCER_IDS_PARTITION,
        }
    }

    /// The line for a record as a store gives it.
    pub(super) fn decode(partition: OffsetsPartition, raw: &RawRecord<'_>) -> anyhow::Result<Self> {
        if raw.kind == RecordKind::Topic {
            let Ok(topic) = decode_topic(raw)? else { bail!("a folded store gives no tombstones") };
            let (name, id) = (topic.name.to_string(), hex(&topic.id.0));
            return Ok(Self::Topic { name, id, partitions: topic.partitions });
        }
        if raw.kind == RecordKind::ProducerIds {
            return Ok(Self::ProducerIds { next: decode_producer_ids(raw)?.0 });
        }
        if raw.kind == RecordKind::Transaction {
            return Ok(Self::Transaction(Transaction::new(partition, decode_transaction(raw)?)?));
        }
        let partition = partition.0;
        match decode_record(raw)? {
            Record::Group(group) => Ok(Self::from_group(partition, group)),
            Record::Offset(offset) => Ok(Self::Offset { partition, offset: offset.into() }),
            Record::TxnOffset(producer, offset) => {
                Ok(Self::PendingOffset { partition, producer: producer.0, offset: offset.into() })
            }
            Record::GroupTombstone(_) | Record::OffsetTombstone(..) | Record::TxnMarker(..) => {
                bail!("a folded store gives neither tombstones nor markers")
            }
        }
    }

    fn from_group(partition: i32, group: GroupRecord) -> Self {
        let member = |member: MemberRecord| Member {
            member: member.member.to_string(),
            instance: member.instance.map(|instance| instance.to_string()),
            client_id: member.client_id.to_string(),
            client_host: member.client_host.to_string(),
            session_timeout_ms: member.session_timeout_ms,
            rebalance_timeout_ms: member.rebalance_timeout_ms,
            subscription: hex(&member.subscription),
            assignment: hex(&member.assignment),
        };
        Self::Group {
            partition,
            group: group.group.to_string(),
            generation: group.generation.0,
            protocol_type: group.protocol_type.to_string(),
            protocol: group.protocol.map(|protocol| protocol.to_string()),
            leader: group.leader.map(|leader| leader.to_string()),
            state_timestamp_ms: group.state_timestamp_ms,
            members: group.members.into_iter().map(member).collect(),
        }
    }

    /// Appends the record to `out`.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub(super) fn encode(self, out: &mut Vec<u8>) -> anyhow::Result<()> {
        match self {
            Self::Group {
                group,
                generation,
                protocol_type,
                protocol,
                leader,
                state_timestamp_ms,
                members,
                ..
            } => {
                let members = members.into_iter().map(MemberRecord::try_from).collect::<Result<_, _>>()?;
                let record = Record::Group(GroupRecord {
                    group: GroupId::new(group),
                    generation: Generation(generation),
                    protocol_type: protocol_type.into(),
                    protocol: protocol.map(Into::into),
                    leader: leader.map(MemberId::new),
                    state_timestamp_ms,
                    members,
                });
                encode_record(&record, out);
            }
            Self::Offset { offset, .. } => encode_record(&Record::Offset(offset.into()), out),
            Self::PendingOffset { producer, offset, .. } => {
                encode_record(&Record::TxnOffset(ProducerId(producer), offset.into()), out);
            }
            Self::Topic { name, id, partitions } => {
                check_name(&name)?;
                ensure!((1..=crate::topics::MAX_PARTITIONS).contains(&partitions), "{partitions} partitions");
                let id = unhex(&id)?.try_into().ok().context("an id has 16 bytes")?;
                encode_topic(&Topic { name: name.as_str().into(), id: TopicId(id), partitions }, out);
            }
            Self::Transaction(transaction) => encode_transaction(&transaction.try_into()?, out),
            Self::ProducerIds { next } => {
                ensure!(next >= 0, "producer ids are not negative");
                encode_producer_ids(ProducerId(next), out);
            }
        }
        Ok(())
    }
}

impl TryFrom<Member> for MemberRecord {
    type Error = anyhow::Error;

    fn try_from(member: Member) -> anyhow::Result<Self> {
        Ok(Self {
            member: MemberId::new(member.member),
            instance: member.instance.map(InstanceId::new),
            client_id: member.client_id.into(),
            client_host: member.client_host.into(),
            session_timeout_ms: member.session_timeout_ms,
            rebalance_timeout_ms: member.rebalance_timeout_ms,
            subscription: unhex(&member.subscription)?.into(),
            assignment: unhex(&member.assignment)?.into(),
        })
    }
}

impl From<OffsetRecord> for Offset {
    fn from(offset: OffsetRecord) -> Self {
        Self {
            group: offset.group.to_string(),
            topic: offset.partition.topic.to_string(),
            topic_partition: offset.partition.partition,
            offset: offset.offset,
            leader_epoch: offset.leader_epoch,
            metadata: offset.metadata.to_string(),
            commit_timestamp_ms: offset.commit_timestamp_ms,
            expire_timestamp_ms: offset.expire_timestamp_ms,
        }
    }
}

impl From<Offset> for OffsetRecord {
    fn from(offset: Offset) -> Self {
        Self {
            group: GroupId::new(offset.group),
            partition: TopicPartition {
                topic: offset.topic.as_str().into(),
                partition: offset.topic_partition,
            },
            offset: offset.offset,
            leader_epoch: offset.leader_epoch,
            metadata: offset.metadata.into(),
            commit_timestamp_ms: offset.commit_timestamp_ms,
            expire_timestamp_ms: offset.expire_timestamp_ms,
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 0x0f)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

fn unhex(text: &str) -> anyhow::Result<Vec<u8>> {
    ensure!(text.len().is_multiple_of(2), "an odd number of hexadecimal digits");
    let digit =
        |byte: u8| char::from(byte).to_digit(16).with_context(|| format!("'{text}' is not hexadecimal"));
    let byte = |pair: &[u8]| Ok(u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?)?);
    text.as_bytes().chunks_exact(2).map(byte).collect()
}
