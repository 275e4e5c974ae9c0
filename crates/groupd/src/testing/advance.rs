//! Moves the clock: to each deadline in turn, over all shards, until what was asked for has passed.
//!
//! Between two deadlines the shards handle what was due and wait for the writes that this brought (by the system's clock: a
//! store is as fast as it is), so that what follows from one deadline is there before the next, as it would be had
//! the time really passed.

use std::sync::Arc;

use coordinator::messages::Request;
use purgatory::{Clock, Timestamp};
use tokio::sync::oneshot;

use super::clock_file::ClockFile;
use super::heard::Silent;
use super::{Testing, YEAR_10000};
use crate::shard::{Message, Tally, Ticked};

/// Deadlines, about, after which a command stops and says so: nobody waits for ever.
const STEPS: u32 = 100_000;
/// How often the shards are asked whether what goes from one to the other has come to an end. A step of a transaction
/// needs four; clients that begin new ones all the time are not waited for.
const ROUNDS: usize = 32;

/// What moving the clock came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Advanced {
    pub(super) from: Timestamp,
    pub(super) now: Timestamp,
    /// What is left of the way, ms: more was due than one command handles.
    pub(super) left: u64,
    /// The most members that were heard from on the way.
    pub(super) heard: usize,
    pub(super) tally: Tally,
}

/// Why the clock was not moved.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotMoved {
    #[error("the clock would stand beyond the year 9999; it stands at {}", super::date(*.0))]
    TooFar(Timestamp),
    #[error("{0}")]
    NotKept(String),
    #[error("the server is stopping")]
    Stopping,
}

impl Testing {
    /// Moves the clock by `by` ms. One command at a time: the next one goes on from there. Goes on if whoever asked
    /// for it is gone.
    ///
    /// # Errors
    ///
    /// Why it was not moved, or not all the way.
    pub(super) async fn advance(self: Arc<Self>, by: u64, silent: Silent) -> Result<Advanced, NotMoved> {
        let advance = async move {
            let mut file = self.moving.lock().await;
            let from = self.clock.now();
            let until = from.ticks().checked_add(by).filter(|until| *until < YEAR_10000);
            let until = Timestamp::from_ticks(until.ok_or(NotMoved::TooFar(from))?);
            // First, so that no restart takes the time back.
            if until > from {
                keep(file.as_mut(), until)?;
            }
            let advanced = self.walk(from, until, &silent).await?;
            if advanced.left > 0 {
                keep(file.as_mut(), advanced.now)?;
            }
            Ok(advanced)
        };
        tokio::spawn(advance).await.unwrap_or(Err(NotMoved::Stopping))
    }

    async fn walk(&self, from: Timestamp, until: Timestamp, silent: &Silent) -> Result<Advanced, NotMoved> {
        let before = self.settle().await?;
        let (mut settled, mut heard, mut steps) = (before, 0, 0);
        let left = loop {
            let next = settled.next_deadline.filter(|next| *next <= until);
            let Some(next) = next else {
                self.clock.set(until);
                settled = self.settle().await?;
                break 0;
            };
            if steps == STEPS {
                break until.ticks_since(self.clock.now());
            }
            steps += 1;
            heard = heard.max(self.come_close(next, silent).await);
            self.clock.set(next.max(self.clock.now()));
            settled = self.settle().await?;
        };
        let tally = settled.tally.zip(before.tally, u64::saturating_sub);
        Ok(Advanced { from, now: self.clock.now(), left, heard, tally })
    }

    /// Moves the clock to just before `next`, where all who are there say that they are. Returns how many.
    async fn come_close(&self, next: Timestamp, silent: &Silent) -> usize {
        let before = Timestamp::from_ticks(next.ticks().saturating_sub(1));
        if before > self.clock.now() {
            self.clock.set(before);
        }
        let heartbeats = self.heard.heartbeats(silent);
        let count = heartbeats.len();
        let mut answers = Vec::with_capacity(count);
        for (number, heartbeat) in (0..).zip(heartbeats) {
            // No connection has the number 0, and these numbers are its own.
            let shard = self.shards.of(&heartbeat.group);
            answers.push(shard.ask(number, Request::Heartbeat(heartbeat), None).await);
        }
        for answer in answers {
            // Whatever it says: a client hears it by its own next heartbeat.
            let _ = answer.await;
        }
        count
    }

    /// Waits until every shard has handled what is due now, and what that brought.
    async fn settle(&self) -> Result<Ticked, NotMoved> {
        let mut quiet = 0;
        let mut last = self.tick().await?;
        for _ in 0..ROUNDS {
            quiet = if last.busy { 0 } else { quiet + 1 };
            // What one shard sent to another before it answered may have come there after that one's answer.
            if quiet > usize::from(last.open_transactions) {
                break;
            }
            last = self.tick().await?;
        }
        Ok(last)
    }

    /// Asks every shard; what they say, taken together.
    async fn tick(&self) -> Result<Ticked, NotMoved> {
        let ask = |shard: &crate::shard::Inbox| {
            let (reply, answer) = oneshot::channel();
            shard.send(Message::Tick(reply));
            answer
        };
        let answers: Vec<_> = self.shards.all().iter().map(ask).collect();
        let mut all =
            Ticked { next_deadline: None, open_transactions: false, busy: false, tally: Tally::default() };
        for answer in answers {
            let ticked = answer.await.map_err(|_| NotMoved::Stopping)?;
            all.next_deadline = [all.next_deadline, ticked.next_deadline].into_iter().flatten().min();
            all.open_transactions |= ticked.open_transactions;
            all.busy |= ticked.busy;
            all.tally = all.tally.zip(ticked.tally, u64::saturating_add);
        }
        Ok(all)
    }
}

/// Waits for the disk: one small write for a command.
fn keep(file: Option<&mut ClockFile>, now: Timestamp) -> Result<(), NotMoved> {
    let Some(file) = file else { return Ok(()) };
    let kept = tokio::task::block_in_place(|| file.keep(now));
    kept.map_err(|why| NotMoved::NotKept(format!("{why:#}")))
}
