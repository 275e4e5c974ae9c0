//! A simulated disk: files whose writes are lost, kept or torn by a loss of power until they are synced.
//!
//! What survives is decided by hashing where a sector lies, not by drawing in the order of writes: so it does not
//! depend on the order in which a database below happens to write its pages.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use groupd::store::{SECTOR, StoreFiles};
use parking_lot::Mutex;
use redb::StorageBackend;

use crate::random::mix;

/// Which file of a store holds its rows; the others are its logs.
const ROWS: usize = 0;

/// How the disk fails at a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// The power goes before the sync is done.
    PowerLoss,
    /// The sync fails.
    Failed,
    /// There is no space left.
    Full,
}

/// A disk with the three files of a store.
#[derive(Clone, Debug)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    files: [FileState; 3],
    /// What happens at the next sync.
    fault: Option<DiskFault>,
    dead: bool,
    /// Syncs say that they are done, and do nothing: a planted fault.
    lies: bool,
}

#[derive(Clone, Debug, Default)]
struct FileState {
    /// What a reader sees.
    seen: Vec<u8>,
    /// What is certain to survive.
    durable: Vec<u8>,
    /// What was done since the last sync, in order.
    unsynced: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl Disk {
    /// An empty disk.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(State::default())))
    }

    /// The next sync fails so.
    pub fn fail_next_sync(&self, fault: DiskFault) {
        self.0.lock().fault = Some(fault);
    }

    /// The next sync does not fail.
    pub fn heal(&self) {
        self.0.lock().fault = None;
    }

    /// From now on syncs do nothing and say that they are done.
    pub fn lie(&self) {
        self.0.lock().lies = true;
    }

    /// The disk after the power came back: of what was not synced, what `seed` leaves, each sector apart.
    #[must_use]
    pub fn after_power_loss(&self, seed: u64) -> Self {
        let state = self.0.lock();
        let mut files = state.files.clone();
        for (index, file) in files.iter_mut().enumerate() {
            file.lose_power(mix(seed ^ index as u64));
        }
        Self(Arc::new(Mutex::new(State { files, fault: None, dead: false, lies: state.lies })))
    }

    /// The disk as another process finds it: all that was written is there.
    #[must_use]
    pub fn after_kill(&self) -> Self {
        let state = self.0.lock();
        let files = state.files.clone();
        Self(Arc::new(Mutex::new(State { files, fault: None, dead: false, lies: state.lies })))
    }

    /// The files, for a store to open.
    pub fn store_files(&self) -> StoreFiles {
        let file =
            |index| -> Arc<dyn StorageBackend> { Arc::new(SimulatedFile { disk: self.clone(), index }) };
        StoreFiles { rows: file(ROWS), logs: [file(1), file(2)], lock: None }
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self::new()
    }
}

impl FileState {
    fn lose_power(&mut self, seed: u64) {
        let sector = usize::try_from(SECTOR).unwrap_or(512);
        // All or nothing too, not only random parts: those are the common cases.
        let mode = seed % 4;
        let mut nth: BTreeMap<usize, u64> = BTreeMap::new();
        let mut keeps = |at: usize| {
            let nth = nth.entry(at).or_default();
            *nth += 1;
            mode == 0 || (mode > 1 && mix(seed ^ mix(at as u64) ^ *nth).is_multiple_of(2))
        };
        for change in std::mem::take(&mut self.unsynced) {
            match change {
                Change::Length(length) => {
                    if keeps(usize::MAX) {
                        self.durable.resize(length, 0);
                    }
                }
                Change::Write(at, data) => {
                    for start in (0..data.len()).step_by(sector) {
                        if keeps(at + start) {
                            put(&mut self.durable, at + start, &data[start..data.len().min(start + sector)]);
                        }
                    }
                }
            }
        }
        self.seen.clone_from(&self.durable);
    }

    fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            match change {
                Change::Length(length) => self.durable.resize(length, 0),
                Change::Write(at, data) => put(&mut self.durable, at, &data),
            }
        }
    }
}

fn put(bytes: &mut Vec<u8>, at: usize, data: &[u8]) {
    if bytes.len() < at + data.len() {
        bytes.resize(at + data.len(), 0);
    }
    bytes[at..at + data.len()].copy_from_slice(data);
}

impl State {
    fn refuse_if_dead(&self) -> io::Result<()> {
        if self.dead { Err(io::Error::other("the power is gone")) } else { Ok(()) }
    }
}

#[derive(Debug)]
struct SimulatedFile {
    disk: Disk,
    index: usize,
}

fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge.into())
}

impl StorageBackend for SimulatedFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.0.lock().files[self.index].seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.disk.0.lock();
        let at = place(offset)?;
        let bytes = state.files[self.index].seen.get(at..at + out.len());
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.0.lock();
        state.refuse_if_dead()?;
        let length = place(len)?;
        let file = &mut state.files[self.index];
        file.seen.resize(length, 0);
        file.unsynced.push(Change::Length(length));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.disk.0.lock();
        state.refuse_if_dead()?;
        if state.lies {
            return Ok(());
        }
        match state.fault.take() {
            None => {
                state.files[self.index].sync();
                Ok(())
            }
            Some(DiskFault::PowerLoss) => {
                state.dead = true;
                Err(io::Error::other("the power is gone"))
            }
            Some(DiskFault::Failed) => Err(io::Error::other("a bad sector")),
            Some(DiskFault::Full) => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.disk.0.lock();
        state.refuse_if_dead()?;
        let at = place(offset)?;
        let file = &mut state.files[self.index];
        put(&mut file.seen, at, data);
        file.unsynced.push(Change::Write(at, data.to_vec()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_synced_survives_and_what_is_not_may_not() {
        let mut kept = [0, 0];
        for seed in 0..64 {
            let disk = Disk::new();
            let file = SimulatedFile { disk: disk.clone(), index: 1 };
            file.write(0, &[1; 512]).unwrap();
            file.sync_data().unwrap();
            file.write(0, &[2; 512]).unwrap();
            disk.fail_next_sync(DiskFault::PowerLoss);
            assert!(file.sync_data().is_err() && file.write(0, &[3]).is_err());
            let after = SimulatedFile { disk: disk.after_power_loss(mix(seed)), index: 1 };
            let mut bytes = [0; 512];
            after.read(0, &mut bytes).unwrap();
            assert!(bytes == [1; 512] || bytes == [2; 512]);
            kept[usize::from(bytes[0]) - 1] += 1;
        }
        assert!(kept[0] > 10 && kept[1] > 10, "{kept:?}");
    }
}
