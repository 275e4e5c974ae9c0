//! How transactions end: by commit, by abort, by their timeout, by somebody else.

use groupd::settings::Settings;

use super::{
    CONCURRENT_TRANSACTIONS, Client, INVALID_PRODUCER_EPOCH, PRODUCER_FENCED, Producer,
    UNSTABLE_OFFSET_COMMIT, fetch, fetch_stable, settings, start,
};

#[test]
fn a_commit_is_seen_when_it_is_answered_and_not_before() {
    let server = start(&Settings { shards: 3, ..settings() });
    let mut reader = Client::connect(server.address());
    // Groups and ids on all three shards, so that every way between two of them is taken.
    for id in ["a", "b", "c"] {
        let mut producer = Producer::new(&server, id);
        for (round, group) in ["g1", "g2", "g3"].into_iter().enumerate() {
            let offset = 10 + i64::try_from(round).unwrap();
            let before = fetch(&mut reader, group).unwrap();
            assert_eq!(producer.add(group), 0);
            assert_eq!(producer.add(group), 0, "again");
            assert_eq!(producer.commit(group, offset), 0);
            assert_eq!(fetch(&mut reader, group), Err(UNSTABLE_OFFSET_COMMIT), "{before} is not stable");
            assert_eq!(producer.end(true), 0);
            assert_eq!(fetch(&mut reader, group), Ok(offset));
            assert_eq!(producer.end(true), 0, "the answer was lost");
        }
    }
    server.stop();
}

#[test]
fn several_groups_are_committed_together() {
    let server = start(&settings());
    let mut producer = Producer::new(&server, "a");
    let mut reader = Client::connect(server.address());
    let groups = ["g1", "g2", "g3", "g4", "g5"];
    for group in groups {
        assert_eq!(producer.add(group), 0);
        assert_eq!(producer.commit(group, 7), 0);
    }
    for group in groups {
        assert_eq!(fetch(&mut reader, group), Err(UNSTABLE_OFFSET_COMMIT));
    }
    assert_eq!(producer.end(true), 0);
    for group in groups {
        assert_eq!(fetch(&mut reader, group), Ok(7));
    }
    server.stop();
}

#[test]
fn an_abort_leaves_what_was() {
    let server = start(&settings());
    let mut producer = Producer::new(&server, "a");
    let mut reader = Client::connect(server.address());
    for (offset, committed, seen) in [(3, true, 3), (9, false, 3), (5, true, 5), (8, false, 5)] {
        assert_eq!(producer.add("g"), 0);
        assert_eq!(producer.commit("g", offset), 0);
        assert_eq!(producer.end(committed), 0);
        assert_eq!(fetch(&mut reader, "g"), Ok(seen));
    }
    server.stop();
}

/// The requests of one client in one burst: each is served after the one before it.
#[test]
fn an_end_behind_a_commit_comes_behind_it() {
    let server = start(&settings());
    let mut producer = Producer::new(&server, "a");
    let mut reader = Client::connect(server.address());
    for offset in 1..=50 {
        assert_eq!(producer.add("g"), 0);
        let commit = producer.send_commit("g", offset);
        let end = producer.send_end(true);
        assert_eq!(producer.committed(commit), 0);
        assert_eq!(producer.ended(end), 0);
        assert_eq!(fetch(&mut reader, "g"), Ok(offset));
    }
    server.stop();
}

