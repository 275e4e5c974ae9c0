//! What can be wrong with bytes, and where.

use std::fmt;

/// Why a message could not be read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireError {
    /// The message does not exist in this version.
    UnsupportedVersion {
        /// The message, by Kafka's name.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// The bytes are not a well-formed message of this version. Nothing can be kept of them.
    Malformed {
        /// The message, by Kafka's name.
        message: &'static str,
        /// The version it was read as.
        version: i16,
        /// Where reading stopped, in bytes from the start of the body.
        offset: usize,
        /// What was wrong there.
        fault: Fault,
    },
    /// The value cannot be expressed in this version. The output is as it was before the call.
    Unwritable {
        /// The message, by Kafka's name.
        message: &'static str,
        /// The version it should have been written as.
        version: i16,
        /// What stood in the way.
        fault: Fault,
    },
}

/// A single thing wrong with the bytes of a message, or with a value that should become bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The bytes end too early.
    Truncated {
        /// How many bytes the next value needs.
        needed: usize,
        /// How many there are.
        left: usize,
    },
    /// A length below -1, or beyond what Kafka allows for its type.
    Length(i64),
    /// An array claims more elements than the bytes that are left could hold.
    Count {
        /// The number of elements claimed.
        claimed: i64,
        /// How many bytes are left.
        left: usize,
    },
    /// A variable-length integer does not end within the bits of its type.
    Varint,
    /// A string is not UTF-8.
    NotUtf8,
    /// A tagged field took more or fewer bytes than its size says.
    TagSize {
        /// The tag.
        tag: u32,
        /// The size it was announced with.
        said: usize,
        /// The bytes its value took.
        took: usize,
    },
    /// The decoded message would take more memory than a frame of this size may: see
    /// [`MEMORY_PER_BYTE`](crate::MEMORY_PER_BYTE).
    OverBudget,
    /// This field is null, and its version does not allow that.
    Null(&'static str),
    /// This field is set, and its version has no place for it.
    NotInVersion(&'static str),
    /// This string, array or byte sequence is longer than its length can say.
    TooLong(&'static str),
}

impl Fault {
    /// Names the field, for faults that cannot know it where they are found.
    #[cold]
    pub(crate) fn named(self, field: &'static str) -> Self {
        match self {
            Self::Null("") => Self::Null(field),
            Self::TooLong("") => Self::TooLong(field),
            Self::Null(_)
            | Self::TooLong(_)
            | Self::Truncated { .. }
            | Self::Length(_)
            | Self::Count { .. }
            | Self::Varint
            | Self::NotUtf8
            | Self::TagSize { .. }
            | Self::OverBudget
            | Self::NotInVersion(_) => self,
        }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsupportedVersion { message, version } => write!(f, "{message} has no version {version}"),
            Self::Malformed { message, version, offset, fault } => {
                write!(f, "{message} v{version}, byte {offset}: {fault}")
            }
            Self::Unwritable { message, version, fault } => write!(f, "{message} v{version}: {fault}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { needed, left } => write!(f, "{needed} bytes needed, {left} left"),
            Self::Length(length) => write!(f, "impossible length {length}"),
            Self::Count { claimed, left } => write!(f, "{claimed} elements claimed, {left} bytes left"),
            Self::Varint => f.write_str("varint too long"),
            Self::NotUtf8 => f.write_str("string is not UTF-8"),
            Self::TagSize { tag, said, took } => write!(f, "tag {tag} says {said} bytes, took {took}"),
            Self::OverBudget => f.write_str("too many tiny elements for a frame of this size"),
            Self::Null(field) => write!(f, "`{field}` must not be null in this version"),
            Self::NotInVersion(field) => write!(f, "`{field}` is set, and this version has no such field"),
            Self::TooLong(field) => write!(f, "`{field}` is too long"),
        }
    }
}

impl std::error::Error for WireError {}
