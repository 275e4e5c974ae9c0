//! The coordinator of a partition's groups goes elsewhere, and comes back: what a server for tests does on command.
//!
//! Transactional ids of the partition stay here: only groups move. Markers for it are held until it is back.

use coordinator::ids::OffsetsPartition;
use coordinator::messages::Input;
use purgatory::Timestamp;
use tokio::sync::oneshot;

use super::{Owned, Shard, loading};
use crate::clock::Now;

impl Shard {
    /// Gives `partition` up: what is parked there is told to look elsewhere.
    ///
    /// # Errors
    ///
    /// Why it cannot be.
    pub(super) fn give_up(&mut self, at: Now, partition: OffsetsPartition) -> Result<(), &'static str> {
        if self.loading.is_some() {
            return Err("partitions are still being loaded");
        }
        let Some(epoch) = self.owned.epoch(partition) else { return Err("the partition is not here") };
        // Until it is loaded again.
        self.owned.begin(partition, epoch);
        self.coordinator.handle(at.groups, Input::Unload(partition, epoch));
        self.carry_out(at);
        Ok(())
    }

    /// Takes a partition over again; `reply` is answered when it is loaded.
    pub(super) fn load_again(&mut self, now: Timestamp, owned: Owned, reply: oneshot::Sender<()>) {
        self.owned.begin(owned.partition, owned.epoch);
        self.coordinator.handle(now, Input::BeginLoad(owned.partition, owned.epoch));
        // Without a thread it stays as it is: dropping the reply says so.
        if let Ok(loading) = loading::start(vec![owned]) {
            self.loading = Some(loading);
            self.loads_again = Some(reply);
        }
    }
}
