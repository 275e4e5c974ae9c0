//! How many requests of each API were answered, and how long they took.

use std::time::Duration;

use metrics::{Counter, Histogram, counter, histogram};

use super::head::Api;
use crate::telemetry::name;

/// Handles of the metrics of all APIs: looking them up for each request would cost more than counting.
pub(crate) struct Measured {
    /// In the order of [`Api::ALL`].
    apis: Vec<(Counter, Histogram)>,
}

impl Measured {
    /// Handles of the process' recorder, which must be installed by now.
    pub(crate) fn new() -> Self {
        let handles = |api: &Api| {
            let api = api.key().name();
            (counter!(name::REQUESTS, "api" => api), histogram!(name::REQUEST_SECONDS, "api" => api))
        };
        Self { apis: Api::ALL.iter().map(handles).collect() }
    }

    /// Counts a request of `api` that was answered `took` after it was read.
    pub(crate) fn answered(&self, api: Api, took: Duration) {
        let (requests, seconds) = &self.apis[api as usize];
        requests.increment(1);
        seconds.record(took);
    }
}

impl std::fmt::Debug for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Measured")
    }
}
