//! Takes the directory of a store: makes it if it is not there, keeps others out, and makes its names durable.

use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::StorageBackend;

use super::log::SECTOR;
use super::open::{io_failure, recognize};
use super::{EmbeddedSettings, EmbeddedStore, StoreFiles};
use crate::store::StoreFailure;
use crate::store::file_system::{FileSystem, SystemFiles};

/// The names of a store's files in its directory: rows, then the logs.
pub const FILES: [&str; 3] = ["groupd.redb", "groupd.log.0", "groupd.log.1"];
/// The file whose lock keeps a second server out.
pub const LOCK_FILE: &str = "groupd.lock";

/// Why a directory could not be opened as a store. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory is not there and cannot be made.
    #[error("cannot create the data directory {}: {cause}; name another with --data-dir", path.display())]
    Create {
        /// Which.
        path: PathBuf,
        /// Why. Not a source: the message says it already.
        cause: io::Error,
    },
    /// A file in it cannot be opened for reading and writing.
    #[error(
        "cannot open {} for reading and writing: {cause}; \
         give this user the right to, or name another directory with --data-dir", path.display()
    )]
    Access {
        /// Which.
        path: PathBuf,
        /// Why. Not a source: the message says it already.
        cause: io::Error,
    },
    /// It is on a file system that is mounted so that nobody writes to it.
    #[error(
        "{} is on a read-only file system; mount it for writing, or name another directory with --data-dir",
        path.display()
    )]
    ReadOnly {
        /// Which file or directory.
        path: PathBuf,
    },
    /// Another process has it open.
    #[error(
        "the data directory {} is in use by another groupd; \
         stop that one, or name another directory with --data-dir", path.display()
    )]
    InUse {
        /// Which.
        path: PathBuf,
    },
    /// What is in it cannot be used.
    #[error("cannot use the data directory {}: {failure}", path.display())]
    Store {
        /// Which.
        path: PathBuf,
        /// Why.
        failure: StoreFailure,
    },
}

impl OpenError {
    fn create(path: &Path, cause: io::Error) -> Self {
        Self::of(path, cause).unwrap_or_else(|cause| Self::Create { path: path.to_owned(), cause })
    }

    fn access(path: &Path, cause: io::Error) -> Self {
        Self::of(path, cause).unwrap_or_else(|cause| Self::Access { path: path.to_owned(), cause })
    }

    /// What has nothing to do with rights.
    fn of(path: &Path, cause: io::Error) -> Result<Self, io::Error> {
        let path = path.to_owned();
        match cause.kind() {
            io::ErrorKind::ReadOnlyFilesystem => Ok(Self::ReadOnly { path }),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Ok(Self::Store { path, failure: StoreFailure::DiskFull })
            }
            _ => Err(cause),
        }
    }
}

impl EmbeddedStore {
    /// Opens the store in a directory, or makes both. See [`EmbeddedStore::open`] for `seed`.
    ///
    /// # Errors
    /// [`OpenError`]: says what to do.
    pub fn open_directory(path: &Path, settings: EmbeddedSettings, seed: u64) -> Result<Self, OpenError> {
        Self::open_directory_in(&SystemFiles, path, settings, seed)
    }

    /// As [`EmbeddedStore::open_directory`], in these files.
    ///
    /// # Errors
    /// [`OpenError`]: says what to do.
    pub fn open_directory_in(
        files: &impl FileSystem,
        path: &Path,
        settings: EmbeddedSettings,
        seed: u64,
    ) -> Result<Self, OpenError> {
        make_directories(files, path)?;
        look_before_making(files, path)?;
        let lock = open_locked(files, path, LOCK_FILE)?;
        let [rows, first, second] = FILES.map(|name| open_locked(files, path, name));
        let store_files = StoreFiles { rows: rows?, logs: [first?, second?], lock: Some(lock) };
        // The names must be as durable as what will be in the files.
        sync_names(files, path)?;
        Self::open(store_files, settings, seed)
            .map_err(|failure| OpenError::Store { path: path.to_owned(), failure })
    }
}

/// Makes the directory and those above it, as far as they are not there.
fn make_directories(files: &impl FileSystem, path: &Path) -> Result<(), OpenError> {
    let missing: Vec<_> = above(path).into_iter().take_while(|path| !files.is_directory(path)).collect();
    for missing in missing.iter().rev() {
        match files.create_directory(missing) {
            // Somebody else makes it at the same time.
            Err(_) if files.is_directory(missing) => {}
            made => made.map_err(|cause| OpenError::create(path, cause))?,
        }
    }
    Ok(())
}

/// Makes the names in the directory durable, and its own, and those of the directories above: an earlier start may
/// have made them and been killed before this.
fn sync_names(files: &impl FileSystem, path: &Path) -> Result<(), OpenError> {
    for (distance, directory) in above(path).iter().enumerate() {
        match files.sync_directory(directory) {
            // What is further up and not this user's to write was not made by it.
            Err(error) if distance > 0 && is_refusal(&error) => {}
            synced => synced.map_err(|cause| OpenError::access(directory, cause))?,
        }
    }
    Ok(())
}

fn is_refusal(error: &io::Error) -> bool {
    let refusals =
        [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::InvalidInput];
    refusals.contains(&error.kind())
}

/// The directory, then those above it.
fn above(path: &Path) -> Vec<PathBuf> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.ancestors().map(Path::to_owned).collect()
}

/// Opens or makes a file. Each is locked: the lock file may have been removed beneath a server.
fn open_locked(
    files: &impl FileSystem,
    directory: &Path,
    name: &str,
) -> Result<Arc<dyn StorageBackend>, OpenError> {
    let path = directory.join(name);
    files.open(&path).map_err(|error| match error {
        TryLockError::WouldBlock => OpenError::InUse { path: directory.to_owned() },
        TryLockError::Error(cause) => OpenError::access(&path, cause),
    })
}

/// Refuses files that are no store's before anything is made beside them.
fn look_before_making(files: &impl FileSystem, directory: &Path) -> Result<(), OpenError> {
    let mut sectors = [const { Vec::new() }; 3];
    for (name, sector) in FILES.iter().zip(&mut sectors) {
        let path = directory.join(name);
        let beginning = files.beginning(&path, SECTOR).map_err(|cause| OpenError::access(&path, cause))?;
        *sector = beginning.unwrap_or_default();
    }
    let [rows, first, second] = &sectors;
    recognize(rows, [first, second])
        .map(drop)
        .map_err(|failure| OpenError::Store { path: directory.to_owned(), failure })
}

/// What a first look makes of a disk that fails.
impl From<OpenError> for StoreFailure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Store { failure, .. } => failure,
            OpenError::Create { cause, .. } | OpenError::Access { cause, .. } => io_failure(cause),
            OpenError::ReadOnly { .. } | OpenError::InUse { .. } => Self::Io(error.to_string()),
        }
    }
}
