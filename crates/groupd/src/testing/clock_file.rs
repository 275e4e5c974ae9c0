//! Where a simulated clock stands, kept in the data directory so that a restart does not take time back.
//!
//! The file also marks the directory as one for tests: a jump of a week expires what is kept in it for good.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use purgatory::Timestamp;

use super::YEAR_10000;

const FILE: &str = "simulated-clock";

/// The file of one data directory.
#[derive(Debug)]
pub(super) struct ClockFile {
    directory: PathBuf,
    kept: Timestamp,
}

impl ClockFile {
    /// That of `directory`. A directory that is empty, or not there, is marked, with the clock at `fresh`.
    ///
    /// # Errors
    ///
    /// If the directory was made by an ordinary server, or cannot be read or written.
    pub(super) fn open(directory: &Path, fresh: Timestamp) -> anyhow::Result<Self> {
        let path = directory.join(FILE);
        let cannot = |what| format!("cannot {what} {}", path.display());
        match fs::read_to_string(&path) {
            Ok(text) => {
                let kept = text.trim().parse().ok().filter(|ms| *ms < YEAR_10000);
                let kept = kept.with_context(|| format!("{} holds no time", path.display()))?;
                Ok(Self { directory: directory.to_owned(), kept: Timestamp::from_ticks(kept) })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if is_filled(directory).with_context(|| cannot("look beside"))? {
                    bail!(
                        "{} was made without --simulated-clock, and moving the clock would expire what is in it; \
                         name another --data-dir, or --store memory",
                        directory.display()
                    );
                }
                fs::create_dir_all(directory).with_context(|| cannot("make a place for"))?;
                let mut this = Self { directory: directory.to_owned(), kept: fresh };
                this.keep(fresh)?;
                Ok(this)
            }
            Err(error) => Err(error).with_context(|| cannot("read")),
        }
    }

    /// Whether `directory` has such a file.
    pub(super) fn is_in(directory: &Path) -> bool {
        directory.join(FILE).exists()
    }

    /// Where the clock stood.
    pub(super) fn kept(&self) -> Timestamp {
        self.kept
    }

    /// The clock is about to stand at `now`. After a crash the file has this time or the one before.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(super) fn keep(&mut self, now: Timestamp) -> anyhow::Result<()> {
        let path = self.directory.join(FILE);
        let write = || {
            let unfinished = self.directory.join(format!("{FILE}.tmp"));
            let mut file = File::create(&unfinished)?;
            writeln!(file, "{}", now.ticks())?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)?;
            File::open(&self.directory)?.sync_all()
        };
        write().with_context(|| format!("cannot write {}", path.display()))?;
        self.kept = now;
        Ok(())
    }
}

fn is_filled(directory: &Path) -> std::io::Result<bool> {
    match fs::read_dir(directory) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_marked_once_and_one_of_an_ordinary_server_is_left_alone() {
        let at = Timestamp::from_ticks;
        let home = tempfile::tempdir().expect("a directory");
        let data = home.path().join("data");
        let mut file = ClockFile::open(&data, at(5_000)).expect("is made");
        assert_eq!(file.kept(), at(5_000));
        file.keep(at(9_000)).expect("is written");
        assert_eq!(ClockFile::open(&data, at(6_000)).expect("is there").kept(), at(9_000));

        fs::write(data.join(FILE), "junk").expect("is written");
        assert!(ClockFile::open(&data, at(6_000)).is_err());
        fs::remove_file(data.join(FILE)).expect("was there");
        fs::write(data.join("meta.properties"), "").expect("is written");
        let refused = ClockFile::open(&data, at(6_000)).expect_err("was made by another");
        assert!(refused.to_string().contains("without --simulated-clock"), "{refused}");
        assert!(!ClockFile::is_in(&data));
    }
}
