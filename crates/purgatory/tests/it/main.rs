//! The wheel and the purgatory through their public doors, against models, from seeds.

mod clock;
mod purgatory;
mod purgatory_model;
#[cfg(all(feature = "shared", not(shuttle)))]
mod shared;
#[cfg(all(feature = "shared", not(shuttle)))]
mod shared_batches;
#[cfg(all(feature = "shared", not(shuttle)))]
mod shared_thresholds;
#[cfg(all(feature = "shared", not(shuttle)))]
mod stress;
mod wheel;
mod wheel_model;
