//! The faults that are set: a bounded list, each of which strikes what fits it until it is used up or cleared.
//!
//! Of several that fit, the one that was set first strikes, alone.

use std::time::Duration;

use coordinator::messages::StoreError;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use super::fault::{Asks, Fault, Kind, Wanted};
use crate::apis::Api;

/// Faults that are set at once, at most.
const MOST: usize = 64;

/// All faults of a server.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: u32,
    /// In the order they were set.
    faults: Vec<Fault>,
}

/// What befalls a request.
#[derive(Debug)]
pub(crate) enum Strike {
    /// It is handled so much later, or when the fault is cleared.
    Delay(Duration, Released),
    /// It is answered with this error.
    Fail(i16),
    /// It is not handled, and its connection ends.
    LoseRequest,
    /// It is handled, and its connection ends.
    LoseAnswer,
}

/// What befalls a write.
#[derive(Debug)]
pub(crate) enum WriteStrike {
    Fail(StoreError),
    /// Its outcome comes so much later, or when the fault is cleared.
    Slow(Duration, Released),
}

/// Tells when a fault is cleared.
#[derive(Clone, Debug)]
pub(crate) struct Released(watch::Receiver<bool>);

impl Released {
    /// Whether it was.
    pub(crate) fn is_now(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for it: for ever, if it never is.
    pub(crate) async fn wait(&mut self) {
        if self.0.wait_for(|released| *released).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Faults {
    /// Sets a fault; its number.
    ///
    /// # Errors
    ///
    /// If there are too many.
    pub(super) fn set(&self, wanted: Wanted) -> Result<u32, String> {
        let mut state = self.state.lock();
        state.faults.retain(|fault| !fault.is_over());
        if state.faults.len() >= MOST {
            return Err(format!("{MOST} faults are set, and no more can be: clear some"));
        }
        state.last = state.last.wrapping_add(1);
        let Wanted { kind, scope, times } = wanted;
        let (id, release) = (state.last, watch::Sender::new(false));
        let fault = Fault { id, kind, scope, left: times, struck: 0, release };
        tracing::warn!(fault = id, "fault set: {}", crate::shown::Shown(&fault.sentence()));
        state.faults.push(fault);
        Ok(id)
    }

    /// Takes out the fault of this number, or all; what they delayed goes on.
    pub(super) fn clear(&self, id: Option<u32>) -> Vec<Fault> {
        let mut state = self.state.lock();
        state.faults.retain(|fault| !fault.is_over());
        let cleared: Vec<_> =
            state.faults.extract_if(.., |fault| id.is_none_or(|id| id == fault.id)).collect();
        for fault in &cleared {
            fault.release.send_replace(true);
        }
        cleared
    }

    /// Puts a fault back that could not be cleared.
    pub(super) fn put_back(&self, fault: Fault) {
        self.state.lock().faults.push(fault);
    }

    /// The fault of this number.
    pub(super) fn tell(&self, id: u32) -> Option<Value> {
        self.state.lock().faults.iter().find(|fault| fault.id == id).map(Fault::json)
    }

    /// All that are set, in order.
    pub(super) fn list(&self) -> Vec<Value> {
        let mut state = self.state.lock();
        state.faults.retain(|fault| !fault.is_over());
        state.faults.iter().map(Fault::json).collect()
    }

    /// Whether a coordinator is away from this partition because of a fault.
    pub(super) fn is_away(&self, partition: coordinator::ids::OffsetsPartition) -> bool {
        let state = self.state.lock();
        state.faults.iter().any(|fault| matches!(fault.kind, Kind::Away(away) if away == partition))
    }

    /// Whether a fault of `api` is set: most requests need not be looked at.
    pub(crate) fn concern(&self, api: Api) -> bool {
        self.state.lock().faults.iter().any(|fault| fault.kind.is_of(api) && fault.left != Some(0))
    }

    /// What befalls a request for `api`.
    pub(crate) fn strike(&self, api: Api, asks: Asks<'_>) -> Option<Strike> {
        let mut state = self.state.lock();
        let fits =
            |fault: &&mut Fault| fault.kind.is_of(api) && fault.left != Some(0) && fault.scope.fits(asks);
        let fault = state.faults.iter_mut().find(fits)?;
        let strike = match fault.kind {
            Kind::Delay(_, by) => Strike::Delay(by, Released(fault.release.subscribe())),
            Kind::Fail(_, code) => Strike::Fail(code),
            Kind::LoseRequest(_) => Strike::LoseRequest,
            Kind::LoseAnswer(_) => Strike::LoseAnswer,
            Kind::StoreFail(_) | Kind::StoreSlow(_) | Kind::Away(_) => return None,
        };
        fault.strike();
        log(fault);
        Some(strike)
    }

    /// What befalls a write of one of `groups`.
    pub(crate) fn strike_write(&self, group: Option<&str>) -> Option<WriteStrike> {
        let mut state = self.state.lock();
        let fits = |fault: &&mut Fault| {
            let is_of_store = matches!(fault.kind, Kind::StoreFail(_) | Kind::StoreSlow(_));
            is_of_store && fault.left != Some(0) && fault.scope.fits(Asks { group, ..Asks::default() })
        };
        let fault = state.faults.iter_mut().find(fits)?;
        let strike = match fault.kind {
            Kind::StoreFail(error) => WriteStrike::Fail(error),
            Kind::StoreSlow(by) => WriteStrike::Slow(by, Released(fault.release.subscribe())),
            Kind::Delay(..) | Kind::Fail(..) | Kind::LoseRequest(_) | Kind::LoseAnswer(_) | Kind::Away(_) => {
                return None;
            }
        };
        fault.strike();
        log(fault);
        Some(strike)
    }
}

fn log(fault: &Fault) {
    tracing::info!(fault = fault.id, left = ?fault.left, "fault: {}", crate::shown::Shown(&fault.sentence()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fault::Scope;

    fn wanted(kind: Kind, times: Option<u32>) -> Wanted {
        Wanted { kind, scope: Scope { group: Some("g".into()), ..Scope::default() }, times }
    }

    #[test]
    fn a_fault_strikes_what_fits_it_until_it_is_used_up() {
        let faults = Faults::default();
        let asks = Asks { group: Some("g"), member: Some("m"), client_id: "c" };
        faults.set(wanted(Kind::LoseAnswer(Api::OffsetCommit), Some(2))).expect("there is room");
        assert!(faults.strike(Api::Heartbeat, asks).is_none());
        assert!(faults.strike(Api::OffsetCommit, Asks { group: Some("h"), ..asks }).is_none());
        assert!(faults.strike(Api::OffsetCommit, Asks { group: None, ..asks }).is_none());
        for _ in 0..2 {
            assert!(matches!(faults.strike(Api::OffsetCommit, asks), Some(Strike::LoseAnswer)));
        }
        assert!(faults.strike(Api::OffsetCommit, asks).is_none());
        assert!(faults.list().is_empty());
    }

    #[test]
    fn the_list_is_bounded_and_what_waits_for_a_fault_keeps_it_listed() {
        let faults = Faults::default();
        let asks = Asks { group: Some("g"), ..Asks::default() };
        let delay = Kind::Delay(Api::Heartbeat, Duration::from_mins(1));
        let id = faults.set(wanted(delay, Some(1))).expect("there is room");
        let Some(Strike::Delay(_, released)) = faults.strike(Api::Heartbeat, asks) else {
            panic!("it is delayed")
        };
        assert!(faults.strike(Api::Heartbeat, asks).is_none());
        assert_eq!(faults.list().len(), 1);
        for _ in 1..MOST {
            faults.set(wanted(Kind::LoseRequest(Api::JoinGroup), None)).expect("there is room");
        }
        assert!(faults.set(wanted(Kind::LoseRequest(Api::JoinGroup), None)).is_err());
        assert_eq!(faults.clear(Some(id)).len(), 1);
        assert!(released.is_now());
        assert_eq!(faults.clear(None).len(), MOST - 1);
        assert!(faults.strike(Api::JoinGroup, asks).is_none());
    }
}
