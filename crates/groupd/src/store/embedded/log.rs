//! One log file: a header, then entries, each at the start of a sector, each written and synced before the next.
//!
//! ```text
//! header := magic:8  version:u32le  store:u64le  generation:u64le  file:u64le  before:u64le  crc32c:u32le
//! entry  := crc32c:u32le  length:u32le  generation:u64le  sequence:u64le  file:u64le  frame{1..}
//! ```
//!
//! The header has the first sector; an entry is padded to sectors. `file` is the length of the file when this was
//! written, made durable before: a shorter file was cut. `before` is where the entries of the generation before end.
//!
//! The checksum is seeded with the store's secret id and covers all behind it; `length` counts the frames'
//! bytes. An entry never shares a sector with another, so that a torn write harms only what was not yet
//! acknowledged. Since an entry is written only after the one before it is durable, a good entry behind a bad
//! one proves that the bad one was durable once: that is damage, and never taken for a torn end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redb::StorageBackend;

use super::FORMAT_VERSION;
use super::open::io_failure;
use crate::store::StoreFailure;
use crate::store::layout::{LayoutError, Reader};

/// Where entries may start: the largest piece that disks write wholly or not at all.
pub const SECTOR: u64 = 512;
/// No entry is longer: a commit's bound, the largest batch, their headers.
const MAX_ENTRY: u64 = 64 << 20;
/// How much is read at once where entries are looked for.
const PIECE: u64 = 64 << 10;
const MAGIC: &[u8; 8] = b"groupdlg";
const ENTRY_HEADER: usize = 32;
/// Bytes of a log's header before its checksum.
const HEADER: usize = 44;

/// A log file, shared with those who read it.
#[derive(Debug)]
pub(super) struct LogFile {
    backend: Arc<dyn StorageBackend>,
    /// The file's length, which only this process changes.
    length: AtomicU64,
    growth: u64,
}

/// What a log's first sector says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) store: u64,
    pub(super) generation: u64,
    /// Bytes that the file has at least.
    pub(super) file: u64,
    /// Where the entries of the generation before end: it was full by then.
    pub(super) before: u64,
}

impl Header {
    /// What a file's first sector says; none if it is no header, or the file is shorter.
    pub(super) fn read(sector: &[u8]) -> Result<Option<Self>, StoreFailure> {
        if sector.len() < sector_bytes() || !sector.starts_with(MAGIC) {
            return Ok(None);
        }
        let mut reader = Reader(&sector[MAGIC.len()..]);
        let version = u32::from_le_bytes(reader.array()?);
        let store = u64::from_le_bytes(reader.array()?);
        let generation = u64::from_le_bytes(reader.array()?);
        let file = u64::from_le_bytes(reader.array()?);
        let before = u64::from_le_bytes(reader.array()?);
        let checksum = u32::from_le_bytes(reader.array()?);
        if crc32c::crc32c(&sector[..HEADER]) != checksum {
            return Ok(None);
        }
        if version > FORMAT_VERSION {
            return Err(StoreFailure::Newer(format!("a log has format version {version}")));
        }
        Ok(Some(Self { store, generation, file, before }))
    }
}

/// An entry found in a log.
#[derive(Debug)]
pub(super) struct Entry {
    /// Where its frames begin.
    pub(super) frames_at: u64,
    /// Its frames.
    pub(super) frames: Vec<u8>,
    /// Bytes that the file has at least.
    pub(super) file: u64,
    /// Where the next entry would begin.
    pub(super) end: u64,
}

/// The bytes of an entry in the making, its header's place kept free.
#[derive(Debug)]
pub(super) struct EntryBuffer(Vec<u8>);

impl EntryBuffer {
    pub(super) fn new() -> Self {
        Self(vec![0; ENTRY_HEADER])
    }

    /// Empties it. A buffer that one large commit left behind is given back.
    pub(super) fn clear(&mut self) {
        if self.0.capacity() > 8 << 20 {
            self.0 = Vec::new();
        }
        self.0.clear();
        self.0.resize(ENTRY_HEADER, 0);
    }

