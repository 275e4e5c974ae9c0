//! What the benchmarks share: timing, medians, checksums, tables.

pub mod measure;
