//! Whole simulations: seeds that hold, seeds that repeat, and planted faults that are caught; and a small model.

mod minimized;
mod model;
mod planted;
mod repeated;
mod seeds;
