//! The consumer protocol: what consumers tell each other in the metadata and the assignments of a group.
//!
//! The coordinator never looks into them; tools and tests do. Their version stands in front of them, and one
//! that is newer than ours is read as our newest: what it adds stands at the end.

use crate::error::{Fault, WireError};
use crate::message::{self, Message, message};
use crate::structure::structures;

structures! {
    /// What a consumer wants, and what it has: the metadata of a `JoinGroup`.
    ConsumerProtocolSubscription<'a> {
        topics: Vec<&'a str> => 0..;
        user_data: Option<&'a [u8]> => 0.., nullable 0..;
        owned_partitions: Vec<TopicPartition<'a>> => 1.., ignorable;
        generation_id: i32 = -1 => 2.., ignorable;
        rack_id: Option<&'a str> => 3.., nullable 3.., ignorable;
    }

    /// Partitions of one topic.
    TopicPartition<'a> {
        topic: &'a str => 0..;
        partitions: Vec<i32> => 0..;
    }

    /// What a consumer gets: its part of a `SyncGroup`.
    ConsumerProtocolAssignment<'a> {
        assigned_partitions: Vec<TopicPartition<'a>> => 0..;
        user_data: Option<&'a [u8]> => 0.., nullable 0..;
    }
}

macro_rules! versioned {
    ($name:ident) => {
        message!($name<'a>, versions 0..=3, flexible from i16::MAX);

        impl<'a> $name<'a> {
            /// Reads the version in front and then the message, and returns both.
            ///
            /// # Errors
            ///
            /// The version is negative, or the bytes are not well-formed.
            pub fn decode_versioned(bytes: &'a [u8]) -> Result<(i16, Self), WireError> {
                let Some((version, body)) = bytes.split_first_chunk() else {
                    let fault = Fault::Truncated { needed: 2, left: bytes.len() };
                    return Err(WireError::Malformed { message: Self::NAME, version: 0, offset: 0, fault });
                };
                let version = i16::from_be_bytes(*version);
                let read_as = version.min(Self::MAX_VERSION);
                let (message, _added) = message::decode_prefix(&Self::RANGE, read_as, body)?;
                Ok((version, message))
            }

            /// Appends the version and then the message.
            ///
            /// # Errors
            ///
            /// As for [`Self::encode`]; `out` is then as it was.
            pub fn encode_versioned(&self, version: i16, out: &mut Vec<u8>) -> Result<(), WireError> {
                let start = out.len();
                out.extend_from_slice(&version.to_be_bytes());
                self.encode(version, out).inspect_err(|_| out.truncate(start))
            }
        }
    };
}

versioned!(ConsumerProtocolSubscription);
versioned!(ConsumerProtocolAssignment);
