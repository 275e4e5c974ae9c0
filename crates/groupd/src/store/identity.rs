//! What a data directory says about itself: whose it is, and what must not change while it lives.
//!
//! A small file of Kafka's name and form, `meta.properties`, beside the store. A group's records lie in the partition
//! that its name hashed to, so that the number of partitions is fixed when the directory is made.

use std::fs::TryLockError;
use std::io;
use std::path::Path;

use anyhow::{Context, bail};

use super::FileSystem;

const FILE: &str = "meta.properties";
const CLUSTER_ID: &str = "cluster.id";
const PARTITIONS: &str = "offsets.topic.num.partitions";
/// Bytes that are read of it: it has about a hundred.
const MOST: u64 = 64 << 10;

/// The cluster id of `directory`. A new directory becomes one of `partitions`, under the id `fresh`.
///
/// # Errors
///
/// If it was made with another number of partitions, or cannot be read or written.
pub fn cluster_id(
    files: &impl FileSystem,
    directory: &Path,
    partitions: i32,
    fresh: &str,
) -> anyhow::Result<String> {
    let path = directory.join(FILE);
    let Some(bytes) =
        files.beginning(&path, MOST).with_context(|| format!("cannot read {}", path.display()))?
    else {
        write(files, directory, partitions, fresh)
            .with_context(|| format!("cannot write {}", path.display()))?;
        return Ok(fresh.to_owned());
    };
    let text = String::from_utf8_lossy(&bytes);
    let value = |name| property(&text, name).with_context(|| format!("{} has no {name}", path.display()));
    let made_with = value(PARTITIONS)?;
    if made_with != partitions.to_string() {
        bail!(
            "{} was made with {PARTITIONS}={made_with}, which cannot become {partitions}",
            directory.display()
        );
    }
    value(CLUSTER_ID).map(str::to_owned)
}

fn property<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim()).find(|value| !value.is_empty())
}

/// Wholly there after a crash, or not at all.
fn write(files: &impl FileSystem, directory: &Path, partitions: i32, cluster_id: &str) -> io::Result<()> {
    let unfinished = directory.join(format!("{FILE}.tmp"));
    let text = format!("version=1\n{CLUSTER_ID}={cluster_id}\n{PARTITIONS}={partitions}\n");
    let file = files.open(&unfinished).map_err(|error| match error {
        TryLockError::WouldBlock => io::ErrorKind::ResourceBusy.into(),
        TryLockError::Error(error) => error,
    })?;
    file.set_len(0)?;
    file.write(0, text.as_bytes())?;
    file.sync_data()?;
    files.rename(&unfinished, &directory.join(FILE))?;
    files.sync_directory(directory)
}
