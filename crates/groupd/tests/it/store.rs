//! Stores, the thread that drives them, and their bytes.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod commit;
mod crash;
mod damage;
#[cfg(unix)]
mod denied;
mod directory;
mod disk;
mod fold;
mod layout;
mod lost;
mod model;
mod offline;
mod pace;
mod planted;
mod small_tables;
mod transactions;
