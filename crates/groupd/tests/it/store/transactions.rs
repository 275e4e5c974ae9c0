//! Transactional ids and producer ids as they are kept: bytes, rows, and the lines of `groupd store`.

use std::path::Path;

use coordinator::ids::{OffsetsPartition, ProducerId};
use coordinator::messages::TransactionOutcome::{Abort, Commit};
use coordinator::transactions::{
    ProducerEpoch, TransactionPhase, TransactionRecord, TransactionState, TransactionalId,
};
use groupd::store::layout::{
    Kept, LayoutError, RawRecord, RecordKind, decode_kept, decode_producer_ids, encode_producer_ids,
    encode_record, encode_transaction,
};
use groupd::store::{
    Batch, Directory, EmbeddedSettings, EmbeddedStore, MemoryStore, PRODUCER_IDS_PARTITION, Store,
    StoreCommand,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::model::offset;

const PHASES: [TransactionPhase; 6] = [
    TransactionPhase::Empty,
    TransactionPhase::Ongoing,
    TransactionPhase::Prepare(Commit),
    TransactionPhase::Prepare(Abort),
    TransactionPhase::Complete(Commit),
    TransactionPhase::Complete(Abort),
];

fn any_state(rng: &mut ChaCha8Rng) -> TransactionState {
    let mut partitions: Vec<i32> =
        (0..rng.random_range(0..5)).map(|_| rng.random_range(0..i32::MAX)).collect();
    partitions.sort_unstable();
    partitions.dedup();
    TransactionState {
        transactional_id: TransactionalId::new(format!("id-{}", rng.random_range(0..6))),
        producer: ProducerEpoch { producer: ProducerId(rng.random()), epoch: rng.random() },
        last_epoch: rng.random(),
        ended_by: rng.random_bool(0.5).then(|| ProducerEpoch {
            producer: ProducerId(rng.random_range(0..i64::MAX)),
            epoch: rng.random(),
        }),
        next_producer: rng.random_bool(0.2).then(|| ProducerId(rng.random_range(0..i64::MAX))),
        timeout_ms: rng.random(),
        phase: PHASES[rng.random_range(0..6)],
        partitions: partitions.into_iter().map(OffsetsPartition).collect(),
        started_ms: rng.random(),
        updated_ms: rng.random(),
    }
}

fn any_record(rng: &mut ChaCha8Rng) -> TransactionRecord {
    let state = any_state(rng);
    if rng.random_bool(0.2) {
        TransactionRecord::Tombstone(state.transactional_id)
    } else {
        TransactionRecord::State(state)
    }
}

fn encoded(records: &[TransactionRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        encode_transaction(record, &mut bytes);
    }
    bytes
}

#[test]
fn every_record_survives_beside_those_of_groups() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let transactions: Vec<_> = (0..5_000).map(|_| any_record(&mut rng)).collect();
    let mut bytes = encoded(&transactions);
    encode_record(&offset("g", 0, 1), &mut bytes);
    assert_eq!(decode_kept(&bytes), Ok(Kept { groups: vec![offset("g", 0, 1)], transactions }));
    for next in [0, 1_000, i64::MAX] {
        let mut bytes = Vec::new();
        encode_producer_ids(ProducerId(next), &mut bytes);
        let raw = RawRecord::all(&bytes).next().unwrap().unwrap();
        assert_eq!(decode_producer_ids(&raw), Ok(ProducerId(next)));
    }
}

#[test]
fn damage_never_panics_and_what_is_newer_is_named() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for _ in 0..50_000 {
        let mut bytes = encoded(&[any_record(&mut rng), any_record(&mut rng)]);
        let at = rng.random_range(0..bytes.len());
        match rng.random_range(0..3) {
            0 => bytes[at] ^= 1 << rng.random_range(0..8),
            1 => bytes[at] = 0xff,
            _ => bytes.truncate(at.max(1)),
        }
        // Either outcome is fine: without a checksum some damage looks like another record.
        let _ = decode_kept(&bytes);
    }
    let mut bytes = Vec::new();
    RawRecord { kind: RecordKind::Transaction, key: b"a", value: Some(&[3, 0, 0]) }.write(&mut bytes);
    assert_eq!(decode_kept(&bytes), Err(LayoutError::Newer(3)));
    let raw = RawRecord { kind: RecordKind::ProducerIds, key: b"", value: Some(&[2, 0]) };
    assert_eq!(decode_producer_ids(&raw), Err(LayoutError::Newer(2)));
}

