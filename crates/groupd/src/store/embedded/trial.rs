//! Lets redb open a file without changing it: what it writes is kept apart until the store is found to be sound.
//!
//! redb marks a file that it opens, and repairs one that a crash left, before anybody can look at what is in it. A file
//! that is then refused must be as it was.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use redb::StorageBackend;

/// The file of rows as redb wants it. Who else may use it is decided by the lock on the directory.
#[derive(Clone, Debug)]
pub(super) struct RowsFile {
    file: Arc<dyn StorageBackend>,
    /// What was written on trial, in order; none once the trial is over. That is what redb writes when it opens a file:
    /// its header and, after a crash, what is free in it.
    trial: Arc<Mutex<Option<Vec<Step>>>>,
}

#[derive(Debug)]
enum Step {
    Write(u64, Vec<u8>),
    Length(u64),
    Sync,
}

impl RowsFile {
    /// A file that may be changed at once.
    pub(super) fn new(file: Arc<dyn StorageBackend>) -> Self {
        Self { file, trial: Arc::default() }
    }

    /// A file that must not be changed before [`RowsFile::accept`].
    pub(super) fn on_trial(file: Arc<dyn StorageBackend>) -> Self {
        Self { file, trial: Arc::new(Mutex::new(Some(Vec::new()))) }
    }

    /// The trial is over: does what was put off, in order, with its syncs.
    pub(super) fn accept(&self) -> io::Result<()> {
        let mut trial = self.trial.lock();
        for step in trial.take().unwrap_or_default() {
            match step {
                Step::Write(at, bytes) => self.file.write(at, &bytes)?,
                Step::Length(length) => self.file.set_len(length)?,
                Step::Sync => self.file.sync_data()?,
            }
        }
        Ok(())
    }
}

impl StorageBackend for RowsFile {
    fn len(&self) -> io::Result<u64> {
        match self.trial.lock().as_deref() {
            Some(steps) => Ok(length_after(self.file.len()?, steps)),
            None => self.file.len(),
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let trial = self.trial.lock();
        match trial.as_deref() {
            None | Some([]) => {
                drop(trial);
                self.file.read(offset, out)
            }
            Some(steps) => read_after(self.file.as_ref(), steps, offset, out),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        match self.trial.lock().as_mut() {
            Some(steps) => steps.push(Step::Length(len)),
            None => return self.file.set_len(len),
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        // The lock is not held while the disk works.
        if let Some(steps) = self.trial.lock().as_mut() {
            steps.push(Step::Sync);
            return Ok(());
        }
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if let Some(steps) = self.trial.lock().as_mut() {
            steps.push(Step::Write(offset, data.to_vec()));
            return Ok(());
        }
        self.file.write(offset, data)
    }
}

fn length_after(before: u64, steps: &[Step]) -> u64 {
    steps.iter().fold(before, |length, step| match step {
        Step::Write(at, bytes) => length.max(at + bytes.len() as u64),
        Step::Length(length) => *length,
        Step::Sync => length,
    })
}

/// What is at `offset` once all steps are done.
fn read_after(file: &dyn StorageBackend, steps: &[Step], offset: u64, out: &mut [u8]) -> io::Result<()> {
    let before = file.len()?;
    if offset + out.len() as u64 > length_after(before, steps) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let there = part(before.saturating_sub(offset), out.len());
    if there > 0 {
        file.read(offset, &mut out[..there])?;
    }
    out[there..].fill(0);
    for step in steps {
        match step {
            Step::Write(at, bytes) => {
                let (from, skip) = (
                    part(at.saturating_sub(offset), out.len()),
                    part(offset.saturating_sub(*at), bytes.len()),
                );
                let count = (out.len() - from).min(bytes.len() - skip);
                out[from..from + count].copy_from_slice(&bytes[skip..skip + count]);
            }
            Step::Length(length) => {
                let from = part(length.saturating_sub(offset), out.len());
                out[from..].fill(0);
            }
            Step::Sync => {}
        }
    }
    Ok(())
}

/// So many bytes, but no more than there are.
fn part(bytes: u64, of: usize) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX).min(of)
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;

    fn contents(file: &dyn StorageBackend) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        file.read(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_done_on_trial_is_seen_and_changes_nothing_before_it_is_accepted() {
        let file: Arc<dyn StorageBackend> = Arc::new(InMemoryBackend::new());
        file.set_len(6).unwrap();
        file.write(0, b"abcdef").unwrap();
        let trial = RowsFile::on_trial(Arc::clone(&file));
        trial.set_len(8).unwrap();
        trial.write(4, b"XYZ!").unwrap();
        trial.write(1, b"_").unwrap();
        trial.sync_data().unwrap();
        trial.set_len(5).unwrap();
        trial.set_len(7).unwrap();
        assert_eq!(contents(&trial), b"a_cdX\0\0");
        let mut middle = [0; 3];
        trial.read(3, &mut middle).unwrap();
        assert_eq!(&middle, b"dX\0");
        assert!(trial.read(5, &mut middle).is_err());
        assert_eq!(contents(file.as_ref()), b"abcdef");
        trial.accept().unwrap();
        assert_eq!(contents(file.as_ref()), b"a_cdX\0\0");
        trial.write(0, b"A").unwrap();
        assert_eq!(contents(file.as_ref()), b"A_cdX\0\0");
    }
}
