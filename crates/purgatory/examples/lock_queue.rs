//! A lock service: who asked first gets the lock first, waits no longer than it said, and keeps it no longer than its
//! lease.
//!
//! Waiting and holding are both operations of one purgatory. Waiting watches the name of the lock, so the queue *is* the
//! watch order; holding watches nothing, it is only a deadline that the holder extends. Releasing is one call, and so
//! is giving up: whoever leaves is gone from the queue, wherever it stood.
//!
//! Run it: `cargo run -p purgatory --example lock_queue`

use std::collections::BTreeMap;

use purgatory::{Clock, OperationId, Purgatory, SimulatedClock, Timestamp};

const LEASE: u64 = 50;

#[derive(Debug)]
enum Operation {
    Wait { lock: &'static str, client: &'static str },
    Hold { lock: &'static str, client: &'static str },
}

struct Holder {
    client: &'static str,
    lease: OperationId,
}

struct Locks {
    purgatory: Purgatory<&'static str, Operation>,
    held: BTreeMap<&'static str, Holder>,
}

impl Locks {
    fn new(now: Timestamp) -> Self {
        Self { purgatory: Purgatory::new(now), held: BTreeMap::new() }
    }

    fn acquire(&mut self, now: Timestamp, lock: &'static str, client: &'static str, patience: u64) {
        if self.held.contains_key(lock) {
            let give_up = now.saturating_add(patience);
            self.purgatory.watch(Operation::Wait { lock, client }, [lock], give_up);
            println!("{now:>5?}  {client} waits for {lock}, behind {}", self.purgatory.watched_by(lock) - 1);
        } else {
            self.grant(now, lock, client);
        }
    }

    fn grant(&mut self, now: Timestamp, lock: &'static str, client: &'static str) {
        println!("{now:>5?}  {client} has {lock}");
        let lease = self.purgatory.watch(Operation::Hold { lock, client }, [], now.saturating_add(LEASE));
        self.held.insert(lock, Holder { client, lease });
    }

    /// The holder is alive and wants to go on.
    fn renew(&mut self, now: Timestamp, lock: &'static str) {
        if let Some(holder) = self.held.get(lock) {
            self.purgatory.extend(holder.lease, now.saturating_add(LEASE));
        }
    }

    fn release(&mut self, now: Timestamp, lock: &'static str) {
        if let Some(holder) = self.held.remove(lock) {
            println!("{now:>5?}  {} gives {lock} back", holder.client);
            // The lease is over, and with it its deadline: nothing is left to fire later.
            self.purgatory.cancel(holder.lease);
            self.pass_on(now, lock);
        }
    }

    fn pass_on(&mut self, now: Timestamp, lock: &'static str) {
        if let Some(next) = self.purgatory.complete_next(lock, |_| true) {
            match next {
                Operation::Wait { client, .. } => self.grant(now, lock, client),
                Operation::Hold { .. } => unreachable!("holding watches no key"),
            }
        }
    }

    fn expire(&mut self, now: Timestamp) {
        while let Some(operation) = self.purgatory.expire_next(now) {
            match operation {
                Operation::Wait { lock, client } => println!("{now:>5?}  {client} gives up on {lock}"),
                Operation::Hold { lock, client } => {
                    println!("{now:>5?}  {client} was silent too long and loses {lock}");
                    self.held.remove(lock);
                    self.pass_on(now, lock);
                }
            }
        }
    }
}

fn main() {
    let clock = SimulatedClock::new(Timestamp::ZERO);
    let mut locks = Locks::new(clock.now());

    locks.acquire(clock.now(), "printer", "anna", 10);
    locks.acquire(clock.advance(1), "printer", "ben", 30);
    locks.acquire(clock.advance(1), "printer", "carla", 500);
    locks.acquire(clock.advance(1), "printer", "dora", 500);

    // Anna stays alive; ben's patience ends at 31, while the lock is held.
    clock.set(Timestamp::from_ticks(31));
    locks.expire(clock.now());
    locks.renew(clock.now(), "printer");

    // At 40 anna is done: carla is first now, although ben asked before her.
    clock.set(Timestamp::from_ticks(40));
    locks.expire(clock.now());
    locks.release(clock.now(), "printer");

    // Carla is never heard of again. Her lease ends at 90, and dora comes by it; dora's ends at 140.
    while let Some(next) = locks.purgatory.next_deadline() {
        clock.set(next);
        locks.expire(clock.now());
    }
    assert_eq!(clock.now(), Timestamp::from_ticks(140));
    assert!(locks.held.is_empty());
    assert_eq!((locks.purgatory.pending(), locks.purgatory.watched()), (0, 0));
}
