//! The signals that end a server in good order. Caught from before it starts: one that comes early is not lost.

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGINT, which from now on do not end the process by themselves.
#[derive(Debug)]
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Catches them, on this runtime.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn catch(runtime: &Runtime) -> std::io::Result<Self> {
        let _context = runtime.enter();
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The name of the next one.
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
