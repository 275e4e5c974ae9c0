//! Moves the coordinator of a group's partition elsewhere and back.

use std::sync::Arc;

use coordinator::ids::{GroupId, OffsetsPartition};
use tokio::sync::oneshot;

use super::Testing;
use super::fault::{Fault, Kind, Scope, Wanted};
use crate::shard::{Message, Owned};

impl Testing {
    /// Moves the coordinator of `group`, with its whole partition, elsewhere, until that fault is cleared. Its number.
    ///
    /// # Errors
    ///
    /// Why it cannot be moved.
    pub(super) async fn move_away(self: Arc<Self>, group: GroupId, scope: Scope) -> Result<u32, String> {
        let change = async move {
            let _changing = self.changing_owner.lock().await;
            let partition = self.shards.partitioner().partition(&group);
            if self.faults.is_away(partition) {
                return Err(format!("offsets partition {} is elsewhere already", partition.0));
            }
            let id = self.faults.set(Wanted { kind: Kind::Away(partition), scope, times: None })?;
            let outcome = self.give_up(partition).await;
            if outcome.is_err() {
                self.faults.clear(Some(id));
            }
            outcome.map(|()| id)
        };
        to_the_end(change).await
    }

    /// Clears the fault of this number, or all, and brings back what was away.
    ///
    /// # Errors
    ///
    /// Why something cannot come back: that fault stays.
    pub(super) async fn clear(self: Arc<Self>, id: Option<u32>) -> Result<Vec<u32>, String> {
        let change = async move {
            let _changing = self.changing_owner.lock().await;
            let mut cleared = Vec::new();
            let mut failed = Ok(());
            for fault in self.faults.clear(id) {
                match self.bring_back(&fault).await {
                    Ok(()) => cleared.push(fault.id),
                    Err(why) => {
                        self.faults.put_back(fault);
                        failed = Err(why);
                    }
                }
            }
            self.shards.tell_all(|| Message::FaultCleared);
            failed.map(|()| cleared)
        };
        to_the_end(change).await
    }

    async fn give_up(&self, partition: OffsetsPartition) -> Result<(), String> {
        let (reply, answer) = oneshot::channel();
        self.shards.of_partition(partition).send(Message::Unload(partition, reply));
        answer.await.map_err(|_| "the server is stopping")?.map_err(Into::into)
    }

    async fn bring_back(&self, fault: &Fault) -> Result<(), String> {
        let Kind::Away(partition) = fault.kind else { return Ok(()) };
        let store = self.store.clone();
        let acquire = move || {
            let epochs = store.acquire(&[partition])?;
            let epoch = epochs[0];
            let records = store.load(partition, epoch)?;
            Ok::<_, crate::store::StoreFailure>(Owned { partition, epoch, records })
        };
        let owned = tokio::task::spawn_blocking(acquire).await.map_err(|_| "the server is stopping")?;
        let owned = Box::new(owned.map_err(|why| why.to_string())?);
        let (reply, loaded) = oneshot::channel();
        self.shards.of_partition(partition).send(Message::Load(owned, reply));
        loaded.await.map_err(|_| "it cannot be loaded: the log says why".to_owned())
    }
}

/// To its end even if whoever asked for it is gone.
async fn to_the_end<T: Send + 'static>(
    change: impl Future<Output = Result<T, String>> + Send + 'static,
) -> Result<T, String> {
    tokio::spawn(change).await.unwrap_or_else(|_| Err("the server is stopping".into()))
}
