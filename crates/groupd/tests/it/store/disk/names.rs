//! The disk's directories: a name is certain to survive only once its directory was synced, whatever was done to the file.

use std::collections::BTreeMap;
use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use groupd::store::{FILES, FileSystem};
use rand::Rng;
use redb::StorageBackend;

use super::{Disk, Fault, FileState, Lies, SimulatedFile, Survival, error};

/// All names but that of the root, which is always there.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    seen: BTreeMap<PathBuf, Node>,
    durable: BTreeMap<PathBuf, Node>,
    /// What was done since the directory in question was synced, in order.
    unsynced: Vec<NameChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Directory,
    /// With its number.
    File(usize),
}

#[derive(Clone, Debug)]
struct NameChange {
    /// The name that is gone by it.
    from: Option<PathBuf>,
    to: PathBuf,
    node: Node,
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<PathBuf, Node>) {
        if let Some(from) = &self.from {
            names.remove(from);
        }
        names.insert(self.to.clone(), self.node);
    }
}

impl Names {
    /// As a crash leaves them. What is in a directory that is gone is gone.
    pub(super) fn survivor(&self, survival: Survival, rng: &mut impl Rng) -> Self {
        let mut names = self.durable.clone();
        for (from_end, change) in (0..self.unsynced.len()).rev().zip(&self.unsynced) {
            if survival.keeps(from_end, rng) {
                change.apply(&mut names);
            }
        }
        let directories = names.clone();
        let is_there = |path: &Path| is_root(path) || directories.contains_key(path);
        names.retain(|path, _| path.ancestors().skip(1).all(is_there));
        Self { seen: names.clone(), durable: names, unsynced: Vec::new() }
    }

    fn sync(&mut self, directory: &Path) {
        let inside = |path: &Path| path.parent() == Some(directory);
        self.durable.retain(|path, _| !inside(path));
        self.durable.extend(self.seen.iter().filter(|(path, _)| inside(path)).map(|(p, n)| (p.clone(), *n)));
        self.unsynced.retain(|change| !inside(&change.to));
    }
}

fn is_root(path: &Path) -> bool {
    path.parent().is_none()
}

impl Disk {
    /// Makes or changes a name.
    fn change_name(&self, change: NameChange) -> io::Result<()> {
        let mut state = self.0.lock();
        let fault = state.operate(|done| &mut done.names);
        if fault.is_none() {
            change.apply(&mut state.names.seen);
        }
        // Before a crash, it was on its way.
        if fault.is_none_or(|fault| fault == Fault::Crash) {
            state.names.unsynced.push(change);
        }
        fault.map_or(Ok(()), |fault| Err(error(fault)))
    }

    fn node(&self, path: &Path) -> Option<Node> {
        self.0.lock().names.seen.get(path).copied()
    }

    /// A new, empty file: the store's own have the numbers of their names.
    fn new_file(&self, path: &Path) -> usize {
        let mut state = self.0.lock();
        let ours = FILES.iter().position(|name| path.file_name().is_some_and(|found| found == *name));
        let number = ours.unwrap_or_else(|| {
            state.files.push(FileState::default());
            state.files.len() - 1
        });
        state.files[number] = FileState::default();
        number
    }
}

impl FileSystem for Disk {
    fn is_directory(&self, path: &Path) -> bool {
        is_root(path) || self.node(path) == Some(Node::Directory)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        assert!(
            path.parent().is_some_and(|parent| self.is_directory(parent)),
            "{} has no parent",
            path.display()
        );
        self.change_name(NameChange { from: None, to: path.to_owned(), node: Node::Directory })
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn StorageBackend>, TryLockError> {
        let index = match self.node(path) {
            Some(Node::File(index)) => index,
            Some(Node::Directory) => panic!("{} is a directory", path.display()),
            None => {
                let index = self.new_file(path);
                let made = NameChange { from: None, to: path.to_owned(), node: Node::File(index) };
                self.change_name(made).map_err(TryLockError::Error)?;
                index
            }
        };
        Ok(Arc::new(SimulatedFile { disk: self.clone(), index }))
    }

    fn beginning(&self, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(Node::File(index)) = self.node(path) else { return Ok(None) };
        let mut bytes = self.contents(index);
        bytes.truncate(usize::try_from(limit).unwrap());
        Ok(Some(bytes))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        assert_eq!(from.parent(), to.parent(), "one directory's sync covers both names");
        let node = self.node(from).ok_or(io::ErrorKind::NotFound)?;
        self.change_name(NameChange { from: Some(from.to_owned()), to: to.to_owned(), node })
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.lock();
        match state.operate(|done| &mut done.directory_syncs) {
            None if state.lies == Lies::OfNames => Ok(()),
            None => {
                state.names.sync(path);
                Ok(())
            }
            Some(fault) => Err(error(fault)),
        }
    }
}
