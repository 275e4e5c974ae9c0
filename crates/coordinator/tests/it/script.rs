//! `check`: a script is the whole transcript of one group, inputs and outputs, under a clock that jumps.
//!
//! ```text
//! 0s m1 join              an input line: when, who, what
//! 3s | m1 joined 1 ...    an output line
//! ```
//!
//! Who is a client; what it knows (its member id, its generation) follows from what it was told.

mod say;
mod send;

use std::collections::BTreeMap;

use coordinator::ids::{Generation, GroupId, MemberId, OffsetsPartition, OwnerEpoch};
use coordinator::messages::{Input, Output, Request, StoreId, Token};
use coordinator::{Config, Coordinator, Timestamp};

/// One run of a script.
pub(crate) struct Script {
    coordinator: Coordinator,
    now: Timestamp,
    /// When the script's time zero is.
    origin_ms: u64,
    clients: BTreeMap<String, Client>,
    /// Whose id each is, or was.
    names: BTreeMap<MemberId, String>,
    /// Who sent the request of each token, and whether it was dealt with.
    tokens: Vec<(String, bool)>,
    kept: Vec<coordinator::messages::Record>,
    shows: Shows,
    lines: Vec<String>,
}

/// What a client knows.
#[derive(Clone, Default)]
struct Client {
    member: MemberId,
    instance: Option<String>,
    generation: Generation,
}

/// What of a run goes into the transcript beside answers.
#[derive(Default)]
struct Shows {
    /// Writes, which then wait for `stored`.
    stores: bool,
    events: bool,
}

/// Runs `script` in a group that `setup` describes, and compares the whole transcript.
///
/// Setup words: `m1 m2` (any names) are members of a stable group, the first leading; `i1/m1` one with instance id
/// `i1`; `stores` and `events` show those; `key=value` sets the configuration; `rebalance=` the members' rebalance timeout.
#[track_caller]
pub(crate) fn check(setup: &str, script: &str) {
    let mut run = Script::new(setup);
    run.form(setup);
    let mut expected = Vec::new();
    for line in script.lines().map(squeeze).filter(|line| !line.is_empty()) {
        let (when, what) = line.split_once(' ').expect("a line is a time and what happens");
        run.advance_to(when);
        if !what.starts_with('|') {
            run.lines.push(line.clone());
            run.input(what);
        }
        expected.push(line);
    }
    assert!(run.lines == expected, "{}", difference(&expected, &run.lines));
    run.check_tokens();
}

