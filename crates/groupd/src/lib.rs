//! A small, durable Kafka group coordinator.

pub mod cli;
pub mod events_log;
pub mod settings;
mod tables;
pub mod telemetry;
