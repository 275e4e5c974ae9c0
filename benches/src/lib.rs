//! What the benchmarks share: timing, medians, checksums, figures that outlive a run, plots.

pub mod figures;
pub mod machine;
pub mod measure;
pub mod svg;
