//! A small, durable Kafka group coordinator.
