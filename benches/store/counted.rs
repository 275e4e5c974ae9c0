//! Files that count the bytes written to them.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use groupd::store::{FILES, StoreFiles};
use redb::StorageBackend;
use redb::backends::FileBackend;

/// Shared by all files of a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters(Arc<AtomicU64>);

impl Counters {
    /// Bytes written so far.
    pub(crate) fn written(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// More were written.
    pub(crate) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Counted {
    file: FileBackend,
    counters: Counters,
}

impl StorageBackend for Counted {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.counters.add(data.len());
        self.file.write(offset, data)
    }
}

/// The files of a store in `directory`, new and empty.
pub(crate) fn files(directory: &Path, counters: &Counters) -> io::Result<StoreFiles> {
    open(directory, counters, OpenOptions::new().read(true).write(true).create(true).truncate(true))
}

/// The files that are there.
pub(crate) fn reopen(directory: &Path) -> io::Result<StoreFiles> {
    open(directory, &Counters::default(), OpenOptions::new().read(true).write(true))
}

fn open(directory: &Path, counters: &Counters, options: &OpenOptions) -> io::Result<StoreFiles> {
    let open = |name: &str| -> io::Result<Arc<dyn StorageBackend>> {
        let file = FileBackend::new(options.open(directory.join(name))?).map_err(io::Error::other)?;
        Ok(Arc::new(Counted { file, counters: counters.clone() }))
    };
    Ok(StoreFiles { rows: open(FILES[0])?, logs: [open(FILES[1])?, open(FILES[2])?], lock: None })
}
