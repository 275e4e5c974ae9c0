//! Directories that a real groupd may not use: what it says, and that nothing in them is changed.

use std::collections::BTreeMap;
use std::fs::{self, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use coordinator::ids::OffsetsPartition;
use groupd::store::layout::{RawRecord, RecordKind};
use groupd::store::{
    Batch, EmbeddedSettings, EmbeddedStore, FILES, FileSystem, FoldingThread, LOCK_FILE, OpenError, Store,
    StoreFailure, SystemFiles,
};
use redb::StorageBackend;
use tempfile::TempDir;

use super::model::offset;
use crate::kill::Home;

/// A user who is nobody: permissions mean nothing to the one that CI may run as.
const NOBODY: u32 = 65_534;

fn fill(path: &Path) {
    let mut store = EmbeddedStore::open_directory(path, EmbeddedSettings::default(), 1).unwrap();
    let partition = OffsetsPartition(3);
    let epoch = store.acquire(&[partition]).unwrap()[0];
    store.append(&[Batch::new(partition, epoch, &[offset("g", 0, 7)]).unwrap()]).unwrap();
}

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// All files in a directory and their bytes.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(directory).into_iter().flatten().map(|file| file.unwrap().path());
    files.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// A groupd that anybody may run, in a directory that anybody may look into.
struct Anybodys(TempDir);

impl Anybodys {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        permit(directory.path(), 0o777);
        fs::copy(env!("CARGO_BIN_EXE_groupd"), directory.path().join("groupd")).unwrap();
        Self(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// What a groupd that may not use this directory says, run by a user without privileges.
    fn refusal(&self, data: &Path) -> String {
        let mut command = Command::new(self.path("groupd"));
        command.args(["store", "import", "--data-dir"]).arg(data).stdin(Stdio::null());
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{} was used", data.display());
        told
    }
}

#[test]
fn a_directory_without_the_right_to_it_is_told_and_left_alone() {
    let home = Anybodys::new();
    let closed = |name: &str, mode: u32| {
        let path = home.path(name);
        fs::create_dir(&path).unwrap();
        permit(&path, mode);
        path
    };
    let told = home.refusal(&closed("above", 0o555).join("data"));
    assert!(
        told.contains("cannot create the data directory") && told.contains("Permission denied"),
        "{told}"
    );
    assert!(told.contains("name another with --data-dir"), "{told}");

    for (name, mode, file) in [("unwritable", 0o555, LOCK_FILE), ("unreadable", 0, FILES[0])] {
        let directory = closed(name, mode);
        let told = home.refusal(&directory);
        let named = format!("{file} for reading and writing: Permission denied");
        assert!(told.contains(&named), "{name}: {told}");
        assert!(told.contains("give this user the right to, or name another directory"), "{name}: {told}");
        permit(&directory, 0o755);
        assert_eq!(contents(&directory), BTreeMap::new(), "{name}");
    }
}

#[test]
fn a_file_without_the_right_to_it_is_told_and_left_alone() {
    let home = Anybodys::new();
    for file in FILES {
        let directory = home.path(&format!("store-{file}"));
        fill(&directory);
        permit(&directory, 0o777);
        for name in FILES.into_iter().chain([LOCK_FILE]) {
            permit(&directory.join(name), 0o666);
        }
        permit(&directory.join(file), 0o444);
        let before = contents(&directory);
        let told = home.refusal(&directory);
        let named = format!("{file} for reading and writing: Permission denied");
        assert!(told.contains(&named), "{file}: {told}");
        assert!(told.contains("give this user the right to"), "{file}: {told}");
        assert!(contents(&directory) == before, "{file}: the directory was changed");
    }
}

#[test]
fn a_directory_that_another_process_uses_is_told_and_left_alone() {
    let home = Home::new("embedded");
    let server = home.start();
    let before = contents(&home.data());
    let refused = EmbeddedStore::open_directory(&home.data(), EmbeddedSettings::default(), 1).unwrap_err();
    assert!(matches!(&refused, OpenError::InUse { .. }), "{refused}");
    let told = refused.to_string();
    assert!(told.contains("in use by another groupd; stop that one, or name another"), "{told}");
    assert!(contents(&home.data()) == before, "the directory was changed");
    server.kill();
    EmbeddedStore::open_directory(&home.data(), EmbeddedSettings::default(), 1).unwrap();
}

/// The system's files, where every change of a name or a file opened for writing is refused so.
struct Refusing(io::ErrorKind);

impl FileSystem for Refusing {
    fn is_directory(&self, path: &Path) -> bool {
        SystemFiles.is_directory(path)
    }

    fn create_directory(&self, _: &Path) -> io::Result<()> {
        Err(self.0.into())
    }

    fn open(&self, _: &Path) -> Result<Arc<dyn StorageBackend>, TryLockError> {
        Err(TryLockError::Error(self.0.into()))
    }

    fn beginning(&self, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
        SystemFiles.beginning(path, limit)
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(self.0.into())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        SystemFiles.sync_directory(path)
    }
}

#[test]
fn a_read_only_or_full_file_system_is_told_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (there, missing) = (directory.path().join("there"), directory.path().join("missing"));
    fill(&there);
    let before = contents(&there);
    for (kind, words) in [
        (
            io::ErrorKind::ReadOnlyFilesystem,
            "is on a read-only file system; mount it for writing, or name another",
        ),
        (
            io::ErrorKind::StorageFull,
            "the disk is full: free some space and restart; nothing acknowledged is lost",
        ),
        (io::ErrorKind::QuotaExceeded, "the disk is full: free some space"),
    ] {
        for path in [&there, &missing] {
            let settings = EmbeddedSettings::default();
            let refused = EmbeddedStore::open_directory_in(&Refusing(kind), path, settings, 1).unwrap_err();
            let told = refused.to_string();
            assert!(told.contains(words) && told.contains(&path.display().to_string()), "{told}");
        }
        assert!(contents(&there) == before && !missing.exists(), "{kind}: the directory was changed");
    }
}

/// Records of a newer groupd in a store whose format is still this one's: in a log, and in the rows.
#[test]
fn records_of_a_newer_version_are_told_and_left_alone() {
    for folds in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let partition = OffsetsPartition(3);
        let settings = EmbeddedSettings {
            min_log: if folds { 0 } else { 1 << 20 },
            max_log: 1 << 20,
            folding: FoldingThread::Callers,
            ..EmbeddedSettings::default()
        };
        let open = || EmbeddedStore::open_directory(directory.path(), settings, 1).unwrap();
        let mut store = open();
        let epoch = store.acquire(&[partition]).unwrap()[0];
        let mut newer = Vec::new();
        RawRecord { kind: RecordKind::Group, key: b"g", value: Some(&[2, 0, 0]) }.write(&mut newer);
        store.append(&[Batch::from_encoded(partition, epoch, 1, newer).unwrap()]).unwrap();
        for _ in 0..8 {
            if folds {
                store.upkeep().unwrap();
            }
        }
        drop(store);
        let before = contents(directory.path());
        for _ in 0..2 {
            let mut store = open();
            let outcome: Result<Vec<_>, _> = store.load(partition, epoch).unwrap().collect();
            let told = outcome.unwrap_err();
            assert!(matches!(&told, StoreFailure::Newer(_)), "{told}");
            let words = "written by a newer groupd (a record has layout version 2";
            assert!(told.to_string().contains(words), "{told}");
            assert!(told.to_string().contains("run that version, nothing was changed"), "{told}");
        }
        // redb marks the file that it opens and closes; what is kept is as it was.
        for name in &FILES[1..] {
            let path = directory.path().join(name);
            assert!(contents(directory.path())[&path] == before[&path], "{name} was changed");
        }
    }
}
