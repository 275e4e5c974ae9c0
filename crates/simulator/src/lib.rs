//! Whole clusters of clients, years of time, from one seed.
//!
//! The real coordinator, its purgatory and the real embedded store run under a simulated clock, network, disk and
//! clients, in one thread: what a seed does once it does again, on every machine. Faults come from the seed; checkers watch
//! all that crosses the coordinators' borders. `docs/simulation.md` says what is simulated and what is not.
//!
//! ```
//! use simulator::{Scenario, Transcript, run};
//!
//! let mut scenario = Scenario::from_seed(42);
//! scenario.chaos = 30 * simulator::agenda::SECOND;
//! let report = run(&scenario, Transcript::default());
//! assert!(report.violation.is_none());
//! assert_eq!(report.fingerprint, run(&scenario, Transcript::default()).fingerprint);
//! ```

pub mod agenda;
pub mod broker;
pub mod checkers;
pub mod client;
pub mod disk;
pub mod faults;
pub mod minimize;
pub mod model;
pub mod network;
pub mod planted;
pub mod random;
pub mod scenario;
pub mod store;
pub mod told;
pub mod transcript;
mod world;

pub use checkers::{Rule, Violation};
pub use faults::{Fault, FaultMix};
pub use planted::Plant;
pub use scenario::Scenario;
pub use transcript::Transcript;
pub use world::{Counts, Report, run};
