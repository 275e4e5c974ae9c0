//! Whole simulations: seeds that hold, seeds that repeat, and planted faults that are caught.

mod planted;
mod repeated;
mod seeds;
