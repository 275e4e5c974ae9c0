//! The shared purgatory under a simulated clock: every way in, every way out, and what happens at the same time.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

use purgatory::{
    Cancellation, Cause, DelayedOperation, Driver, Exit, Exits, Options, Refused, SharedId, SharedPurgatory,
    SimulatedClock, Submission, Timestamp,
};

type Check = Box<dyn FnMut() -> bool + Send>;

pub(crate) struct Operation {
    pub(crate) name: u64,
    pub(crate) check: Check,
}

impl DelayedOperation for Operation {
    fn is_ready(&mut self) -> bool {
        (self.check)()
    }
}

pub(crate) struct World {
    clock: SimulatedClock,
    driver: Driver,
    pub(crate) purgatory: SharedPurgatory<String, Operation>,
    pub(crate) exits: Exits<Operation>,
}

pub(crate) fn world(options: &Options) -> World {
    let clock = SimulatedClock::new(Timestamp::ZERO);
    let driver = Driver::manual(clock.clone());
    let (purgatory, exits) = SharedPurgatory::with_channel(&driver, options);
    World { clock, driver, purgatory, exits }
}

pub(crate) fn when(name: u64, flag: &Arc<AtomicBool>) -> Operation {
    let flag = Arc::clone(flag);
    Operation { name, check: Box::new(move || flag.load(SeqCst)) }
}

pub(crate) fn never(name: u64) -> Operation {
    Operation { name, check: Box::new(|| false) }
}

pub(crate) fn at(ticks: u64) -> Timestamp {
    Timestamp::from_ticks(ticks)
}

impl World {
    pub(crate) fn park(&self, operation: Operation, keys: &[&str], deadline: u64) -> SharedId {
        let keys = keys.iter().map(|&key| key.to_owned());
        match self.purgatory.try_complete_else_watch(operation, keys, at(deadline)) {
            Ok(Submission::Watched(id)) => id,
            Ok(Submission::Completed(_)) => panic!("ready too early"),
            Err(refused) => panic!("{refused}"),
        }
    }

    pub(crate) fn left(&mut self) -> Vec<(u64, Cause)> {
        std::iter::from_fn(|| self.exits.try_next()).map(|exit| (exit.operation.name, exit.cause)).collect()
    }

    pub(crate) fn turn(&mut self, ticks: u64) -> Option<Timestamp> {
        self.clock.set(at(ticks));
        self.driver.turn()
    }

    pub(crate) fn assert_empty(&self) {
        assert_eq!((self.purgatory.pending(), self.purgatory.watched()), (0, 0));
    }
}

#[test]
fn leaves_all_its_keys_at_once_and_for_one_cause() {
    let mut world = world(&Options::default());
    let flag = Arc::new(AtomicBool::new(false));
    world.park(when(1, &flag), &["a", "b", "c", "d", "e"], 100);
    assert_eq!((world.purgatory.pending(), world.purgatory.watched()), (1, 5));
    assert_eq!(world.purgatory.complete("a"), 0);
    flag.store(true, SeqCst);
    assert_eq!(world.purgatory.complete("e"), 1);
    assert_eq!(world.purgatory.complete("a"), 0);
    world.turn(100);
    assert_eq!(world.left(), [(1, Cause::Satisfied)]);
    world.assert_empty();
}

#[test]
fn a_key_given_twice_counts_once() {
    let world = world(&Options::default());
    world.park(never(1), &["a", "b", "a", "b", "a"], 100);
    assert_eq!((world.purgatory.watched_by("a"), world.purgatory.watched()), (1, 2));
}

