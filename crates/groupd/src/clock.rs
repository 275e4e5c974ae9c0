//! The time that coordinators live by: the system's, or one that stands still until a command moves it.
//!
//! Whatever waits for a machine (a fetch, a write, a connection, the end of a server) lives by the system's clock
//! in either case: its clients do, too.

use std::time::Duration;

use purgatory::{Clock, SimulatedClock, SystemClock, Timestamp};

/// The clock of a server.
#[derive(Clone, Debug)]
pub(crate) struct ServerClock {
    host: SystemClock,
    /// `--simulated-clock`: what coordinators see instead.
    simulated: Option<SimulatedClock>,
}

/// One reading of it, Unix milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Now {
    /// What coordinators see.
    pub(crate) groups: Timestamp,
    /// The system's.
    pub(crate) host: Timestamp,
}

impl ServerClock {
    /// The system's clock for all.
    pub(crate) fn system() -> Self {
        Self { host: SystemClock::unix_millis(), simulated: None }
    }

    /// Coordinators see `clock`.
    pub(crate) fn simulated(clock: SimulatedClock) -> Self {
        Self { host: SystemClock::unix_millis(), simulated: Some(clock) }
    }

    /// Now.
    pub(crate) fn now(&self) -> Now {
        let host = self.host.now();
        Now { groups: self.simulated.as_ref().map_or(host, SimulatedClock::now), host }
    }

    /// How long it is until the first of two deadlines, of a coordinator and of the host; `None`: for ever, unless the
    /// clock is moved.
    pub(crate) fn patience(&self, groups: Option<Timestamp>, host: Option<Timestamp>) -> Option<Duration> {
        let Some(simulated) = &self.simulated else {
            let first = [groups, host].into_iter().flatten().min()?;
            return Some(self.host.until(first));
        };
        if groups.is_some_and(|deadline| deadline <= simulated.now()) {
            return Some(Duration::ZERO);
        }
        host.map(|deadline| self.host.until(deadline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ticks: u64) -> Timestamp {
        Timestamp::from_ticks(ticks)
    }

    #[test]
    fn a_simulated_clock_wakes_nobody_before_it_is_moved() {
        let simulated = SimulatedClock::new(at(1_000));
        let clock = ServerClock::simulated(simulated.clone());
        assert_eq!(clock.now().groups, at(1_000));
        assert_eq!(clock.patience(Some(at(1_001)), None), None);
        assert_eq!(clock.patience(None, None), None);
        let soon = clock.now().host.saturating_add(60_000);
        assert!(clock.patience(Some(at(1_001)), Some(soon)).is_some_and(|patience| !patience.is_zero()));
        simulated.advance(1);
        assert_eq!(clock.patience(Some(at(1_001)), Some(soon)), Some(Duration::ZERO));
    }

    #[test]
    fn the_systems_clock_is_one_for_all() {
        let clock = ServerClock::system();
        let now = clock.now();
        assert_eq!(now.groups, now.host);
        assert_eq!(clock.patience(Some(now.groups), None), Some(Duration::ZERO));
        assert_eq!(clock.patience(None, None), None);
    }
}
