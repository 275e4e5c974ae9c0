//! Turns a coordinator's events into log lines and counters: one line a rebalance, with why, who and how long.
//!
//! Knows nothing of how a rebalance works: it only puts the pieces of one round together. Ids and reasons are the
//! clients' own words: all of them go through `Shown` or `shortened` on their way into a line.

mod transactions;

use std::sync::Arc;

use coordinator::events::{Event, EventKind};
use coordinator::ids::{Generation, GroupId, MemberId};
use hashbrown::HashMap;
use metrics::{counter, histogram};
use tracing::{debug, info, warn};

use crate::shown::{Shown, shortened};
use crate::telemetry::name;
pub(crate) use transactions::record_transaction;

/// How many rounds are pieced together at once; the line of a round beyond that lacks its cause.
const MAX_OPEN: usize = 100_000;

/// One shard's events. Not shared: each shard has its own.
#[derive(Debug, Default)]
pub struct EventsLog {
    open: HashMap<GroupId, Round, foldhash::fast::RandomState>,
}

/// A round of rebalancing that has begun and not ended.
#[derive(Debug)]
struct Round {
    cause: Arc<str>,
    member: MemberId,
    /// How often it began anew before it ended.
    restarts: u32,
    leader: Option<MemberId>,
    waited_ms: u64,
    waited_for: MemberId,
    dropped: Vec<MemberId>,
}

impl EventsLog {
    /// Logs and counts `event`.
    pub fn record(&mut self, event: &Event) {
        let Event { group, generation, kind, .. } = event;
        let shown = Shown(group.as_str());
        match kind {
            EventKind::RebalanceStarted { member, cause } => self.started(group, member, cause),
            EventKind::RebalanceJoined { members, leader, waited_ms, waited_for, dropped } => {
                self.joined(group, leader, (*waited_ms, waited_for), dropped);
                if *members == 0 {
                    self.completed(group, *generation, 0, *waited_ms);
                }
            }
            EventKind::RebalanceCompleted { members, took_ms } => {
                self.completed(group, *generation, *members, *took_ms);
            }
            EventKind::StoreFailed => {
                counter!(name::ASSIGNMENTS_FAILED).increment(1);
                warn!(group = %shown, generation = generation.0, "assignment could not be stored, the group re-forms");
            }
            EventKind::GroupRemoved { cause } => {
                self.open.remove(group);
                counter!(name::GROUPS_REMOVED).increment(1);
                info!(group = %shown, generation = generation.0, cause = &*shortened(cause), "group removed");
            }
            EventKind::SessionExpired { .. }
            | EventKind::SyncExpired { .. }
            | EventKind::MemberLeft { .. }
            | EventKind::StaticMemberReplaced { .. } => record_member(event),
            EventKind::OffsetExpired { partition } => {
                counter!(name::OFFSETS_EXPIRED).increment(1);
                let (topic, index) = (Shown(partition.topic.as_str()), partition.partition);
                debug!(group = %shown, partition = %format_args!("{topic}:{index}"), "offset expired");
            }
            EventKind::OffsetDeleted { partition } => {
                counter!(name::OFFSETS_DELETED).increment(1);
                let (topic, index) = (Shown(partition.topic.as_str()), partition.partition);
                info!(group = %shown, partition = %format_args!("{topic}:{index}"), "offset deleted");
            }
        }
    }

    fn started(&mut self, group: &GroupId, member: &MemberId, cause: &Arc<str>) {
        counter!(name::REBALANCES_STARTED).increment(1);
        debug!(group = %Shown(group.as_str()), member = %Shown(member.as_str()), cause = &*shortened(cause), "rebalance started");
        if let Some(round) = self.open.get_mut(group) {
            // The first cause is the one to know: what follows is its echo.
            round.restarts += 1;
        } else if self.open.len() < MAX_OPEN {
            let round = Round {
                cause: Arc::clone(cause),
                member: member.clone(),
                restarts: 0,
                leader: None,
                waited_ms: 0,
                waited_for: MemberId::default(),
                dropped: Vec::new(),
            };
            self.open.insert(group.clone(), round);
        }
    }

