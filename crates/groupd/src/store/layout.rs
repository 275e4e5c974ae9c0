//! How records look as bytes: a kind, a key and a value, all length-prefixed and versioned.
//!
//! Nothing here does IO. Decoding never panics and never allocates more than the bytes it was given justify;
//! damage is an error that names what was wrong. The layout:
//!
//! ```text
//! record := kind:u8  key_len:varint  key  [value_len:varint  value]     no value: a tombstone (kind | 0x80)
//! frame  := crc32c:u32le  length:u32le  partition:i32le  epoch:i32le  count:u32le  record{count}
//! ```
//!
//! `length` counts what follows it, and so does the checksum (which covers `length` too). A frame is one batch.
//! Every value starts with a version byte: a higher one than this build knows is reported as such, so that a
//! file written by a newer groupd is refused rather than misread.

mod cursor;
mod frame;
mod record;
mod transaction;

pub(crate) use cursor::ordered_i32;
pub use cursor::{Reader, Writer};
pub use frame::{FRAME_HEADER, Frame, write_frame};
pub(crate) use record::read_outcome;
pub use record::{Kept, RawRecord, RecordKind, decode_kept, decode_record, decode_records, encode_record};
pub use transaction::{decode_producer_ids, decode_transaction, encode_producer_ids, encode_transaction};

/// What is wrong with bytes that should have been a record or a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The bytes end inside something.
    #[error("the bytes end too early")]
    Truncated,
    /// A frame's checksum does not match.
    #[error("a checksum does not match")]
    Checksum,
    /// A text is not UTF-8.
    #[error("a text is not UTF-8")]
    Text,
    /// A number is longer or larger than its kind allows.
    #[error("a number is out of range")]
    Number,
    /// More bytes than the record needs.
    #[error("unexpected bytes after the end")]
    Trailing,
    /// A kind of record that this version does not know.
    #[error("unknown kind of record {0}")]
    Kind(u8),
    /// A record written by a newer version.
    #[error("a record has layout version {0}: it was written by a newer groupd")]
    Newer(u8),
}
