//! A member is never evicted while its heartbeats arrive in time, and always within its session timeout when silent.
//!
//! Signs of life are taken where the broker has them, so a network that delays them is the client's problem, as it is in
//! Kafka. *Sure* signs renew a session for certain; *possible* ones may.

use coordinator::ids::MemberId;
use coordinator::messages::{GroupError, JoinGroup};

use super::{Findings, Members, Rule};
use crate::agenda::{MS, Moment};

#[derive(Clone, Debug)]
struct Signs {
    /// Whose place it took; if that cannot be stored, it is that one again.
    before: Option<MemberId>,
    sure: Option<Moment>,
    possible: Moment,
    /// The shortest and longest session timeouts it has asked for, microseconds.
    shortest: u64,
    longest: u64,
}

/// The members of one group at one broker.
#[derive(Debug, Default)]
pub struct Sessions {
    members: Members<Signs>,
    /// All members are given a new session when a round ends or the group is loaded.
    round: Moment,
}

/// The session timeouts that a coordinator allows by default, ms.
pub const ALLOWED: std::ops::RangeInclusive<i32> = 6_000..=1_800_000;

/// Those who are forgotten when they have been silent for so long: the longest session a broker allows, and more.
const FORGOTTEN: u64 = 3_600_000 * MS;

impl Sessions {
    /// A member asks to join, with its session timeout.
    pub fn on_join(&mut self, now: Moment, join: &JoinGroup) {
        self.asks_for(now, &join.member, join.session_timeout_ms);
    }

    /// A member exists, or may, with this session timeout.
    pub fn asks_for(&mut self, now: Moment, member: &MemberId, session_timeout_ms: i32) {
        // Others are refused.
        if member.is_empty() || !ALLOWED.contains(&session_timeout_ms) {
            return;
        }
        let session = u64::try_from(session_timeout_ms).unwrap_or(0) * MS;
        let signs = self.members.entry(member.clone()).or_insert(Signs {
            before: None,
            sure: None,
            possible: now,
            shortest: session,
            longest: session,
        });
        signs.possible = now;
        signs.shortest = signs.shortest.min(session);
        signs.longest = signs.longest.max(session);
    }

    /// A static member has a new id; its first session is as long as that of the old one.
    pub fn on_replaced(&mut self, now: Moment, old: &MemberId, new: &MemberId) {
        let Some(replaced) = self.members.get_mut(old) else { return };
        replaced.possible = now;
        let replaced = replaced.clone();
        let signs = self.members.entry(new.clone()).or_insert(replaced.clone());
        signs.shortest = signs.shortest.min(replaced.shortest);
        signs.longest = signs.longest.max(replaced.longest);
        signs.possible = now;
        signs.sure = None;
        signs.before = Some(old.clone());
    }

    /// Something of a member came, or was answered.
    pub fn possible(&mut self, now: Moment, member: &MemberId) {
        let Some(signs) = self.members.get_mut(member) else { return };
        signs.possible = now;
        if let Some(before) = signs.before.clone()
            && let Some(signs) = self.members.get_mut(&before)
        {
            signs.possible = now;
        }
    }

    /// Its heartbeat was answered.
    pub fn on_heartbeat(&mut self, now: Moment, member: &MemberId, error: Option<GroupError>) {
        let Some(signs) = self.members.get_mut(member) else { return };
        signs.possible = now;
        if matches!(error, None | Some(GroupError::RebalanceInProgress)) {
            signs.sure = Some(now);
        }
    }

    /// A round ended, the group was loaded, or the broker stood still until now.
    pub fn on_round(&mut self, now: Moment) {
        self.round = now;
        self.members.retain(|_, signs| now.since(signs.possible) < FORGOTTEN);
    }

    /// The broker knows nothing of the group any more: what it said does not count.
    pub fn reset(&mut self, now: Moment) {
        self.round = now;
        for signs in self.members.values_mut() {
            signs.sure = None;
        }
    }

    /// A member was evicted for its silence. `shortest` is the shortest session timeout that anybody has asked for in this
    /// group, microseconds: somebody else may have asked for it in its name, elsewhere.
    pub fn on_expired(&mut self, now: Moment, member: &MemberId, shortest: u64, findings: &mut Findings) {
        let Some(signs) = self.members.get(member) else { return };
        let session = signs.shortest.min(shortest);
        // A coordinator counts whole milliseconds: it may see a sign up to one of them earlier.
        if let Some(sure) = signs.sure.filter(|sure| now.since(*sure) + MS < session) {
            findings.broken(Rule::EvictedAlive, now, || {
                let (silent, session) = (now.since(sure) / MS, session / MS);
                format!("{member:?} is evicted after {silent} ms of silence; its session lasts {session} ms")
            });
        }
        self.members.remove(member);
    }

    /// Whether one of those who are members now, and wait for nothing, has been silent for too long. `longest` is what
    /// anybody has asked for in this group, microseconds: a member that was loaded may have, elsewhere.
    pub fn check(
        &self,
        now: Moment,
        members: &[MemberId],
        waits: impl Fn(&MemberId) -> bool,
        longest: u64,
        findings: &mut Findings,
    ) {
        for member in members {
            let Some(signs) = self.members.get(member) else { continue };
            let silent = now.since(signs.possible.max(self.round));
            let session = signs.longest.max(longest);
            if silent > session + 20 * MS && !waits(member) {
                let (silent, session) = (silent / MS, session / MS);
                findings.broken(Rule::SilentKept, now, || {
                    format!(
                        "{member:?} is a member after {silent} ms of silence; its session lasts {session} ms"
                    )
                });
            }
        }
    }
}
