//! One coordinator, its simulated clock and its log: executes the steps of a scenario.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use coordinator::ids::{OffsetsPartition, OwnerEpoch, ProducerId};
use coordinator::messages::{Input, Output, Record, Request, Store, StoreError, StoreId, Token};
use coordinator::{Coordinator, Timestamp};
use serde_json::{Map, Value};

use super::matching::mismatch;
use super::scenario::{Action, EndTxn, Log, Scenario, StoreKind, StoreMode};
use super::{subject, translate};

/// No scenario comes near it; a coordinator that never settles does.
const MOST_TURNS: usize = 1_000_000;

/// The state of one run.
pub(crate) struct World {
    coordinator: Coordinator,
    now: Timestamp,
    mode: StoreMode,
    waiting: VecDeque<Waiting>,
    logs: BTreeMap<i32, Vec<Written>>,
    epochs: BTreeMap<i32, i32>,
    loading: BTreeSet<i32>,
    /// Handle to token number and kind of request.
    asked: BTreeMap<String, (u64, &'static str)>,
    answers: BTreeMap<u64, Value>,
    expected: BTreeSet<String>,
    variables: BTreeMap<String, Value>,
    turns: usize,
    /// What happened since it was last taken, for the transcript.
    pub(crate) happened: Vec<String>,
}

struct Waiting {
    id: StoreId,
    kind: StoreKind,
    partition: i32,
}

/// One write in a partition's log. Its place is fixed when the coordinator asks for it; it counts once stored.
struct Written {
    id: Option<StoreId>,
    records: Vec<Record>,
    stored: bool,
}

impl World {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let now = Timestamp::from_ticks(1_000_000_000);
        let mut world = Self {
            coordinator: subject::coordinator(&scenario.config, now),
            now,
            mode: scenario.config.store_mode,
            waiting: VecDeque::new(),
            logs: BTreeMap::new(),
            epochs: BTreeMap::new(),
            loading: BTreeSet::new(),
            asked: BTreeMap::new(),
            answers: BTreeMap::new(),
            expected: BTreeSet::new(),
            variables: BTreeMap::new(),
            turns: 0,
            happened: Vec::new(),
        };
        for &partition in &scenario.config.owned_partitions {
            world.begin_load(partition).expect("a coordinator starts up");
            world.finish_load(partition, Vec::new()).expect("a coordinator starts up");
        }
        world
    }

    /// Executes one step. An error says what was expected and what was got.
    pub(crate) fn step(&mut self, step: &Value) -> Result<(), String> {
        if step.get("expect").is_some() {
            return self.expect(step);
        }
        let step = self.substituted(step)?;
        if let Some(handle) = step.get("expect_pending") {
            return self.expect_pending(handle.as_str().ok_or("a handle is a string")?);
        }
        if step.get("check").is_some() {
            return self.check(step.as_object().ok_or("a step is an object")?);
        }
        let action: Action = serde_json::from_value(step).map_err(|e| format!("not a step: {e}"))?;
        self.act(&action)
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        if let Some((handle, request)) = translate::request(action)? {
            return self.ask(&handle, request);
        }
        match action {
            Action::Advance { ms } => self.advance(*ms),
            Action::StoreMode { mode } => {
                self.mode = *mode;
                Ok(())
            }
            Action::Store { result, kind } => self.store(translate::store_result(result)?, *kind),
            Action::EndTxn(step) => self.end_transaction(step),
            Action::Cleanup => self.turn(Input::CleanUp),
            Action::DeleteTopicPartitions { partitions } => {
                self.turn(Input::TopicPartitionsDeleted(translate::topic_partitions(partitions)?))
            }
            Action::BeginLoad { partition } => self.begin_load(*partition),
            Action::FinishLoad { partition, log } => {
                let records = self.records(*partition, log)?;
                self.finish_load(*partition, records)
            }
            Action::Unload { partition } => {
                let epoch = self.next_epoch(*partition);
                self.loading.remove(partition);
                self.turn(Input::Unload(OffsetsPartition(*partition), epoch))
            }
            Action::ForceState { group, state } => {
                self.expire()?;
                subject::force(&mut self.coordinator, group, state)?;
                self.drain()
            }
            Action::Join(_)
            | Action::Sync(_)
            | Action::Heartbeat(_)
            | Action::Leave(_)
            | Action::OffsetCommit(_)
            | Action::TxnOffsetCommit(_)
            | Action::OffsetFetch(_)
            | Action::OffsetDelete(_)
            | Action::Describe(_)
            | Action::List(_)
            | Action::DeleteGroups(_) => unreachable!("steps that ask were handled above"),
        }
    }

