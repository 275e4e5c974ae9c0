//! Starts logging to standard error, as text or as one JSON object a line.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::settings::{LogFormat, Settings};

/// Starts logging for the whole process. The filter was checked with the settings.
///
/// # Errors
///
/// If logging was started before.
pub fn start(settings: &Settings) -> anyhow::Result<()> {
    let filter = EnvFilter::builder().parse(&settings.log)?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match settings.log_format {
        LogFormat::Text => {
            lines.with_ansi(std::io::stderr().is_terminal()).with_target(false).finish().try_init()?;
        }
        LogFormat::Json => lines.json().flatten_event(true).finish().try_init()?,
    }
    Ok(())
}
