//! Producer ids, each handed out once: over restarts too.
//!
//! They are taken from the store a block at a time: that a block is taken is durable before the first id of it is
//! handed out. What is left of a block when the server ends is never used.

use coordinator::ids::{OwnerEpoch, ProducerId};
use coordinator::messages::StoreError;
use tokio::sync::Mutex;

use crate::store::layout::{RawRecord, decode_producer_ids, encode_producer_ids};
use crate::store::{Batch, PRODUCER_IDS_PARTITION, StoreClient, StoreFailure};

/// Ids in a block: as many as Kafka's controller gives a broker at a time.
const BLOCK: i64 = 1_000;

/// The ids that nobody has had.
#[derive(Debug)]
pub(crate) struct ProducerIds {
    store: StoreClient,
    epoch: OwnerEpoch,
    free: Mutex<Free>,
}

/// From `next` up to `end` the ids are ours to give; from `end` on they are not taken yet.
#[derive(Debug)]
struct Free {
    next: i64,
    end: i64,
}

impl ProducerIds {
    /// The ids as the store knows them. `epoch` is what acquiring [`PRODUCER_IDS_PARTITION`] gave.
    ///
    /// # Errors
    ///
    /// [`StoreFailure`].
    pub(crate) fn load(store: StoreClient, epoch: OwnerEpoch) -> Result<Self, StoreFailure> {
        let mut end = 0;
        let mut reader = store.load(PRODUCER_IDS_PARTITION, epoch)?;
        while let Some(chunk) = reader.next_encoded()? {
            for raw in RawRecord::all(&chunk) {
                end = end.max(decode_producer_ids(&raw?)?.0);
            }
        }
        Ok(Self { store, epoch, free: Mutex::new(Free { next: end, end }) })
    }

    /// An id that nobody has had.
    ///
    /// # Errors
    ///
    /// [`StoreError`]: no more could be taken from the store.
    pub(crate) async fn next(&self) -> Result<ProducerId, StoreError> {
        let mut free = self.free.lock().await;
        if free.next == free.end {
            // Should this future be dropped here, the same block is asked for again: nobody has had an id of it.
            let end = self.take_block(free.end).await?;
            free.end = end;
        }
        let id = free.next;
        free.next += 1;
        Ok(ProducerId(id))
    }

    /// Makes it durable that the block from `start` on is taken, and returns its end.
    async fn take_block(&self, start: i64) -> Result<i64, StoreError> {
        let end = start.checked_add(BLOCK).ok_or(StoreError::UnknownServerError)?;
        let mut record = Vec::new();
        encode_producer_ids(ProducerId(end), &mut record);
        let batch = Batch::from_encoded(PRODUCER_IDS_PARTITION, self.epoch, 1, record)?;
        let store = self.store.clone();
        // It waits for the disk, which a task must not.
        let written = tokio::task::spawn_blocking(move || store.append(batch)).await;
        written.unwrap_or(Err(StoreError::UnknownServerError))?;
        Ok(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{CommitSettings, CommitThread, MemoryStore};

    fn reopened(commits: &CommitThread) -> ProducerIds {
        let store = commits.client();
        let epoch = store.acquire(&[PRODUCER_IDS_PARTITION]).expect("it is owned")[0];
        ProducerIds::load(store, epoch).expect("it is read")
    }

    #[tokio::test]
    async fn no_id_is_handed_out_twice() {
        let commits = CommitThread::start(Box::new(MemoryStore::new()), CommitSettings::default())
            .expect("a thread starts");
        let mut last = -1;
        for round in 0..3 {
            let ids = reopened(&commits);
            let mut given = Vec::new();
            for _ in 0..=BLOCK {
                given.push(ids.next().await.expect("there are more").0);
            }
            assert!(given.is_sorted_by(|one, next| one < next) && given[0] > last, "round {round}");
            last = *given.last().expect("some were given");
        }
        // Two blocks a round, of which one id of the second was used.
        assert_eq!(last, 5 * BLOCK);
        let old = reopened(&commits);
        let new = reopened(&commits);
        // An owner that was replaced gives nothing it could not take.
        assert_eq!(old.next().await, Err(StoreError::NotLeaderOrFollower));
        assert_eq!(new.next().await, Ok(ProducerId(6 * BLOCK)));
    }
}
