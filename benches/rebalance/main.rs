//! How fast is membership? Heartbeats and rounds of rebalancing, in process.
//!
//! The log acknowledges inline; the clock moves as in life: a heartbeat of every member each three seconds, the
//! initial delay of a round. Requests are made beforehand, with strings of their own as a decoder makes them; what
//! the coordinator says is taken and dropped within the time measured, which is this thread's CPU time.
//!
//! `cargo bench -p benches --bench rebalance` runs small, so that CI keeps it alive. For figures:
//! `cargo bench -p benches --bench rebalance -- --members 100000 --runs 7`

mod drive;
mod turns;
mod work;

/// As in `groupd`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let options = options();
    println!("Thread CPU time: min / median / max of {} runs; checksum of the work.", options.runs);
    if options.does("heartbeat") {
        work::heartbeats(options.members, 10, 30_000, options.runs);
        work::heartbeats(options.members * 10, 100, 300_000, options.runs);
    }
    if options.does("round") {
        for size in [10, 100, 1_000, 10_000] {
            work::rounds(size, options.members / 5, options.runs);
        }
    }
    if options.does("groups") {
        work::small_groups(options.members / 10, 5, options.runs);
    }
    if options.does("turns") {
        let members = options.members;
        turns::turns(members, members / 10, members.saturating_mul(10), options.runs);
    }
}

struct Options {
    members: u32,
    runs: usize,
    /// One of `heartbeat`, `round`, `groups`, `turns`; all if empty.
    only: String,
}

impl Options {
    fn does(&self, work: &str) -> bool {
        self.only.is_empty() || self.only == work
    }
}

fn options() -> Options {
    let mut options = Options { members: 2_000, runs: 2, only: String::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--bench" {
            continue;
        }
        let value = arguments.next().unwrap_or_default();
        if name == "--only" {
            options.only = value;
            continue;
        }
        let value = value.parse().ok();
        let value: u32 = value.unwrap_or_else(|| panic!("{name} needs a number"));
        match name.as_str() {
            "--members" => options.members = value,
            "--runs" => options.runs = value as usize,
            _ => panic!("unknown option {name}"),
        }
    }
    options
}