fn squeeze(line: &str) -> String {
    let line = line.split("//").next().unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn difference(expected: &[String], got: &[String]) -> String {
    let first = expected.iter().zip(got).take_while(|(one, other)| one == other).count();
    let show = |lines: &[String], mark| {
        let lines = lines.iter().enumerate();
        lines.fold(String::new(), |text, (at, line)| {
            text + if at == first { mark } else { "    " } + line + "\n"
        })
    };
    format!("\nexpected:\n{}\ngot:\n{}", show(expected, " -> "), show(got, " -> "))
}

/// `3s`, `1500ms`, `5m`, `1h`.
pub(crate) fn parse_ms(text: &str) -> u64 {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let number: u64 = digits.parse().unwrap_or_else(|_| panic!("not a time: {text}"));
    match &text[digits.len()..] {
        "ms" => number,
        "s" => number * 1_000,
        "m" => number * 60_000,
        "h" => number * 3_600_000,
        unit => panic!("not a unit of time: {unit}"),
    }
}

fn show_ms(ms: u64) -> String {
    if ms.is_multiple_of(1_000) { format!("{}s", ms / 1_000) } else { format!("{ms}ms") }
}

impl Script {
    fn new(setup: &str) -> Self {
        let mut config = Config { offsets_retention_check_interval_ms: None, ..Config::default() };
        for word in setup.split_whitespace() {
            let Some((key, value)) = word.split_once('=') else { continue };
            let number = || value.parse().expect("a number");
            match key {
                "max_size" => config.group_max_size = number(),
                "max_pending" => config.group_max_pending_members = number(),
                "delay" => {
                    config.group_initial_rebalance_delay_ms =
                        u32::try_from(parse_ms(value)).expect("a delay");
                }
                "rebalance" => {}
                _ => panic!("no such setting: {key}"),
            }
        }
        let mut run = Self {
            coordinator: Coordinator::new(config, 1, Timestamp::ZERO),
            now: Timestamp::ZERO,
            origin_ms: 0,
            clients: BTreeMap::new(),
            names: BTreeMap::new(),
            tokens: Vec::new(),
            kept: Vec::new(),
            shows: Shows::default(),
            lines: Vec::new(),
        };
        for partition in 0..50 {
            run.coordinator.handle(run.now, Input::BeginLoad(OffsetsPartition(partition), OwnerEpoch(1)));
            run.coordinator.handle(run.now, Input::FinishLoad(OffsetsPartition(partition)));
        }
        run
    }

    /// Brings the members of the setup into a stable group. Nothing of it is in the transcript; time starts after it.
    fn form(&mut self, setup: &str) {
        let words = || setup.split_whitespace().filter(|word| !word.contains('='));
        let names: Vec<&str> = words().filter(|word| !matches!(*word, "stores" | "events")).collect();
        for name in &names {
            let (instance, name) = name.split_once('/').map_or((None, *name), |(i, name)| (Some(i), name));
            let instance = instance.map(|instance| format!(" instance={instance}")).unwrap_or_default();
            let timeout = setup.split_whitespace().find(|word| word.starts_with("rebalance="));
            self.input(&format!("{name} join{instance} {}", timeout.unwrap_or_default()));
        }
        if !names.is_empty() {
            self.advance(7_000);
            for name in &names {
                let name = name.split_once('/').map_or(*name, |(_, name)| name);
                let all = names.iter().map(|n| n.split_once('/').map_or(*n, |(_, n)| n));
                let all: Vec<String> = all.map(|member| format!("{member}={member}")).collect();
                self.input(&format!("{name} sync {}", all.join(" ")));
            }
        }
        self.tokens.iter().for_each(|(who, done)| assert!(done, "{who} was left waiting by the setup"));
        self.lines.clear();
        self.origin_ms = self.now.ticks();
        self.shows.stores = words().any(|word| word == "stores");
        self.shows.events = words().any(|word| word == "events");
    }

    fn advance_to(&mut self, when: &str) {
        let until = self.origin_ms + parse_ms(when);
        let ms = until.checked_sub(self.now.ticks()).unwrap_or_else(|| panic!("time goes back to {when}"));
        self.advance(ms);
    }

    /// Lets time pass, one deadline after the other.
    fn advance(&mut self, ms: u64) {
        let until = self.now.saturating_add(ms);
        while let Some(due) = self.coordinator.next_deadline().filter(|&due| due <= until) {
            self.now = due.max(self.now);
            self.coordinator.expire(self.now);
            self.drain();
        }
        self.now = until;
        self.coordinator.expire(self.now);
        self.drain();
    }

    fn request(&mut self, who: &str, request: Request) {
        let token = Token::new(self.tokens.len() as u64);
        self.tokens.push((who.to_owned(), false));
        self.turn(Input::Request(token, request));
    }

    fn turn(&mut self, input: Input) {
        self.coordinator.expire(self.now);
        self.coordinator.handle(self.now, input);
        self.drain();
        // Timers of no length are due at once.
        self.coordinator.expire(self.now);
        self.drain();
    }

    fn drain(&mut self) {
        let outputs: Vec<Output> = std::iter::from_fn(|| self.coordinator.poll_output()).collect();
        for output in &outputs {
            if let Output::Respond(token, response) = output {
                let who = self.tokens[usize::try_from(token.number()).expect("a small number")].0.clone();
                self.learn(&who, response);
            }
        }
        for output in outputs {
            match output {
                Output::Respond(token, response) => {
                    let who = self.deal_with(&token);
                    let line = self.answer(&who, &response);
                    self.say(&line);
                }
                Output::Superseded(token) => {
                    let who = self.deal_with(&token);
                    self.say(&format!("{who} superseded"));
                }
                Output::Store(store) => {
                    if self.shows.stores {
                        let line = self.write(store.id, &store.records);
                        self.say(&line);
                        self.kept.extend(store.records);
                    } else {
                        self.kept.extend(store.records);
                        self.turn(Input::Stored(store.id, Ok(())));
                    }
                }
                Output::Event(event) => {
                    if self.shows.events {
                        let line = self.happened(&event.kind);
                        self.say(&line);
                    }
                }
            }
        }
    }

    fn deal_with(&mut self, token: &Token) -> String {
        let (who, done) = &mut self.tokens[usize::try_from(token.number()).expect("a small number")];
        assert!(!std::mem::replace(done, true), "{who} is answered twice");
        who.clone()
    }

    fn say(&mut self, line: &str) {
        self.lines.push(format!("{} | {line}", show_ms(self.now.ticks() - self.origin_ms)));
    }

    /// Whatever still waits has a deadline, and nothing is left over once all are gone.
    fn check_tokens(&mut self) {
        let waiting = self.tokens.iter().filter(|(_, done)| !done).count();
        let parked = self.coordinator.stats().parked_requests;
        assert!(parked <= waiting, "{parked} requests are parked, {waiting} clients wait");
        for partition in 0..50 {
            self.turn(Input::Unload(OffsetsPartition(partition), OwnerEpoch(i32::MAX)));
        }
        for (who, done) in &self.tokens {
            assert!(done, "{who} was never answered");
        }
        let stats = self.coordinator.stats();
        assert_eq!((stats.groups, stats.parked_requests), (0, 0));
    }

    fn stored(&mut self, words: &[&str]) {
        let id = StoreId(words[0].parse().expect("the number of a write"));
        let outcome = words.get(1).map_or(Ok(()), |error| Err(send::store_error(error)));
        self.turn(Input::Stored(id, outcome));
    }

    fn group() -> GroupId {
        GroupId::new("g")
    }
}
