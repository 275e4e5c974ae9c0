//! How much one request may name.
//!
//! Bytes are bounded by the frame, and decoding by a multiple of them; but an element of two bytes may become a
//! hundred in a coordinator's message or in a response. These bounds are far above what clients send.

use kafka_wire::WireError;

/// Protocols one member offers. Clients offer two or three.
pub(crate) const PROTOCOLS: usize = 1_000;
/// Members a leader gives assignments to, and members that leave in one request.
pub(crate) const MEMBERS: usize = 1_000_000;
/// Groups, or keys of coordinators. Each is a question of its own.
pub(crate) const GROUPS: usize = 100_000;
/// Markers of transactions. Each is a question to every shard.
pub(crate) const MARKERS: usize = 1_000;
/// Partitions of all topics of a request together.
pub(crate) const PARTITIONS: usize = 1_000_000;

/// Why a body is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("{named} {what}, {allowed} are allowed")]
    TooMany { what: &'static str, named: usize, allowed: usize },
}

/// # Errors
///
/// [`Unreadable::TooMany`], if `named` are more than `allowed`.
pub(crate) fn at_most(allowed: usize, what: &'static str, named: usize) -> Result<(), Unreadable> {
    if named > allowed { Err(Unreadable::TooMany { what, named, allowed }) } else { Ok(()) }
}