#[test]
fn expires_inclusively_never_before_and_says_when_to_come_again() {
    let mut world = world(&Options::default());
    world.park(never(1), &["a"], 100);
    world.park(never(2), &["b"], 250);
    world.park(never(3), &[], u64::MAX);
    assert_eq!(world.purgatory.next_deadline(), Some(at(100)));
    assert_eq!(world.turn(99), Some(at(100)));
    assert_eq!(world.left(), []);
    assert_eq!(world.turn(100), Some(at(250)));
    assert_eq!(world.left(), [(1, Cause::Expired)]);
    assert_eq!(world.turn(u64::MAX - 1), None);
    assert_eq!(world.left(), [(2, Cause::Expired)]);
    assert_eq!(world.purgatory.pending(), 1);
}

#[test]
fn an_earlier_deadline_moves_the_driver() {
    let mut world = world(&Options { shards: 1, ..Options::default() });
    let id = world.park(never(1), &["a"], 500);
    assert_eq!(world.turn(0), Some(at(500)));
    world.park(never(2), &["a"], 300);
    assert_eq!(world.turn(0), Some(at(300)));
    assert!(world.purgatory.extend(id, at(200)));
    assert_eq!(world.turn(0), Some(at(200)));
    assert!(world.purgatory.extend(id, at(900)));
    assert_eq!(world.turn(200), Some(at(300)));
    assert_eq!(world.turn(300), Some(at(900)));
    assert_eq!(world.left(), [(2, Cause::Expired)]);
}

#[test]
fn a_cancelled_operation_comes_back_to_the_caller_only() {
    let mut world = world(&Options::default());
    let id = world.park(never(1), &["a", "b"], 100);
    assert!(matches!(world.purgatory.cancel(id), Cancellation::Taken(Operation { name: 1, .. })));
    assert!(matches!(world.purgatory.cancel(id), Cancellation::Gone));
    assert!(!world.purgatory.extend(id, at(5)));
    world.turn(1_000);
    assert_eq!(world.left(), []);
    world.assert_empty();
}

#[test]
fn an_operation_known_to_be_done_leaves_unexamined_and_once() {
    let mut world = world(&Options::default());
    let id = world.park(never(1), &["a", "b"], 100);
    assert!(world.purgatory.force_complete(id));
    assert!(!world.purgatory.force_complete(id));
    assert_eq!(world.left(), [(1, Cause::Satisfied)]);
    world.assert_empty();
}

#[test]
fn a_trigger_between_the_two_examinations_is_not_lost() {
    let world = world(&Options::default());
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let operation = Operation { name: 1, check: Box::new(move || counted.fetch_add(1, SeqCst) == 1) };
    let submitted = world.purgatory.try_complete_else_watch(operation, ["a".to_owned()], at(100));
    assert!(matches!(submitted, Ok(Submission::Completed(_))));
    assert_eq!(calls.load(SeqCst), 2);
    world.assert_empty();
}

#[test]
fn costs_two_examinations_however_many_keys() {
    let world = world(&Options::default());
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let check = Box::new(move || {
        counted.fetch_add(1, SeqCst);
        false
    });
    let keys = (0..300).map(|key| format!("key-{key}"));
    assert!(world.purgatory.try_complete_else_watch(Operation { name: 1, check }, keys, at(100)).is_ok());
    assert_eq!(calls.load(SeqCst), 2);
}

