//! Folds records into rows, which hold only what still matters.
//!
//! The last record of a key wins, except where transactions are open: an offset of an open transaction waits
//! beside the committed one, in the order both were written, and that order (not the marker's place) decides when
//! the transaction commits. A tombstone ends what was written before it.
//!
//! A group has a row of its own, and so has a topic and a transactional id. Offsets share one: those of sixteen neighbouring partitions
//! of a group's topic, each in its slot, since the names are longer than what is said of them.
//!
//! ```text
//! row key := partition:i32 (ordered)  kind:u8  name of the group, topic or transactional id
//!          | partition:i32 (ordered)  kind:u8  group:text  topic:text  sixteenth:u32be
//! row     := entry{1..}      entry := slot << 1  value | slot << 1 | 1  producer:i64  value
//! value   := len:varint bytes
//! ```
//!
//! Folding a stretch of history again, or loading it, over rows that already hold some of it comes to the same,
//! which is what lets a store fold in steps and crash between them. With one exception: a row in which a
//! transaction waits that *began* in the stretch must not be seen before the whole stretch is folded, since an
//! earlier end of the same producer's transaction would be taken for its own. [`waiting_in`] finds such rows.

use coordinator::ids::OffsetsPartition;
use coordinator::messages::TransactionOutcome;

use super::StoreFailure;
use super::layout::{LayoutError, RawRecord, Reader, RecordKind, Writer, ordered_i32};

/// The bit of an entry's first byte that says that it waits for its transaction.
const PENDING: u8 = 1;
/// How many bits of a partition's number are its slot.
const SLOT_BITS: u32 = 4;

/// Rows, and which of them an open transaction waits in.
pub trait Rows {
    /// The row under `key`, to be changed where it is: empty if there is none. Left empty, it is removed.
    ///
    /// # Errors
    /// [`StoreFailure`], as below.
    fn row(&mut self, key: &[u8]) -> Result<&mut Vec<u8>, StoreFailure>;
    /// Notes that the transaction `open` (as [`open_key`] names it) waits in the row under `key`.
    ///
    /// # Errors
    /// [`StoreFailure`].
    fn add_open(&mut self, open: &[u8], key: &[u8]) -> Result<(), StoreFailure>;
    /// Forgets the transaction, and returns the keys of the rows it waited in.
    ///
    /// # Errors
    /// [`StoreFailure`].
    fn take_open(&mut self, open: &[u8]) -> Result<Vec<Vec<u8>>, StoreFailure>;
}

/// Applies one record of `partition`.
///
/// # Errors
/// [`StoreFailure`]: the rows', or damage in the record.
pub fn fold(
    rows: &mut impl Rows,
    partition: OffsetsPartition,
    record: &RawRecord<'_>,
) -> Result<(), StoreFailure> {
    match (record.kind, record.value) {
        (
            RecordKind::Group | RecordKind::Topic | RecordKind::Transaction | RecordKind::ProducerIds,
            value,
        ) => {
            let row = rows.row(&named_row(partition, record.kind, record.key))?;
            row.clear();
            if let Some(value) = value {
                Entry { slot: 0, producer: None, value }.write(row);
            }
        }
        (RecordKind::Offset, None) => {
            let (key, slot) = offset_row(partition, record.key)?;
            let row = rows.row(&key)?;
            *row = without_slot(row, slot)?;
        }
        (RecordKind::Offset, Some(value)) => {
            let (key, slot) = offset_row(partition, record.key)?;
            put(rows.row(&key)?, &Entry { slot, producer: None, value })?;
        }
        (RecordKind::TxnOffset, Some(value)) => {
            let (producer, offset_key) = split_producer(record.key)?;
            let (key, slot) = offset_row(partition, offset_key)?;
            rows.add_open(&open_key(partition, producer), &key)?;
            put(rows.row(&key)?, &Entry { slot, producer: Some(producer), value })?;
        }
        (RecordKind::TxnMarker, Some(value)) => {
            let (producer, _) = split_producer(record.key)?;
            let outcome = super::layout::read_outcome(value)?;
            for key in rows.take_open(&open_key(partition, producer))? {
                let row = rows.row(&key)?;
                *row = resolved(row, producer, outcome)?;
            }
        }
        (RecordKind::TxnOffset | RecordKind::TxnMarker, None) => {
            return Err(LayoutError::Kind(record.kind as u8).into());
        }
    }
    Ok(())
}

/// Appends the records that a row stands for, in order.
///
/// # Errors
/// [`StoreFailure::Damaged`].
pub fn unfold(key: &[u8], row: &[u8], out: &mut Vec<u8>) -> Result<(), StoreFailure> {
    let mut reader = Reader(key);
    reader.ordered_i32()?;
    let kind = RecordKind::from_byte(reader.u8()?)?;
    let mut record_key = Vec::with_capacity(key.len() + 8);
    for entry in entries(row) {
        let entry = entry?;
        record_key.clear();
        record_key.extend(entry.producer.into_iter().flatten());
        if kind == RecordKind::Offset {
            let (names, sixteenth) = reader.0.split_last_chunk().ok_or(LayoutError::Truncated)?;
            record_key.extend_from_slice(names);
            let number = u32::from_be_bytes(*sixteenth) << SLOT_BITS | u32::from(entry.slot);
            record_key.extend_from_slice(&number.to_be_bytes());
        } else {
            record_key.extend_from_slice(reader.0);
        }
        let kind = if entry.producer.is_some() { RecordKind::TxnOffset } else { kind };
        RawRecord { kind, key: &record_key, value: Some(entry.value) }.write(out);
    }
    Ok(())
}

