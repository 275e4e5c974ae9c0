//! Whole simulations: seeds that hold, seeds that repeat, and planted faults that are caught.

mod minimized;
mod planted;
mod repeated;
mod seeds;
