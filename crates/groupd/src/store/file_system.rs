//! The file system, as far as what is kept depends on it: names that are made, renamed, and made durable.
//!
//! That a file's bytes are synced says nothing of its name: the directory has to be synced too. Nothing is ever
//! removed, so that there is no way to ask for it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use redb::StorageBackend;
use redb::backends::FileBackend;

/// Where directories and files are. The tests' own loses, in a crash, what was not synced.
pub trait FileSystem {
    /// Whether there is a directory of this name.
    fn is_directory(&self, path: &Path) -> bool;

    /// Makes a directory, whose parent is there. Not yet durable.
    ///
    /// # Errors
    /// As the system says.
    fn create_directory(&self, path: &Path) -> io::Result<()>;

    /// Opens a file, or makes it, and keeps others out for as long as it is open. Its name is not yet durable.
    ///
    /// # Errors
    /// As the system says; [`TryLockError::WouldBlock`]: somebody else has it open.
    fn open(&self, path: &Path) -> Result<Arc<dyn StorageBackend>, TryLockError>;

    /// The first bytes of a file, `limit` at most. None: there is no such file.
    ///
    /// # Errors
    /// As the system says.
    fn beginning(&self, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>>;

    /// Gives a file another name in the same directory, in one step; what had that name is gone. Not yet durable.
    ///
    /// # Errors
    /// As the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// As the system says.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// That of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemFiles;

impl FileSystem for SystemFiles {
    fn is_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        std::fs::create_dir(path)
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn StorageBackend>, TryLockError> {
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = opened.map_err(TryLockError::Error)?;
        file.try_lock()?;
        let backend = FileBackend::new(file).map_err(|error| TryLockError::Error(io::Error::other(error)))?;
        Ok(Arc::new(backend))
    }

    fn beginning(&self, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        match File::open(path) {
            Ok(file) => file.take(limit).read_to_end(&mut bytes).map(|_| Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    #[cfg(unix)]
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    #[cfg(not(unix))]
    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}
