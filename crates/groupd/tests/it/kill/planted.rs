//! Faults planted under a real server between two lives, to show that the accounts would see them.

use std::path::Path;
use std::sync::mpsc::channel;

use groupd::store::FILES;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::committer::{Committer, Habits};
use super::connection::{Connection, Ended};
use super::process::Home;

const HABITS: Habits = Habits { window: 4, partitions: 6, at_once: 3, padding: 10, torn: false };

fn committer() -> Committer {
    Committer::new("planted".to_owned(), HABITS, ChaCha8Rng::seed_from_u64(3))
}

/// A life of so many changes, all acknowledged, ended by a kill.
fn live(home: &Home, committer: &mut Committer, changes: u64) {
    let server = home.start();
    // Once it is loaded.
    committer.settle(&mut Connection::open(server.address).unwrap()).unwrap();
    let (answers, _nobody_counts) = channel();
    committer.run(server.address, &answers, changes).unwrap();
    server.kill();
}

fn settle(home: &Home, committer: &mut Committer) -> Result<(), Ended> {
    let server = home.start();
    committer.settle(&mut Connection::open(server.address)?).map(drop)
}

fn assert_seen(home: &Home, committer: &mut Committer) {
    let outcome = settle(home, committer);
    assert!(matches!(outcome, Err(Ended::Wrong(_))), "{outcome:?}");
}

#[test]
fn without_a_fault_nothing_is_seen() {
    let (home, mut committer) = (Home::new("embedded"), committer());
    live(&home, &mut committer, 40);
    assert_eq!(settle(&home, &mut committer), Ok(()));
}

#[test]
fn a_server_that_forgets_all_is_seen() {
    let (home, mut committer) = (Home::new("memory"), committer());
    live(&home, &mut committer, 40);
    assert_seen(&home, &mut committer);
}

#[test]
fn a_server_that_comes_back_with_older_state_is_seen() {
    let (home, mut committer) = (Home::new("embedded"), committer());
    live(&home, &mut committer, 40);
    let older = tempfile::tempdir().unwrap();
    home.copy_to(older.path());
    live(&home, &mut committer, 8);
    home.restore(older.path());
    assert_seen(&home, &mut committer);
}

#[test]
fn a_server_that_lost_its_last_commit_is_seen() {
    let (home, mut committer) = (Home::new("embedded"), committer());
    live(&home, &mut committer, 40);
    wipe_last_entry(&home.data().join(FILES[1]));
    assert_seen(&home, &mut committer);
}

/// Overwrites the last entry of a log that has not turned over, as a disk that lied about a sync would have it.
fn wipe_last_entry(log: &Path) {
    const SECTOR: usize = 512;
    let mut bytes = std::fs::read(log).unwrap();
    let length = |bytes: &[u8], at: usize| {
        let field = bytes.get(at + 4..at + 8).map(|field| u32::from_le_bytes(field.try_into().unwrap()));
        field.map_or(0, |length| (32 + length as usize).next_multiple_of(SECTOR))
    };
    let (mut last, mut at) = (SECTOR, SECTOR);
    while bytes.get(at + 4).is_some() && length(&bytes, at) > SECTOR - 1 && bytes[at..at + 8] != [0; 8] {
        last = at;
        at += length(&bytes, at);
    }
    bytes[last..at].fill(0);
    std::fs::write(log, bytes).unwrap();
}
