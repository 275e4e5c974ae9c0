//! The shared purgatory when threads meet: schedules that a checker chooses, real threads, and faults that must be found.
//!
//! | | |
//! |---|---|
//! | real threads | `cargo test -p purgatory --test races` |
//! | real threads, with faults | `RUSTFLAGS="--cfg faults" cargo test -p purgatory --test races` |
//! | shuttle: random and PCT schedules, with faults | `RUSTFLAGS="--cfg faults --cfg shuttle" cargo test -p purgatory --test races` |
//! | loom: all schedules of small models, with faults | `RUSTFLAGS="--cfg faults --cfg loom" cargo test -p purgatory --test races` |
#![cfg(feature = "shared")]

#[cfg(shuttle)]
mod explored;
#[cfg(loom)]
mod modelled;
#[cfg(any(shuttle, loom))]
mod scenarios;
#[cfg(not(any(shuttle, loom)))]
mod stress;
