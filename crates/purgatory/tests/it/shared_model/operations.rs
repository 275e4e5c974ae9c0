//! Operations whose examination ends as the model says, and an executor that meddles.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use purgatory::{
    Cancellation, Cause, DelayedOperation, Exit, SharedId, SharedPurgatory, Submission, Timestamp,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) const KEYS: u8 = 6;

/// How an examination ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Waits,
    Ready,
    Panics,
    /// It cancels itself, which the thread that has it in hand finds as a note.
    CancelsItself,
    /// It triggers its own key, once, and so is examined again, and ready then.
    TriggersItself,
}

const MOODS: [Mood; 5] = [Mood::Waits, Mood::Ready, Mood::Panics, Mood::CancelsItself, Mood::TriggersItself];

/// A mood that the test can change while the operation waits.
#[derive(Clone)]
pub(crate) struct SharedMood(Arc<AtomicU8>);

impl SharedMood {
    pub(crate) fn new(mood: Mood) -> Self {
        Self(Arc::new(AtomicU8::new(mood as u8)))
    }

    pub(crate) fn get(&self) -> Mood {
        MOODS[usize::from(self.0.load(Relaxed))]
    }

    pub(crate) fn set(&self, mood: Mood) {
        self.0.store(mood as u8, Relaxed);
    }
}

pub(crate) struct Operation {
    pub(crate) name: u64,
    pub(crate) key: u8,
    pub(crate) mood: SharedMood,
    /// What the mood becomes after the next examination, if anything.
    pub(crate) then: Option<Mood>,
    pub(crate) id: Arc<OnceLock<SharedId>>,
    pub(crate) world: Weak<World>,
}

impl DelayedOperation for Operation {
    fn is_ready(&mut self) -> bool {
        let mood = self.mood.get();
        if let Some(then) = self.then.take() {
            self.mood.set(then);
        }
        let world = self.world.upgrade().expect("the test holds it");
        let purgatory = world.purgatory.get().expect("set before anything is submitted");
        match mood {
            Mood::Waits => false,
            Mood::Ready => true,
            Mood::Panics => panic!("this examination fails"),
            Mood::CancelsItself => {
                if let Some(&id) = self.id.get() {
                    assert_eq!(purgatory.cancel(id).map_name(), Err(true), "it is in hand");
                }
                false
            }
            Mood::TriggersItself => {
                self.mood.set(Mood::Ready);
                purgatory.complete(&self.key);
                false
            }
        }
    }
}

/// What happened, as the model is told.
pub(crate) enum Event {
    Left {
        name: u64,
        cause: Cause,
        expired_at: Option<Timestamp>,
    },
    /// Cancelled by its owner.
    Taken(u64),
    /// Cancelled while it was in hand: it leaves as that, unless it is ready.
    Noted(u64),
    Added(Added),
}

/// An operation that was submitted and waits.
pub(crate) struct Added {
    pub(crate) name: u64,
    pub(crate) keys: Vec<u8>,
    pub(crate) deadline: u64,
    pub(crate) mood: SharedMood,
    pub(crate) id: SharedId,
}

pub(crate) type Subject = SharedPurgatory<u8, Operation>;

/// What operations and the executor can reach.
pub(crate) struct World {
    pub(crate) purgatory: OnceLock<Subject>,
    pub(crate) log: Mutex<Vec<Event>>,
    /// Of what was submitted, some of it gone.
    pub(crate) ids: Mutex<Vec<(u64, SharedId)>>,
    rng: Mutex<ChaCha8Rng>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            purgatory: OnceLock::new(),
            log: Mutex::default(),
            ids: Mutex::default(),
            rng: Mutex::new(ChaCha8Rng::seed_from_u64(!seed)),
        }
    }

    fn log(&self, event: Event) {
        self.log.lock().expect("nobody panics with it").push(event);
    }

    fn random(&self, below: u64) -> u64 {
        self.rng.lock().expect("nobody panics with it").random_range(0..below)
    }

    fn key(&self) -> u8 {
        u8::try_from(self.random(u64::from(KEYS))).expect("below the number of keys")
    }

    pub(crate) fn left(&self, exit: &Exit<Operation>) {
        let (name, cause, expired_at) = (exit.operation.name, exit.cause, exit.expired_at);
        self.log(Event::Left { name, cause, expired_at });
    }

    /// An executor that submits anew, cancels siblings, completes other keys, and sometimes panics.
    pub(crate) fn run(self: &Arc<Self>, exit: &Exit<Operation>) {
        self.left(exit);
        let purgatory = self.purgatory.get().expect("set before anything leaves");
        match self.random(10) {
            0 | 1 => self.submit_anew(exit.operation.name + (1 << 32), purgatory),
            2 | 3 => {
                let ids = self.ids.lock().expect("nobody panics with it").clone();
                let Some(at) = ids.len().checked_sub(1) else { return };
                let (name, id) = ids[usize::try_from(self.random(at as u64 + 1)).expect("below a length")];
                match purgatory.cancel(id).map_name() {
                    Ok(taken) => {
                        assert_eq!(taken, name);
                        self.log(Event::Taken(name));
                    }
                    // One that triggers itself lets others go while it is in hand.
                    Err(true) => self.log(Event::Noted(name)),
                    Err(false) => {}
                }
            }
            4 => _ = purgatory.complete(&self.key()),
            5 => panic!("this executor fails"),
            _ => {}
        }
    }

    fn submit_anew(self: &Arc<Self>, name: u64, purgatory: &Subject) {
        let keys: Vec<u8> = (0..=self.random(2)).map(|_| self.key()).collect();
        let id = Arc::<OnceLock<SharedId>>::default();
        let (key, mood) = (keys[0], SharedMood::new(Mood::Waits));
        let world = Arc::downgrade(self);
        let operation = Operation { name, key, mood: mood.clone(), then: None, id: Arc::clone(&id), world };
        let deadline = self.random(1 << 20);
        let submitted =
            purgatory.try_complete_else_watch(operation, keys.clone(), Timestamp::from_ticks(deadline));
        // It may be full: what is being delivered still has its place.
        if let Ok(Submission::Watched(parked)) = submitted {
            id.set(parked).expect("set once");
            self.ids.lock().expect("nobody panics with it").push((name, parked));
            self.log(Event::Added(Added { name, keys, deadline, mood, id: parked }));
        }
    }
}

/// The name, or whether it is about to leave.
pub(crate) trait MapName {
    fn map_name(self) -> Result<u64, bool>;
}

impl MapName for Cancellation<Operation> {
    fn map_name(self) -> Result<u64, bool> {
        match self {
            Self::Taken(operation) => Ok(operation.name),
            Self::Leaving => Err(true),
            Self::Gone => Err(false),
        }
    }
}
