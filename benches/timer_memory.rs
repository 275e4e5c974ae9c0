//! What a pending timer takes in memory, ours beside others; apart from `timer.rs`, because counting allocations costs time.
//!
//! `cargo bench -p benches --features peers --bench timer_memory -- --sizes 100000 --append` keeps the figures for the
//! page that `timer.rs` makes.

#![allow(dead_code, reason = "memory asks less of the participants than time does")]

use std::alloc::System;
use std::io;

use benches::figures::{Bytes, Record, Store};
use benches::machine::Session;
use benches::measure::Numbers;
use clap::Parser;
use purgatory::{Purgatory, TimingWheel};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use timers::Timers;

#[cfg(feature = "peers")]
#[path = "timer/peers.rs"]
mod peers;
#[path = "timer/plain.rs"]
mod plain;
#[path = "timer/timers.rs"]
mod timers;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Memory of timers, measured beside each other.
#[derive(Parser)]
struct Options {
    /// Numbers of timers.
    #[arg(long, value_delimiter = ',', default_value = "1000")]
    sizes: Vec<u32>,
    /// Keep the figures, in the place of former ones of the same size and name.
    #[arg(long)]
    append: bool,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let mut session = Session::begin();
    println!("Bytes a timer, payload excluded: all inserted / after four times as many changes\n");
    let mut records = Vec::new();
    for &size in &options.sizes {
        for of in everyone(size) {
            let bytes = Bytes { session: session.id.clone(), ..of(size) };
            println!("  {size:>9}  {:<24}{:>8.1} / {:.1}", bytes.peer, bytes.fresh, bytes.used);
            records.push(Record::Bytes(bytes));
        }
    }
    session.end();
    records.push(Record::Session(session));
    if options.append { Store::named("timer-figures.jsonl").append(&records) } else { Ok(()) }
}

type Measure = fn(u32) -> Bytes;

/// Those who are asked to hold so many.
fn everyone(size: u32) -> Vec<Measure> {
    let ours: [Measure; 4] = [
        bytes::<TimingWheel<u32>>,
        bytes::<Purgatory<u32, u32>>,
        bytes::<plain::LazyHeap>,
        bytes::<plain::SortedSet>,
    ];
    ours.into_iter().chain(others(size)).collect()
}

#[cfg(not(feature = "peers"))]
fn others(_size: u32) -> Vec<Measure> {
    Vec::new()
}

#[cfg(feature = "peers")]
fn others(size: u32) -> Vec<Measure> {
    let mut all: Vec<Measure> = vec![
        bytes::<peers::TokioDelayQueue>,
        bytes::<peers::Sleeps>,
        bytes::<peers::TmWheel>,
        bytes::<peers::TimerQueue>,
        bytes::<peers::NexusWheel>,
    ];
    if size <= 1_000_000 {
        let slow: [Measure; 5] = [
            bytes::<peers::SlabWheel>,
            bytes::<peers::Kestrel>,
            bytes::<peers::HashWheel>,
            bytes::<peers::IndexedHeap>,
            bytes::<peers::SkipList>,
        ];
        all.extend(slow);
    }
    all
}

/// Deadlines are 1 to 60,000 ms ahead; every change is a cancellation and an insertion, or a re-arm.
fn bytes<T: Timers>(count: u32) -> Bytes {
    const MINUTE: u64 = 60_000;
    let mut numbers = Numbers::new(42);
    let mut ids: Vec<Option<T::Id>> = std::iter::repeat_with(|| None).take(count as usize).collect();
    let region = Region::new(ALLOCATOR);
    let mut timers = T::new(count);
    for (value, id) in (0..count).zip(&mut ids) {
        *id = Some(timers.insert(1 + numbers.below(MINUTE), value));
    }
    let each = |region: &Region<'_, System>| {
        let change = region.change();
        #[expect(clippy::cast_precision_loss, reason = "a figure to read")]
        let held = (change.bytes_allocated - change.bytes_deallocated) as f64;
        held / f64::from(count) - f64::from(u32::try_from(T::PAYLOAD).expect("a few bytes"))
    };
    let fresh = each(&region);
    for change in 0..4 * u64::from(count) {
        let value = u32::try_from(numbers.below(count.into())).expect("an index");
        let deadline = 1 + numbers.below(MINUTE);
        let id = &mut ids[value as usize];
        if change % 2 == 0 {
            timers.remove(id.take().expect("all of them wait"));
            *id = Some(timers.insert(deadline, value));
        } else if let Some(id) = id {
            timers.rearm(id, deadline, value);
        }
    }
    Bytes { size: count, peer: T::NAME.to_owned(), fresh, used: each(&region), session: String::new() }
}
