//! A real groupd, killed again and again under real traffic: whatever it acknowledged must be there when it is back.
//!
//! Clients on some twenty connections commit, delete, join, sync and heartbeat, end transactions, come back as static
//! members, create and delete topics, each keeping its own account of what it asked and what it was told. At a moment that a seed chooses, the process gets SIGKILL; a new one is started on the
//! same directory (and sometimes killed while it is coming back), and each account is held against it.
//!
//! `KILL_ROUNDS=200 cargo test -p groupd --test it kill -- --nocapture` runs longer, `KILL_SEED=7` elsewhere.
//! A kill leaves what was written but not synced in the system's memory: that every answer comes after its sync is
//! shown on the simulated disk.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod account;
mod committer;
mod connection;
mod ledger;
mod members;
mod planted;
mod process;
mod statics;
mod topics;
mod transactor;

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::thread::ScopedJoinHandle;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use account::Account;
use committer::{Committer, Habits};
use connection::{Connection, Ended, Life};
use ledger::Settled;
use members::MemberGroup;
pub(crate) use process::Home;
use process::Process;
use statics::{Agreed, StaticMember};
use topics::TopicMaker;
use transactor::Transactor;

/// As many answers as a life may last, at most.
const ANSWERS: usize = 300;
/// Turns of an empty loop that a kill may wait beyond an answer: about as long as a sync takes.
const PAUSE: u32 = 1 << 18;

/// Static members of their group.
const STATIC_MEMBERS: usize = 2;

/// A generator of its own for each part, so that one part's choices do not change another's.
fn branch(rng: &mut ChaCha8Rng) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(rng.random())
}

/// All clients of one server, and what was seen of them.
struct World {
    accounts: Vec<Box<dyn Account>>,
    groups: Vec<MemberGroup>,
    tally: Tally,
}

#[derive(Debug, Default)]
struct Tally {
    lives: u64,
    /// Those that were killed before they served.
    killed_early: u64,
    /// Groups that a kill met between two rounds.
    between_rounds: u64,
    settled: Settled,
    /// The acknowledged ones apart.
    kinds: BTreeMap<&'static str, u64>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let usual = Habits { window: 1, partitions: 6, at_once: 4, padding: 10, torn: false };
        let habits = [
            ("one at a time", usual),
            ("four at a time", Habits { window: 4, ..usual }),
            ("many partitions", Habits { window: 8, partitions: process::PARTITIONS, at_once: 100, ..usual }),
            // Fills a log in a few rounds.
            ("much metadata", Habits { window: 2, partitions: 40, at_once: 40, padding: 4_000, torn: false }),
            ("torn", Habits { window: 0, torn: true, ..usual }),
        ];
        let mut accounts: Vec<Box<dyn Account>> = Vec::new();
        for (name, habits) in habits {
            accounts.push(Box::new(Committer::new(name.to_owned(), habits, branch(&mut rng))));
        }
        let groups = [("steady", false), ("restless", true), ("restless too", true)]
            .map(|(name, restless)| MemberGroup::new(name.to_owned(), restless, &mut rng));
        for id in ["pays", "ships", "bills", "counts"] {
            accounts.push(Box::new(Transactor::new(id.to_owned(), branch(&mut rng))));
        }
        accounts.push(Box::new(TopicMaker::new(branch(&mut rng))));
        let agreed = Agreed::new(STATIC_MEMBERS);
        accounts.extend((0..STATIC_MEMBERS).map(|n| Box::new(StaticMember::new(n, &agreed)) as Box<_>));
        Self { accounts, groups: groups.into(), tally: Tally::default() }
    }

    /// Lets all clients live on `server` until it is killed, `answers` answers and a pause from now.
    fn live(&mut self, server: Process, answers: usize, pause: u32) -> Life<()> {
        let (sender, receiver) = channel();
        let address = server.address;
        let ended = std::thread::scope(|scope| {
            let mut clients: Vec<ScopedJoinHandle<'_, Life<()>>> = Vec::new();
            for account in &mut self.accounts {
                let answers: Sender<()> = sender.clone();
                clients.push(scope.spawn(move || account.run(address, &answers, u64::MAX)));
            }
            for life in self.groups.iter_mut().flat_map(MemberGroup::lives) {
                let answers = sender.clone();
                clients.push(scope.spawn(move || life(address, &answers)));
            }
            drop(sender);
            // An end before that is told by the clients.
            let _ = receiver.iter().take(answers).count();
            (0..pause).for_each(|_| std::hint::spin_loop());
            server.kill();
            clients.into_iter().map(|client| client.join().unwrap()).collect::<Vec<_>>()
        });
        self.tally.lives += 1;
        ended.into_iter().try_for_each(|ended| match ended {
            Ok(()) | Err(Ended::Cut) => Ok(()),
            wrong @ Err(Ended::Wrong(_)) => wrong,
        })
    }

    /// Holds `server` to all that was said.
    fn settle(&mut self, server: &Process) -> Life<()> {
        let mut connection = Connection::open(server.address)?;
        for account in &mut self.accounts {
            let settled = account.settle(&mut connection)?;
            *self.tally.kinds.entry(account.kind()).or_default() += settled.acknowledged;
            self.tally.settled += settled;
        }
        for group in &mut self.groups {
            let (settled, between) = group.settle(&mut connection)?;
            *self.tally.kinds.entry("commits of members").or_default() += settled.acknowledged;
            self.tally.settled += settled;
            self.tally.between_rounds += u64::from(between);
        }
        Ok(())
    }

    /// So many lives, each ended by a kill.
    fn rounds(&mut self, home: &Home, rounds: u64, rng: &mut ChaCha8Rng) -> Life<()> {
        for _ in 0..rounds {
            let server = home.start();
            self.settle(&server)?;
            self.live(server, rng.random_range(0..ANSWERS), rng.random_range(0..PAUSE))?;
            while rng.random_range(0..3) == 0 {
                let starting = home.spawn();
                (0..rng.random_range(0..PAUSE * 8)).for_each(|_| std::hint::spin_loop());
                starting.kill();
                self.tally.killed_early += 1;
            }
        }
        self.settle(&home.start())
    }
}

/// A number from the environment.
fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

#[test]
fn a_killed_server_comes_back_with_all_it_acknowledged() {
    let seed = given("KILL_SEED").unwrap_or(1);
    let rounds = given("KILL_ROUNDS").unwrap_or(10);
    let home = Home::new("embedded");
    let mut world = World::new(seed);
    let outcome = world.rounds(&home, rounds, &mut ChaCha8Rng::seed_from_u64(seed ^ 0x6b69_6c6c));
    let Tally { lives, killed_early, between_rounds, settled, kinds } = &world.tally;
    let logs = home.logs_begun();
    println!(
        "seed {seed}: killed {lives} times under traffic and {killed_early} times while coming back; \
         {} acknowledged changes were held against what was found {kinds:?}, {} more were unanswered, {} of them there; \
         {between_rounds} groups were between two rounds; {logs} logs were begun",
        settled.acknowledged, settled.unanswered, settled.kept
    );
    if let Err(ended) = outcome {
        panic!("seed {seed}, after {lives} lives: {ended:?}\n{}", home.log());
    }
    // A run in which nothing happened shows nothing.
    assert!(settled.acknowledged > rounds && *lives == rounds, "{:?}", world.tally);
    assert!(kinds.len() == 5 && kinds.values().all(|&count| count > rounds / 2), "{:?}", world.tally);
}
