//! A topic as a record: its name is the key.

use coordinator::ids::TopicName;

use super::{MAX_PARTITIONS, Topic, TopicId};
use crate::store::layout::{LayoutError, RawRecord, Reader, RecordKind, Writer};

const VALUE_VERSION: u8 = 1;

/// Appends the record of a topic to `out`.
pub fn encode_topic(topic: &Topic, out: &mut Vec<u8>) {
    let mut value = Vec::with_capacity(24);
    let mut writer = Writer(&mut value);
    writer.u8(VALUE_VERSION);
    writer.0.extend_from_slice(&topic.id.0);
    writer.signed(i64::from(topic.partitions));
    let key = topic.name.as_str().as_bytes();
    RawRecord { kind: RecordKind::Topic, key, value: Some(&value) }.write(out);
}

/// Appends the tombstone of a topic to `out`.
pub(super) fn encode_tombstone(name: &TopicName, out: &mut Vec<u8>) {
    RawRecord { kind: RecordKind::Topic, key: name.as_str().as_bytes(), value: None }.write(out);
}

/// The topic that `raw` is the last word on; `Err` with its name if it is gone.
///
/// # Errors
/// [`LayoutError`], if it is damaged, newer, or no topic.
pub fn decode_topic(raw: &RawRecord<'_>) -> Result<Result<Topic, TopicName>, LayoutError> {
    if raw.kind != RecordKind::Topic {
        return Err(LayoutError::Kind(raw.kind as u8));
    }
    let name = TopicName::new(std::str::from_utf8(raw.key).map_err(|_| LayoutError::Text)?);
    let Some(value) = raw.value else { return Ok(Err(name)) };
    let mut reader = Reader(value);
    match reader.u8()? {
        VALUE_VERSION => {}
        newer => return Err(LayoutError::Newer(newer)),
    }
    let id = TopicId(reader.array()?);
    let partitions = reader.signed_i32()?;
    reader.finish()?;
    if !(1..=MAX_PARTITIONS).contains(&partitions) {
        return Err(LayoutError::Number);
    }
    Ok(Ok(Topic { name, id, partitions }))
}
