//! Flags, seed, system clock, start.
fn main() {}
