//! What a server for tests does to a connection: a request that is begun late, an end by command.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Sleep;

use super::Share;
use crate::testing::Released;

/// A request that is begun late.
pub(super) struct Delayed {
    pub(super) frame: Vec<u8>,
    /// What it holds meanwhile.
    pub(super) share: Option<Arc<Share>>,
    until: Pin<Box<Sleep>>,
    released: Released,
}

impl Delayed {
    /// `frame`, and what it holds, for `by` or until `released`.
    pub(super) fn new(
        (frame, share): (Vec<u8>, Option<Arc<Share>>),
        by: Duration,
        released: Released,
    ) -> Self {
        Self { frame, share, until: Box::pin(tokio::time::sleep(by)), released }
    }
}

/// Ends when what is delayed is to be begun; never, if nothing is.
pub(super) async fn released(delayed: Option<&mut Delayed>) {
    let Some(delayed) = delayed else { return std::future::pending().await };
    tokio::select! {
        () = delayed.until.as_mut() => {}
        () = delayed.released.wait() => {}
    }
}

/// Ends when the connection is to end; never on an ordinary server.
pub(super) async fn dismissed(dismissal: Option<&Notify>) {
    match dismissal {
        Some(dismissal) => dismissal.notified().await,
        None => std::future::pending().await,
    }
}
