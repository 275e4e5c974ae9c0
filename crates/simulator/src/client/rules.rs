//! What each kind of client does about each error, and its timeouts: read off the clients' own sources.
//!
//! Java: `AbstractCoordinator`, `ConsumerCoordinator` (3.9). librdkafka: `rdkafka_cgrp.c` (2.x). kafka-python:
//! `coordinator/base.py`, `coordinator/consumer.py` (2.0).

use coordinator::messages::GroupError;

use crate::agenda::{MS, SECOND};
use crate::scenario::Flavor;

/// What a client does about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Joins with the id it was given.
    TakeId,
    /// Sends the same again after a while.
    Retry,
    /// Joins again as who it is.
    Rejoin,
    /// Joins again as a new member.
    Forget,
    /// Looks for the coordinator again.
    Seek,
    /// Gives the request up and goes on.
    GiveUp,
    /// Tells its application, which ends.
    Die,
}

/// Which request an error answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// JoinGroup.
    Join,
    /// SyncGroup.
    Sync,
    /// Heartbeat.
    Heartbeat,
    /// OffsetCommit.
    Commit,
    /// OffsetFetch.
    Fetch,
    /// LeaveGroup.
    Leave,
    /// Anything that a hostile client asks.
    Any,
}

/// What a client does about an error.
pub fn reaction(flavor: Flavor, asked: Asked, error: GroupError) -> Reaction {
    use GroupError as E;
    match (asked, error) {
        (Asked::Leave | Asked::Any, _) => Reaction::GiveUp,
        (Asked::Join, E::MemberIdRequired) => Reaction::TakeId,
        (_, E::NotCoordinator | E::CoordinatorNotAvailable) => Reaction::Seek,
        (Asked::Commit, E::RequestTimedOut) => match flavor {
            Flavor::Java => Reaction::Seek,
            Flavor::Librdkafka | Flavor::KafkaPython => Reaction::GiveUp,
        },
        (_, E::CoordinatorLoadInProgress | E::RequestTimedOut) | (Asked::Join, E::RebalanceInProgress) => {
            Reaction::Retry
        }
        (_, E::FencedInstanceId) => Reaction::Die,
        (_, E::UnknownMemberId) => Reaction::Forget,
        // kafka-python forgets who it is; the others keep their ids (KAFKA-9891 and its kin).
        (_, E::IllegalGeneration) if flavor == Flavor::KafkaPython => Reaction::Forget,
        (_, E::IllegalGeneration | E::RebalanceInProgress) => Reaction::Rejoin,
        (Asked::Commit | Asked::Fetch, _) => Reaction::GiveUp,
        // librdkafka joins again a second later, whatever it is; the others raise it.
        (Asked::Join | Asked::Sync | Asked::Heartbeat, _) if flavor == Flavor::Librdkafka => Reaction::Retry,
        (Asked::Join | Asked::Sync | Asked::Heartbeat, _) => Reaction::Die,
    }
}

/// How long a client waits for an answer, microseconds.
pub fn patience(flavor: Flavor, asked: Asked, rebalance_ms: u32, session_ms: u32) -> u64 {
    let (rebalance, session) = (u64::from(rebalance_ms) * MS, u64::from(session_ms) * MS);
    match (flavor, asked) {
        (Flavor::Java | Flavor::KafkaPython, Asked::Join) => rebalance + 5 * SECOND,
        (Flavor::Librdkafka, Asked::Join | Asked::Sync) => rebalance + 3 * SECOND,
        (Flavor::Librdkafka, Asked::Heartbeat) => session,
        (Flavor::Librdkafka, _) => 60 * SECOND,
        (Flavor::KafkaPython, Asked::Sync) => 305 * SECOND,
        (Flavor::KafkaPython, _) => 40 * SECOND,
        (Flavor::Java, Asked::Sync) => rebalance.max(30 * SECOND),
        (Flavor::Java, _) => 30 * SECOND,
    }
}

/// How long a client waits before its next attempt, microseconds: `attempts` have failed.
pub fn back_off(flavor: Flavor, asked: Asked, attempts: u32) -> u64 {
    match (flavor, asked) {
        (Flavor::Librdkafka, Asked::Join) => SECOND,
        (Flavor::KafkaPython, _) => (100 * MS) << attempts.min(3),
        (Flavor::Java | Flavor::Librdkafka, _) => ((100 * MS) << attempts.min(4)).min(SECOND),
    }
}

/// Whether a client asks for a member id before it joins (JoinGroup version 4).
pub fn joins_twice(flavor: Flavor) -> bool {
    match flavor {
        Flavor::Java | Flavor::Librdkafka => true,
        Flavor::KafkaPython => false,
    }
}

/// Whether a client understands that it need not assign (JoinGroup version 9).
pub fn skips_assignment(flavor: Flavor) -> bool {
    match flavor {
        Flavor::Java => true,
        Flavor::Librdkafka | Flavor::KafkaPython => false,
    }
}