/// What happens to an operation while it is being examined: a trigger, a cancellation, its deadline, a shutdown.
#[test]
fn notes_left_during_an_examination_are_obeyed() {
    type Reach = (SharedPurgatory<String, Operation>, Driver, SimulatedClock);
    let during = |act: fn(&Reach, SharedId)| {
        let mut world = world(&Options::default());
        let reach = (world.purgatory.clone(), world.driver.clone(), world.clock.clone());
        let slot = Arc::new(std::sync::Mutex::new((0, None)));
        let inside = Arc::clone(&slot);
        let check = Box::new(move || {
            let (calls, id) = {
                let mut slot = inside.lock().unwrap();
                slot.0 += 1;
                *slot
            };
            if let (3, Some(id)) = (calls, id) {
                act(&reach, id);
            }
            calls == 4
        });
        let id = world.park(Operation { name: 1, check }, &["a"], 100);
        slot.lock().unwrap().1 = Some(id);
        world.purgatory.complete("a");
        let calls = slot.lock().unwrap().0;
        (world.left(), world.purgatory.pending(), calls)
    };
    assert_eq!(during(|_, _| {}), (vec![], 1, 3));
    let triggered = during(|(purgatory, ..), _| assert_eq!(purgatory.complete("a"), 0));
    assert_eq!(triggered, (vec![(1, Cause::Satisfied)], 0, 4));
    let cancelled =
        during(|(purgatory, ..), id| assert!(matches!(purgatory.cancel(id), Cancellation::Leaving)));
    assert_eq!(cancelled, (vec![(1, Cause::Cancelled)], 0, 3));
    let expired = during(|(_, driver, clock), _| {
        clock.set(at(100));
        driver.turn();
    });
    assert_eq!(expired, (vec![(1, Cause::Expired)], 0, 3));
    let shut_down = during(|(purgatory, ..), _| assert_eq!(purgatory.shutdown(), 0));
    assert_eq!(shut_down, (vec![(1, Cause::Shutdown)], 0, 3));
}

#[test]
fn a_panic_touches_nobody_else() {
    let mut world = world(&Options { shards: 1, ..Options::default() });
    let flag = Arc::new(AtomicBool::new(false));
    world.park(when(1, &flag), &["a"], 100);
    let angry = Arc::clone(&flag);
    let check = Box::new(move || {
        assert!(!angry.load(SeqCst), "this examination fails");
        false
    });
    world.park(Operation { name: 2, check }, &["a"], 100);
    world.park(when(3, &flag), &["a"], 100);
    flag.store(true, SeqCst);
    assert_eq!(world.purgatory.complete("a"), 2);
    assert_eq!(world.left(), [(1, Cause::Satisfied), (2, Cause::Panicked), (3, Cause::Satisfied)]);
    world.assert_empty();
}

#[test]
fn refuses_beyond_its_bound_until_exits_are_taken() {
    let mut world = world(&Options { max_pending: 2, ..Options::default() });
    world.park(never(1), &["a"], 100);
    world.park(never(2), &["a"], 100);
    let refused = world.purgatory.try_complete_else_watch(never(3), ["a".to_owned()], at(100));
    assert!(matches!(refused, Err(Refused::Full(Operation { name: 3, .. }))));
    world.turn(100);
    assert_eq!(world.purgatory.pending(), 0);
    let refused = world.purgatory.try_complete_else_watch(never(4), ["a".to_owned()], at(200));
    assert!(matches!(refused, Err(Refused::Full(_))), "two exits are still in the channel");
    assert_eq!(world.left().len(), 2);
    world.park(never(5), &["a"], 200);
}

#[test]
fn shutdown_hands_everything_back_and_refuses_what_comes_later() {
    let mut world = world(&Options::default());
    for name in 0..1_000 {
        world.park(never(name), &["a", "b"], if name % 2 == 0 { 100 } else { u64::MAX });
    }
    assert_eq!(world.purgatory.shutdown(), 1_000);
    assert_eq!(world.purgatory.shutdown(), 0);
    let left = world.left();
    assert!(left.len() == 1_000 && left.iter().all(|&(_, cause)| cause == Cause::Shutdown));
    world.assert_empty();
    let refused = world.purgatory.try_complete_else_watch(never(1), ["a".to_owned()], at(100));
    assert!(matches!(refused, Err(Refused::ShutDown(_))));
    assert_eq!(world.turn(200), None);
}

#[test]
fn a_key_whose_owner_is_gone_lets_everything_go() {
    let mut world = world(&Options::default());
    for name in 0..600 {
        world.park(never(name), &["a", "b"], 100);
    }
    world.park(never(600), &["b"], 100);
    assert_eq!(world.purgatory.complete_all("a", Cause::Cancelled), 600);
    assert_eq!(world.left().len(), 600);
    assert_eq!((world.purgatory.pending(), world.purgatory.watched()), (1, 1));
}

