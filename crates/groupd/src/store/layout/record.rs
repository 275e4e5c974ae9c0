//! The coordinator's records as kind, key and value.

use std::sync::Arc;

use coordinator::ids::{Generation, GroupId, InstanceId, MemberId, ProducerId, TopicName, TopicPartition};
use coordinator::messages::{GroupRecord, MemberRecord, OffsetRecord, Record, TransactionOutcome};
use coordinator::transactions::TransactionRecord;

use super::{LayoutError, Reader, Writer, decode_transaction};

/// The layout of group and offset values that this build writes, and the newest it reads.
const VALUE_VERSION: u8 = 1;
const TOMBSTONE: u8 = 0x80;

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RecordKind {
    /// A group; key: its id.
    Group = 1,
    /// A committed offset; key: group, topic, partition.
    Offset = 2,
    /// An offset of an open transaction; key: producer, then as [`RecordKind::Offset`].
    TxnOffset = 3,
    /// The end of a transaction; key: producer.
    TxnMarker = 4,
    /// A topic of the virtual catalog; key: its name.
    Topic = 5,
    /// What a transactional id stands at; key: the id.
    Transaction = 6,
    /// How far producer ids are handed out; key: empty.
    ProducerIds = 7,
}

impl RecordKind {
    pub(crate) fn from_byte(byte: u8) -> Result<Self, LayoutError> {
        match byte {
            1 => Ok(Self::Group),
            2 => Ok(Self::Offset),
            3 => Ok(Self::TxnOffset),
            4 => Ok(Self::TxnMarker),
            5 => Ok(Self::Topic),
            6 => Ok(Self::Transaction),
            7 => Ok(Self::ProducerIds),
            unknown => Err(LayoutError::Kind(unknown)),
        }
    }
}

/// A record whose key and value are still bytes: all that folding has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRecord<'a> {
    /// What it is about.
    pub kind: RecordKind,
    /// What it is the last word on.
    pub key: &'a [u8],
    /// None: a tombstone.
    pub value: Option<&'a [u8]>,
}

impl<'a> RawRecord<'a> {
    /// Takes one record off the front.
    ///
    /// # Errors
    /// [`LayoutError`], if the bytes do not start with a record.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, LayoutError> {
        let byte = reader.u8()?;
        let kind = RecordKind::from_byte(byte & !TOMBSTONE)?;
        let key = reader.bytes()?;
        let value = if byte & TOMBSTONE == 0 { Some(reader.bytes()?) } else { None };
        Ok(Self { kind, key, value })
    }

    /// All records in `bytes`, up to the first that is damaged.
    pub fn all(bytes: &'a [u8]) -> impl Iterator<Item = Result<Self, LayoutError>> + use<'a> {
        let mut reader = Reader(bytes);
        std::iter::from_fn(move || {
            if reader.is_empty() {
                return None;
            }
            let record = Self::read(&mut reader);
            if record.is_err() {
                reader = Reader(&[]);
            }
            Some(record)
        })
    }

    /// Appends the record to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut writer = Writer(out);
        let tombstone = if self.value.is_none() { TOMBSTONE } else { 0 };
        writer.u8(self.kind as u8 | tombstone);
        writer.bytes(self.key);
        if let Some(value) = self.value {
            writer.bytes(value);
        }
    }
}

/// Appends `record` to `out`.
pub fn encode_record(record: &Record, out: &mut Vec<u8>) {
    // Keys and values are short and their lengths come first: they are built apart, then put together.
    let mut key = Vec::with_capacity(64);
    let mut value = Vec::with_capacity(64);
    let (kind, has_value) = match record {
        Record::Group(group) => {
            group_key(&mut key, &group.group);
            group_value(&mut value, group);
            (RecordKind::Group, true)
        }
        Record::GroupTombstone(group) => {
            group_key(&mut key, group);
            (RecordKind::Group, false)
        }
        Record::Offset(offset) => {
            offset_key(&mut key, &offset.group, &offset.partition);
            offset_value(&mut value, offset);
            (RecordKind::Offset, true)
        }
        Record::OffsetTombstone(group, partition) => {
            offset_key(&mut key, group, partition);
            (RecordKind::Offset, false)
        }
        Record::TxnOffset(producer, offset) => {
            Writer(&mut key).ordered_i64(producer.0);
            offset_key(&mut key, &offset.group, &offset.partition);
            offset_value(&mut value, offset);
            (RecordKind::TxnOffset, true)
        }
        Record::TxnMarker(producer, outcome) => {
            Writer(&mut key).ordered_i64(producer.0);
            value.push(match outcome {
                TransactionOutcome::Abort => 0,
                TransactionOutcome::Commit => 1,
            });
            (RecordKind::TxnMarker, true)
        }
    };
    RawRecord { kind, key: &key, value: has_value.then_some(&value) }.write(out);
}

