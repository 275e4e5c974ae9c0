//! A simulated disk: files whose writes, and names that, are lost, kept or torn in a crash until they are synced.

mod names;
mod survival;

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use rand::Rng;
use redb::StorageBackend;

use groupd::store::{EmbeddedSettings, FoldingThread, SECTOR, StoreFiles};

use names::Names;
pub(super) use survival::Survival;

/// What a disk does at its `at`-th operation (a write, a change of length, a sync, a name that is made or changed, a
/// sync of a directory).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Power goes: this operation and all later ones fail, and what was not synced is anyone's guess.
    Crash,
    /// The operation fails, a write having written half; the next would work.
    Error,
    /// As [`Fault::Error`], because the disk is full.
    Full,
}

/// A disk with files, shared by all of them.
#[derive(Clone, Debug)]
pub(super) struct Disk(Arc<Mutex<State>>);

/// Which syncs say that they are done, and do nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lies {
    Never,
    OfFiles,
    OfNames,
}

#[derive(Debug)]
struct State {
    files: Vec<FileState>,
    names: Names,
    done: Operations,
    fault: Option<(u64, Fault)>,
    crashed: bool,
    lies: Lies,
    fold_fails: bool,
}

/// How many operations of each kind there were: each is a place to crash at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Operations {
    pub(super) writes: u64,
    pub(super) lengths: u64,
    pub(super) syncs: u64,
    pub(super) names: u64,
    pub(super) directory_syncs: u64,
}

impl Operations {
    pub(super) fn all(&self) -> u64 {
        self.writes + self.lengths + self.syncs + self.names + self.directory_syncs
    }
}

impl std::fmt::Display for Operations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { writes, lengths, syncs, names, directory_syncs } = self;
        write!(
            f,
            "{writes} writes, {lengths} changes of length, {syncs} syncs, {names} names made or changed, \
             {directory_syncs} syncs of a directory"
        )
    }
}

#[derive(Clone, Debug, Default)]
struct FileState {
    /// What a reader sees.
    seen: Vec<u8>,
    /// What is certain to survive.
    durable: Vec<u8>,
    /// What was done since, in order.
    unsynced: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(at, data) => put(bytes, usize::try_from(*at).unwrap(), data),
            Self::Length(length) => bytes.resize(usize::try_from(*length).unwrap(), 0),
        }
    }
}

impl Disk {
    pub(super) fn new(files: usize) -> Self {
        Self::with_files(vec![FileState::default(); files], Names::default())
    }

    fn with_files(files: Vec<FileState>, names: Names) -> Self {
        Self(Arc::new(Mutex::new(State {
            files,
            names,
            done: Operations::default(),
            fault: None,
            crashed: false,
            lies: Lies::Never,
            fold_fails: false,
        })))
    }

    /// Lets the `at`-th operation from now fail so. The first is 0.
    pub(super) fn fail_at(&self, at: u64, fault: Fault) {
        let mut state = self.0.lock();
        state.fault = Some((state.done.all() + at, fault));
    }

    /// From now on syncs say that they are done, and do nothing.
    pub(super) fn lie(&self) {
        self.0.lock().lies = Lies::OfFiles;
    }

    /// From now on syncs of directories say that they are done, and do nothing.
    pub(super) fn forget_names(&self) {
        self.0.lock().lies = Lies::OfNames;
    }

    /// From now on the folding thread finds the disk bad, and nobody else does.
    pub(super) fn fail_the_fold(&self) {
        self.0.lock().fold_fails = true;
    }

    pub(super) fn operations(&self) -> u64 {
        self.done().all()
    }

    pub(super) fn done(&self) -> Operations {
        self.0.lock().done
    }

    pub(super) fn has_crashed(&self) -> bool {
        self.0.lock().crashed
    }

    /// The disk as it is found after the power came back, if of what was not synced `survival` is left; where that
    /// leaves a choice, `rng` makes it.
    pub(super) fn after_crash(&self, survival: Survival, rng: &mut impl Rng) -> Self {
        let state = self.0.lock();
        let files = state.files.iter().map(|file| file.survivor(survival, rng)).collect();
        Self::with_files(files, state.names.survivor(survival, rng))
    }

    /// The disk as another process finds it: all that was written is there.
    pub(super) fn after_kill(&self) -> Self {
        let state = self.0.lock();
        Self::with_files(state.files.clone(), state.names.clone())
    }

