//! The Kafka wire protocol as bounded, borrowing encoders and decoders.
