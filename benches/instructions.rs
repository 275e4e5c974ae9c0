//! How many instructions does a hot call take? The same on every run, so this is the gate against getting slower.
//!
//! `benches/instructions/run` installs what it needs, counts under callgrind and fails where a count is above its limit:
//! 5 % more than `benches/instructions/recorded.txt` says. `benches/instructions/run --record` writes that file anew.
//!
//! A new benchmark: a function in a file of `instructions/`, its name in that file's group, then `--record`.
#![allow(missing_docs, unreachable_pub, reason = "gungraun's macros make public functions without docs")]
#![allow(clippy::disallowed_types, clippy::pedantic, reason = "gungraun's macros open files, and more")]

#[path = "instructions/limits.rs"]
mod limits;
#[path = "instructions/coordinator.rs"]
mod of_coordinator;
#[path = "instructions/purgatory.rs"]
mod of_purgatory;
#[path = "instructions/shared.rs"]
mod of_shared;
#[path = "instructions/wheel.rs"]
mod of_wheel;

use gungraun::main;
use of_coordinator::coordinator_calls;
use of_purgatory::purgatory_calls;
use of_shared::shared_calls;
use of_wheel::wheel_calls;

main!(library_benchmark_groups = wheel_calls, purgatory_calls, shared_calls, coordinator_calls);
