//! The codec through its public API: against the public crate, against checked-in bytes, against hostile
//! peers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod catalogue;
mod debug_tree;
mod golden;
mod headers;
mod hostile;
mod memory;
mod mutations;
mod oracle;
mod rules;
mod sample;
