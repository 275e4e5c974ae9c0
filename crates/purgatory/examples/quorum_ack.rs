//! A replicated log answers a write once a majority has it, or says that it is not sure any more.
//!
//! Each write waits for one *threshold* per partition that it touched: "committed up to offset n". An acknowledgement
//! that commits nothing examines nothing; one that commits up to offset 7 touches the writes up to 7 and no others. A
//! write over two partitions leaves when the later of the two is committed, without anyone counting for it.
//!
//! Run it: `cargo run -p purgatory --example quorum_ack`

use purgatory::{Clock, Purgatory, SimulatedClock, Timestamp};

const PARTITIONS: usize = 2;
const REPLICAS: usize = 3;
const WRITE_TIMEOUT: u64 = 100;

struct Write {
    client: &'static str,
    sent: Timestamp,
}

/// The leader of a few partitions.
struct Leader {
    /// What every replica has of every partition, the leader's own copy first.
    ends: [[u64; REPLICAS]; PARTITIONS],
    waiting: Purgatory<usize, Write>,
}

impl Leader {
    fn new(now: Timestamp) -> Self {
        Self { ends: [[0; REPLICAS]; PARTITIONS], waiting: Purgatory::new(now) }
    }

    /// Appends one record to each of these partitions. The answer comes when all of them are committed.
    fn write(&mut self, now: Timestamp, client: &'static str, partitions: &[usize]) {
        let ends = &mut self.ends;
        let thresholds = partitions.iter().map(|&partition| {
            ends[partition][0] += 1;
            (partition, ends[partition][0])
        });
        let deadline = now.saturating_add(WRITE_TIMEOUT);
        let parked = self.waiting.watch_thresholds(Write { client, sent: now }, thresholds, deadline);
        assert!(parked.is_ok(), "this purgatory has no limit and is not shut down");
    }

    /// A follower has a partition up to `end`.
    fn acknowledged(&mut self, now: Timestamp, partition: usize, replica: usize, end: u64) {
        self.ends[partition][replica] = end;
        let mut ends = self.ends[partition];
        ends.sort_unstable();
        let committed = ends[REPLICAS / 2];
        while let Some(write) = self.waiting.reach_next(&partition, committed) {
            println!("{now:>5?}  {}: committed after {}", write.client, now.ticks_since(write.sent));
        }
    }

    fn expire(&mut self, now: Timestamp) {
        while let Some(write) = self.waiting.expire_next(now) {
            println!("{now:>5?}  {}: no majority in time; it may yet be committed", write.client);
        }
    }
}

fn main() {
    let clock = SimulatedClock::new(Timestamp::ZERO);
    let mut leader = Leader::new(clock.now());

    leader.write(clock.now(), "anna, partition 0", &[0]);
    leader.write(clock.now(), "ben, partitions 0 and 1", &[0, 1]);
    leader.write(clock.now(), "carla, partition 1", &[1]);

    // One follower of partition 0 has both records: with the leader that is two of three.
    let now = clock.advance(12);
    leader.acknowledged(now, 0, 1, 2);
    // The other is slower; nobody waits for it.
    leader.acknowledged(clock.advance(3), 0, 2, 2);
    // Partition 1 gets as far as ben's record. Carla's is the next.
    leader.acknowledged(clock.advance(10), 1, 1, 1);

    // Both followers of partition 1 stop. The next wake-up is the one that something needs.
    assert_eq!(leader.waiting.lowest_threshold(&1), Some(2));
    while let Some(next) = leader.waiting.next_deadline() {
        clock.set(next);
        leader.expire(clock.now());
    }
    // An acknowledgement that comes too late finds nobody.
    leader.acknowledged(clock.advance(1), 1, 2, 2);

    let stats = leader.waiting.stats();
    assert_eq!((stats.satisfied, stats.expired, leader.waiting.pending()), (2, 1, 0));
}
