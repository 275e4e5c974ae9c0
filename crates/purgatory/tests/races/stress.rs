//! The shared purgatory on real threads: submissions, triggers, cancellations and expiries collide.

mod meetings;
mod real_time;