#[test]
fn an_executor_runs_a_long_chain_of_completions_in_constant_stack() {
    const LENGTH: u64 = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    struct Link(u64, Arc<AtomicUsize>);
    impl DelayedOperation for Link {
        fn is_ready(&mut self) -> bool {
            self.1.load(SeqCst) as u64 > self.0
        }
    }
    let driver = Driver::manual(SimulatedClock::new(Timestamp::ZERO));
    let done = Arc::new(AtomicUsize::new(0));
    let slot: Arc<std::sync::OnceLock<SharedPurgatory<u64, Link>>> = Arc::default();
    let (inside, counted) = (Arc::downgrade(&slot), Arc::clone(&done));
    let purgatory = SharedPurgatory::with_executor(&driver, &Options::default(), move |exit: Exit<Link>| {
        counted.fetch_add(1, SeqCst);
        if let Some(purgatory) = inside.upgrade() {
            purgatory.get().unwrap().complete(&(exit.operation.0 + 1));
        }
    });
    slot.set(purgatory.clone()).unwrap();
    for name in 0..LENGTH {
        assert!(purgatory.try_complete_else_watch(Link(name, done.clone()), [name], Timestamp::MAX).is_ok());
    }
    done.fetch_add(1, SeqCst);
    assert_eq!(purgatory.complete(&0), 1);
    assert_eq!(done.load(SeqCst) as u64, LENGTH + 1);
    assert_eq!(purgatory.pending(), 0);
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_wait_resolves_once_with_its_cause_and_cancels_when_dropped() {
    let mut world = world(&Options::default());
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let flag = Arc::new(AtomicBool::new(false));
    let wait = |flag: &Arc<AtomicBool>, deadline| {
        let flag = Arc::clone(flag);
        world.purgatory.wait(["a".to_owned()], at(deadline), move || flag.load(SeqCst)).unwrap()
    };

    let mut satisfied = pin!(wait(&flag, 100));
    assert_eq!(satisfied.as_mut().poll(&mut context), Poll::Pending);
    flag.store(true, SeqCst);
    assert_eq!(world.purgatory.complete("a"), 1);
    assert_eq!(woken.0.load(SeqCst), 1);
    assert_eq!(satisfied.as_mut().poll(&mut context), Poll::Ready(Cause::Satisfied));
    assert_eq!(pin!(wait(&flag, 100)).poll(&mut context), Poll::Ready(Cause::Satisfied));

    flag.store(false, SeqCst);
    let mut expired = pin!(wait(&flag, 100));
    let dropped = wait(&flag, 100);
    assert_eq!(world.purgatory.pending(), 2);
    drop(dropped);
    assert_eq!(world.purgatory.pending(), 1);
    assert_eq!(expired.as_mut().poll(&mut context), Poll::Pending);
    world.clock.set(at(100));
    world.driver.turn();
    assert_eq!(woken.0.load(SeqCst), 2);
    assert_eq!(expired.as_mut().poll(&mut context), Poll::Ready(Cause::Expired));
    assert_eq!(world.left(), []);
    world.assert_empty();
}

#[test]
fn a_thousand_purgatories_share_a_driver_and_leave_it() {
    let clock = SimulatedClock::new(Timestamp::ZERO);
    let driver = Driver::manual(clock.clone());
    let options = Options { shards: 2, ..Options::default() };
    let mut many: Vec<_> = (0..1_000).map(|_| SharedPurgatory::with_channel(&driver, &options)).collect();
    for (index, (purgatory, _)) in many.iter().enumerate() {
        let deadline = at(1 + index as u64);
        assert!(purgatory.try_complete_else_watch(never(0), ["a".to_owned()], deadline).is_ok());
    }
    many.truncate(500);
    clock.set(at(1_000));
    assert_eq!(driver.turn(), None);
    for (_, exits) in &mut many {
        assert!(exits.try_next().is_some_and(|exit| exit.cause == Cause::Expired));
    }
}
