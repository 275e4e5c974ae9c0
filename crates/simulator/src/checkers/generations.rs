//! At most one leader and one assignment in a generation, the assignment given by that leader; generations never go back.
//!
//! While one coordinator owns a group, all it says of a generation must agree. Across owners and restarts, what was given
//! to members counts: an assignment is stored before it is given, so a generation that has one never gets another, and
//! no owner loads an older generation than one whose assignment was given.

use coordinator::GroupView;
use coordinator::events::{Event, EventKind};
use coordinator::ids::{Blob, Generation, MemberId};
use coordinator::messages::{JoinGroupResponse, SyncGroup, SyncGroupResponse};

use super::{Findings, Members, Rule};
use crate::agenda::Moment;

/// What one coordinator has said of one group since it owns it.
#[derive(Clone, Debug, Default)]
struct Reign {
    generation: Generation,
    /// The leader, under all ids it has had in this generation.
    leader: Vec<MemberId>,
}

/// What holds of one group, whoever owns it.
#[derive(Debug, Default)]
struct History {
    /// The newest generation whose assignment was given to a member.
    given: Generation,
    /// What leaders brought for recent generations.
    brought: Vec<Brought>,
}

impl History {
    /// The group's generations begin anew, unless the removal is lost.
    fn remove(&mut self) {
        self.given = Generation::default();
        for brought in &mut self.brought {
            brought.removed = true;
        }
    }

    /// The assignment of a generation of which a member is given this part.
    fn find(&mut self, generation: Generation, member: &MemberId, part: &Blob) -> Option<&mut Brought> {
        let none = Blob::default();
        let current = |b: &Brought| b.generation == generation && !b.removed;
        let fits = |b: &Brought| b.generation == generation && b.of.get(member).unwrap_or(&none) == part;
        // Once part of one was given, the others of its generation are out.
        let is_given = self.brought.iter().any(|b| current(b) && b.given);
        let found = self.brought.iter().position(|b| current(b) && fits(b) && (b.given || !is_given));
        let found = found.or_else(|| self.brought.iter().position(|b| b.removed && fits(b)));
        found.map(|found| &mut self.brought[found])
    }
}

/// An assignment that a leader brought.
#[derive(Debug)]
struct Brought {
    generation: Generation,
    leader: MemberId,
    of: Members<Blob>,
    /// Some of it was given to a member.
    given: bool,
    /// The group was removed since. It may still come back, if its tombstone is lost.
    removed: bool,
}

/// Brought assignments of a group that are remembered.
const REMEMBERED: usize = 64;

/// The checker.
#[derive(Debug)]
pub struct Generations {
    /// By broker, then by group.
    reigns: Vec<Vec<Option<Reign>>>,
    groups: Vec<History>,
    /// Generations with members.
    pub rounds: u64,
}

impl Generations {
    /// For so many brokers and groups.
    pub fn new(brokers: usize, groups: usize) -> Self {
        Self {
            reigns: vec![vec![None; groups]; brokers],
            groups: (0..groups).map(|_| History::default()).collect(),
            rounds: 0,
        }
    }

    /// The broker owns the group no more, or has not loaded it yet.
    pub fn lost(&mut self, broker: usize, group: usize) {
        self.reigns[broker][group] = None;
    }

    /// The broker has loaded the group; `is_owner`: nobody has taken it since it began to.
    pub fn loaded(
        &mut self,
        now: Moment,
        (broker, is_owner): (usize, bool),
        group: usize,
        view: Option<&GroupView>,
        findings: &mut Findings,
    ) {
        let generation = view.map_or(Generation(0), |view| view.generation);
        let given = self.groups[group].given;
        if is_owner && generation < given {
            findings.broken(Rule::Generation, now, || {
                format!("broker {broker} loads generation {} of group {group}, and members were given assignments of generation {}", generation.0, given.0)
            });
        }
        let leader = view.and_then(|view| view.leader.clone()).into_iter().collect();
        self.reigns[broker][group] = Some(Reign { generation, leader });
    }

