//! The group protocol as a small model, explored exhaustively against the real transition code.
//!
//! A few clients, one group, a store that succeeds, fails or never says, an owner that is replaced while it does not know, and a
//! clock that goes from deadline to deadline: everything that can happen next does, in every order, as far as the bounds go.
//! What was seen before (by its canonical text, clients being interchangeable) is not explored again. From every state the
//! faults are then switched off, and the group has to come to rest.
//!
//! The coordinator cannot be copied (its tokens must not be), so a state is reached by replaying its steps.

mod calm;
mod canonical;
mod client;
mod explore;
mod step;
mod store;
mod world;

pub use explore::{Counterexample, Explored, explore};
pub use step::Step;

/// How far a model is explored, and with what.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Clients: 1 to 4.
    pub clients: usize,
    /// Steps from the start, at most.
    pub depth: usize,
    /// States, at most.
    pub states: usize,
    /// The latest generation that is explored.
    pub generations: i32,
    /// Clients that die, in all: each either noticed at once, by the end of its connection, or not.
    pub crashes: u8,
    /// Members that leave, in all.
    pub leaves: u8,
    /// Writes that fail, or are written and never reported, in all.
    pub store_faults: u8,
    /// Times that another coordinator takes over.
    pub moves: u8,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            clients: 3,
            depth: 60,
            states: 100_000,
            generations: 3,
            crashes: 1,
            leaves: 1,
            store_faults: 1,
            moves: 1,
        }
    }
}

/// A fault planted between the coordinator and its world, to show that the model notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// None.
    Nothing,
    /// The store takes writes of an owner that was replaced.
    UnfencedStore,
    /// Deadlines are never handled.
    NoExpiry,
    /// Answers to followers' SyncGroups are lost.
    LostAnswer,
    /// A write is reported before it is kept, and then it is lost.
    LostWrite,
    /// Each answer to a heartbeat comes twice.
    AnsweredTwice,
}
