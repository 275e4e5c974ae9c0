//! What only a server for tests can do (`--simulated-clock`): its coordinators' time stands still and moves by command,
//! and faults happen by command.
//!
//! Commands come over HTTP, beside metrics and health ([`routes`]); on any other server the paths do not exist.

mod advance;
mod clock_file;
mod error_names;
mod fault;
mod faults;
mod heard;
mod moves;
mod parameters;
mod routes;

use std::sync::Arc;

use purgatory::{Clock, SimulatedClock, Timestamp};
use tokio::sync::Mutex;

use crate::settings::{Settings, StoreKind};
use crate::shard::Shards;
use crate::store::StoreClient;
use crate::telemetry::name;
use crate::telemetry::samples::{head, sample};
use clock_file::ClockFile;
pub(crate) use fault::Asks;
pub(crate) use faults::{Faults, Released, Strike, WriteStrike};
pub(crate) use heard::Heard;
pub(crate) use parameters::milliseconds;
pub(crate) use routes::{Called, Reply};

/// The first millisecond that is not shown as a date: no clock is moved so far.
const YEAR_10000: u64 = 253_402_300_800_000;

/// A clock that stands still, and where its time is kept over restarts.
#[derive(Debug)]
pub(crate) struct StandingClock {
    clock: SimulatedClock,
    file: Option<ClockFile>,
    faults: Arc<Faults>,
}

impl StandingClock {
    /// The clock of a server that begins at `host`, the system's time, or where it stood at the last run if that is
    /// later: time does not go back.
    ///
    /// # Errors
    ///
    /// If the data directory was not made for tests, or cannot be read or written.
    pub(crate) fn begin(settings: &Settings, host: Timestamp) -> anyhow::Result<Self> {
        let file = match settings.store {
            StoreKind::Memory => None,
            StoreKind::Embedded => Some(ClockFile::open(&settings.data_dir, host)?),
        };
        let kept = file.as_ref().map_or(host, ClockFile::kept);
        Ok(Self { clock: SimulatedClock::new(host.max(kept)), file, faults: Arc::default() })
    }

    /// The faults of the same server.
    pub(crate) fn faults(&self) -> &Arc<Faults> {
        &self.faults
    }

    /// For those who read it.
    pub(crate) fn reader(&self) -> SimulatedClock {
        self.clock.clone()
    }
}

/// Says so, if a simulated clock has run in the data directory of an ordinary server: it may have run ahead.
pub(crate) fn warn_of_simulated_past(settings: &Settings) {
    if settings.store == StoreKind::Embedded && ClockFile::is_in(&settings.data_dir) {
        tracing::warn!(
            data_dir = %settings.data_dir.display(),
            "the data directory was made with --simulated-clock: what is in it may carry times that are yet to come"
        );
    }
}

/// The commands' side of a server for tests.
#[derive(Debug)]
pub(crate) struct Testing {
    clock: SimulatedClock,
    /// Held by the one command that moves the clock. The file is written before the clock is moved.
    moving: Mutex<Option<ClockFile>>,
    /// Held by the one command that moves a coordinator.
    changing_owner: Mutex<()>,
    shards: Shards,
    store: StoreClient,
    heard: Heard,
    faults: Arc<Faults>,
}

impl Testing {
    /// Commands for the server with these shards.
    pub(crate) fn new(standing: StandingClock, shards: Shards, store: StoreClient) -> Arc<Self> {
        let StandingClock { clock, file, faults } = standing;
        let (moving, changing_owner) = (Mutex::new(file), Mutex::new(()));
        Arc::new(Self { clock, moving, changing_owner, shards, store, heard: Heard::default(), faults })
    }

    /// What goes wrong, for those to whom it happens.
    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Who is heard from, for connections to say.
    pub(crate) fn heard(&self) -> &Heard {
        &self.heard
    }

    /// Appends metrics that no ordinary server has.
    pub(crate) fn render(&self, text: &mut String) {
        for (name, value) in [
            (name::SIMULATED_CLOCK, 1),
            (name::SIMULATED_CLOCK_TIMESTAMP, self.now().ticks() / 1_000),
            (name::FAULTS, self.faults.list().len() as u64),
        ] {
            head(text, name);
            sample(text, name, &[], value);
        }
    }

    /// Where the clock stands.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// `at` as RFC 3339, in UTC.
pub(crate) fn date(at: Timestamp) -> String {
    let shown = std::time::Duration::from_millis(at.ticks().min(YEAR_10000 - 1));
    humantime::format_rfc3339_millis(std::time::UNIX_EPOCH + shown).to_string()
}
