//! Records survive their bytes, and damaged bytes are refused without a panic.

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::Record;
use groupd::store::layout::{
    Frame, LayoutError, RawRecord, RecordKind, decode_records, encode_record, write_frame,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::model::any_record;

fn encoded(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        encode_record(record, &mut bytes);
    }
    bytes
}

#[test]
fn every_record_survives() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let records: Vec<_> = (0..5_000).map(|_| any_record(&mut rng)).collect();
    assert_eq!(decode_records(&encoded(&records)), Ok(records));
}

#[test]
fn damaged_records_never_panic_or_balloon() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for _ in 0..100_000 {
        let records: Vec<_> = (0..rng.random_range(1..4)).map(|_| any_record(&mut rng)).collect();
        let mut bytes = encoded(&records);
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..bytes.len());
            match rng.random_range(0..3) {
                0 => bytes[at] ^= 1 << rng.random_range(0..8),
                1 => bytes[at] = 0xff,
                _ => bytes.truncate(at.max(1)),
            }
        }
        // Either outcome is fine: without a checksum some damage looks like another record.
        let _ = decode_records(&bytes);
    }
}

#[test]
fn garbage_is_no_frame() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..100_000 {
        let bytes: Vec<u8> = (0..rng.random_range(0..64)).map(|_| rng.random()).collect();
        assert!(Frame::read(&mut bytes.as_slice()).is_err());
    }
}

#[test]
fn a_truncated_frame_is_seen_at_every_length() {
    let mut bytes = Vec::new();
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let records = encoded(&[any_record(&mut rng), any_record(&mut rng)]);
    write_frame(&mut bytes, OffsetsPartition(1), OwnerEpoch(2), 2, &records);
    for end in 0..bytes.len() {
        assert_eq!(Frame::read(&mut &bytes[..end]), Err(LayoutError::Truncated));
    }
}

#[test]
fn a_newer_layout_is_named_as_such() {
    let mut bytes = Vec::new();
    RawRecord { kind: RecordKind::Group, key: b"g", value: Some(&[9, 0, 0]) }.write(&mut bytes);
    assert_eq!(decode_records(&bytes), Err(LayoutError::Newer(9)));
    assert_eq!(decode_records(&[77, 0, 0]), Err(LayoutError::Kind(77)));
}
