//! The coordinator through its public interface, as scripts, scenarios and seeds.

mod conformance;
mod digest;
mod history;
mod joining;
mod offsets;
mod ownership;
mod script;
mod size;
mod static_members;
mod storm;
mod syncing;
mod tables;
mod transactions;
