//! The embedded store in a real directory: restarts, and every way a directory can be wrong.

use std::collections::BTreeMap;
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

/// Opening is refused with these words, and what is in the directory stays as it is, byte for byte.
fn assert_refused(directory: &Path, words: &str, context: &str) {
    let contents = || {
        let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
        files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect::<BTreeMap<_, _>>()
    };
    let before = contents();
    let refused = open(directory).map(drop).unwrap_err().to_string();
    assert!(refused.contains("cannot use the data directory"), "{context}: {refused}");
    assert!(refused.contains(words), "{context}: {refused}");
    assert!(refused.contains("restore it from a backup, or move it away"), "{context}: {refused}");
    assert!(contents() == before, "{context}: the directory was changed");
}

#[test]
fn foreign_files_are_refused_before_anything_is_made() {
    let random: Vec<u8> = (0..20_000_u32).map(|at| (at * 31 % 251) as u8 + 1).collect();
    for (name, contents) in [
        (FILES[0], b"not a database at all".as_slice()),
        (FILES[0], &random),
        (FILES[0], &[0; 4096]),
        (FILES[1], b"mine"),
        (FILES[1], &random),
        (FILES[2], &random),
    ] {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(name), contents).unwrap();
        assert_refused(directory.path(), "the store is damaged", name);
    }
}

#[test]
fn a_foreign_log_that_begins_with_zeros_is_not_written_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILES[2]);
    let mut contents = vec![0; 100_000];
    contents[99_999] = 1;
    std::fs::write(&path, &contents).unwrap();
    let refused = open(directory.path()).map(drop).unwrap_err().to_string();
    assert!(refused.contains("groupd.log.1 is foreign"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), contents);
    // All zero is what a crash leaves that came before the first header.
    std::fs::write(&path, vec![0; 100_000]).unwrap();
    open(directory.path()).unwrap();
}

#[test]
fn a_lost_log_of_a_young_store_is_missed() {
    let lived_in = tempfile::tempdir().unwrap();
    let mut store = open(lived_in.path()).unwrap();
    let epoch = store.acquire(&[P]).unwrap()[0];
    store.append(&[Batch::new(P, epoch, &[offset("g", 0, 7)]).unwrap()]).unwrap();
    drop(store);
    let length = lived_in.path().join(FILES[1]).metadata().unwrap().len();
    let random = |length: u64| (0..length).map(|at| (at * 31 % 251) as u8).collect::<Vec<_>>();
    let losses: [(&str, Option<Vec<u8>>); 5] = [
        ("removed", None),
        ("emptied", Some(Vec::new())),
        ("cut within its header", Some(b"groupdlg".to_vec())),
        ("random", Some(random(length))),
        ("zeroed", Some(vec![0; usize::try_from(length).unwrap()])),
    ];
    for (loss, contents) in losses {
        let directory = tempfile::tempdir().unwrap();
        for name in FILES {
            std::fs::copy(lived_in.path().join(name), directory.path().join(name)).unwrap();
        }
        let log = directory.path().join(FILES[1]);
        match contents {
            Some(contents) => std::fs::write(&log, contents).unwrap(),
            None => std::fs::remove_file(&log).unwrap(),
        }
        let refused = open(directory.path()).map(drop).unwrap_err().to_string();
        assert!(refused.contains("the store is damaged: the log of generation 1"), "{loss}: {refused}");
        // The second time it is still missed.
        assert!(open(directory.path()).is_err(), "{loss}");
    }
}

#[test]
fn a_log_cut_in_the_middle_is_missed() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = open(directory.path()).unwrap();
    let epoch = store.acquire(&[P]).unwrap()[0];
    for number in 0..300 {
        store.append(&[Batch::new(P, epoch, &[offset("g", 0, number)]).unwrap()]).unwrap();
    }
    drop(store);
    let path = directory.path().join(FILES[1]);
    // From within the entries to one byte less than all.
    for length in [(1 << 20) - 1, 60_000, 512, 511] {
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        let refused = open(directory.path()).map(drop).unwrap_err().to_string();
        assert!(refused.contains("the store is damaged: the log of generation 1"), "{length}: {refused}");
        assert_eq!(path.metadata().unwrap().len(), length);
    }
}

#[test]
fn a_removed_lock_lets_nobody_in() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = open(directory.path()).unwrap();
    // Twice: who was refused left a lock file of its own.
    for _ in 0..2 {
        std::fs::remove_file(directory.path().join(LOCK_FILE)).unwrap();
        let refused = open(directory.path()).map(drop).unwrap_err();
        assert!(matches!(&refused, OpenError::InUse { .. }), "{refused}");
    }
    assert_eq!(store.acquire(&[P]).unwrap().len(), 1);
    drop(store);
    open(directory.path()).unwrap();
}

#[test]
fn a_cause_is_told_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, "mine").unwrap();
    let refused = anyhow::Error::from(open(&path.join("below")).map(drop).unwrap_err());
    let told = format!("{refused:#}");
    assert_eq!(told.matches("os error").count(), 1, "{told}");
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
