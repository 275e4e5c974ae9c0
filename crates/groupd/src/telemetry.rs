//! What a running server tells its operator: logs, metrics, health. Knows no protocol and no groups.
//!
//! Health is a state that `serve` moves through; metrics are described in one table, so that the docs and
//! `/metrics` cannot disagree; both are served by a small HTTP responder of our own. On a server for tests it hands on
//! commands.

mod health;
mod http;
mod logs;
mod metrics;
mod process;
pub(crate) mod samples;

pub use health::{Health, Readiness};
pub(crate) use http::serve_with;
pub use http::{bind, serve};
pub use logs::start as start_logs;
pub use metrics::{METRICS, Metric, MetricKind, Metrics, Series, name};
