//! The coordinator through its public interface, as scripts, scenarios and seeds.

mod conformance;
mod joining;
mod offsets;
mod script;
mod static_members;
mod syncing;
