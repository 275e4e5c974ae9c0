//! A small, durable Kafka group coordinator: the server around the `coordinator` crate.
//!
//! The only crate with clocks, sockets, disk and entropy. It is a library so that its tests and benches
//! use the same parts as the program.

pub mod admin;
mod apis;
pub mod cli;
mod clock;
mod connection;
pub mod events_log;
mod histories;
mod node;
mod producer_ids;
pub mod server;
pub mod settings;
mod shard;
mod shown;
pub mod store;
mod tables;
pub mod telemetry;
mod testing;
pub mod topics;
mod wire;