#[test]
fn the_last_state_of_an_id_is_what_a_store_gives_back() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let partition = OffsetsPartition(7);
    let mut store = MemoryStore::new();
    let epoch = store.acquire(&[partition]).unwrap()[0];
    let mut model = std::collections::BTreeMap::new();
    for _ in 0..500 {
        let record = any_record(&mut rng);
        let batch = Batch::of_transaction(partition, epoch, &record).unwrap();
        assert_eq!(store.append(&[batch]).unwrap(), [Ok(())]);
        match record {
            TransactionRecord::State(state) => drop(model.insert(state.transactional_id.clone(), state)),
            TransactionRecord::Tombstone(id) => drop(model.remove(&id)),
        }
    }
    let mut reader = store.load(partition, epoch).unwrap();
    let mut kept = Vec::new();
    while let Some(chunk) = reader.next_kept().unwrap() {
        kept.extend(chunk.transactions);
    }
    let expected: Vec<_> = model.into_values().map(TransactionRecord::State).collect();
    assert_eq!(kept, expected);
}

fn run(command: fn(Directory) -> StoreCommand, path: &Path, input: &str) -> anyhow::Result<String> {
    let mut output = Vec::new();
    command(Directory { data_dir: path.to_owned() }).run(input.as_bytes(), &mut output)?;
    Ok(String::from_utf8(output)?)
}

#[test]
fn an_export_knows_them_and_goes_back_in() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut store = EmbeddedStore::open_directory(&from, EmbeddedSettings::default(), 1).unwrap();
    let partition = OffsetsPartition(3);
    let epochs = store.acquire(&[partition, PRODUCER_IDS_PARTITION]).unwrap();
    let mut bytes = Vec::new();
    for (number, phase) in PHASES.into_iter().enumerate() {
        let transactional_id = TransactionalId::new(format!("billing-{number}"));
        let state = TransactionState { phase, transactional_id, ..any_state(&mut rng) };
        encode_transaction(&TransactionRecord::State(state), &mut bytes);
    }
    let transactions = Batch::from_encoded(partition, epochs[0], PHASES.len(), bytes).unwrap();
    let mut bytes = Vec::new();
    encode_producer_ids(ProducerId(5_000), &mut bytes);
    let ids = Batch::from_encoded(PRODUCER_IDS_PARTITION, epochs[1], 1, bytes).unwrap();
    assert_eq!(store.append(&[transactions, ids]).unwrap(), [Ok(()), Ok(())]);
    drop(store);
    let exported = run(StoreCommand::Export, &from, "").unwrap();
    assert_eq!(exported.lines().count(), 7, "{exported}");
    for told in [r#""state":"PrepareCommit""#, r#"{"kind":"producer_ids","next":5000}"#] {
        assert!(exported.contains(told), "{told} in {exported}");
    }
    run(StoreCommand::Import, &to, &exported).unwrap();
    assert_eq!(run(StoreCommand::Export, &to, "").unwrap(), exported);
    let sound = run(StoreCommand::Check, &to, "").unwrap();
    assert!(sound.contains("6 transactional ids"), "{sound}");
}

#[test]
fn a_line_that_cannot_be_is_refused() {
    let line = |partition: &str, partitions: &str| {
        format!(
            r#"{{"kind":"transaction","partition":{partition},"transactional_id":"a","producer":1,"epoch":0,"last_epoch":-1,
            "timeout_ms":1,"state":"Ongoing","offsets_partitions":{partitions},"started_ms":1,"updated_ms":1}}"#
        )
        .replace('\n', "")
    };
    for wrong in [
        line("0", "[2,1]"),
        line("0", "[-1]"),
        line("-1", "[1]"),
        r#"{"kind":"producer_ids","next":-1}"#.to_owned(),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let refused = run(StoreCommand::Import, directory.path(), &wrong).unwrap_err();
        assert_eq!(refused.to_string(), "line 1", "{wrong}");
    }
    let directory = tempfile::tempdir().unwrap();
    run(StoreCommand::Import, directory.path(), &line("0", "[1,2]")).unwrap();
}
