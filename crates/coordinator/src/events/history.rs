//! The last events of each group, within a bound: what explains a group to whoever asks.
//!
//! The coordinator keeps none: a host that wants one records each [`Output::Event`](crate::messages::Output::Event).

use std::collections::{BTreeMap, VecDeque};
use std::mem::size_of;

use hashbrown::HashMap;

use super::{Event, EventKind, EventName};
use crate::ids::{GroupId, MemberId};

/// What a history may take.
#[derive(Clone, Copy, Debug)]
pub struct HistoryLimits {
    /// Events kept of one group; the oldest go first. At least 1.
    pub per_group: usize,
    /// Bytes that all of it may take, about, the texts of others (ids, reasons) included. Beyond that, the group that
    /// has been silent longest is forgotten.
    pub bytes: usize,
    /// Members named in one event; of a longer list only the number is kept.
    pub names: usize,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { per_group: 32, bytes: 8 << 20, names: 16 }
    }
}

/// One event of a group's history.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Which event of its group this is: 1 for the first that was ever recorded.
    pub number: u64,
    /// What happened; the last time, if several times.
    pub event: Event,
    /// How often in a row. More than 1 only of offsets that expired or were deleted.
    pub times: u64,
    /// How many members a list would name beyond those that it does.
    pub omitted: usize,
}

/// What is known of one group.
#[derive(Debug)]
struct Past {
    entries: VecDeque<Entry>,
    recorded: u64,
    counts: [u64; EventName::ALL.len()],
    /// Its place among the groups, by their last event.
    place: u64,
    bytes: usize,
}

/// The last events of each group. Also of groups that are gone: that is when one wants to know.
///
/// ```
/// use coordinator::events::history::History;
/// use coordinator::events::{Event, EventKind};
/// use coordinator::ids::{Generation, GroupId};
/// use coordinator::Timestamp;
///
/// let group = GroupId::from("orders");
/// let mut history = History::default();
/// let kind = EventKind::GroupRemoved { cause: "deleted by request".into() };
/// history.record(&Event { at: Timestamp::ZERO, group: group.clone(), generation: Generation(3), kind });
/// assert_eq!(history.of(&group).count(), 1);
/// ```
#[derive(Debug, Default)]
pub struct History {
    limits: HistoryLimits,
    groups: HashMap<GroupId, Past, foldhash::fast::RandomState>,
    /// Groups by their last event, the most silent first.
    places: BTreeMap<u64, GroupId>,
    next_place: u64,
    bytes: usize,
}

impl History {
    /// An empty history within `limits`.
    pub fn new(limits: HistoryLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Keeps `event`.
    pub fn record(&mut self, event: &Event) {
        let place = self.next_place;
        self.next_place += 1;
        let bytes = &mut self.bytes;
        let past = self.groups.entry_ref(&event.group).or_insert_with(|| {
            let past = Past::new(&event.group, place);
            *bytes += past.bytes;
            past
        });
        self.places.remove(&past.place);
        self.places.insert(place, event.group.clone());
        past.place = place;
        *bytes -= past.bytes;
        past.record(event, &self.limits);
        *bytes += past.bytes;
        self.forget();
    }

    /// The events of `group`, the oldest first; none if nothing is known of it.
    pub fn of<'a>(&'a self, group: &GroupId) -> impl Iterator<Item = &'a Entry> + use<'a> {
        self.groups.get(group).into_iter().flat_map(|past| &past.entries)
    }

    /// How often each kind of event was recorded of `group`, since it is known: kinds that were.
    pub fn counts<'a>(&'a self, group: &GroupId) -> impl Iterator<Item = (EventName, u64)> + use<'a> {
        let counts = self.groups.get(group).map(|past| past.counts);
        let of_each = move |counts: [u64; EventName::ALL.len()]| EventName::ALL.into_iter().zip(counts);
        counts.into_iter().flat_map(of_each).filter(|(_, count)| *count > 0)
    }

    /// The groups that are known, the one with the latest event first.
    pub fn groups(&self) -> impl Iterator<Item = &GroupId> {
        self.places.values().rev()
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes room. The group of the event at hand stays: one group alone never takes all.
    fn forget(&mut self) {
        while self.bytes > self.limits.bytes && self.places.len() > 1 {
            let Some((_, group)) = self.places.pop_first() else { return };
            if let Some(past) = self.groups.remove(&group) {
                self.bytes -= past.bytes;
            }
        }
    }
}

