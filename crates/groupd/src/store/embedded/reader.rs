//! Reads one partition: its rows, then its frames in the full log, then those in the active one.

use std::sync::Arc;

use coordinator::ids::OffsetsPartition;
use redb::{Database, ReadableDatabase};

use super::log::LogFile;
use super::rows::RowReader;
use super::tables::redb_failure;
use super::tail::{FrameAt, Tail};
use crate::store::fold::{partition_prefix, unfold};
use crate::store::{ReadPartition, StoreFailure};

/// What was there when the reader was made. A fold that goes on meanwhile is not seen, and a log that is read
/// is not used again before the reader is gone.
pub(super) struct EmbeddedReader {
    rows: Option<RowReader>,
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
        let read = database.begin_read().map_err(redb_failure)?;
        let rows = RowReader::new(&read, partition_prefix(partition))?;
        let tails = full.into_iter().chain([active]);
        let logs: Vec<_> = tails.map(|tail| (tail.file(), tail.frames_of(partition).to_vec())).collect();
        Ok(Self { rows: Some(rows), logs: logs.into_iter(), frames: None })
    }

    /// Appends rows up to the limit; the rows are left behind at their end.
    fn read_rows(&mut self, limit: usize, out: &mut Vec<u8>) -> Result<(), StoreFailure> {
        while let Some(rows) = &mut self.rows
            && out.len() < limit
        {
            if !rows.next(|key, row| unfold(key, row, out))? {
                self.rows = None;
            }
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
