//! What must always hold, checked from what crosses the coordinators' borders and what clients are told.
//!
//! Each checker has a planted fault that it is shown to catch (`tests/it/planted.rs`).

pub mod answers;
pub mod generations;
pub mod offsets;
pub mod sessions;

use std::fmt;

use coordinator::ids::{GroupId, MemberId};
use hashbrown::HashMap;

use crate::agenda::Moment;

/// Maps for look-up only: what is iterated is kept in order.
pub(crate) type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// Which rule was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Every request is answered exactly once, in order, or its connection is gone.
    AnsweredOnce,
    /// Nothing waits past its deadline.
    Deadline,
    /// At most one leader in a generation, and generations never go back.
    Generation,
    /// At most one assignment in a generation, given by its leader.
    Assignment,
    /// No acknowledged commit is lost, or replaced by an older one.
    Linearizable,
    /// A member is not evicted while its heartbeats arrive in time.
    EvictedAlive,
    /// A member that is silent is evicted within its session timeout.
    SilentKept,
    /// Without faults every group becomes stable in time.
    Stuck,
    /// When all have left nothing is left.
    Leak,
    /// Nothing panics.
    Panicked,
    /// The store opens after whatever happened to it, and does not stop by itself.
    StoreStopped,
}

/// A rule that was broken.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// When it was noticed.
    pub at: Moment,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}: {}", self.rule, self.at, self.what)
    }
}

/// The first violation; later ones may follow from it.
#[derive(Debug, Default)]
pub struct Findings(Option<Violation>);

impl Findings {
    /// Notes that a rule is broken.
    pub fn broken(&mut self, rule: Rule, at: Moment, what: impl FnOnce() -> String) {
        if self.0.is_none() {
            self.0 = Some(Violation { rule, at, what: what() });
        }
    }

    /// Whether there is one.
    pub fn any(&self) -> bool {
        self.0.is_some()
    }

    /// The first one.
    pub fn take(&mut self) -> Option<Violation> {
        self.0.take()
    }
}

/// The groups by name, each with a number.
#[derive(Debug)]
pub struct GroupNumbers(Map<GroupId, usize>);

impl GroupNumbers {
    /// Numbers them as they come.
    pub fn new(names: impl Iterator<Item = GroupId>) -> Self {
        Self(names.enumerate().map(|(number, name)| (name, number)).collect())
    }

    /// The number of a group.
    pub fn of(&self, name: &GroupId) -> Option<usize> {
        self.0.get(name).copied()
    }
}

/// A member of a group, for maps.
pub(crate) type Members<V> = Map<MemberId, V>;