    /// Where to append frames; positions in it count from the entry's start.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    /// Bytes of the completed entry.
    fn padded(&self) -> usize {
        self.0.len().next_multiple_of(sector_bytes())
    }

    /// Completes the entry: header, checksum, padding.
    fn seal(&mut self, store: u64, file: u64, (generation, sequence): (u64, u64)) -> &[u8] {
        let padded = self.padded();
        let length = u32::try_from(self.0.len() - ENTRY_HEADER)
            .expect("invariant: a commit is bounded by its settings and the largest batch");
        self.0[4..8].copy_from_slice(&length.to_le_bytes());
        self.0[8..16].copy_from_slice(&generation.to_le_bytes());
        self.0[16..24].copy_from_slice(&sequence.to_le_bytes());
        self.0[24..32].copy_from_slice(&file.to_le_bytes());
        let checksum = entry_checksum(store, &self.0[4..]);
        self.0[..4].copy_from_slice(&checksum.to_le_bytes());
        self.0.resize(padded, 0);
        &self.0
    }
}

impl LogFile {
    pub(super) fn new(backend: Arc<dyn StorageBackend>, growth: u64) -> Result<Self, StoreFailure> {
        let length = AtomicU64::new(backend.len().map_err(io_failure)?);
        Ok(Self { backend, length, growth: growth.max(SECTOR) })
    }

    pub(super) fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    pub(super) fn sync(&self) -> Result<(), StoreFailure> {
        self.backend.sync_data().map_err(io_failure)
    }

    /// Reads bytes that are known to be there.
    pub(super) fn read(&self, at: u64, length: usize) -> Result<Vec<u8>, StoreFailure> {
        let mut bytes = vec![0; length];
        self.read_exact(at, &mut bytes)?;
        Ok(bytes)
    }

    /// As [`LogFile::read`], into the place of what is there.
    pub(super) fn read_exact(&self, at: u64, bytes: &mut [u8]) -> Result<(), StoreFailure> {
        self.backend.read(at, bytes).map_err(io_failure)
    }

    /// What it begins with: a sector, or all of a shorter file.
    pub(super) fn first_sector(&self) -> Result<Vec<u8>, StoreFailure> {
        self.read(0, usize::try_from(self.length().min(SECTOR)).expect("invariant: at most a sector"))
    }

    /// Whether nothing was ever written to it: no byte is there, or all are 0.
    pub(super) fn is_blank(&self) -> Result<bool, StoreFailure> {
        let mut at = 0;
        while at < self.length() {
            let piece =
                usize::try_from((self.length() - at).min(PIECE)).expect("invariant: bounded by a piece");
            if self.read(at, piece)?.iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
            at += piece as u64;
        }
        Ok(true)
    }

