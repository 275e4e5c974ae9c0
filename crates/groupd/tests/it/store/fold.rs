//! Folded rows give back what the history of records meant.

use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use coordinator::messages::StoreError;
use groupd::store::{Batch, MAX_BATCH_BYTES, MemoryStore, Store, StoreFailure};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::model::{Model, any_record, loaded, offset};

const P: OffsetsPartition = OffsetsPartition(7);

#[test]
fn any_history_loads_as_it_was() {
    for seed in 0..300 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut store = MemoryStore::new();
        let epoch = store.acquire(&[P]).unwrap()[0];
        let mut model = Model::default();
        for step in 0..40 {
            let record = any_record(&mut rng);
            model.apply(&record);
            let batch = Batch::new(P, epoch, &[record]).unwrap();
            assert_eq!(store.append(&[batch]).unwrap(), [Ok(())]);
            assert_eq!(loaded(&mut store, P, epoch).view(), model.view(), "seed {seed} step {step}");
        }
    }
}

#[test]
fn partitions_are_apart() {
    let mut store = MemoryStore::new();
    let epochs = store.acquire(&[OffsetsPartition(0), OffsetsPartition(1)]).unwrap();
    let batch = Batch::new(OffsetsPartition(0), epochs[0], &[offset("g", 0, 5)]).unwrap();
    store.append(&[batch]).unwrap();
    assert_eq!(store.load(OffsetsPartition(1), epochs[1]).unwrap().count(), 0);
    assert_eq!(store.load(OffsetsPartition(0), epochs[0]).unwrap().count(), 1);
}

#[test]
fn a_fenced_owner_leaves_no_trace() {
    let mut store = MemoryStore::new();
    let old = store.acquire(&[P]).unwrap()[0];
    let new = store.acquire(&[P]).unwrap()[0];
    assert!(new > old);
    let batches = [
        Batch::new(P, old, &[offset("g", 0, 1)]).unwrap(),
        Batch::new(P, new, &[offset("g", 0, 2)]).unwrap(),
        Batch::new(P, OwnerEpoch(new.0 + 1), &[offset("g", 0, 3)]).unwrap(),
    ];
    let stale = Err(StoreError::NotLeaderOrFollower);
    assert_eq!(store.append(&batches).unwrap(), [stale, Ok(()), stale]);
    let mut model = Model::default();
    model.apply(&offset("g", 0, 2));
    assert_eq!(loaded(&mut store, P, new).view(), model.view());
    assert!(matches!(store.load(P, old), Err(StoreFailure::Fenced { current, .. }) if current == new));
}

#[test]
fn a_batch_beyond_the_bound_is_refused() {
    let too_large = Batch::from_encoded(P, OwnerEpoch(1), 1, vec![0; MAX_BATCH_BYTES + 1]);
    assert_eq!(too_large, Err(StoreError::RecordListTooLarge));
}
