//! What the benchmarks share: timing, medians, checksums, tables.
