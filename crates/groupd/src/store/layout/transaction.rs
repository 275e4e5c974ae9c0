//! What a transaction coordinator keeps, as key and value: the state of each transactional id, and how far producer
//! ids are handed out.

use coordinator::ids::{OffsetsPartition, ProducerId};
use coordinator::messages::TransactionOutcome;
use coordinator::transactions::{
    ProducerEpoch, TransactionPhase, TransactionRecord, TransactionState, TransactionalId,
};

use super::{LayoutError, RawRecord, Reader, RecordKind, Writer};

/// The layout of the values: all that this build writes of producer ids.
const VALUE_VERSION: u8 = 1;
/// The same of a transactional id whose producer has an epoch for each transaction; the newest that is read. Others are
/// written as earlier builds can read them.
const WITH_EPOCHS: u8 = 2;

/// No producer's id.
const NO_PRODUCER: i64 = -1;

/// Appends `record` to `out`.
pub fn encode_transaction(record: &TransactionRecord, out: &mut Vec<u8>) {
    match record {
        TransactionRecord::State(state) => {
            let mut value = Vec::with_capacity(48);
            transaction_value(&mut value, state);
            let key = state.transactional_id.as_str().as_bytes();
            RawRecord { kind: RecordKind::Transaction, key, value: Some(&value) }.write(out);
        }
        TransactionRecord::Tombstone(id) => {
            RawRecord { kind: RecordKind::Transaction, key: id.as_str().as_bytes(), value: None }.write(out);
        }
    }
}

/// The record that `raw` holds.
///
/// # Errors
/// [`LayoutError`], if it is damaged, newer, or about something else.
pub fn decode_transaction(raw: &RawRecord<'_>) -> Result<TransactionRecord, LayoutError> {
    if raw.kind != RecordKind::Transaction {
        return Err(LayoutError::Kind(raw.kind as u8));
    }
    let id = TransactionalId::new(std::str::from_utf8(raw.key).map_err(|_| LayoutError::Text)?);
    let Some(value) = raw.value else { return Ok(TransactionRecord::Tombstone(id)) };
    let mut reader = Reader(value);
    let state = read_transaction(&mut reader, id)?;
    reader.finish()?;
    Ok(TransactionRecord::State(state))
}

/// Appends to `out` that all producer ids below `next` may have been handed out.
pub fn encode_producer_ids(next: ProducerId, out: &mut Vec<u8>) {
    let mut value = vec![VALUE_VERSION];
    Writer(&mut value).signed(next.0);
    RawRecord { kind: RecordKind::ProducerIds, key: &[], value: Some(&value) }.write(out);
}

/// The first producer id that was never handed out.
///
/// # Errors
/// [`LayoutError`], if `raw` is damaged, newer, or about something else.
pub fn decode_producer_ids(raw: &RawRecord<'_>) -> Result<ProducerId, LayoutError> {
    let (RecordKind::ProducerIds, Some(value)) = (raw.kind, raw.value) else {
        return Err(LayoutError::Kind(raw.kind as u8));
    };
    let mut reader = Reader(value);
    read_version(&mut reader, VALUE_VERSION)?;
    let next = reader.signed()?;
    reader.finish()?;
    if next < 0 || !raw.key.is_empty() {
        return Err(LayoutError::Number);
    }
    Ok(ProducerId(next))
}

fn transaction_value(out: &mut Vec<u8>, state: &TransactionState) {
    let mut writer = Writer(out);
    let with_epochs = state.ended_by.is_some() || state.next_producer.is_some();
    writer.u8(if with_epochs { WITH_EPOCHS } else { VALUE_VERSION });
    writer.signed(state.producer.producer.0);
    writer.signed(i64::from(state.producer.epoch));
    writer.signed(i64::from(state.last_epoch));
    writer.signed(i64::from(state.timeout_ms));
    writer.u8(phase_byte(state.phase));
    writer.signed(state.started_ms);
    writer.signed(state.updated_ms);
    writer.varint(state.partitions.len() as u64);
    for partition in &state.partitions {
        writer.signed(i64::from(partition.0));
    }
    if with_epochs {
        let ended_by = state.ended_by.unwrap_or(ProducerEpoch::NONE);
        writer.signed(ended_by.producer.0);
        writer.signed(i64::from(ended_by.epoch));
        writer.signed(state.next_producer.map_or(NO_PRODUCER, |next| next.0));
    }
}

fn read_transaction(
    reader: &mut Reader<'_>,
    transactional_id: TransactionalId,
) -> Result<TransactionState, LayoutError> {
    let version = read_version(reader, WITH_EPOCHS)?;
    let producer = ProducerEpoch { producer: ProducerId(reader.signed()?), epoch: read_epoch(reader)? };
    let last_epoch = read_epoch(reader)?;
    let timeout_ms = reader.signed_i32()?;
    let phase = read_phase(reader.u8()?)?;
    let (started_ms, updated_ms) = (reader.signed()?, reader.signed()?);
    let count = reader.varint()?;
    // No capacity from a count that may be damaged. In order, each once: the coordinator searches them.
    let mut partitions: Vec<OffsetsPartition> = Vec::new();
    for _ in 0..count {
        let partition = OffsetsPartition(reader.signed_i32()?);
        if partition.0 < 0 || partitions.last().is_some_and(|last| *last >= partition) {
            return Err(LayoutError::Number);
        }
        partitions.push(partition);
    }
    let (mut ended_by, mut next_producer) = (None, None);
    if version == WITH_EPOCHS {
        let by = ProducerEpoch { producer: ProducerId(reader.signed()?), epoch: read_epoch(reader)? };
        ended_by = Some(by).filter(|by| *by != ProducerEpoch::NONE);
        next_producer = Some(ProducerId(reader.signed()?)).filter(|next| next.0 != NO_PRODUCER);
    }
    Ok(TransactionState {
        transactional_id,
        producer,
        last_epoch,
        ended_by,
        next_producer,
        timeout_ms,
        phase,
        partitions,
        started_ms,
        updated_ms,
    })
}

fn read_epoch(reader: &mut Reader<'_>) -> Result<i16, LayoutError> {
    i16::try_from(reader.signed()?).map_err(|_| LayoutError::Number)
}

/// Kafka's numbers for the states of a transaction.
fn phase_byte(phase: TransactionPhase) -> u8 {
    match phase {
        TransactionPhase::Empty => 0,
        TransactionPhase::Ongoing => 1,
        TransactionPhase::Prepare(TransactionOutcome::Commit) => 2,
        TransactionPhase::Prepare(TransactionOutcome::Abort) => 3,
        TransactionPhase::Complete(TransactionOutcome::Commit) => 4,
        TransactionPhase::Complete(TransactionOutcome::Abort) => 5,
    }
}

fn read_phase(byte: u8) -> Result<TransactionPhase, LayoutError> {
    match byte {
        0 => Ok(TransactionPhase::Empty),
        1 => Ok(TransactionPhase::Ongoing),
        2 => Ok(TransactionPhase::Prepare(TransactionOutcome::Commit)),
        3 => Ok(TransactionPhase::Prepare(TransactionOutcome::Abort)),
        4 => Ok(TransactionPhase::Complete(TransactionOutcome::Commit)),
        5 => Ok(TransactionPhase::Complete(TransactionOutcome::Abort)),
        _ => Err(LayoutError::Number),
    }
}

fn read_version(reader: &mut Reader<'_>, newest: u8) -> Result<u8, LayoutError> {
    let version = reader.u8()?;
    if (VALUE_VERSION..=newest).contains(&version) { Ok(version) } else { Err(LayoutError::Newer(version)) }
}
