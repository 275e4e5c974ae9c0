//! The embedded store in a real directory: restarts, and every way a directory can be wrong.

use std::path::Path;

use coordinator::ids::OffsetsPartition;
use groupd::store::{
    Batch, CommitSettings, CommitThread, EmbeddedSettings, EmbeddedStore, FILES, FoldingThread, LOCK_FILE,
    OpenError, Store, Upkeep,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::model::{Model, any_record, loaded, offset};

const P: OffsetsPartition = OffsetsPartition(3);

fn open(path: &Path) -> Result<EmbeddedStore, OpenError> {
    EmbeddedStore::open_directory(path, EmbeddedSettings::default(), 1)
}

#[test]
fn a_new_directory_is_made_and_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b");
    let mut store = open(&path).unwrap();
    let epoch = store.acquire(&[P]).unwrap()[0];
    store.append(&[Batch::new(P, epoch, &[offset("g", 0, 7)]).unwrap()]).unwrap();
    drop(store);
    let mut store = open(&path).unwrap();
    let next = store.acquire(&[P]).unwrap()[0];
    assert!(next > epoch);
    let mut model = Model::default();
    model.apply(&offset("g", 0, 7));
    assert_eq!(loaded(&mut store, P, next).view(), model.view());
}

#[test]
fn a_second_server_is_kept_out() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    let refused = open(directory.path()).unwrap_err();
    assert!(matches!(&refused, OpenError::InUse { .. }));
    assert!(refused.to_string().contains("in use by another groupd; stop that one"), "{refused}");
    drop(store);
    open(directory.path()).unwrap();
}

#[test]
fn a_file_in_the_way_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, "mine").unwrap();
    let refused = open(&path).unwrap_err();
    assert!(matches!(&refused, OpenError::Create { .. }));
    assert!(refused.to_string().contains("--data-dir"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    for name in FILES.into_iter().chain([LOCK_FILE]) {
        let path = directory.path().join(format!("dir-{name}"));
        std::fs::create_dir_all(path.join(name)).unwrap();
        let refused = open(&path).unwrap_err();
        assert!(matches!(&refused, OpenError::Access { .. }));
        assert!(refused.to_string().contains(name), "{refused}");
    }
}

#[test]
fn a_foreign_file_is_refused_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILES[0]);
    std::fs::write(&path, "not a database at all").unwrap();
    let refused = open(directory.path()).unwrap_err();
    assert!(refused.to_string().contains("cannot use the data directory"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), b"not a database at all");
}

#[test]
fn a_life_with_folding_beside_commits_comes_back_whole() {
    let directory = tempfile::tempdir().unwrap();
    let settings = EmbeddedSettings {
        min_log: 16 << 10,
        max_log: 64 << 10,
        log_growth: 8 << 10,
        fold_step: 4 << 10,
        folding: FoldingThread::Own,
        ..EmbeddedSettings::default()
    };
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut model = Model::default();
    for _ in 0..4 {
        let mut store = EmbeddedStore::open_directory(directory.path(), settings, 1).unwrap();
        let epoch = store.acquire(&[P]).unwrap()[0];
        assert_eq!(loaded(&mut store, P, epoch).view(), model.view());
        for _ in 0..60 {
            let records: Vec<_> = (0..rng.random_range(1..20)).map(|_| any_record(&mut rng)).collect();
            for record in &records {
                model.apply(record);
            }
            store.append(&[Batch::new(P, epoch, &records).unwrap()]).unwrap();
            if store.upkeep_due() == Upkeep::Now {
                store.upkeep().unwrap();
            }
        }
        assert_eq!(loaded(&mut store, P, epoch).view(), model.view());
    }
    let used: u64 = FILES.iter().map(|name| directory.path().join(name).metadata().unwrap().len()).sum();
    assert!(used < 4 << 20, "{used} bytes for a handful of keys");
}

#[test]
fn the_commit_thread_closes_the_directory_when_it_ends() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    let thread = CommitThread::start(Box::new(store), CommitSettings::default()).unwrap();
    let epoch = thread.client().acquire(&[P]).unwrap()[0];
    assert_eq!(thread.client().append(Batch::new(P, epoch, &[offset("g", 0, 7)]).unwrap()), Ok(()));
    thread.shutdown();
    let mut store = open(directory.path()).unwrap();
    assert_eq!(store.acquire(&[P]).unwrap()[0].0, epoch.0 + 1);
}
