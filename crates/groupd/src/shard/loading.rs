//! Reads what is kept for a shard's partitions, on a thread of its own: reading waits for a disk or a network, and
//! the shard must not.

use std::time::Instant;

use anyhow::Context;
use coordinator::ids::{OffsetsPartition, OwnerEpoch};
use crossbeam_channel::{Receiver, Sender, bounded};

use super::progress::Progress;
use crate::store::PartitionReader;
use crate::store::layout::Kept;

/// Chunks that are read and not yet taken by the shard.
const AHEAD: usize = 2;

/// A partition to be owned, and what is kept for it.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) partition: OffsetsPartition,
    pub(crate) epoch: OwnerEpoch,
    pub(crate) records: PartitionReader,
}

/// What a shard is told while it loads. The end of the channel is the end of loading.
#[derive(Debug)]
pub(super) enum Loading {
    /// Some records, in the order they were written.
    Chunk(OffsetsPartition, Kept),
    /// The partition has no more of them.
    Finished(OffsetsPartition),
    /// What is kept cannot be read.
    Failed(anyhow::Error),
}

/// Starts to read.
///
/// # Errors
///
/// If the system has no thread left.
pub(super) fn start(owned: Vec<Owned>) -> std::io::Result<Receiver<Loading>> {
    let (sender, receiver) = bounded(AHEAD);
    std::thread::Builder::new().name("loader".to_owned()).spawn(move || {
        if let Err(why) = read(owned, &sender) {
            // A shard that is gone has no use for it.
            let _ = sender.send(Loading::Failed(why));
        }
    })?;
    Ok(receiver)
}

fn read(owned: Vec<Owned>, sender: &Sender<Loading>) -> anyhow::Result<()> {
    let mut progress = Progress::new(owned.len(), Instant::now());
    let tell = |line: Option<String>| line.into_iter().for_each(|line| tracing::info!("{line}"));
    for Owned { partition, mut records, .. } in owned {
        while let Some(chunk) = records
            .next_kept()
            .with_context(|| format!("offsets partition {} cannot be loaded", partition.0))?
        {
            tell(progress.read(chunk.groups.len() + chunk.transactions.len(), Instant::now()));
            sender.send(Loading::Chunk(partition, chunk)).context("the shard is gone")?;
        }
        sender.send(Loading::Finished(partition)).context("the shard is gone")?;
        tell(progress.finished(Instant::now()));
    }
    Ok(())
}
