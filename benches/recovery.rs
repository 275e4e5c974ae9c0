//! How long does a server take to come back, and how much memory meanwhile? From its start until all is loaded, in a
//! process of its own, with the page cache warm; memory as the kernel counts it.
//!
//! `cargo bench -p benches --bench recovery` runs small, so that CI keeps it alive. For figures:
//! `cargo bench -p benches --bench recovery -- --groups 1000000`: so many groups with one offset each, then a tenth as
//! many with a hundred each. `--bench recovery_memory` counts what is allocated, exactly.

#![expect(clippy::disallowed_methods, reason = "the question is how long a user waits: wall-clock time")]

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

#[path = "recovery/fill.rs"]
mod fill;
#[path = "store/records.rs"]
mod records;

use records::{megabytes, ratio};

/// As in groupd.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The argument by which the process that comes back is told its directory.
const COME_BACK: &str = "--come-back";

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut groups, mut directory) = (2_000, std::env::temp_dir());
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
        match name.as_str() {
            COME_BACK => return come_back(&value),
            "--groups" => groups = value.parse().expect("groups are a number"),
            "--directory" => directory = PathBuf::from(value),
            other => panic!("unknown option {other}"),
        }
    }
    println!(
        "  groups | offsets  | files MB | seconds | seconds a million | peak MB | loaded MB | peak / loaded"
    );
    for (groups, each) in [(groups, 1), (groups / 10, 100)] {
        let place = tempfile::tempdir_in(&directory).expect("the directory can be written to");
        let files = fill::fill(place.path(), groups, each);
        let me = std::env::current_exe().expect("this program has a name");
        let run = Command::new(me).arg(COME_BACK).arg(place.path()).output().expect("it can be run again");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let words = String::from_utf8(run.stdout).expect("text");
        let mut numbers = words.split_whitespace().map(|word| word.parse::<u64>().expect("numbers"));
        let mut next = || numbers.next().expect("three numbers");
        let (took, peak, loaded) = (Duration::from_micros(next()), next(), next());
        let offsets = u64::from(groups) * u64::from(each.unsigned_abs());
        println!(
            "{groups:>8} | {offsets:>8} | {:>8.1} | {:>7.2} | {:>17.2} | {:>7.1} | {:>9.1} | {:>13.2}",
            megabytes(files),
            took.as_secs_f64(),
            per_million(took, offsets),
            megabytes(peak),
            megabytes(loaded),
            ratio(peak, loaded)
        );
    }
}

/// Prints microseconds, bytes at the peak, and bytes when all is loaded.
fn come_back(directory: &str) {
    let start = Instant::now();
    let server = fill::come_back(directory);
    let took = start.elapsed();
    println!("{} {} {}", took.as_micros(), memory("VmHWM:"), memory("VmRSS:"));
    server.stop();
}

/// Bytes of this process.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("Linux tells");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib * 1024
}

#[expect(clippy::cast_precision_loss, reason = "figures to print")]
fn per_million(time: Duration, records: u64) -> f64 {
    time.as_secs_f64() * 1e6 / records as f64
}