/// The record that `raw` holds.
///
/// # Errors
/// [`LayoutError`], if it is damaged, newer, or not one of a group coordinator's.
pub fn decode_record(raw: &RawRecord<'_>) -> Result<Record, LayoutError> {
    let mut key = Reader(raw.key);
    let record = match (raw.kind, raw.value) {
        (RecordKind::Group, Some(value)) => Record::Group(read_group(read_group_key(&mut key)?, value)?),
        (RecordKind::Group, None) => Record::GroupTombstone(read_group_key(&mut key)?),
        (RecordKind::Offset, Some(value)) => Record::Offset(read_offset(&mut key, value)?),
        (RecordKind::Offset, None) => {
            let (group, partition) = read_offset_key(&mut key)?;
            Record::OffsetTombstone(group, partition)
        }
        (RecordKind::TxnOffset, Some(value)) => {
            let producer = ProducerId(key.ordered_i64()?);
            Record::TxnOffset(producer, read_offset(&mut key, value)?)
        }
        (RecordKind::TxnMarker, Some(value)) => {
            Record::TxnMarker(ProducerId(key.ordered_i64()?), read_outcome(value)?)
        }
        (RecordKind::TxnOffset | RecordKind::TxnMarker, None)
        | (RecordKind::Topic | RecordKind::Transaction | RecordKind::ProducerIds, _) => {
            return Err(LayoutError::Kind(raw.kind as u8));
        }
    };
    key.finish()?;
    Ok(record)
}

/// What a partition keeps: for the coordinator of its groups, and for that of the transactional ids that hash to it.
/// Neither reads the other's, so that only the order within each matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Of groups and offsets.
    pub groups: Vec<Record>,
    /// Of transactional ids.
    pub transactions: Vec<TransactionRecord>,
}

/// All records in `bytes`, which are a partition's.
///
/// # Errors
/// As [`decode_record`].
pub fn decode_kept(bytes: &[u8]) -> Result<Kept, LayoutError> {
    let mut kept = Kept::default();
    for raw in RawRecord::all(bytes) {
        let raw = raw?;
        if raw.kind == RecordKind::Transaction {
            kept.transactions.push(decode_transaction(&raw)?);
        } else {
            kept.groups.push(decode_record(&raw)?);
        }
    }
    Ok(kept)
}

/// Those of groups among all records in `bytes`.
///
/// # Errors
/// As [`decode_record`].
pub fn decode_records(bytes: &[u8]) -> Result<Vec<Record>, LayoutError> {
    Ok(decode_kept(bytes)?.groups)
}

/// Whether the marker with this value commits or aborts.
///
/// # Errors
/// [`LayoutError`], if it is neither.
pub(crate) fn read_outcome(value: &[u8]) -> Result<TransactionOutcome, LayoutError> {
    match value {
        [0] => Ok(TransactionOutcome::Abort),
        [1] => Ok(TransactionOutcome::Commit),
        _ => Err(LayoutError::Number),
    }
}

fn group_key(out: &mut Vec<u8>, group: &GroupId) {
    out.extend_from_slice(group.as_str().as_bytes());
}

fn read_group_key(key: &mut Reader<'_>) -> Result<GroupId, LayoutError> {
    let text = std::str::from_utf8(key.take(key.0.len())?).map_err(|_| LayoutError::Text)?;
    Ok(GroupId::new(text))
}

fn offset_key(out: &mut Vec<u8>, group: &GroupId, partition: &TopicPartition) {
    let mut writer = Writer(out);
    writer.text(group.as_str());
    writer.text(partition.topic.as_str());
    writer.ordered_i32(partition.partition);
}

