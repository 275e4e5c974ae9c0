//! Kafka consumer-group membership and offsets as a pure state machine over delayed operations.
//!
//! `now` and an input go in, outputs come out; nothing here knows clocks, threads, sockets, bytes or codes. It answers
//! what Apache Kafka 3.9's classic group coordinator answers: joins, syncs, heartbeats, static members, offsets,
//! transactions of offsets, retention, the loading and unloading of partitions. A broker embeds it and brings
//! its own wire, log and clock (`examples/embed.rs`); a test drives it through days in milliseconds
//! (`examples/simulated_rebalance.rs`).
//!
//! ```
//! use coordinator::ids::{Generation, OwnerEpoch};
//! use coordinator::messages::{GroupError, Heartbeat, Input, Output, Request, Response, Token};
//! use coordinator::{Config, Coordinator, Partitioner, Timestamp};
//!
//! let now = Timestamp::ZERO;
//! let mut coordinator = Coordinator::new(Config::default(), 42, now);
//!
//! // Nothing is served before its partition is owned and loaded.
//! let group = "orders".into();
//! let partition = Partitioner::default().partition(&group);
//! coordinator.handle(now, Input::BeginLoad(partition, OwnerEpoch(1)));
//! coordinator.handle(now, Input::FinishLoad(partition));
//!
//! let heartbeat = Heartbeat { group, generation: Generation(1), member: "nobody".into(), instance: None };
//! coordinator.handle(now, Input::Request(Token::new(7), Request::Heartbeat(heartbeat)));
//! let Some(Output::Respond(token, Response::Heartbeat(answer))) = coordinator.poll_output() else { panic!() };
//! assert_eq!((token.number(), answer.error), (7, Some(GroupError::UnknownMemberId)));
//! ```
//!
//! # The contract
//!
//! **Turns.** A turn is one call of [`Coordinator::expire`], then at most one of [`Coordinator::handle`], both with the
//! same `now`, then [`Coordinator::poll_output`] until it has nothing more to say. Each call runs to completion: what
//! follows at once from an input is in its outputs. Between turns, wake up at [`Coordinator::next_deadline`]: it is
//! never later than the earliest deadline. Deadlines are inclusive and come before input of the same instant. Time that
//! goes backwards is ignored by what waits. A tick of [`Timestamp`] is a millisecond.
//!
//! **Determinism.** The same settings, seed, times and inputs give the same outputs in the same order. Member ids come
//! from the seed; whatever a client can see in an order is in one (members as they joined; a list of groups by where they are kept).
//!
//! **Answers.** Each [`Token`](messages::Token) comes back exactly once, by move: with its answer
//! ([`Output::Respond`](messages::Output::Respond)) or, if the same member sent another request that waits in its
//! place, as [`Output::Superseded`](messages::Output::Superseded). The exception is the host's own doing: after
//! [`Input::Abandon`](messages::Input::Abandon) a parked request is dropped unanswered.
//!
//! **Writes.** [`Output::Store`](messages::Output::Store) asks for records to be made durable, in the order of the
//! outputs. Whoever depends on a write waits for [`Input::Stored`](messages::Input::Stored), at most
//! [`Config::store_timeout_ms`]; then the write counts as timed out. Reports that are late, repeated or of unknown
//! writes do nothing. A write that ends in another phase or generation than it was made in decides nothing. A
//! write that failed or timed out may still be in the log: the next one of the same key wins.
//!
//! **Ownership.** A partition is served between [`Input::FinishLoad`](messages::Input::FinishLoad) and
//! [`Input::Unload`](messages::Input::Unload), each under an epoch. Older news than what is known changes nothing, so
//! the order in which it arrives does not matter. Losing a partition answers all that waits in its groups with
//! NOT_COORDINATOR. Each write carries the epoch, for the store to refuse a fenced owner.
//!
//! **Bounds.** Parked requests: one a member. Delayed operations: one a member, an id handed out, a round of
//! rebalancing, a generation that has not synced, a write under way. Members of a group: [`Config::group_max_size`].
//! Ids handed out: [`Config::group_max_pending_members`] a group. Outputs: those of one turn, which is as large as the
//! group it concerns. `docs/protocol.md` has the tables.

mod config;
mod coordinator;
mod delayed;
mod digest;
pub mod events;
mod group;
mod groups;
mod hasher;
pub mod ids;
mod member_ids;
pub mod messages;
mod offsets;
mod partitions;
mod requests;
mod secret;
mod sessions;
mod stats;
pub mod transactions;
mod turn;

pub use config::{Config, Partitioner};
pub use coordinator::Coordinator;
pub use group::{GroupView, Phase, PhaseEvent};
pub use purgatory::Timestamp;
pub use stats::{Counters, Stats};
