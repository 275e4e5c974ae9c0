//! What one log holds: where each partition's frames lie in it, and where the next entry goes.

use std::sync::Arc;

use coordinator::ids::OffsetsPartition;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::Epochs;
use super::log::{EntryBuffer, Header, LogFile, SECTOR};
use crate::store::StoreFailure;
use crate::store::layout::Frame;

/// Where a frame lies in its log.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameAt {
    at: u64,
    length: u32,
}

/// A log and the map of it.
#[derive(Debug)]
pub(super) struct Tail {
    file: Arc<LogFile>,
    generation: u64,
    next_sequence: u64,
    end: u64,
    frames: HashMap<OffsetsPartition, Vec<FrameAt>, RandomState>,
    frame_bytes: u64,
}

impl Tail {
    /// Begins a new generation in `file`; the entries of the one before end at `before`.
    pub(super) fn start(
        file: Arc<LogFile>,
        store: u64,
        generation: u64,
        before: u64,
    ) -> Result<Self, StoreFailure> {
        file.start(store, generation, before)?;
        Ok(Self {
            file,
            generation,
            next_sequence: 0,
            end: SECTOR,
            frames: HashMap::default(),
            frame_bytes: 0,
        })
    }

    /// Reads what `file` holds of its generation, and raises `epochs` by it.
    pub(super) fn replay(
        file: Arc<LogFile>,
        Header { store, generation, file: mut length, .. }: Header,
        epochs: &mut Epochs,
    ) -> Result<Self, StoreFailure> {
        // What is read is about to be built on: it must not be only in the system's memory.
        file.sync()?;
        let mut tail = Self {
            file,
            generation,
            next_sequence: 0,
            end: SECTOR,
            frames: HashMap::default(),
            frame_bytes: 0,
        };
        while let Some(entry) = tail.file.entry(tail.end, store, (generation, tail.next_sequence))? {
            let mut rest = entry.frames.as_slice();
            while !rest.is_empty() {
                let at = entry.frames_at + (entry.frames.len() - rest.len()) as u64;
                let before = rest.len();
                let frame = Frame::read(&mut rest)?;
                tail.note(frame.partition, at, before - rest.len());
                let epoch = epochs.entry(frame.partition).or_default();
                *epoch = frame.epoch.max(*epoch);
            }
            length = entry.file;
            tail.end = entry.end;
            tail.next_sequence += 1;
        }
        if tail.file.any_entry(tail.end, store, |found| found == generation, Some(tail.next_sequence))? {
            let at = tail.end;
            let what = format!(
                "the log of generation {generation} has a bad entry at byte {at}, good ones after it"
            );
            return Err(StoreFailure::Damaged(what));
        }
        let left = tail.file.length();
        if left < length {
            let what =
                format!("the log of generation {generation} was cut: {left} of {length} bytes are there");
            return Err(StoreFailure::Damaged(what));
        }
        Ok(tail)
    }

    /// Writes the entry in `buffer` durably; returns where it begins.
    pub(super) fn append(&mut self, buffer: &mut EntryBuffer, store: u64) -> Result<u64, StoreFailure> {
        let at = self.end;
        self.end = self.file.append(at, buffer, store, (self.generation, self.next_sequence))?;
        self.next_sequence += 1;
        Ok(at)
    }

    /// Remembers a durable frame.
    ///
    /// # Panics
    /// Never: a frame is shorter than 4 GiB.
    pub(super) fn note(&mut self, partition: OffsetsPartition, at: u64, length: usize) {
        let length = u32::try_from(length).expect("invariant: a frame's length is a u32");
        self.frames.entry(partition).or_default().push(FrameAt { at, length });
        self.frame_bytes += u64::from(length);
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Where the next entry goes.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Bytes of entries.
    pub(super) fn bytes(&self) -> u64 {
        self.end - SECTOR
    }

    /// Bytes of frames: less than of entries, which are padded.
    pub(super) fn frame_bytes(&self) -> u64 {
        self.frame_bytes
    }

    pub(super) fn file(&self) -> Arc<LogFile> {
        Arc::clone(&self.file)
    }

    /// The frames of a partition, in the order they were written.
    pub(super) fn frames_of(&self, partition: OffsetsPartition) -> &[FrameAt] {
        self.frames.get(&partition).map_or(&[], Vec::as_slice)
    }

    /// The partitions with frames, in order: what is done for each is the same in every run.
    pub(super) fn partitions(&self) -> Vec<OffsetsPartition> {
        let mut partitions: Vec<_> = self.frames.keys().copied().collect();
        partitions.sort_unstable();
        partitions
    }
}

impl FrameAt {
    pub(super) fn length(self) -> usize {
        self.length as usize
    }

    /// Reads the frame into `bytes`, in the place of what is there.
    pub(super) fn read(self, file: &LogFile, bytes: &mut Vec<u8>) -> Result<(), StoreFailure> {
        bytes.clear();
        bytes.resize(self.length(), 0);
        file.read_exact(self.at, bytes)
    }

    /// The encoded records of the frame.
    pub(super) fn records(self, file: &LogFile) -> Result<Vec<u8>, StoreFailure> {
        let bytes = file.read(self.at, self.length())?;
        Ok(Frame::read(&mut bytes.as_slice())?.records.to_vec())
    }
}
