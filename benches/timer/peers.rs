//! Timer structures from other crates, behind the same door.

#[path = "peers/ordered.rs"]
mod ordered;
#[path = "peers/tokio.rs"]
mod tokio;
#[path = "peers/wheels.rs"]
mod wheels;

use std::time::Duration;

pub(crate) use ordered::{IndexedHeap, SkipList, TimerQueue};
pub(crate) use tokio::{Sleeps, TokioDelayQueue};
pub(crate) use wheels::{HashWheel, Kestrel, NexusWheel, SlabWheel, TmWheel};

fn millis(ticks: u64) -> Duration {
    Duration::from_millis(ticks)
}