fn read_offset_key(key: &mut Reader<'_>) -> Result<(GroupId, TopicPartition), LayoutError> {
    let group = GroupId::new(key.text()?);
    let topic = TopicName::new(key.text()?);
    Ok((group, TopicPartition { topic, partition: key.ordered_i32()? }))
}

fn group_value(out: &mut Vec<u8>, group: &GroupRecord) {
    let mut writer = Writer(out);
    writer.u8(VALUE_VERSION);
    writer.signed(i64::from(group.generation.0));
    writer.text(&group.protocol_type);
    writer.optional_text(group.protocol.as_deref());
    writer.optional_text(group.leader.as_ref().map(MemberId::as_str));
    writer.signed(group.state_timestamp_ms);
    writer.varint(group.members.len() as u64);
    for member in &group.members {
        writer.text(member.member.as_str());
        writer.optional_text(member.instance.as_ref().map(InstanceId::as_str));
        writer.text(&member.client_id);
        writer.text(&member.client_host);
        writer.signed(i64::from(member.session_timeout_ms));
        writer.signed(i64::from(member.rebalance_timeout_ms));
        writer.bytes(&member.subscription);
        writer.bytes(&member.assignment);
    }
}

fn read_group(group: GroupId, value: &[u8]) -> Result<GroupRecord, LayoutError> {
    let mut reader = Reader(value);
    read_version(&mut reader)?;
    let generation = Generation(reader.signed_i32()?);
    let protocol_type = reader.shared_text()?;
    let protocol = reader.optional_text()?;
    let leader = reader.optional_text()?.map(MemberId::new);
    let state_timestamp_ms = reader.signed()?;
    let count = reader.varint()?;
    // No capacity from a count that may be damaged: the bytes run out long before memory does.
    let mut members = Vec::new();
    for _ in 0..count {
        members.push(read_member(&mut reader)?);
    }
    reader.finish()?;
    Ok(GroupRecord { group, generation, protocol_type, protocol, leader, state_timestamp_ms, members })
}

fn read_member(reader: &mut Reader<'_>) -> Result<MemberRecord, LayoutError> {
    Ok(MemberRecord {
        member: MemberId::new(reader.shared_text()?),
        instance: reader.optional_text()?.map(InstanceId::new),
        client_id: reader.shared_text()?,
        client_host: reader.shared_text()?,
        session_timeout_ms: reader.signed_i32()?,
        rebalance_timeout_ms: reader.signed_i32()?,
        subscription: Arc::from(reader.bytes()?),
        assignment: Arc::from(reader.bytes()?),
    })
}

fn offset_value(out: &mut Vec<u8>, offset: &OffsetRecord) {
    let mut writer = Writer(out);
    writer.u8(VALUE_VERSION);
    writer.signed(offset.offset);
    writer.signed(i64::from(offset.leader_epoch));
    writer.text(&offset.metadata);
    writer.signed(offset.commit_timestamp_ms);
    match offset.expire_timestamp_ms {
        None => writer.u8(0),
        Some(at) => {
            writer.u8(1);
            writer.signed(at);
        }
    }
}

fn read_offset(key: &mut Reader<'_>, value: &[u8]) -> Result<OffsetRecord, LayoutError> {
    let (group, partition) = read_offset_key(key)?;
    let mut reader = Reader(value);
    read_version(&mut reader)?;
    let offset = reader.signed()?;
    let leader_epoch = reader.signed_i32()?;
    let metadata = reader.shared_text()?;
    let commit_timestamp_ms = reader.signed()?;
    let expire_timestamp_ms = match reader.u8()? {
        0 => None,
        1 => Some(reader.signed()?),
        _ => return Err(LayoutError::Number),
    };
    reader.finish()?;
    Ok(OffsetRecord {
        group,
        partition,
        offset,
        leader_epoch,
        metadata,
        commit_timestamp_ms,
        expire_timestamp_ms,
    })
}

fn read_version(reader: &mut Reader<'_>) -> Result<(), LayoutError> {
    match reader.u8()? {
        VALUE_VERSION => Ok(()),
        newer => Err(LayoutError::Newer(newer)),
    }
}
