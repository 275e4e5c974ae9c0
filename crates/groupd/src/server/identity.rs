//! What a data directory says about itself: whose it is, and what must not change while it lives.
//!
//! A small file of Kafka's name and form, `meta.properties`, beside the store. A group's records lie in the partition
//! that its name hashed to, so that the number of partitions is fixed when the directory is made.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, bail};

const FILE: &str = "meta.properties";
const CLUSTER_ID: &str = "cluster.id";
const PARTITIONS: &str = "offsets.topic.num.partitions";

/// The cluster id of `directory`. A new directory becomes one of `partitions`, under the id `fresh`.
///
/// # Errors
///
/// If it was made with another number of partitions, or cannot be read or written.
pub(super) fn cluster_id(directory: &Path, partitions: i32, fresh: &str) -> anyhow::Result<String> {
    let path = directory.join(FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            write(directory, partitions, fresh)
                .with_context(|| format!("cannot write {}", path.display()))?;
            return Ok(fresh.to_owned());
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
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
fn write(directory: &Path, partitions: i32, cluster_id: &str) -> std::io::Result<()> {
    let unfinished = directory.join(format!("{FILE}.tmp"));
    let mut file = File::create(&unfinished)?;
    write!(file, "version=1\n{CLUSTER_ID}={cluster_id}\n{PARTITIONS}={partitions}\n")?;
    file.sync_all()?;
    fs::rename(&unfinished, directory.join(FILE))?;
    File::open(directory)?.sync_all()
}
