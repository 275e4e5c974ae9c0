//! The wheel and the purgatory through their public doors, against models, from seeds.

mod clock;
mod exhaustive;
mod hunt;
mod purgatory;
mod purgatory_model;
#[cfg(feature = "shared")]
mod shared;
#[cfg(feature = "shared")]
mod shared_batches;
#[cfg(feature = "shared")]
mod shared_drops;
#[cfg(feature = "shared")]
mod shared_model;
#[cfg(feature = "shared")]
mod shared_promises;
#[cfg(feature = "shared")]
mod shared_thresholds;
mod wheel;
mod wheel_model;