    /// Gives space back that a log will hardly need: its file is no longer than one and a half times the `bound` of its bytes.
    /// What it holds is over.
    pub(super) fn shrink(&self, bound: u64) -> Result<(), StoreFailure> {
        let most = (bound / 2 * 3).next_multiple_of(self.growth) + self.growth;
        if self.length() > most {
            self.backend.set_len(most).map_err(io_failure)?;
            self.length.store(most, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Begins a generation: what the file holds is over. The one before ends at `before`.
    pub(super) fn start(&self, store: u64, generation: u64, before: u64) -> Result<(), StoreFailure> {
        self.grow(SECTOR)?;
        let mut sector = Vec::with_capacity(sector_bytes());
        sector.extend_from_slice(MAGIC);
        sector.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        sector.extend_from_slice(&store.to_le_bytes());
        sector.extend_from_slice(&generation.to_le_bytes());
        sector.extend_from_slice(&self.length().to_le_bytes());
        sector.extend_from_slice(&before.to_le_bytes());
        sector.extend_from_slice(&crc32c::crc32c(&sector).to_le_bytes());
        sector.resize(sector_bytes(), 0);
        self.backend.write(0, &sector).map_err(io_failure)?;
        self.sync()
    }

    /// Writes a whole entry at `at` and syncs it.
    pub(super) fn append(
        &self,
        at: u64,
        entry: &mut EntryBuffer,
        store: u64,
        number: (u64, u64),
    ) -> Result<u64, StoreFailure> {
        let end = at + entry.padded() as u64;
        self.grow(end)?;
        let bytes = entry.seal(store, self.length(), number);
        self.backend.write(at, bytes).map_err(io_failure)?;
        self.sync()?;
        Ok(end)
    }

    /// Makes room up to `end`, durably: what is written next says how long the file is.
    fn grow(&self, end: u64) -> Result<(), StoreFailure> {
        if end > self.length() {
            let length = end.next_multiple_of(self.growth);
            self.backend.set_len(length).map_err(io_failure)?;
            self.sync()?;
            self.length.store(length, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The entry at `at`, if there is a good one of this generation and sequence.
    pub(super) fn entry(
        &self,
        at: u64,
        store: u64,
        (generation, sequence): (u64, u64),
    ) -> Result<Option<Entry>, StoreFailure> {
        match self.peek(at)? {
            Some(found) if (found.generation, found.sequence) == (generation, sequence) => {
                self.checked(at, store, found)
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Whether a good entry of `generation` with a sequence above `above` begins at `from` or in what the largest
    /// entry may span behind it.
    pub(super) fn any_entry(
        &self,
        from: u64,
        store: u64,
        generation: impl Fn(u64) -> bool,
        above: Option<u64>,
    ) -> Result<bool, StoreFailure> {
        let end = self.length().min(from.saturating_add(MAX_ENTRY));
        let mut at = from;
        while at + SECTOR <= end {
            // Many sectors at a time: most are empty, or of generations long folded.
            let piece = usize::try_from((end - at).min(PIECE)).expect("invariant: bounded by a piece");
            let bytes = self.read(at, piece)?;
            for sector in bytes.chunks_exact(sector_bytes()) {
                let found = EntryHeader::read(sector)?;
                let wanted = generation(found.generation) && above.is_none_or(|above| found.sequence > above);
                if wanted && self.checked(at, store, found)?.is_some() {
                    return Ok(true);
                }
                at += SECTOR;
            }
        }
        Ok(false)
    }

    /// What the bytes at `at` say, if they are the header of an entry. None: the file ends before.
    fn peek(&self, at: u64) -> Result<Option<EntryHeader>, StoreFailure> {
        if at + SECTOR > self.length() {
            return Ok(None);
        }
        Ok(Some(EntryHeader::read(&self.read(at, ENTRY_HEADER)?)?))
    }

    fn checked(
        &self,
        at: u64,
        store: u64,
        EntryHeader { length, file, .. }: EntryHeader,
    ) -> Result<Option<Entry>, StoreFailure> {
        let bytes = ENTRY_HEADER as u64 + u64::from(length);
        if at + bytes > self.length() {
            return Ok(None);
        }
        let mut entry = self.read(at, ENTRY_HEADER + length as usize)?;
        let checksum = entry.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        if checksum != Some(entry_checksum(store, &entry[4..])) {
            return Ok(None);
        }
        let frames = entry.split_off(ENTRY_HEADER);
        let end = (at + bytes).next_multiple_of(SECTOR);
        Ok(Some(Entry { frames_at: at + ENTRY_HEADER as u64, frames, file, end }))
    }
}

#[derive(Clone, Copy)]
struct EntryHeader {
    length: u32,
    generation: u64,
    sequence: u64,
    file: u64,
}

impl EntryHeader {
    fn read(bytes: &[u8]) -> Result<Self, LayoutError> {
        let mut reader = Reader(bytes);
        reader.take(4)?;
        Ok(Self {
            length: u32::from_le_bytes(reader.array()?),
            generation: u64::from_le_bytes(reader.array()?),
            sequence: u64::from_le_bytes(reader.array()?),
            file: u64::from_le_bytes(reader.array()?),
        })
    }
}

fn entry_checksum(store: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&store.to_le_bytes()), bytes)
}

const fn sector_bytes() -> usize {
    512
}
