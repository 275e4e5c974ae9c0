//! Folds records into rows: one row for each key, holding only what still matters.
//!
//! The last record of a key wins, except where transactions are open: an offset of an open transaction waits in
//! the row of its partition beside the committed one, in the order both were written, and that order (not the
//! marker's place) decides when the transaction commits. A tombstone ends what was written before it. So a row
//! is a short list of entries; nearly always it has one.
//!
//! ```text
//! row key := partition:i32 (ordered)  kind:u8  record key, without the producer
//! row     := entry{1..}      entry := 0 value | 1 producer:i64 value      value := len:varint bytes
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

const COMMITTED: u8 = 0;
const PENDING: u8 = 1;

/// Rows, and which of them an open transaction waits in.
pub trait Rows {
    /// The row under `key`.
    ///
    /// # Errors
    /// [`StoreFailure`], as below.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure>;
    /// Writes the row, or removes it.
    ///
    /// # Errors
    /// [`StoreFailure`].
    fn set(&mut self, key: Vec<u8>, row: Option<Vec<u8>>) -> Result<(), StoreFailure>;
    /// Whether any transaction is open anywhere: when not, no row has to be read before it is overwritten.
    fn any_open(&self) -> bool;
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
        (RecordKind::Group | RecordKind::Topic | RecordKind::Offset, None) => {
            rows.set(row_key(partition, record.kind, record.key), None)
        }
        (RecordKind::Group | RecordKind::Topic, Some(value)) => {
            rows.set(row_key(partition, record.kind, record.key), Some(committed_row(value)))
        }
        (RecordKind::Offset, Some(value)) => {
            let key = row_key(partition, RecordKind::Offset, record.key);
            let row = if rows.any_open() {
                with_entry(rows.get(&key)?, &Entry { producer: None, value })?
            } else {
                committed_row(value)
            };
            rows.set(key, Some(row))
        }
        (RecordKind::TxnOffset, Some(value)) => {
            let (producer, offset_key) = split_producer(record.key)?;
            let key = row_key(partition, RecordKind::Offset, offset_key);
            let row = with_entry(rows.get(&key)?, &Entry { producer: Some(producer), value })?;
            rows.add_open(&open_key(partition, producer), &key)?;
            rows.set(key, Some(row))
        }
        (RecordKind::TxnMarker, Some(value)) => {
            let (producer, _) = split_producer(record.key)?;
            let outcome = super::layout::read_outcome(value)?;
            for key in rows.take_open(&open_key(partition, producer))? {
                let row = resolved(rows.get(&key)?, producer, outcome)?;
                rows.set(key, row)?;
            }
            Ok(())
        }
        (RecordKind::TxnOffset | RecordKind::TxnMarker, None) => {
            Err(LayoutError::Kind(record.kind as u8).into())
        }
    }
}

/// Appends the records that a row stands for, in order.
///
/// # Errors
/// [`StoreFailure::Damaged`].
pub fn unfold(key: &[u8], row: &[u8], out: &mut Vec<u8>) -> Result<(), StoreFailure> {
    let mut reader = Reader(key);
    reader.ordered_i32()?;
    let kind = reader.u8()?;
    let offset_key = reader.0;
    for entry in entries(row) {
        let entry = entry?;
        if let Some(producer) = entry.producer {
            let mut key = producer.to_vec();
            key.extend_from_slice(offset_key);
            RawRecord { kind: RecordKind::TxnOffset, key: &key, value: Some(entry.value) }.write(out);
        } else {
            let kind = RecordKind::from_byte(kind)?;
            RawRecord { kind, key: offset_key, value: Some(entry.value) }.write(out);
        }
    }
    Ok(())
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

fn row_key(partition: OffsetsPartition, kind: RecordKind, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(5 + key.len());
    bytes.extend_from_slice(&partition_prefix(partition));
    bytes.push(kind as u8);
    bytes.extend_from_slice(key);
    bytes
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
    /// The producer of the open transaction, as bytes of a key; none if committed.
    producer: Option<[u8; 8]>,
    value: &'a [u8],
}

impl Entry<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        if let Some(producer) = self.producer {
            out.push(PENDING);
            out.extend_from_slice(&producer);
        } else {
            out.push(COMMITTED);
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
    let producer = match reader.u8()? {
        COMMITTED => None,
        PENDING => Some(reader.array()?),
        unknown => return Err(LayoutError::Kind(unknown)),
    };
    Ok(Entry { producer, value: reader.bytes()? })
}

fn committed_row(value: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(value.len() + 3);
    Entry { producer: None, value }.write(&mut row);
    row
}

/// The row with `new` at its end, in the place of an earlier entry of the same producer or none.
fn with_entry(row: Option<Vec<u8>>, new: &Entry<'_>) -> Result<Vec<u8>, LayoutError> {
    let old = row.unwrap_or_default();
    let mut row = Vec::with_capacity(old.len() + new.value.len() + 12);
    for entry in entries(&old) {
        let entry = entry?;
        if entry.producer != new.producer {
            entry.write(&mut row);
        }
    }
    new.write(&mut row);
    Ok(row)
}

/// The row after the transaction of `producer` ended. Its offset counts if it was written after the committed
/// one; none if nothing is left.
fn resolved(
    row: Option<Vec<u8>>,
    producer: [u8; 8],
    outcome: TransactionOutcome,
) -> Result<Option<Vec<u8>>, LayoutError> {
    let old = row.unwrap_or_default();
    let list = entries(&old).collect::<Result<Vec<_>, _>>()?;
    let pending = list.iter().position(|entry| entry.producer == Some(producer));
    let committed = list.iter().position(|entry| entry.producer.is_none());
    let counts = match outcome {
        TransactionOutcome::Commit => pending > committed,
        TransactionOutcome::Abort => false,
    };
    let mut row = Vec::with_capacity(old.len());
    for (index, entry) in list.iter().enumerate() {
        if Some(index) == pending {
            if counts {
                Entry { producer: None, value: entry.value }.write(&mut row);
            }
        } else if !(counts && Some(index) == committed) {
            entry.write(&mut row);
        }
    }
    Ok((!row.is_empty()).then_some(row))
}
