//! Delayed operations: a hierarchical timing wheel plus watch keys; an operation leaves exactly once.

mod timestamp;

pub use timestamp::Timestamp;
