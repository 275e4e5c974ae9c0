//! Kafka consumer-group membership and offsets as a pure state machine over delayed operations.
//!
//! `now` and an input go in, outputs come out; nothing here knows clocks, threads, sockets, bytes or codes.

mod config;
mod coordinator;
mod delayed;
pub mod events;
mod group;
mod groups;
mod hasher;
pub mod ids;
mod member_ids;
pub mod messages;
mod offsets;
mod partitions;
mod requests;
mod stats;
mod turn;

pub use config::{Config, Partitioner};
pub use coordinator::Coordinator;
pub use group::{GroupView, Phase, PhaseEvent};
pub use purgatory::Timestamp;
pub use stats::{Counters, Stats};
