//! What every message can do: be read from a body and be written to one.

use std::ops::RangeInclusive;

use crate::api::ApiKey;
use crate::error::{Fault, WireError};
use crate::field::{Field, Version};
use crate::reader::Reader;
use crate::schema::Schema;

/// A whole message, for code that is generic over them. Every message has the same functions without the
/// trait.
pub trait Message<'a>: Sized {
    /// Kafka's name of it.
    const NAME: &'static str;
    /// The versions it can be read and written in.
    const VERSIONS: RangeInclusive<i16>;
    /// Its table, as data.
    const SCHEMA: Schema;

    /// Reads a whole body of this version, behind the header. Strings and bytes borrow from it. Unknown
    /// tagged fields are skipped, and so is whatever stands behind the message, as by Kafka: librdkafka (2.16)
    /// asks for the metadata of all topics with three bytes too many.
    ///
    /// Takes time in proportion to the body and memory up to [`MEMORY_PER_BYTE`](crate::MEMORY_PER_BYTE).
    ///
    /// # Errors
    ///
    /// [`WireError::UnsupportedVersion`] or [`WireError::Malformed`].
    fn decode(version: i16, body: &'a [u8]) -> Result<Self, WireError>;

    /// Appends the body of this version to `out`. Fields that the version lacks are left out, if they have
    /// their default or Kafka calls them ignorable.
    ///
    /// # Errors
    ///
    /// [`WireError::UnsupportedVersion`] or [`WireError::Unwritable`]; `out` is then as it was.
    fn encode(&self, version: i16, out: &mut Vec<u8>) -> Result<(), WireError>;
}

/// What a client sends, with the type of its answer.
pub trait Request<'a>: Message<'a> {
    /// The API it belongs to.
    const KEY: ApiKey;
    /// What the server answers it with.
    type Response<'r>: Message<'r>;
}

/// The versions of one message, and the first flexible one of them.
pub(crate) struct Versions {
    pub(crate) supported: RangeInclusive<i16>,
    pub(crate) flexible_from: i16,
}

impl Versions {
    fn find(&self, message: &'static str, number: i16) -> Result<Version, WireError> {
        if !self.supported.contains(&number) {
            return Err(WireError::UnsupportedVersion { message, version: number });
        }
        Ok(Version { number, flexible: number >= self.flexible_from })
    }
}

pub(crate) fn decode<'a, M: Message<'a> + Field<'a>>(
    versions: &Versions,
    number: i16,
    body: &'a [u8],
) -> Result<M, WireError> {
    decode_prefix::<M>(versions, number, body).map(|(message, _rest)| message)
}

/// Reads a message and leaves what stands behind it.
pub(crate) fn decode_prefix<'a, M: Message<'a> + Field<'a>>(
    versions: &Versions,
    number: i16,
    body: &'a [u8],
) -> Result<(M, &'a [u8]), WireError> {
    let version = versions.find(M::NAME, number)?;
    let mut reader = Reader::new(body);
    match M::read(&mut reader, version, false) {
        Ok(message) => Ok((message, reader.into_rest())),
        Err(fault) => Err(malformed::<M>(number, body.len() - reader.left(), fault)),
    }
}

fn malformed<'a, M: Message<'a>>(version: i16, offset: usize, fault: Fault) -> WireError {
    WireError::Malformed { message: M::NAME, version, offset, fault }
}

pub(crate) fn encode<'a, M: Message<'a> + Field<'a>>(
    message: &M,
    versions: &Versions,
    number: i16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let version = versions.find(M::NAME, number)?;
    let start = out.len();
    message.write(out, version, false).map_err(|fault| {
        out.truncate(start);
        WireError::Unwritable { message: M::NAME, version: number, fault }
    })
}

/// Makes a structure a message: as a trait, and as functions that need no import.
macro_rules! message {
    ($name:ident $(<$life:lifetime>)?, versions $versions:expr, flexible from $flexible:expr) => {
        impl<'a> $crate::message::Message<'a> for $name $(<$life>)? {
            const NAME: &'static str = stringify!($name);
            const VERSIONS: std::ops::RangeInclusive<i16> = $versions;
            const SCHEMA: $crate::schema::Schema = <Self as $crate::field::Structure>::SCHEMA;

            fn decode(version: i16, body: &'a [u8]) -> Result<Self, $crate::error::WireError> {
                $crate::message::decode(&Self::RANGE, version, body)
            }

            fn encode(&self, version: i16, out: &mut Vec<u8>) -> Result<(), $crate::error::WireError> {
                $crate::message::encode(self, &Self::RANGE, version, out)
            }
        }

        impl $(<$life>)? $name $(<$life>)? {
            pub(crate) const RANGE: $crate::message::Versions =
                $crate::message::Versions { supported: $versions, flexible_from: $flexible };
            /// The oldest version of it.
            pub const MIN_VERSION: i16 = *Self::RANGE.supported.start();
            /// The newest version of it.
            pub const MAX_VERSION: i16 = *Self::RANGE.supported.end();

            /// Reads a whole body of this version: see [`Message::decode`](crate::Message::decode).
            ///
            /// # Errors
            ///
            /// The version is unknown, or the bytes do not begin with a well-formed message.
            pub fn decode(version: i16, body: &$($life)? [u8]) -> Result<Self, $crate::error::WireError> {
                <Self as $crate::message::Message>::decode(version, body)
            }

            /// Appends the body of this version to `out`: see [`Message::encode`](crate::Message::encode).
            ///
            /// # Errors
            ///
            /// The version is unknown, or cannot express the value.
            pub fn encode(&self, version: i16, out: &mut Vec<u8>) -> Result<(), $crate::error::WireError> {
                <Self as $crate::message::Message>::encode(self, version, out)
            }
        }
    };
}

pub(crate) use message;