    /// A coordinator tells what happened to a group; `is_owner`: nobody has taken the group from it.
    pub fn on_event(
        &mut self,
        now: Moment,
        (broker, is_owner): (usize, bool),
        group: usize,
        event: &Event,
        findings: &mut Findings,
    ) {
        let Some(reign) = &mut self.reigns[broker][group] else { return };
        match &event.kind {
            EventKind::RebalanceJoined { leader, members, .. } => {
                if event.generation <= reign.generation {
                    let (old, new) = (reign.generation.0, event.generation.0);
                    findings.broken(Rule::Generation, now, || {
                        format!("group {group} at broker {broker} goes from generation {old} to {new}")
                    });
                }
                let leader = if *members == 0 { Vec::new() } else { vec![leader.clone()] };
                *reign = Reign { generation: event.generation, leader };
                self.rounds += u64::from(*members > 0);
            }
            EventKind::StaticMemberReplaced { old, new, .. } => {
                if reign.leader.contains(old) {
                    reign.leader.push(new.clone());
                }
                for brought in &mut self.groups[group].brought {
                    if let Some(assignment) = brought.of.get(old).cloned() {
                        brought.of.insert(new.clone(), assignment);
                    }
                }
            }
            EventKind::GroupRemoved { .. } => {
                *reign = Reign::default();
                // What a former owner removes stays, since its tombstone is refused.
                if is_owner {
                    self.groups[group].remove();
                }
            }
            EventKind::RebalanceStarted { .. }
            | EventKind::RebalanceCompleted { .. }
            | EventKind::StoreFailed
            | EventKind::SessionExpired { .. }
            | EventKind::SyncExpired { .. }
            | EventKind::MemberLeft { .. }
            | EventKind::OffsetExpired { .. }
            | EventKind::OffsetDeleted { .. } => {}
        }
    }

    /// A member is told its generation.
    pub fn on_joined(
        &mut self,
        now: Moment,
        broker: usize,
        group: usize,
        joined: &JoinGroupResponse,
        findings: &mut Findings,
    ) {
        let Some(reign) = &mut self.reigns[broker][group] else { return };
        if joined.error.is_some() {
            return;
        }
        if joined.generation != reign.generation {
            let (told, true_one) = (joined.generation.0, reign.generation.0);
            findings.broken(Rule::Generation, now, || {
                format!(
                    "{:?} of group {group} is told generation {told} in generation {true_one}",
                    joined.member
                )
            });
        }
        if !reign.leader.contains(&joined.leader) {
            findings.broken(Rule::Generation, now, || {
                let (generation, leaders) = (joined.generation.0, &reign.leader);
                format!("{:?} of group {group} is told that {:?} leads generation {generation}, which {leaders:?} leads", joined.member, joined.leader)
            });
        }
        if !joined.members.is_empty() && joined.member != joined.leader {
            findings.broken(Rule::Generation, now, || {
                format!("{:?} of group {group} is told the members, and does not lead", joined.member)
            });
        }
    }

    /// Somebody brings an assignment.
    pub fn on_sync_asked(&mut self, broker: usize, group: usize, sync: &SyncGroup) {
        let counts =
            |reign: &Reign| reign.leader.contains(&sync.member) && reign.generation == sync.generation;
        if !self.reigns[broker][group].as_ref().is_some_and(counts) {
            return;
        }
        let history = &mut self.groups[group];
        if history.brought.len() >= REMEMBERED {
            // What counts is kept; former owners may bring any number that never will.
            let counts = |brought: &Brought| brought.given && brought.generation == history.given;
            let oldest = history.brought.iter().position(|brought| !counts(brought)).unwrap_or(0);
            history.brought.remove(oldest);
        }
        history.brought.push(Brought {
            generation: sync.generation,
            leader: sync.member.clone(),
            of: sync.assignments.iter().cloned().collect(),
            given: false,
            removed: false,
        });
    }

    /// A member is given its assignment.
    pub fn on_synced(
        &mut self,
        now: Moment,
        group: usize,
        (member, generation): (&MemberId, Generation),
        synced: &SyncGroupResponse,
        findings: &mut Findings,
    ) {
        if synced.error.is_some() {
            return;
        }
        let history = &mut self.groups[group];
        history.given = history.given.max(generation);
        match history.find(generation, member, &synced.assignment) {
            Some(brought) => brought.given = true,
            None => findings.broken(Rule::Assignment, now, || {
                let brought: Vec<_> = history.brought.iter().filter(|b| b.generation == generation).collect();
                let leaders: Vec<_> = brought.iter().map(|b| (&b.leader, b.given)).collect();
                format!("{member:?} of group {group} is given an assignment of generation {} that its leader did not bring, or not with what others were given: {leaders:?}", generation.0)
            }),
        }
    }
}
