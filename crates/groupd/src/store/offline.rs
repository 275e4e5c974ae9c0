//! `groupd store check | export | import`: looks at a data directory while no server has it open.
//!
//! What is exported is what a start would load, one JSON object a line, so that it can be searched, changed and
//! put back. An import goes into a directory that holds nothing yet.

mod line;

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use coordinator::ids::{OffsetsPartition, OwnerEpoch};

use super::layout::RawRecord;
use super::{Batch, EmbeddedSettings, EmbeddedStore, MemoryStore, Store, Upkeep};
use crate::shown;
use line::Line;

/// Bytes of records after which an import commits.
const IMPORT_BATCH: usize = 256 * 1024;

/// What can be done with a data directory while no server runs on it.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Read all of it, verify every checksum, and say what is there
    Check(Directory),
    /// Print what is kept, one JSON object a line
    Export(Directory),
    /// Read what `export` printed from standard input, into a directory that is empty
    Import(Directory),
}

/// The directory in question.
#[derive(Debug, Args)]
pub struct Directory {
    /// Where group state is kept
    #[arg(long, value_name = "DIR", default_value = "groupd-data")]
    pub data_dir: PathBuf,
}

impl StoreCommand {
    /// Does it, with these as standard input and output.
    ///
    /// # Errors
    /// What is wrong with the directory or the input, in words.
    pub fn run(&self, input: impl BufRead, mut output: impl Write) -> anyhow::Result<()> {
        match self {
            Self::Check(directory) => check(&directory.data_dir, &mut output),
            Self::Export(directory) => export(&directory.data_dir, &mut output),
            Self::Import(directory) => import(&directory.data_dir, input, &mut output),
        }
    }
}

/// What a check counts.
#[derive(Debug, Default)]
struct Found {
    groups: u64,
    members: u64,
    offsets: u64,
    pending: u64,
    topics: u64,
    transactions: u64,
}

fn check(path: &Path, output: &mut impl Write) -> anyhow::Result<()> {
    let mut store = open(path, true)?;
    let mut found = Found::default();
    each_line(&mut store, |line| {
        match line {
            Line::Group { members, .. } => {
                found.groups += 1;
                found.members += members.len() as u64;
            }
            Line::Offset { .. } => found.offsets += 1,
            Line::PendingOffset { .. } => found.pending += 1,
            Line::Topic { .. } => found.topics += 1,
            Line::Transaction(_) => found.transactions += 1,
            Line::ProducerIds { .. } => {}
        }
        Ok(())
    })?;
    let Found { groups, members, offsets, pending, topics, transactions } = found;
    writeln!(output, "{} is sound: all of it was read, every checksum matches", path.display())?;
    writeln!(output, "{groups} groups with {members} members, {offsets} offsets, {topics} topics")?;
    if transactions > 0 {
        writeln!(output, "{transactions} transactional ids")?;
    }
    if pending > 0 {
        writeln!(output, "{pending} offsets wait for the end of a transaction")?;
    }
    output.flush()?;
    Ok(())
}

fn export(path: &Path, output: &mut impl Write) -> anyhow::Result<()> {
    let mut store = open(path, false)?;
    each_line(&mut store, |line| {
        writeln!(output, "{}", shown::json(&serde_json::to_string(&line)?))?;
        Ok(())
    })?;
    output.flush()?;
    Ok(())
}

fn import(path: &Path, input: impl BufRead, output: &mut impl Write) -> anyhow::Result<()> {
    let mut store = EmbeddedStore::open_directory(path, EmbeddedSettings::default(), getrandom::u64()?)?;
    ensure!(
        store.partitions().is_empty(),
        "{} holds something already: name an empty directory with --data-dir",
        path.display()
    );
    let mut pending: Option<Pending> = None;
    let mut lines = 0_u64;
    for line in input.lines() {
        lines += 1;
        let place = || format!("line {lines}");
        let line: Line = serde_json::from_str(&line?).with_context(place)?;
        let partition = line.partition();
        if pending.as_ref().is_some_and(|p| p.partition != partition || p.bytes.len() > IMPORT_BATCH) {
            commit(&mut store, pending.take())?;
        }
        let pending = match &mut pending {
            Some(pending) => pending,
            none => none.insert(Pending::begin(&mut store, partition)?),
        };
        line.encode(&mut pending.bytes).with_context(place)?;
        pending.count += 1;
    }
    commit(&mut store, pending)?;
    writeln!(output, "{lines} lines are in {}", path.display())?;
    output.flush()?;
    Ok(())
}

/// Lines of one partition that are not written yet.
struct Pending {
    partition: OffsetsPartition,
    epoch: OwnerEpoch,
    bytes: Vec<u8>,
    count: usize,
}

impl Pending {
    fn begin(store: &mut EmbeddedStore, partition: OffsetsPartition) -> anyhow::Result<Self> {
        let epoch = match store.epoch(partition) {
            Some(epoch) => epoch,
            None => *store.acquire(&[partition])?.first().context("a partition has an epoch")?,
        };
        Ok(Self { partition, epoch, bytes: Vec::new(), count: 0 })
    }
}

fn commit(store: &mut EmbeddedStore, pending: Option<Pending>) -> anyhow::Result<()> {
    let Some(Pending { partition, epoch, bytes, count }) = pending else { return Ok(()) };
    let Ok(batch) = Batch::from_encoded(partition, epoch, count, bytes) else {
        bail!("a line is larger than any group may be");
    };
    for outcome in store.append(&[batch])? {
        ensure!(outcome.is_ok(), "the store refused a batch: {outcome:?}");
    }
    if store.upkeep_due() == Upkeep::Now {
        store.upkeep()?;
    }
    Ok(())
}

/// Opens a store that must be there.
fn open(path: &Path, verify: bool) -> anyhow::Result<EmbeddedStore> {
    ensure!(path.join(super::FILES[0]).exists(), "there is no store in {}", path.display());
    let settings = EmbeddedSettings { verify, ..EmbeddedSettings::default() };
    Ok(EmbeddedStore::open_directory(path, settings, getrandom::u64()?)?)
}

/// Gives each kept record, the last of its key only.
fn each_line(
    store: &mut EmbeddedStore,
    mut visit: impl FnMut(Line) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for (partition, epoch) in store.partitions() {
        // Rows and logs together, folded: one partition at a time.
        let mut folded = MemoryStore::new();
        let owner = *folded.acquire(&[partition])?.first().context("a partition has an epoch")?;
        let mut reader = store.load(partition, epoch)?;
        while let Some(chunk) = reader.next_encoded()? {
            let count = RawRecord::all(&chunk).count();
            let Ok(batch) = Batch::from_encoded(partition, owner, count, chunk) else {
                bail!("a record of partition {} is larger than any may be", partition.0);
            };
            folded.append(&[batch])?;
        }
        let mut reader = folded.load(partition, owner)?;
        while let Some(chunk) = reader.next_encoded()? {
            for raw in RawRecord::all(&chunk) {
                visit(Line::decode(partition, &raw?)?)?;
            }
        }
    }
    Ok(())
}
