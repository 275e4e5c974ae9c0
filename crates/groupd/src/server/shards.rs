//! The shard threads: started with what they own, watched while they run, joined when they have stopped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use anyhow::Context;
use coordinator::transactions::{TransactionConfig, TransactionCoordinator};
use coordinator::{Config, Coordinator};
use tokio::sync::mpsc;

use crate::clock::ServerClock;
use crate::histories::Histories;
use crate::shard::{Inbox, Owned, Report, Shard, Shards};
use crate::store::CommitThread;
use crate::telemetry::{Health, Readiness};
use crate::testing::Faults;

/// All shards' threads.
#[derive(Debug)]
pub(crate) struct ShardThreads {
    threads: Vec<JoinHandle<()>>,
    reports: mpsc::UnboundedReceiver<Report>,
    loading: usize,
}

impl ShardThreads {
    /// Starts a shard for each of `owned`, and returns the way to them.
    ///
    /// # Errors
    ///
    /// If the system has no threads left, or no randomness.
    pub(crate) fn start(
        owned: Vec<Vec<Owned>>,
        (config, transactions): (&Config, &TransactionConfig),
        commits: &CommitThread,
        (clock, faults): (&ServerClock, Option<&Arc<Faults>>),
        histories: &Histories,
    ) -> anyhow::Result<(Self, Shards)> {
        let (reporter, reports) = mpsc::unbounded_channel();
        let mut this = Self { threads: Vec::new(), reports, loading: owned.len() };
        let (inboxes, outlets): (Vec<_>, Vec<_>) = owned.iter().map(|_| Inbox::new()).unzip();
        let shards = Shards::new(inboxes, config.partitioner.clone());
        for (index, (owned, outlet)) in owned.into_iter().zip(outlets).enumerate() {
            let now = clock.now().groups;
            let coordinator = Coordinator::new(config.clone(), super::random()?, now);
            let transactions = TransactionCoordinator::new(transactions.clone(), super::random()?, now);
            let coordinators = (coordinator, transactions);
            let history = histories.of_shard(index).clone();
            let time = (clock.clone(), faults.cloned());
            let shard = Shard::new(index, coordinators, &shards, outlet, commits, time, history);
            let reporter = reporter.clone();
            let work = move || supervise(shard, owned, &reporter);
            let thread = Builder::new().name(format!("shard-{index}")).spawn(work);
            this.threads.push(thread.context("cannot start a shard's thread")?);
        }
        Ok((this, shards))
    }

    /// Ends when all shards have loaded what they own.
    ///
    /// # Errors
    ///
    /// What kept one from it.
    pub(super) async fn loaded(&mut self, health: &Health) -> anyhow::Result<()> {
        while self.loading > 0 {
            match self.reports.recv().await {
                Some(Report::Loaded) => self.loading -= 1,
                Some(Report::Failed(why)) => return Err(why),
                None => anyhow::bail!("a shard ended while it was loading"),
            }
        }
        health.set(Readiness::Ready);
        Ok(())
    }

    /// Ends if a shard cannot go on.
    pub(super) async fn fail(&mut self, health: &Health) -> anyhow::Error {
        if let Err(why) = self.loaded(health).await {
            return why;
        }
        match self.reports.recv().await {
            Some(Report::Failed(why)) => why,
            Some(Report::Loaded) => unreachable!("a shard loads once"),
            None => anyhow::anyhow!("the shards ended"),
        }
    }

    /// Waits until all have stopped: they must have been told to.
    pub(crate) fn join(self) {
        for thread in self.threads {
            // A shard's panic has taken the process down before anybody could join it.
            let _ = thread.join();
        }
    }
}

fn supervise(mut shard: Shard, owned: Vec<Owned>, reports: &mpsc::UnboundedSender<Report>) {
    if catch_unwind(AssertUnwindSafe(|| shard.run(owned, reports))).is_err() {
        // The coordinator broke a promise of its own: nothing it says from here on can be trusted, and what it said
        // before is in the store.
        tracing::error!("a shard panicked: the process ends, and a restart goes on from the store");
        std::process::abort();
    }
}
