//! The coordinator through its public interface, as scripts, scenarios and seeds.

mod conformance;