    /// Flips bits of a byte, everywhere.
    pub(super) fn damage(&self, file: usize, at: usize, bits: u8) {
        let file = &mut self.0.lock().files[file];
        file.seen[at] ^= bits;
        file.durable[at] ^= bits;
    }

    pub(super) fn contents(&self, file: usize) -> Vec<u8> {
        self.0.lock().files[file].seen.clone()
    }

    pub(super) fn set_contents(&self, file: usize, bytes: &[u8]) {
        let file = &mut self.0.lock().files[file];
        *file = FileState { seen: bytes.to_vec(), durable: bytes.to_vec(), unsynced: Vec::new() };
    }

    pub(super) fn store_files(&self) -> StoreFiles {
        let file =
            |index| -> Arc<dyn StorageBackend> { Arc::new(SimulatedFile { disk: self.clone(), index }) };
        StoreFiles { rows: file(0), logs: [file(1), file(2)], lock: None }
    }
}

/// Small bounds, so that a small workload sees every path; and one thread, so that every run is the same.
pub(super) fn small_settings() -> EmbeddedSettings {
    EmbeddedSettings {
        min_log: 4 * SECTOR,
        max_log: 4 * SECTOR,
        log_growth: 4 * SECTOR,
        fold_step: 200,
        cache: 1 << 20,
        folding: FoldingThread::Callers,
        verify: false,
    }
}

fn put(bytes: &mut Vec<u8>, at: usize, data: &[u8]) {
    if bytes.len() < at + data.len() {
        bytes.resize(at + data.len(), 0);
    }
    bytes[at..at + data.len()].copy_from_slice(data);
}

impl State {
    /// Counts an operation, and says whether it fails.
    fn operate(&mut self, kind: impl FnOnce(&mut Operations) -> &mut u64) -> Option<Fault> {
        if self.crashed {
            return Some(Fault::Crash);
        }
        if self.fold_fails && std::thread::current().name() == Some("store-fold") {
            return Some(Fault::Error);
        }
        let now = self.done.all();
        *kind(&mut self.done) += 1;
        let fault = self.fault.and_then(|(at, fault)| (at == now).then_some(fault))?;
        self.crashed = fault == Fault::Crash;
        Some(fault)
    }
}

fn error(fault: Fault) -> io::Error {
    match fault {
        Fault::Crash => io::Error::other("the power is gone"),
        Fault::Error => io::Error::other("a bad sector"),
        Fault::Full => io::ErrorKind::StorageFull.into(),
    }
}

#[derive(Debug)]
struct SimulatedFile {
    disk: Disk,
    index: usize,
}

impl StorageBackend for SimulatedFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.0.lock().files[self.index].seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.disk.0.lock();
        let at = usize::try_from(offset).unwrap();
        let bytes = state.files[self.index].seen.get(at..at + out.len());
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.0.lock();
        let fault = state.operate(|done| &mut done.lengths);
        let file = &mut state.files[self.index];
        if let Some(fault) = fault {
            if fault == Fault::Crash {
                file.unsynced.push(Change::Length(len));
            }
            return Err(error(fault));
        }
        file.seen.resize(usize::try_from(len).unwrap(), 0);
        file.unsynced.push(Change::Length(len));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.disk.0.lock();
        let fault = state.operate(|done| &mut done.syncs);
        let lies = state.lies;
        let file = &mut state.files[self.index];
        match fault {
            None if lies == Lies::OfFiles => Ok(()),
            None => {
                // The few changes rather than all bytes: this is what such a test spends its time on.
                for change in std::mem::take(&mut file.unsynced) {
                    change.apply(&mut file.durable);
                }
                Ok(())
            }
            Some(fault) => Err(error(fault)),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.disk.0.lock();
        let fault = state.operate(|done| &mut done.writes);
        let file = &mut state.files[self.index];
        let written = match fault {
            None => data,
            // All of it was on its way.
            Some(Fault::Crash) => {
                file.unsynced.push(Change::Write(offset, data.to_vec()));
                return Err(error(Fault::Crash));
            }
            Some(Fault::Error | Fault::Full) => &data[..data.len() / 2],
        };
        put(&mut file.seen, usize::try_from(offset).unwrap(), written);
        file.unsynced.push(Change::Write(offset, written.to_vec()));
        fault.map_or(Ok(()), |fault| Err(error(fault)))
    }
}