    fn ask(&mut self, handle: &str, request: Request) -> Result<(), String> {
        let number = self.asked.len() as u64;
        let kind = subject::kind(&request);
        if self.asked.insert(handle.to_owned(), (number, kind)).is_some() {
            return Err(format!("handle {handle} is given twice"));
        }
        self.turn(Input::Request(Token::new(number), request))
    }

    fn expect(&mut self, step: &Value) -> Result<(), String> {
        let step = step.as_object().ok_or("a step is an object")?;
        let handle = step["expect"].as_str().ok_or("a handle is a string")?.to_owned();
        let &(number, kind) = self.asked.get(&handle).ok_or_else(|| format!("no request {handle} so far"))?;
        if !self.expected.insert(handle.clone()) {
            return Err(format!("{handle} was expected before"));
        }
        let got = self.answers.get(&number).ok_or_else(|| format!("{handle}: no response so far"))?.clone();
        if let Some(binds) = step.get("bind") {
            for (field, variable) in binds.as_object().ok_or("bind is an object")? {
                let value = got.get(field).ok_or_else(|| format!("a {kind} response has no {field}"))?;
                let variable = variable.as_str().ok_or("a variable is a string")?;
                self.variables.insert(variable.to_owned(), value.clone());
            }
        }
        let mut expected = step.clone();
        expected.retain(|field, _| field != "expect" && field != "bind");
        let expected = self.substituted(&Value::Object(expected))?;
        // The members of a leave response are in the order of the request.
        match mismatch("", &expected, &got, kind == "leave") {
            None => Ok(()),
            Some(difference) => Err(difference),
        }
    }

    fn expect_pending(&self, handle: &str) -> Result<(), String> {
        let (number, _) = self.asked.get(handle).ok_or_else(|| format!("no request {handle} so far"))?;
        match self.answers.get(number) {
            None => Ok(()),
            Some(answer) => Err(format!("{handle}: expected no response so far, got {answer}")),
        }
    }

    fn check(&mut self, step: &Map<String, Value>) -> Result<(), String> {
        let mut expected = step.clone();
        let got = match step["check"].as_str() {
            Some("group") => {
                let group = step.get("group").and_then(Value::as_str).ok_or("group is missing")?;
                let exists = Value::Bool(true);
                expected.entry("exists").or_insert(exists);
                subject::view(&self.coordinator, group)
            }
            Some("store") => serde_json::json!({ "pending": self.waiting.len() }),
            _ => return Err(format!("unknown check {}", step["check"])),
        };
        expected.retain(|field, _| field != "check" && field != "group");
        match mismatch("", &Value::Object(expected), &got, false) {
            None => Ok(()),
            Some(difference) => Err(format!("{difference}; the whole view: {got}")),
        }
    }

