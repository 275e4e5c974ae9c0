//! What has happened to groups, for whoever asks: the shards record, admin requests and `/metrics` read.
//!
//! One history a shard, behind a lock that is held for one event, one group or one scrape of a hundred groups.

use std::sync::Arc;

use coordinator::events::history::{Entry, History};
use coordinator::events::{Event, EventKind, EventName};
use coordinator::ids::{GroupId, MemberId};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::shown::on_one_line;
use crate::telemetry::name;
use crate::telemetry::samples::{head, sample};

/// Groups that `/metrics` names, of each shard: those with the latest events.
const SCRAPED: usize = 100;
/// The longest name, in bytes, that `/metrics` shows. (Cut ones could be the same for two groups.)
const LONGEST_NAME: usize = 249;
/// The longest sentence in a label, in characters.
const SENTENCE: usize = 200;

/// The histories of all shards.
#[derive(Clone, Debug)]
pub(crate) struct Histories(Arc<[ShardHistory]>);

/// The history of one shard's groups.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShardHistory(Arc<Mutex<History>>);

/// One event, as others are told of it.
#[derive(Debug)]
pub(crate) struct Told {
    /// Counts the group's events.
    pub(crate) number: u64,
    /// A JSON object: when, in which generation, what, and a sentence about it.
    pub(crate) json: String,
}

impl ShardHistory {
    /// Keeps `event`.
    pub(crate) fn record(&self, event: &Event) {
        self.0.lock().record(event);
    }
}

impl Histories {
    /// Empty ones for `shards` shards.
    pub(crate) fn new(shards: usize) -> Self {
        Self((0..shards).map(|_| ShardHistory::default()).collect())
    }

    /// That of shard number `shard`.
    pub(crate) fn of_shard(&self, shard: usize) -> &ShardHistory {
        &self.0[shard]
    }

    /// The last events of `group`, which lives on `shard`; the oldest first.
    pub(crate) fn tell(&self, shard: usize, group: &GroupId) -> Vec<Told> {
        let entries: Vec<Entry> = self.0[shard].0.lock().of(group).cloned().collect();
        entries.iter().map(|entry| Told { number: entry.number, json: told(entry).to_string() }).collect()
    }

    /// Appends the groups with the latest events as metrics: how many events of each kind, and the last one.
    pub(crate) fn render(&self, text: &mut String) {
        let latest: Vec<_> = self.0.iter().flat_map(ShardHistory::latest).collect();
        head(text, name::GROUP_EVENTS);
        for Latest { group, counts, .. } in &latest {
            for (kind, count) in counts {
                sample(
                    text,
                    name::GROUP_EVENTS,
                    &[("group", group.as_str()), ("event", kind.as_str())],
                    *count,
                );
            }
        }
        head(text, name::GROUP_LAST_EVENT);
        for Latest { group, last, .. } in &latest {
            let generation = last.event.generation.0.to_string();
            let about = on_one_line(&sentence(last), SENTENCE);
            let labels = [
                ("group", group.as_str()),
                ("generation", &generation),
                ("event", last.event.kind.name().as_str()),
                ("about", &about),
            ];
            sample(text, name::GROUP_LAST_EVENT, &labels, last.event.at.ticks() / 1_000);
        }
    }
}

/// What `/metrics` says of one group.
struct Latest {
    group: GroupId,
    counts: Vec<(EventName, u64)>,
    last: Entry,
}

impl ShardHistory {
    fn latest(&self) -> Vec<Latest> {
        let history = self.0.lock();
        let of_group = |group: &GroupId| {
            if group.as_str().len() > LONGEST_NAME {
                return None;
            }
            let last = history.of(group).last()?.clone();
            Some(Latest { group: group.clone(), counts: history.counts(group).collect(), last })
        };
        history.groups().take(SCRAPED).filter_map(of_group).collect()
    }
}

fn told(entry: &Entry) -> Value {
    let event = &entry.event;
    let mut told = Map::new();
    told.insert("at".into(), json!(event.at.ticks()));
    told.insert("generation".into(), json!(event.generation.0));
    told.insert("event".into(), json!(event.kind.name().as_str()));
    if let Some(member) = member(&event.kind) {
        told.insert("member".into(), json!(member.as_str()));
    }
    told.insert("about".into(), json!(sentence(entry)));
    Value::Object(told)
}

/// Whose doing it was, or whom it befell.
fn member(kind: &EventKind) -> Option<&MemberId> {
    let member = match kind {
        EventKind::RebalanceStarted { member, .. }
        | EventKind::SessionExpired { member, .. }
        | EventKind::SyncExpired { member }
        | EventKind::MemberLeft { member, .. }
        | EventKind::StaticMemberReplaced { new: member, .. }
        | EventKind::RebalanceJoined { leader: member, .. } => member,
        EventKind::RebalanceCompleted { .. }
        | EventKind::StoreFailed
        | EventKind::OffsetExpired { .. }
        | EventKind::OffsetDeleted { .. }
        | EventKind::GroupRemoved { .. } => return None,
    };
    (!member.is_empty()).then_some(member)
}

/// In words: why, how long, for whom.
fn sentence(entry: &Entry) -> String {
    match &entry.event.kind {
        EventKind::RebalanceStarted { cause, .. } | EventKind::GroupRemoved { cause } => cause.to_string(),
        EventKind::RebalanceJoined { members, waited_ms, waited_for, dropped, .. } => {
            joined(*members, *waited_ms, waited_for, dropped, entry.omitted)
        }
        EventKind::RebalanceCompleted { members, took_ms } => {
            format!("{}, {took_ms} ms after the round began", people(*members))
        }
        EventKind::StoreFailed => "the assignment could not be stored, the group re-forms".into(),
        EventKind::SessionExpired { session_timeout_ms, .. } => {
            format!("silent for its session timeout of {session_timeout_ms} ms")
        }
        EventKind::SyncExpired { .. } => "no SyncGroup in time".into(),
        EventKind::MemberLeft { reason, .. } => reason.as_deref().unwrap_or("gave no reason").into(),
        EventKind::StaticMemberReplaced { instance, old, .. } => {
            format!("instance {instance} came back under a new id, {old} is fenced")
        }
        EventKind::OffsetExpired { partition } | EventKind::OffsetDeleted { partition } => {
            several(entry.times, &partition.to_string())
        }
    }
}

fn joined(
    members: usize,
    waited_ms: u64,
    waited_for: &MemberId,
    dropped: &[MemberId],
    omitted: usize,
) -> String {
    let mut parts = vec![format!("{}, waited {waited_ms} ms", people(members))];
    if !waited_for.is_empty() {
        parts.push(format!("last for {waited_for}"));
    }
    if !dropped.is_empty() {
        let names: Vec<_> = dropped.iter().map(MemberId::as_str).collect();
        parts.push(format!("in vain for {}", names.join(", ")));
    }
    if omitted > 0 {
        parts.push(format!("and {omitted} more"));
    }
    parts.join(", ")
}

fn people(members: usize) -> String {
    format!("{members} member{}", if members == 1 { "" } else { "s" })
}

fn several(times: u64, last: &str) -> String {
    if times == 1 { last.into() } else { format!("{times} offsets, the last of {last}") }
}
