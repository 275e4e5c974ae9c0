//! What all connections together hold of large requests that are on their way from the sockets to the shards, and the wait
//! for room: a connection that finds none is not read until others are done.
//!
//! A little is for nothing, so that most requests never come here. For a request that is larger, room for all of it is taken
//! at once when its first bytes are here, in the order of asking: nobody waits while holding half of what it needs. Who
//! holds room and does not send the request ends its own connection, if others wait for it. Very large requests have room of
//! their own: a few that stay half must not keep out what most clients send.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use metrics::counter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::telemetry::name;

/// Requests of so many bytes need no room.
const FREE: usize = 8 * 1024;
/// Bytes of one permit.
const UNIT: usize = 1024;
/// Requests of more bytes have room of their own.
const MEDIUM: usize = 1024 * 1024;
/// How long a request that has room may take to come whole, while others wait; and a second for each [`MEDIUM`] of it.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether others wait.
const LOOK: Duration = Duration::from_secs(1);

/// What there is for all connections.
#[derive(Debug)]
pub(crate) struct RequestMemory {
    /// For requests of up to [`MEDIUM`] bytes; empty where there is too little for that.
    medium: Arc<Semaphore>,
    large: Arc<Semaphore>,
    has_medium: bool,
    /// How many connections wait for room.
    waiting: AtomicUsize,
    patience: Duration,
}

impl RequestMemory {
    /// `total` bytes, or at least those of the `largest` request: it would wait for ever.
    pub(crate) fn new(total: usize, largest: usize) -> Self {
        Self::with_patience(total, largest, PATIENCE)
    }

    fn with_patience(total: usize, largest: usize, patience: Duration) -> Self {
        let total = total.max(largest);
        let medium = (total / 4).min(total - largest);
        let has_medium = medium >= MEDIUM;
        let medium = if has_medium { medium } else { 0 };
        let room = |bytes| Arc::new(Semaphore::new(units(bytes).min(Semaphore::MAX_PERMITS)));
        let large = room(total - medium);
        let medium = room(medium);
        Self { medium, large, has_medium, waiting: AtomicUsize::new(0), patience }
    }

    fn of(&self, bytes: usize) -> &Arc<Semaphore> {
        if bytes <= MEDIUM && self.has_medium { &self.medium } else { &self.large }
    }

    /// Nothing of it, for a connection that begins.
    pub(super) fn hold(self: Arc<Self>) -> Held {
        Held { memory: self, room: None }
    }
}

/// What one connection holds.
#[derive(Debug)]
pub(super) struct Held {
    memory: Arc<RequestMemory>,
    /// For the request that is being read, and until when it is to be here.
    room: Option<(OwnedSemaphorePermit, Instant)>,
}

/// What one request holds until a shard has taken it. Dropped, it is free for others.
#[derive(Debug)]
pub(crate) struct Share {
    _room: OwnedSemaphorePermit,
}

impl Held {
    /// Waits for room for the request that is being read, which has so many bytes. Dropped half-way it takes none.
    pub(super) async fn room_for(&mut self, bytes: usize) {
        if bytes <= FREE || self.room.is_some() {
            return;
        }
        let permits = u32::try_from(units(bytes)).unwrap_or(u32::MAX);
        let all = Arc::clone(self.memory.of(bytes));
        let room = if let Ok(room) = Arc::clone(&all).try_acquire_many_owned(permits) {
            room
        } else {
            counter!(name::REQUEST_MEMORY_WAITS).increment(1);
            let _waits = Waits::new(&self.memory.waiting);
            all.acquire_many_owned(permits).await.expect("invariant: the semaphore is never closed")
        };
        let seconds = u64::try_from(bytes / MEDIUM).unwrap_or(u64::MAX);
        let patience = self.memory.patience.saturating_add(Duration::from_secs(seconds));
        self.room = Some((room, Instant::now() + patience));
    }

    /// The share of the request that was being read and is here whole; `None`: it holds nothing.
    pub(super) fn hand_out(&mut self, bytes: usize) -> Option<Arc<Share>> {
        let (room, _) = self.room.take_if(|_| bytes > FREE)?;
        Some(Arc::new(Share { _room: room }))
    }

