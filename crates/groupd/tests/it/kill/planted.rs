//! Faults planted under a real server between two lives, to show that the accounts would see them.

use std::path::Path;
use std::sync::mpsc::channel;

use groupd::store::FILES;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::account::Account;
use super::committer::{Committer, Habits};
use super::connection::{Connection, Ended};
use super::process::Home;
use super::statics::{Agreed, StaticMember};
use super::topics::TopicMaker;
use super::transactor::Transactor;

const HABITS: Habits = Habits { window: 4, partitions: 6, at_once: 3, padding: 10, torn: false };

/// One client of each kind, and how many of the last entries of the log hold what it was told last.
fn accounts() -> Vec<(&'static str, usize, Box<dyn Account>)> {
    let rng = || ChaCha8Rng::seed_from_u64(3);
    vec![
        ("offsets", 1, Box::new(Committer::new("planted".to_owned(), HABITS, rng()))),
        // A decision, its markers in two partitions, its end.
        ("transactions", 6, Box::new(Transactor::new("planted".to_owned(), rng()))),
        ("static members", 1, Box::new(StaticMember::new(0, &Agreed::new(1)))),
        ("topics", 1, Box::new(TopicMaker::new(rng()))),
    ]
}

/// A life of so many changes, all acknowledged, ended by a kill.
fn live(home: &Home, account: &mut dyn Account, changes: u64) {
    let server = home.start();
    // Once it is loaded.
    account.settle(&mut Connection::open(server.address).unwrap()).unwrap();
    let (answers, _nobody_counts) = channel();
    account.run(server.address, &answers, changes).unwrap();
    server.kill();
}

fn settle(home: &Home, account: &mut dyn Account) -> Result<(), Ended> {
    let server = home.start();
    account.settle(&mut Connection::open(server.address)?).map(drop)
}

fn assert_seen(home: &Home, account: &mut dyn Account, kind: &str) {
    let outcome = settle(home, account);
    assert!(matches!(outcome, Err(Ended::Wrong(_))), "{kind}: {outcome:?}");
}

#[test]
fn without_a_fault_nothing_is_seen() {
    for (kind, _, mut account) in accounts() {
        let home = Home::new("embedded");
        for _ in 0..2 {
            live(&home, account.as_mut(), 40);
            assert_eq!(settle(&home, account.as_mut()), Ok(()), "{kind}");
        }
    }
}

#[test]
fn a_server_that_forgets_all_is_seen() {
    for (kind, _, mut account) in accounts() {
        let home = Home::new("memory");
        let server = home.start();
        account.settle(&mut Connection::open(server.address).unwrap()).unwrap();
        let (answers, _nobody_counts) = channel();
        account.run(server.address, &answers, 40).unwrap();
        // It is all there, until the end.
        account.settle(&mut Connection::open(server.address).unwrap()).unwrap();
        server.kill();
        assert_seen(&home, account.as_mut(), kind);
    }
}

#[test]
fn a_server_that_comes_back_with_older_state_is_seen() {
    for (kind, _, mut account) in accounts() {
        let home = Home::new("embedded");
        live(&home, account.as_mut(), 40);
        let older = tempfile::tempdir().unwrap();
        home.copy_to(older.path());
        live(&home, account.as_mut(), 9);
        home.restore(older.path());
        assert_seen(&home, account.as_mut(), kind);
    }
}

#[test]
fn a_server_that_lost_its_last_commit_is_seen() {
    for (kind, entries, mut account) in accounts() {
        let home = Home::new("embedded");
        live(&home, account.as_mut(), 40);
        wipe_last_entries(&home.data().join(FILES[1]), entries);
        assert_seen(&home, account.as_mut(), kind);
    }
}

/// Overwrites the last entries of a log that has not turned over, as a disk that lied about their syncs would have it.
fn wipe_last_entries(log: &Path, count: usize) {
    const SECTOR: usize = 512;
    let mut bytes = std::fs::read(log).unwrap();
    let length = |bytes: &[u8], at: usize| {
        let field = bytes.get(at + 4..at + 8).map(|field| u32::from_le_bytes(field.try_into().unwrap()));
        field.map_or(0, |length| (32 + length as usize).next_multiple_of(SECTOR))
    };
    let (mut entries, mut at) = (Vec::new(), SECTOR);
    while bytes.get(at + 4).is_some() && length(&bytes, at) > SECTOR - 1 && bytes[at..at + 8] != [0; 8] {
        entries.push(at);
        at += length(&bytes, at);
    }
    bytes[entries[entries.len() - count]..at].fill(0);
    std::fs::write(log, bytes).unwrap();
}
