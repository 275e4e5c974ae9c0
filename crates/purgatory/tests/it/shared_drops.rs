//! When the shared purgatory lets go of keys and operations, and what their drops may do.

use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

use purgatory::{
    Cause, DelayedOperation, Driver, Exit, Options, SharedId, SharedPurgatory, SimulatedClock, Submission,
    Timestamp,
};

/// A key whose copies are counted.
struct Key(u32, #[expect(dead_code, reason = "it is only counted")] Arc<()>);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

struct Waits;

impl DelayedOperation for Waits {
    fn is_ready(&mut self) -> bool {
        false
    }
}

#[test]
fn a_key_is_forgotten_with_the_last_that_watches_it() {
    let clock = SimulatedClock::new(Timestamp::ZERO);
    let driver = Driver::manual(clock.clone());
    let (purgatory, _exits) = SharedPurgatory::with_channel(&driver, &Options::default());
    let held = Arc::new(());
    let key = |number| Key(number, Arc::clone(&held));
    for round in 0..4_u64 {
        let deadline = Timestamp::from_ticks(100 * (round + 1));
        let mut ids = Vec::new();
        for number in 0..1_000 {
            // One-off keys, each watched twice, and one that all share.
            let keys = [key(number), key(number), key(5_000)];
            let thresholds = [(key(number), 7), (key(number), 8)];
            let parked = [
                purgatory.try_complete_else_watch(Waits, keys, deadline),
                purgatory.try_complete_else_watch_thresholds(Waits, thresholds, deadline),
            ];
            ids.extend(parked.map(|parked| match parked {
                Ok(Submission::Watched(id)) => id,
                _ => panic!("not ready, and not too many"),
            }));
        }
        assert_eq!(Arc::strong_count(&held), 1 + 2_001, "a key is held once, and once with thresholds");
        match round {
            0 => assert_eq!(purgatory.force_complete_all(ids), 2_000),
            1 => ids.into_iter().for_each(|id| drop(purgatory.cancel(id))),
            2 => {
                let left: usize =
                    (0..1_000).map(|number| purgatory.complete_all(&key(number), Cause::Cancelled)).sum();
                assert_eq!(left, 2_000);
            }
            _ => {
                clock.set(deadline);
                driver.turn();
            }
        }
        assert_eq!((Arc::strong_count(&held), purgatory.pending(), purgatory.watched()), (1, 0, 0));
    }
}

type Subject = SharedPurgatory<u32, Meddling>;

/// Cancels its sibling and triggers its own key when it is dropped.
struct Meddling {
    purgatory: Arc<OnceLock<Subject>>,
    sibling: Option<SharedId>,
    dropped: Arc<AtomicUsize>,
    panics: bool,
}

impl DelayedOperation for Meddling {
    fn is_ready(&mut self) -> bool {
        assert!(!self.panics, "this examination fails");
        false
    }
}

impl Drop for Meddling {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, SeqCst);
        let purgatory = self.purgatory.get().expect("set before anything is submitted");
        purgatory.complete(&1);
        if let Some(sibling) = self.sibling {
            drop(purgatory.cancel(sibling));
        }
        assert!(purgatory.watched_by(&1) <= 2);
    }
}

#[test]
fn an_operation_may_use_the_purgatory_while_it_is_dropped() {
    for way in 0..6 {
        let clock = SimulatedClock::new(Timestamp::ZERO);
        let driver = Driver::manual(clock.clone());
        let cell = Arc::<OnceLock<Subject>>::default();
        let dropped = Arc::<AtomicUsize>::default();
        let options = Options { shards: 1, ..Options::default() };
        let purgatory = if way % 2 == 0 {
            // Nobody listens: what leaves is dropped where it leaves.
            SharedPurgatory::with_channel(&driver, &options).0
        } else {
            SharedPurgatory::with_executor(&driver, &options, |exit: Exit<Meddling>| drop(exit))
        };
        assert!(cell.set(purgatory.clone()).is_ok());
        let park = |sibling, panics| {
            let (purgatory, dropped) = (Arc::clone(&cell), Arc::clone(&dropped));
            let operation = Meddling { purgatory, sibling, dropped, panics };
            let deadline = Timestamp::from_ticks(if sibling.is_some() { 100 } else { 200 });
            match cell.get().unwrap().try_complete_else_watch(operation, [1], deadline) {
                Ok(Submission::Watched(id)) => id,
                _ => panic!("not ready, and not too many"),
            }
        };
        let sibling = park(None, false);
        let id = park(Some(sibling), false);
        match way / 2 {
            0 => drop(purgatory.cancel(id)),
            1 => {
                clock.set(Timestamp::from_ticks(100));
                driver.turn();
            }
            _ => assert_eq!(purgatory.shutdown(), 2),
        }
        assert_eq!((dropped.load(SeqCst), purgatory.pending(), purgatory.watched()), (2, 0, 0), "way {way}");
        if way < 4 {
            assert!(catch_unwind(AssertUnwindSafe(|| park(None, true))).is_err());
            assert_eq!((dropped.load(SeqCst), purgatory.pending()), (3, 0));
        }
    }
}
