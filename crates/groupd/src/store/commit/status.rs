//! Whether the store still acknowledges, and why not.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// The health of a store, for readiness checks.
#[derive(Debug, Default)]
pub struct StoreStatus {
    poisoned: AtomicBool,
    reason: Mutex<Option<String>>,
}

impl StoreStatus {
    /// Whether a failure has stopped the store: nothing more is acknowledged until a restart.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }

    /// The failure that stopped it.
    pub fn reason(&self) -> Option<String> {
        self.reason.lock().clone()
    }

    /// Stops the store for good. The first reason stays.
    pub(super) fn poison(&self, reason: &str) {
        self.reason.lock().get_or_insert_with(|| reason.to_owned());
        if !self.poisoned.swap(true, Ordering::Release) {
            tracing::error!(reason, "the store stopped: nothing more is acknowledged, restart groupd");
        }
    }
}
