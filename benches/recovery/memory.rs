//! How much more than the loaded state does a server need while it comes back? Counted by the allocator, exactly: the
//! most that was ever allocated (looked at again and again by a thread of its own) beside what is when all is loaded.
//!
//! `cargo bench -p benches --bench recovery_memory -- --groups 1000000`

use std::alloc::System;
use std::sync::atomic::{AtomicBool, Ordering};

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

mod fill;
#[path = "../store/records.rs"]
mod records;

use records::{megabytes, ratio};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--groups").skip(1);
    let groups: u32 = arguments.next().map_or(2_000, |value| value.parse().expect("a number of groups"));
    println!("  groups | offsets each | peak MB | loaded MB | peak / loaded");
    for (groups, each) in [(groups, 1), (groups / 10, 100)] {
        let place = tempfile::tempdir().expect("there is room for temporary files");
        fill::fill(place.path(), groups, each);
        let before = allocated();
        let stop = AtomicBool::new(false);
        let (server, most) = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut most = 0;
                while !stop.load(Ordering::Relaxed) {
                    most = most.max(allocated());
                    std::thread::yield_now();
                }
                most
            });
            let server = fill::come_back(place.path().to_str().expect("a path of text"));
            stop.store(true, Ordering::Relaxed);
            (server, watcher.join().expect("it only watches"))
        });
        let (peak, loaded) = (most - before, allocated() - before);
        println!(
            "{groups:>8} | {each:>12} | {:>7.1} | {:>9.1} | {:>13.2}",
            megabytes(peak),
            megabytes(loaded),
            ratio(peak, loaded)
        );
        server.stop();
    }
}

/// Bytes allocated now.
fn allocated() -> u64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated) as u64
}