/// About how many bytes [`unfold`] gives for a row: the key is in each of its records.
///
/// # Errors
/// [`LayoutError`], if the row is damaged.
pub fn unfolded_bytes(key: &[u8], row: &[u8]) -> Result<u64, LayoutError> {
    let mut bytes = row.len();
    for entry in entries(row) {
        entry?;
        bytes += key.len();
    }
    Ok(bytes as u64)
}

/// The transactions that wait in a row, as [`open_key`] names them.
///
/// # Errors
/// [`LayoutError`], if the row is damaged.
pub fn waiting_in(key: &[u8], row: &[u8]) -> Result<Vec<[u8; 12]>, LayoutError> {
    let partition: [u8; 4] = Reader(key).array()?;
    let mut waiting = Vec::new();
    for entry in entries(row) {
        if let Some(producer) = entry?.producer {
            waiting.push(named(partition, producer));
        }
    }
    Ok(waiting)
}

/// The bytes that all row keys of a partition start with.
pub fn partition_prefix(partition: OffsetsPartition) -> [u8; 4] {
    ordered_i32(partition.0)
}

fn named_row(partition: OffsetsPartition, kind: RecordKind, name: &[u8]) -> Vec<u8> {
    // An offset's row has a number behind the name.
    let mut bytes = Vec::with_capacity(9 + name.len());
    bytes.extend_from_slice(&partition_prefix(partition));
    bytes.push(kind as u8);
    bytes.extend_from_slice(name);
    bytes
}

/// The row of an offset, and its slot there. The key of an offset ends with its partition's number.
fn offset_row(partition: OffsetsPartition, key: &[u8]) -> Result<(Vec<u8>, u8), LayoutError> {
    let (names, number) = key.split_last_chunk().ok_or(LayoutError::Truncated)?;
    let number = u32::from_be_bytes(*number);
    let mut row = named_row(partition, RecordKind::Offset, names);
    row.extend_from_slice(&(number >> SLOT_BITS).to_be_bytes());
    Ok((row, number.to_be_bytes()[3] & 0x0f))
}

/// How [`Rows`] name a transaction: partition and producer.
pub fn open_key(partition: OffsetsPartition, producer: [u8; 8]) -> [u8; 12] {
    named(partition_prefix(partition), producer)
}

fn named(partition: [u8; 4], producer: [u8; 8]) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&partition);
    key[4..].copy_from_slice(&producer);
    key
}

fn split_producer(key: &[u8]) -> Result<([u8; 8], &[u8]), LayoutError> {
    let mut reader = Reader(key);
    Ok((reader.array()?, reader.0))
}

struct Entry<'a> {
    /// Which of the offsets in the row it is; 0 for a group or a topic.
    slot: u8,
    /// The producer of the open transaction, as bytes of a key; none if committed.
    producer: Option<[u8; 8]>,
    value: &'a [u8],
}

impl Entry<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        if let Some(producer) = self.producer {
            out.push(self.slot << 1 | PENDING);
            out.extend_from_slice(&producer);
        } else {
            out.push(self.slot << 1);
        }
        Writer(out).bytes(self.value);
    }
}

fn entries(row: &[u8]) -> impl Iterator<Item = Result<Entry<'_>, LayoutError>> {
    let mut reader = Reader(row);
    std::iter::from_fn(move || {
        if reader.is_empty() {
            return None;
        }
        let entry = read_entry(&mut reader);
        if entry.is_err() {
            reader = Reader(&[]);
        }
        Some(entry)
    })
}

fn read_entry<'a>(reader: &mut Reader<'a>) -> Result<Entry<'a>, LayoutError> {
    let first = reader.u8()?;
    let slot = first >> 1;
    if slot >= 1 << SLOT_BITS {
        return Err(LayoutError::Number);
    }
    let producer = if first & PENDING == 0 { None } else { Some(reader.array()?) };
    Ok(Entry { slot, producer, value: reader.bytes()? })
}

/// Writes `new` at the end of the row, in the place of the earlier entry of its slot and the same producer or none.
/// There is at most one, and where all of a row is written again and again, in order, it is the first.
fn put(row: &mut Vec<u8>, new: &Entry<'_>) -> Result<(), LayoutError> {
    let mut reader = Reader(row);
    while !reader.is_empty() {
        let start = row.len() - reader.0.len();
        let entry = read_entry(&mut reader)?;
        if (entry.slot, entry.producer) == (new.slot, new.producer) {
            let end = row.len() - reader.0.len();
            row.drain(start..end);
            break;
        }
    }
    new.write(row);
    Ok(())
}

/// The row without all that is said of a slot.
fn without_slot(old: &[u8], slot: u8) -> Result<Vec<u8>, LayoutError> {
    let mut row = Vec::with_capacity(old.len());
    for entry in entries(old) {
        let entry = entry?;
        if entry.slot != slot {
            entry.write(&mut row);
        }
    }
    Ok(row)
}

/// The row after the transaction of `producer` ended. Its offsets count where they were written after the
/// committed ones.
fn resolved(old: &[u8], producer: [u8; 8], outcome: TransactionOutcome) -> Result<Vec<u8>, LayoutError> {
    let list = entries(old).collect::<Result<Vec<_>, _>>()?;
    let place = |slot, producer| list.iter().position(|e| (e.slot, e.producer) == (slot, producer));
    let counts = |slot| match outcome {
        TransactionOutcome::Commit => place(slot, Some(producer)) > place(slot, None),
        TransactionOutcome::Abort => false,
    };
    let mut row = Vec::with_capacity(old.len());
    for entry in &list {
        if entry.producer == Some(producer) {
            if counts(entry.slot) {
                Entry { slot: entry.slot, producer: None, value: entry.value }.write(&mut row);
            }
        } else if entry.producer.is_some() || !counts(entry.slot) {
            entry.write(&mut row);
        }
    }
    Ok(row)
}
