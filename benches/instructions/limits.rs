//! The committed counts, and how far above them a benchmark may be.

use gungraun::{Callgrind, EventKind, LibraryBenchmarkConfig};

/// How often a benchmark calls what it measures: what surrounds the loop disappears.
pub const CALLS: usize = 1_000;

const RECORDED: &str = include_str!("recorded.txt");
const TOLERATED_PERCENT: u64 = 5;

/// Lets the benchmark of this name fail above its limit. While counts are being recorded nothing fails.
pub fn limited(name: &str) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    if std::env::var_os("RECORD_INSTRUCTIONS").is_none() {
        let limit = recorded(name) * (100 + TOLERATED_PERCENT) / 100;
        config.tool(Callgrind::default().hard_limits([(EventKind::Ir, limit)]));
    }
    config
}

fn recorded(name: &str) -> u64 {
    let lines = RECORDED.lines().filter_map(|line| line.split_once(' '));
    let count =
        lines.filter(|(recorded, _)| *recorded == name).find_map(|(_, count)| count.trim().parse().ok());
    count.unwrap_or_else(|| panic!("no count of {name} is recorded: run benches/instructions/run --record"))
}
