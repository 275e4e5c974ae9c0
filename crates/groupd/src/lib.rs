//! A small, durable Kafka group coordinator: the server around the `coordinator` crate.
//!
//! The only crate with clocks, sockets, disk and entropy. It is a library so that its tests and benches
//! use the same parts as the program.

pub mod admin;
pub mod cli;
pub mod events_log;
pub mod settings;
pub mod store;
mod tables;
pub mod telemetry;
pub mod topics;
