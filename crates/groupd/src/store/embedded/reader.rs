//! Reads one partition: its rows, then its frames in the full log, then those in the active one.

use std::sync::Arc;

use coordinator::ids::OffsetsPartition;
use redb::{Database, Range, ReadableDatabase};

use super::log::LogFile;
use super::tables::{ROWS, redb_failure};
use super::tail::{FrameAt, Tail};
use crate::store::fold::{partition_prefix, unfold};
use crate::store::{ReadPartition, StoreFailure};

/// What was there when the reader was made. A fold that goes on meanwhile is not seen, and a log that is read
/// is not used again before the reader is gone.
pub(super) struct EmbeddedReader {
    prefix: [u8; 4],
    rows: Option<Range<'static, &'static [u8], &'static [u8]>>,
    logs: std::vec::IntoIter<(Arc<LogFile>, Vec<FrameAt>)>,
    frames: Option<(Arc<LogFile>, std::vec::IntoIter<FrameAt>)>,
}

impl EmbeddedReader {
    pub(super) fn new(
        database: &Database,
        full: Option<&Tail>,
        active: &Tail,
        partition: OffsetsPartition,
    ) -> Result<Self, StoreFailure> {
        let prefix = partition_prefix(partition);
        let read = database.begin_read().map_err(redb_failure)?;
        let table = read.open_table(ROWS).map_err(redb_failure)?;
        let rows = table.range::<&[u8]>(prefix.as_slice()..).map_err(redb_failure)?;
        let tails = full.into_iter().chain([active]);
        let logs: Vec<_> = tails.map(|tail| (tail.file(), tail.frames_of(partition).to_vec())).collect();
        Ok(Self { prefix, rows: Some(rows), logs: logs.into_iter(), frames: None })
    }

    /// Appends rows up to the limit; the rows are left behind at their end.
    fn read_rows(&mut self, limit: usize, out: &mut Vec<u8>) -> Result<(), StoreFailure> {
        let Some(rows) = &mut self.rows else { return Ok(()) };
        while out.len() < limit {
            let Some((key, row)) = rows.next().transpose().map_err(redb_failure)? else {
                self.rows = None;
                return Ok(());
            };
            if !key.value().starts_with(&self.prefix) {
                self.rows = None;
                return Ok(());
            }
            unfold(key.value(), row.value(), out)?;
        }
        Ok(())
    }
}

impl ReadPartition for EmbeddedReader {
    fn read(&mut self, limit: usize, out: &mut Vec<u8>) -> Result<(), StoreFailure> {
        self.read_rows(limit, out)?;
        while out.len() < limit {
            if let Some((file, frames)) = &mut self.frames
                && let Some(frame) = frames.next()
            {
                out.extend_from_slice(&frame.records(file)?);
                continue;
            }
            let Some((file, frames)) = self.logs.next() else { break };
            self.frames = Some((file, frames.into_iter()));
        }
        Ok(())
    }
}