    fn joined(&mut self, group: &GroupId, leader: &MemberId, waited: (u64, &MemberId), dropped: &[MemberId]) {
        let (waited_ms, waited_for) = waited;
        histogram!(name::REBALANCE_JOIN_SECONDS).record(seconds(waited_ms));
        counter!(name::MEMBERS_DROPPED).increment(dropped.len() as u64);
        if let Some(round) = self.open.get_mut(group) {
            round.leader = Some(leader.clone());
            round.waited_ms += waited_ms;
            round.waited_for = waited_for.clone();
            round.dropped.extend_from_slice(dropped);
        }
    }

    fn completed(&mut self, group: &GroupId, generation: Generation, members: usize, took_ms: u64) {
        counter!(name::REBALANCES_COMPLETED).increment(1);
        histogram!(name::REBALANCE_SECONDS).record(seconds(took_ms));
        let generation = generation.0;
        let Some(round) = self.open.remove(group) else {
            info!(group = %Shown(group.as_str()), generation, members, took_ms, "rebalance");
            return;
        };
        let (cause, member, waited_ms) =
            (&*shortened(&round.cause), &*shortened(round.member.as_str()), round.waited_ms);
        let leader = &*shortened(round.leader.as_ref().map_or("", MemberId::as_str));
        let waited_for = (!round.waited_for.is_empty()).then(|| shortened(round.waited_for.as_str()));
        let waited_for = waited_for.as_deref();
        let restarts = (round.restarts > 0).then_some(round.restarts);
        let dropped = (!round.dropped.is_empty()).then(|| join(&round.dropped));
        let group = Shown(group.as_str());
        info!(%group, generation, members, cause, member, leader, waited_ms, waited_for, took_ms, restarts, dropped, "rebalance");
    }
}

fn record_member(event: &Event) {
    let (group, generation) = (Shown(event.group.as_str()), event.generation.0);
    match &event.kind {
        EventKind::SessionExpired { member, session_timeout_ms } => {
            counter!(name::SESSIONS_EXPIRED).increment(1);
            let member = Shown(member.as_str());
            info!(%group, generation, %member, session_timeout_ms, "member fell silent");
        }
        EventKind::SyncExpired { member } => {
            counter!(name::SYNCS_EXPIRED).increment(1);
            let member = Shown(member.as_str());
            info!(%group, generation, %member, "member did not sync in time");
        }
        EventKind::MemberLeft { member, reason } => {
            counter!(name::MEMBERS_LEFT).increment(1);
            let (member, reason) = (Shown(member.as_str()), reason.as_deref().map(shortened));
            info!(%group, generation, %member, reason = reason.as_deref(), "member left");
        }
        EventKind::StaticMemberReplaced { instance, old, new } => {
            counter!(name::STATIC_REPLACED).increment(1);
            let (instance, old, new) = (Shown(instance.as_str()), Shown(old.as_str()), Shown(new.as_str()));
            info!(%group, generation, %instance, %old, %new, "static member came back, its old id is fenced");
        }
        EventKind::RebalanceStarted { .. }
        | EventKind::RebalanceJoined { .. }
        | EventKind::RebalanceCompleted { .. }
        | EventKind::StoreFailed
        | EventKind::OffsetExpired { .. }
        | EventKind::OffsetDeleted { .. }
        | EventKind::GroupRemoved { .. } => unreachable!("not about one member: the caller has matched"),
    }
}

/// Names of members for a line: the first ten, and how many more.
fn join(members: &[MemberId]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<_> = members.iter().take(SHOWN).map(|member| shortened(member.as_str())).collect();
    match members.len().saturating_sub(SHOWN) {
        0 => shown.join(","),
        more => format!("{} and {more} more", shown.join(",")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ms are 285 thousand years")]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}
