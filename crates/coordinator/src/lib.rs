//! Kafka consumer-group membership and offsets as a pure state machine over delayed operations.
//!
//! `now` and an input go in, outputs come out; nothing here knows clocks, threads, sockets, bytes or codes.

pub mod events;
pub mod ids;
pub mod messages;