    /// Ends when the request that has room is not whole for too long, and others wait.
    pub(super) async fn keeps_others_waiting(&mut self) {
        let Some((_, until)) = &self.room else { return std::future::pending().await };
        tokio::time::sleep_until(*until).await;
        while self.memory.waiting.load(Ordering::Relaxed) == 0 {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// One that waits, for as long as it does.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn new(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT)
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Waker};

    use super::*;

    const TOTAL: usize = 100 * UNIT;

    fn memory() -> Arc<RequestMemory> {
        Arc::new(RequestMemory::with_patience(TOTAL, TOTAL, Duration::ZERO))
    }

    fn is_ready(future: Pin<&mut impl Future<Output = ()>>) -> bool {
        future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Whether there is room now.
    fn has_room(held: &mut Held, bytes: usize) -> bool {
        is_ready(pin!(held.room_for(bytes)))
    }

    #[test]
    fn small_requests_never_wait_and_large_ones_share() {
        let memory = memory();
        let [mut first, mut second] = std::array::from_fn(|_| Arc::clone(&memory).hold());
        assert!(has_room(&mut first, TOTAL), "the largest request always fits");
        assert!(has_room(&mut first, TOTAL), "it has it");
        assert!(has_room(&mut second, FREE) && second.hand_out(FREE).is_none());
        assert!(!has_room(&mut second, FREE + 1));
        // A small one that was sent before the large one leaves it its room.
        assert!(first.hand_out(FREE).is_none());
        let share = first.hand_out(TOTAL).expect("has room");
        assert!(!has_room(&mut second, FREE + 1), "it is on its way to its shard");
        drop(share);
        assert!(has_room(&mut second, FREE + 1));
        // A connection ends, and with it what it held.
        drop(second);
        assert_eq!(memory.large.available_permits(), 100);
    }

    #[test]
    fn very_large_requests_keep_no_others_out() {
        let memory = Arc::new(RequestMemory::new(12 * MEDIUM, 8 * MEDIUM));
        let [mut first, mut second, mut third] = std::array::from_fn(|_| Arc::clone(&memory).hold());
        assert!(has_room(&mut first, 8 * MEDIUM) && !has_room(&mut second, 2 * MEDIUM));
        assert!(has_room(&mut second, MEDIUM) && has_room(&mut third, MEDIUM));
        assert_eq!(memory.medium.available_permits(), MEDIUM / UNIT);
    }

    #[test]
    fn room_is_had_in_turn() {
        let memory = memory();
        let [mut first, mut second, mut third] = std::array::from_fn(|_| Arc::clone(&memory).hold());
        assert!(has_room(&mut first, 60 * UNIT));
        let mut large = Box::pin(second.room_for(90 * UNIT));
        assert!(!is_ready(large.as_mut()));
        assert!(!has_room(&mut third, 50 * UNIT));
        // Who went away waits no longer and takes nothing.
        assert_eq!(memory.waiting.load(Ordering::Relaxed), 1);
        drop(first);
        assert!(is_ready(large.as_mut()));
        drop(large);
        assert_eq!(memory.waiting.load(Ordering::Relaxed), 0);
        assert!(!has_room(&mut third, 50 * UNIT));
        drop(second);
        assert!(has_room(&mut third, 50 * UNIT));
    }

    #[tokio::test]
    async fn who_keeps_others_waiting_is_noticed() {
        let memory = memory();
        let [mut slow, mut other] = std::array::from_fn(|_| Arc::clone(&memory).hold());
        assert!(!is_ready(pin!(slow.keeps_others_waiting())), "it holds nothing");
        assert!(has_room(&mut slow, TOTAL));
        assert!(!is_ready(pin!(slow.keeps_others_waiting())), "nobody waits");
        tokio::select! {
            biased;
            () = other.room_for(TOTAL) => panic!("there is none"),
            () = slow.keeps_others_waiting() => {}
        }
    }
}
