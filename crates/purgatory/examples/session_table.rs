//! A hundred thousand sessions with heartbeats, a simulated quarter of an hour in a second or so.
//!
//! The server holds one operation per session and extends it with every heartbeat: no allocation, and no work when the
//! old deadline would have come. The clients are a second wheel, which says whose next heartbeat is due. Time jumps
//! from one deadline to the next, so the run depends on its seed and on nothing else.
//!
//! Run it: `cargo run --release -p purgatory --example session_table`

use purgatory::{Clock, OperationId, Purgatory, SimulatedClock, Timestamp, TimingWheel};

const SESSIONS: u32 = 100_000;
const SESSION_TIMEOUT: u64 = 30_000;
const HEARTBEAT: u64 = 3_000;
const SPAN: u64 = 15 * 60 * 1_000;
/// One heartbeat of so many is a client's last.
const DIES: u64 = 20_000;

/// The server: a session is dead once it was silent for the timeout, and not a tick sooner or later.
struct Sessions {
    purgatory: Purgatory<u32, u32>,
    /// By client: its operation, and when it was last heard of.
    heard: Vec<(OperationId, Timestamp)>,
}

impl Sessions {
    fn open(now: Timestamp) -> Self {
        let mut purgatory = Purgatory::new(now);
        let deadline = now.saturating_add(SESSION_TIMEOUT);
        let heard = (0..SESSIONS).map(|client| (purgatory.watch(client, [], deadline), now)).collect();
        Self { purgatory, heard }
    }

    fn heartbeat(&mut self, now: Timestamp, client: u32) {
        let (session, heard) = &mut self.heard[client as usize];
        *heard = now;
        let lives = self.purgatory.extend(*session, now.saturating_add(SESSION_TIMEOUT));
        assert!(lives, "client {client} beats every {HEARTBEAT}, and cannot have expired");
    }

    fn expire(&mut self, now: Timestamp) -> u32 {
        let mut expired = 0;
        while let Some(client) = self.purgatory.expire_next(now) {
            let (_, heard) = self.heard[client as usize];
            assert_eq!(now.ticks_since(heard), SESSION_TIMEOUT, "client {client} expired at the wrong time");
            expired += 1;
        }
        expired
    }
}

/// The clients: when each will send its next heartbeat. Some die.
struct Clients {
    beats: TimingWheel<u32>,
    random: u64,
    died: u32,
}

impl Clients {
    fn start(now: Timestamp, seed: u64) -> Self {
        let mut clients = Self { beats: TimingWheel::new(now), random: seed | 1, died: 0 };
        for client in 0..SESSIONS {
            let first = clients.below(HEARTBEAT);
            clients.beats.insert(now.saturating_add(first), client);
        }
        clients
    }

    fn next(&mut self, now: Timestamp) -> Option<u32> {
        let client = self.beats.expire_next(now)?.value;
        if self.below(DIES) == 0 {
            self.died += 1;
        } else {
            let wait = HEARTBEAT - 100 + self.below(200);
            self.beats.insert(now.saturating_add(wait), client);
        }
        Some(client)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % bound
    }
}

fn main() {
    let clock = SimulatedClock::new(Timestamp::ZERO);
    let mut sessions = Sessions::open(clock.now());
    let mut clients = Clients::start(clock.now(), 42);
    let (mut beats, mut expired, mut turns) = (0_u64, 0, 0_u64);

    // Each side says when it next has something to do; whatever comes first is the next `now`.
    while let Some(next) =
        sessions.purgatory.next_deadline().into_iter().chain(clients.beats.next_deadline()).min()
    {
        if next.ticks() > SPAN {
            break;
        }
        clock.set(next);
        let now = clock.now();
        expired += sessions.expire(now);
        while let Some(client) = clients.next(now) {
            sessions.heartbeat(now, client);
            beats += 1;
        }
        turns += 1;
    }

    let pending = sessions.purgatory.pending();
    println!("{} s: {beats} heartbeats in {turns} turns", SPAN / 1_000);
    println!("{} clients died, {expired} sessions expired, each {SESSION_TIMEOUT} ticks after", clients.died);
    println!("its last heartbeat; {pending} are left");
    assert_eq!(pending, usize::try_from(SESSIONS - expired).expect("a count"));
    assert!(expired <= clients.died);
}
