//! Whether the store still acknowledges, and why not.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The health of a store, for readiness checks.
#[derive(Debug, Default)]
pub struct StoreStatus {
    poisoned: AtomicBool,
    reason: Mutex<Option<String>>,
    news: Notify,
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

    /// Waits until a failure stops the store, and says which. For ever, if none does.
    pub async fn stopped(&self) -> String {
        loop {
            // Made before the look, so that a failure in between is not missed.
            let news = self.news.notified();
            if let Some(reason) = self.reason() {
                return reason;
            }
            news.await;
        }
    }

    /// Stops the store for good. The first reason stays.
    pub(super) fn poison(&self, reason: &str) {
        self.reason.lock().get_or_insert_with(|| reason.to_owned());
        if !self.poisoned.swap(true, Ordering::Release) {
            tracing::error!(reason, "the store stopped: nothing more is acknowledged, restart groupd");
            self.news.notify_waiters();
        }
    }
}