impl Past {
    fn new(group: &GroupId, place: u64) -> Self {
        // Its name is in the map and among the places.
        let bytes = size_of::<Self>() + 2 * size_of::<GroupId>() + group.as_str().len();
        let counts = [0; EventName::ALL.len()];
        Self { entries: VecDeque::new(), recorded: 0, counts, place, bytes }
    }

    fn record(&mut self, event: &Event, limits: &HistoryLimits) {
        self.recorded += 1;
        self.counts[event.kind.name() as usize] += 1;
        let times = match self.entries.back() {
            Some(last) if is_one_more(&last.event, event) => last.times + 1,
            _ => 1,
        };
        if times > 1 {
            self.bytes -= self.entries.pop_back().map_or(0, |last| weight(&last.event));
        }
        let (event, omitted) = cut(event, limits.names);
        self.bytes += weight(&event);
        self.entries.push_back(Entry { number: self.recorded, event, times, omitted });
        let is_too_much = |past: &Self| {
            past.entries.len() > limits.per_group || past.bytes > limits.bytes / 4 && past.entries.len() > 1
        };
        while is_too_much(self) {
            self.bytes -= self.entries.pop_front().map_or(0, |first| weight(&first.event));
        }
    }
}

/// Whether `event` is told together with the one before it: a group may lose a million offsets at once, and what
/// happened before that should still be known.
fn is_one_more(last: &Event, event: &Event) -> bool {
    let name = event.kind.name();
    matches!(name, EventName::OffsetExpired | EventName::OffsetDeleted)
        && last.kind.name() == name
        && last.generation == event.generation
}

/// The event with at most `names` members in a list, and how many are left out.
fn cut(event: &Event, names: usize) -> (Event, usize) {
    let EventKind::RebalanceJoined { members, leader, waited_ms, waited_for, dropped } = &event.kind else {
        return (event.clone(), 0);
    };
    let shown = dropped.len().min(names);
    let kind = EventKind::RebalanceJoined {
        members: *members,
        leader: leader.clone(),
        waited_ms: *waited_ms,
        waited_for: waited_for.clone(),
        dropped: dropped[..shown].to_vec(),
    };
    let Event { at, group, generation, .. } = event;
    (Event { at: *at, group: group.clone(), generation: *generation, kind }, dropped.len() - shown)
}

/// About what an entry takes, with the texts it may be the last to hold.
fn weight(event: &Event) -> usize {
    let of = |member: &MemberId| size_of::<MemberId>() + member.as_str().len();
    let texts = match &event.kind {
        EventKind::RebalanceStarted { member, cause } => of(member) + cause.len(),
        EventKind::RebalanceJoined { leader, waited_for, dropped, .. } => {
            of(leader) + of(waited_for) + dropped.iter().map(of).sum::<usize>()
        }
        EventKind::SessionExpired { member, .. } | EventKind::SyncExpired { member } => of(member),
        EventKind::MemberLeft { member, reason } => of(member) + reason.as_ref().map_or(0, |why| why.len()),
        EventKind::StaticMemberReplaced { instance, old, new } => instance.as_str().len() + of(old) + of(new),
        EventKind::OffsetExpired { partition } | EventKind::OffsetDeleted { partition } => {
            partition.topic.as_str().len()
        }
        EventKind::GroupRemoved { cause } => cause.len(),
        EventKind::RebalanceCompleted { .. } | EventKind::StoreFailed => 0,
    };
    size_of::<Entry>() + texts
}