    fn advance(&mut self, ms: u64) -> Result<(), String> {
        let end = self.now.saturating_add(ms);
        while let Some(deadline) = self.coordinator.next_deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.expire()?;
        }
        self.now = end;
        self.expire()
    }

    /// Completes the oldest waiting write.
    fn store(&mut self, result: Result<(), StoreError>, kind: Option<StoreKind>) -> Result<(), String> {
        let write = self.waiting.pop_front().ok_or("expected a waiting write, got none")?;
        if kind.is_some_and(|kind| kind != write.kind) {
            return Err(format!("expected a waiting write of kind {kind:?}, got {:?}", write.kind));
        }
        self.stored(write.partition, write.id, result)
    }

    fn stored(&mut self, partition: i32, id: StoreId, result: Result<(), StoreError>) -> Result<(), String> {
        let log = self.logs.entry(partition).or_default();
        let place = log.iter().position(|write| write.id == Some(id)).expect("every write has its place");
        match result {
            Ok(()) => log[place].stored = true,
            Err(_) => drop(log.remove(place)),
        }
        self.turn(Input::Stored(id, result))
    }

    fn end_transaction(&mut self, step: &EndTxn) -> Result<(), String> {
        let producer = ProducerId(step.producer_id);
        let outcome = translate::outcome(step.result);
        for &partition in &step.offsets_partitions {
            let records = vec![Record::TxnMarker(producer, outcome)];
            self.logs.entry(partition).or_default().push(Written { id: None, records, stored: true });
        }
        let partitions = translate::offsets_partitions(&step.offsets_partitions);
        self.turn(Input::EndTransaction { producer, partitions, outcome })
    }

    fn records(&self, partition: i32, log: &Log) -> Result<Vec<Record>, String> {
        match log {
            Log::Word(word) if word == "replay" => {
                let written = self.logs.get(&partition).into_iter().flatten().filter(|write| write.stored);
                Ok(written.flat_map(|write| write.records.iter().cloned()).collect())
            }
            Log::Word(word) => Err(format!("unknown log {word}")),
            Log::Records(records) => records.iter().map(|r| translate::record(r, self.now)).collect(),
        }
    }

    fn begin_load(&mut self, partition: i32) -> Result<(), String> {
        let epoch = self.next_epoch(partition);
        self.loading.insert(partition);
        self.turn(Input::BeginLoad(OffsetsPartition(partition), epoch))
    }

    fn finish_load(&mut self, partition: i32, records: Vec<Record>) -> Result<(), String> {
        if !self.loading.contains(&partition) {
            self.begin_load(partition)?;
        }
        // In pieces, as a host that streams the log would.
        let mut rest = records.into_iter().peekable();
        while rest.peek().is_some() {
            let piece = rest.by_ref().take(2).collect();
            self.turn(Input::Load(OffsetsPartition(partition), piece))?;
        }
        self.loading.remove(&partition);
        self.turn(Input::FinishLoad(OffsetsPartition(partition)))
    }

    fn next_epoch(&mut self, partition: i32) -> OwnerEpoch {
        let epoch = self.epochs.entry(partition).or_default();
        *epoch += 1;
        OwnerEpoch(*epoch)
    }

    /// One turn of a host: deadlines first, then the input, then what it brought about. Timers of length 0
    /// fire right after.
    fn turn(&mut self, input: Input) -> Result<(), String> {
        self.expire()?;
        self.coordinator.handle(self.now, input);
        self.drain()?;
        self.expire()
    }

    fn expire(&mut self) -> Result<(), String> {
        loop {
            self.coordinator.expire(self.now);
            self.drain()?;
            if self.coordinator.next_deadline().is_none_or(|deadline| deadline > self.now) {
                return Ok(());
            }
        }
    }

    fn drain(&mut self) -> Result<(), String> {
        while let Some(output) = self.coordinator.poll_output() {
            self.turns += 1;
            if self.turns > MOST_TURNS {
                return Err("the coordinator never settles".to_owned());
            }
            match output {
                Output::Respond(token, response) => {
                    let number = token.number();
                    let value = translate::response(&response);
                    let handle = self.asked.iter().find(|(_, (n, _))| *n == number).map(|(h, _)| h.as_str());
                    self.happened.push(format!("{} <- {value}", handle.unwrap_or("?")));
                    if self.answers.insert(number, value).is_some() {
                        return Err(format!("{}: answered twice", handle.unwrap_or("?")));
                    }
                }
                Output::Superseded(token) => {
                    let number = token.number();
                    let handle = self.asked.iter().find(|(_, (n, _))| *n == number).map(|(h, _)| h.as_str());
                    self.happened.push(format!("{} will not be answered", handle.unwrap_or("?")));
                }
                Output::Store(store) => self.written(store)?,
                Output::Event(event) => self.happened.push(format!("event: {:?}", event.kind)),
            }
        }
        Ok(())
    }

    /// Gives a write its place in the log and completes it, unless it is of those that wait in manual mode.
    fn written(&mut self, store: Store) -> Result<(), String> {
        if store.records.is_empty() {
            return Err("an empty write".to_owned());
        }
        let partition = store.partition.0;
        let kind = kind(&store.records);
        self.happened.push(format!("write {:?} to {partition}: {:?}", store.id, store.records));
        let log = self.logs.entry(partition).or_default();
        log.push(Written { id: Some(store.id), records: store.records, stored: false });
        match kind {
            Some(kind) if self.mode == StoreMode::Manual => {
                self.waiting.push_back(Waiting { id: store.id, kind, partition });
                Ok(())
            }
            Some(_) | None => self.stored(partition, store.id, Ok(())),
        }
    }

    /// `value` with its variables replaced, in keys and in strings.
    fn substituted(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => match text.strip_prefix('$') {
                Some(name) => self.variable(name)?.clone(),
                None => value.clone(),
            },
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.substituted(item)).collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(key, item)| Ok((self.substituted_key(key)?, self.substituted(item)?)))
                    .collect::<Result<_, String>>()?,
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }

    fn substituted_key(&self, key: &str) -> Result<String, String> {
        match key.strip_prefix('$') {
            Some(name) => Ok(self.variable(name)?.as_str().unwrap_or_default().to_owned()),
            None => Ok(key.to_owned()),
        }
    }

    fn variable(&self, name: &str) -> Result<&Value, String> {
        self.variables.get(name).ok_or_else(|| format!("${name} is not bound"))
    }
}

/// The kind of a write that waits in manual mode; `None` for tombstones, which never wait.
fn kind(records: &[Record]) -> Option<StoreKind> {
    records.iter().find_map(|record| match record {
        Record::Group(_) => Some(StoreKind::Group),
        Record::Offset(_) => Some(StoreKind::Offsets),
        Record::TxnOffset(..) => Some(StoreKind::TxnOffsets),
        Record::GroupTombstone(_) | Record::OffsetTombstone(..) | Record::TxnMarker(..) => None,
    })
}
