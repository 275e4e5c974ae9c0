//! Whether the server can serve, and why not.

use std::sync::Arc;

use parking_lot::Mutex;

/// Shared by whoever changes it (start, signals, the store) and whoever asks (`/readyz`).
///
/// ```
/// use groupd::telemetry::{Health, Readiness};
///
/// let health = Health::default();
/// assert_eq!(health.readiness(), Readiness::Loading);
/// health.set(Readiness::Ready);
/// health.set(Readiness::Poisoned("the disk failed".into()));
/// health.set(Readiness::Ready); // too late
/// assert_eq!(health.readiness(), Readiness::Poisoned("the disk failed".into()));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Health {
    state: Arc<Mutex<Readiness>>,
}

/// Where a server is in its life.
///
/// ```text
/// Loading ──▶ Ready ──▶ Draining
///    └───────────┴──────────┴──▶ Poisoned     for good: only a restart helps
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Readiness {
    /// State is being read from the store.
    #[default]
    Loading,
    /// Clients are served.
    Ready,
    /// The server was told to stop: what is parked is being answered.
    Draining,
    /// The store failed, as said here: nothing is acknowledged any more.
    Poisoned(Arc<str>),
}

impl Health {
    /// Now.
    pub fn readiness(&self) -> Readiness {
        self.state.lock().clone()
    }

    /// Moves on to `next`. A server never comes back from draining, nor from a failed store.
    pub fn set(&self, next: Readiness) {
        let mut state = self.state.lock();
        let moves = match (&*state, &next) {
            (Readiness::Poisoned(_), _) | (Readiness::Draining, Readiness::Loading | Readiness::Ready) => {
                false
            }
            (Readiness::Loading | Readiness::Ready | Readiness::Draining, _) => true,
        };
        if moves {
            *state = next;
        }
    }
}

impl Readiness {
    /// Whether clients are served.
    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }

    /// One line for whoever asks.
    pub fn describe(&self) -> String {
        match self {
            Self::Loading => "loading: group state is being read from the store".into(),
            Self::Ready => "ready".into(),
            Self::Draining => "draining: the server is stopping".into(),
            Self::Poisoned(why) => format!("the store failed and nothing is acknowledged: {why}"),
        }
    }
}