#[test]
fn what_is_left_open_is_aborted_at_its_timeout() {
    let server = start(&settings());
    let mut producer = Producer::connect(&server, "a");
    assert_eq!(producer.init(200), 0);
    assert_eq!(producer.add("g"), 0);
    assert_eq!(producer.commit("g", 7), 0);
    let mut reader = Client::connect(server.address());
    // Nobody ends it; the reader asks until it is let in.
    assert_eq!(fetch_stable(&mut reader, "g"), -1);
    assert_eq!(producer.commit("g", 8), INVALID_PRODUCER_EPOCH);
    assert_eq!(producer.end_until_done(true), PRODUCER_FENCED);
    // It was merely late: it may go on (KIP-588).
    let (late, epoch) = (producer.number, producer.epoch);
    assert_eq!(producer.init_until_free(60_000), 0);
    assert_eq!((producer.number, producer.epoch), (late, epoch + 1));
    assert_eq!(producer.add("g"), 0);
    assert_eq!(producer.commit("g", 9), 0);
    assert_eq!(producer.end(true), 0);
    assert_eq!(fetch(&mut reader, "g"), Ok(9));
    server.stop();
}

#[test]
fn a_new_instance_fences_the_old_one() {
    let server = start(&settings());
    let mut zombie = Producer::new(&server, "a");
    assert_eq!(zombie.add("g"), 0);
    assert_eq!(zombie.commit("g", 7), 0);
    let mut heir = Producer::connect(&server, "a");
    assert_eq!(heir.init(60_000), CONCURRENT_TRANSACTIONS, "the abort comes first");
    assert_eq!(heir.init_until_free(60_000), 0);
    assert_eq!(heir.number, zombie.number);
    assert!(heir.epoch > zombie.epoch);
    let mut reader = Client::connect(server.address());
    assert_eq!(fetch(&mut reader, "g"), Ok(-1));
    // Whatever the zombie tries, in a transaction of its heir or outside: nothing.
    for _ in 0..2 {
        assert_eq!(zombie.add("g"), PRODUCER_FENCED);
        assert_eq!(zombie.add_partitions(&[0]), [PRODUCER_FENCED]);
        assert_eq!(zombie.commit("g", 8), INVALID_PRODUCER_EPOCH);
        assert_eq!(zombie.end(true), PRODUCER_FENCED);
        assert_eq!(zombie.end(false), PRODUCER_FENCED);
        assert_eq!(zombie.init(60_000), PRODUCER_FENCED);
        assert_eq!(heir.add("g"), 0);
    }
    assert_eq!(heir.commit("g", 9), 0);
    assert_eq!(heir.end(true), 0);
    assert_eq!(fetch(&mut reader, "g"), Ok(9));
    server.stop();
}

#[test]
fn instances_that_start_at_once_leave_one_that_can_work() {
    let server = start(&settings());
    let mut producers: Vec<_> = (0..8).map(|_| Producer::connect(&server, "a")).collect();
    std::thread::scope(|scope| {
        for producer in &mut producers {
            scope.spawn(|| assert_eq!(producer.init_until_free(60_000), 0));
        }
    });
    let mut epochs: Vec<_> = producers.iter().map(|producer| producer.epoch).collect();
    epochs.sort_unstable();
    epochs.dedup();
    assert_eq!(epochs.len(), 8, "each has its own epoch");
    let working = producers.iter_mut().filter_map(|producer| match producer.add("g") {
        0 => Some(producer.epoch),
        error => {
            assert_eq!(error, PRODUCER_FENCED);
            None
        }
    });
    assert_eq!(working.collect::<Vec<_>>(), [epochs[7]]);
    server.stop();
}

#[test]
fn groups_and_their_members_take_part() {
    let server = start(&settings());
    let mut member = super::super::groups::stable(&server);
    let mut producer = Producer::new(&server, "a");
    let mut reader = Client::connect(server.address());
    assert_eq!(member.commit(4), 0);
    assert_eq!(producer.add("orders-app"), 0);
    assert_eq!(producer.commit("orders-app", 5), 0);
    // A plain commit that comes later than the pended one is the last word.
    assert_eq!(member.commit(6), 0);
    assert_eq!(fetch(&mut reader, "orders-app"), Err(UNSTABLE_OFFSET_COMMIT));
    assert_eq!(producer.end(true), 0);
    assert_eq!(fetch(&mut reader, "orders-app"), Ok(6));
    server.stop();
}
