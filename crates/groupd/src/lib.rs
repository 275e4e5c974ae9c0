//! A small, durable Kafka group coordinator.

pub mod cli;
pub mod settings;
mod tables;
