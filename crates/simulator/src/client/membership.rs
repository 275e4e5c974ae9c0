//! Joining, syncing, staying alive, leaving.

use std::sync::Arc;

use coordinator::ids::{Generation, MemberId};
use coordinator::messages::{
    GroupError, Heartbeat, JoinGroup, JoinGroupResponse, LeaveGroup, LeavingMember, Request, SyncGroup,
    SyncGroupResponse,
};

use super::rules::{self, Asked, Reaction};
use super::{Action, Client, InFlight, Standing, assignor};
use crate::agenda::{MS, Moment};
use crate::scenario::{Flavor, Strategy};

impl Client {
    pub(super) fn step_as_member(&mut self, now: Moment, actions: &mut Vec<Action>) {
        if matches!(self.standing, Standing::Stable | Standing::Syncing) && self.beat(now, actions) {
            return;
        }
        if self.busy.is_some() {
            return;
        }
        match self.standing {
            Standing::Out(at) if at <= now => self.join(now, actions),
            Standing::Stable if self.rejoin.is_some_and(|at| at <= now) => self.prepare_to_join(now, actions),
            Standing::Stable => self.step_offsets(now, actions),
            Standing::Out(_) | Standing::Committing | Standing::Joining | Standing::Syncing => {}
        }
    }

    pub(super) fn next_step_as_member(&self) -> Moment {
        let mut next = match self.standing {
            Standing::Stable | Standing::Syncing => {
                self.heartbeat_due.min(self.session_ends()).min(self.poll_expires())
            }
            Standing::Out(_) | Standing::Committing | Standing::Joining => Moment::NEVER,
        };
        if let Some((_, until)) = self.busy {
            return next.min(until);
        }
        match self.standing {
            Standing::Out(at) => next = next.min(at),
            Standing::Stable => {
                next = next.min(self.rejoin.unwrap_or(Moment::NEVER)).min(self.next_offsets_step());
            }
            Standing::Committing | Standing::Joining | Standing::Syncing => {}
        }
        next
    }

    /// The heartbeat thread's turn. `true`: the member is none any more, or its connection is given up.
    fn beat(&mut self, now: Moment, actions: &mut Vec<Action>) -> bool {
        if self.session_ends() <= now {
            // Nothing was heard for a whole session: Java looks for another coordinator, librdkafka joins again.
            self.heartbeat_heard = now;
            if self.flavor == Flavor::Librdkafka {
                self.rejoin = Some(now);
                return false;
            }
            actions.push(Action::Close);
            return true;
        }
        if self.poll_expires() <= now {
            self.leave("consumer poll timeout has expired", actions);
            self.forget();
            return true;
        }
        if self.heartbeat_due <= now {
            self.heartbeat_due = now.after(self.heartbeat_interval());
            if !self.is_asking(Asked::Heartbeat) {
                let heartbeat = Heartbeat {
                    group: self.group().clone(),
                    generation: self.generation,
                    member: self.member.clone(),
                    instance: self.instance.clone(),
                };
                actions.push(Action::Send(Asked::Heartbeat, Request::Heartbeat(heartbeat)));
            }
        }
        false
    }

    fn session_ends(&self) -> Moment {
        self.heartbeat_heard.after(u64::from(self.common.plan.session_ms) * MS)
    }

    fn poll_expires(&self) -> Moment {
        match self.busy {
            Some((since, _)) => since.after(u64::from(self.common.plan.rebalance_ms) * MS),
            None => Moment::NEVER,
        }
    }

    /// Before a rebalance: what was read is committed, and an eager member gives all up.
    fn prepare_to_join(&mut self, now: Moment, actions: &mut Vec<Action>) {
        self.rejoin = None;
        if self.owned.is_empty() || self.is_asking(Asked::Commit) {
            return self.join(now, actions);
        }
        self.commit(actions);
        self.standing = Standing::Committing;
    }

    pub(super) fn join(&mut self, now: Moment, actions: &mut Vec<Action>) {
        let plan = &self.common.plan;
        if plan.strategy == Strategy::Eager {
            self.owned.clear();
        }
        self.rejoin = None;
        self.standing = Standing::Joining;
        let metadata = assignor::subscription(self.common.topic.as_str(), self.also, &self.owned);
        let protocols: &[&str] = match (plan.strategy, self.flavor) {
            (Strategy::Cooperative, _) => &["cooperative-sticky"],
            (Strategy::Eager, Flavor::Librdkafka) => &["range", "roundrobin"],
            (Strategy::Eager, Flavor::Java) => &["range", "cooperative-sticky"],
            (Strategy::Eager, Flavor::KafkaPython) => &["range"],
        };
        let plan = &self.common.plan;
        let join = JoinGroup {
            group: plan.name.clone(),
            member: self.member.clone(),
            instance: self.instance.clone(),
            client_id: Arc::clone(&self.named),
            client_host: "/127.0.0.1".into(),
            protocol_type: "consumer".into(),
            protocols: protocols.iter().map(|&name| (name.into(), Arc::clone(&metadata))).collect(),
            session_timeout_ms: i32::try_from(plan.session_ms).unwrap_or(i32::MAX),
            rebalance_timeout_ms: i32::try_from(plan.rebalance_ms).unwrap_or(i32::MAX),
            require_known_member_id: rules::joins_twice(self.flavor),
            supports_skipping_assignment: rules::skips_assignment(self.flavor),
            reason: None,
        };
        // A session of silence counts from now on.
        self.heartbeat_heard = now;
        actions.push(Action::Send(Asked::Join, Request::JoinGroup(join)));
    }

    pub(super) fn on_joined(&mut self, now: Moment, joined: JoinGroupResponse, actions: &mut Vec<Action>) {
        if self.standing != Standing::Joining {
            return;
        }
        if let Some(error) = joined.error {
            if error == GroupError::MemberIdRequired {
                self.member = joined.member;
            }
            return self.react(now, Asked::Join, error, actions);
        }
        self.attempts = 0;
        self.member = joined.member;
        self.generation = joined.generation;
        self.protocol = joined.protocol;
        let leads = joined.leader == self.member;
        let assignments = if leads && !joined.skip_assignment {
            let (topic, plan) = (self.common.topic.as_str(), &self.common.plan);
            let nonce = self.random.any();
            assignor::assign(&joined.members, topic, plan.partitions, plan.strategy, nonce)
        } else {
            Vec::new()
        };
        self.leads = leads.then_some(joined.members);
        self.standing = Standing::Syncing;
        self.heartbeat_heard = now;
        self.heartbeat_due = now.after(self.heartbeat_interval());
        let sync = SyncGroup {
            group: self.group().clone(),
            generation: self.generation,
            member: self.member.clone(),
            instance: self.instance.clone(),
            protocol_type: Some("consumer".into()),
            protocol: self.protocol.clone(),
            assignments,
        };
        actions.push(Action::Send(Asked::Sync, Request::SyncGroup(sync)));
    }

    pub(super) fn on_synced(
        &mut self,
        now: Moment,
        request: &InFlight,
        synced: &SyncGroupResponse,
        actions: &mut Vec<Action>,
    ) {
        if self.standing != Standing::Syncing || request.generation != self.generation {
            return;
        }
        if let Some(error) = synced.error {
            return self.react(now, Asked::Sync, error, actions);
        }
        self.attempts = 0;
        self.standing = Standing::Stable;
        let assigned = assignor::partitions_of(&synced.assignment);
        let gives_up = self.owned.iter().any(|partition| !assigned.contains(partition));
        self.owned = assigned;
        if gives_up && self.common.plan.strategy == Strategy::Cooperative {
            // Others can have them once the group knows that they are given up.
            self.rejoin = Some(now);
        }
        self.begin_offsets(now);
    }

    pub(super) fn on_heartbeat(
        &mut self,
        now: Moment,
        request: &InFlight,
        error: Option<GroupError>,
        actions: &mut Vec<Action>,
    ) {
        // An answer to who it was before says nothing of who it is.
        if request.member != self.member || !matches!(self.standing, Standing::Stable | Standing::Syncing) {
            return;
        }
        match error {
            None => self.heartbeat_heard = now,
            Some(GroupError::RebalanceInProgress) => {
                self.heartbeat_heard = now;
                if self.standing == Standing::Stable && self.rejoin.is_none() {
                    self.rejoin = Some(now.after(self.random.below(200 * MS)));
                }
            }
            Some(_) if request.generation != self.generation => {}
            Some(error) => self.react(now, Asked::Heartbeat, error, actions),
        }
    }

    /// Says goodbye, if its kind does: static members do not.
    pub(super) fn leave(&self, reason: &str, actions: &mut Vec<Action>) {
        if self.member.is_empty() || self.instance.is_some() {
            return;
        }
        let leaving =
            LeavingMember { member: self.member.clone(), instance: None, reason: Some(reason.into()) };
        let leave = LeaveGroup { group: self.group().clone(), members: vec![leaving] };
        actions.push(Action::Send(Asked::Leave, Request::LeaveGroup(leave)));
    }

    /// Does what its kind does about an error.
    pub(super) fn react(&mut self, now: Moment, asked: Asked, error: GroupError, actions: &mut Vec<Action>) {
        let reaction = rules::reaction(self.flavor, asked, error);
        let wait = rules::back_off(self.flavor, asked, self.attempts);
        match reaction {
            Reaction::TakeId => self.join(now, actions),
            Reaction::GiveUp => {}
            Reaction::Retry | Reaction::Rejoin | Reaction::Forget => {
                self.attempts += 1;
                match reaction {
                    Reaction::Forget => {
                        self.member = MemberId::default();
                        self.lose_partitions();
                    }
                    Reaction::Rejoin if error == GroupError::IllegalGeneration => self.lose_partitions(),
                    Reaction::Rejoin
                    | Reaction::Retry
                    | Reaction::TakeId
                    | Reaction::Seek
                    | Reaction::GiveUp
                    | Reaction::Die => {}
                }
                if matches!(asked, Asked::Commit | Asked::Fetch) && self.standing == Standing::Stable {
                    if reaction != Reaction::Retry {
                        self.rejoin = Some(now);
                    }
                } else {
                    self.standing = Standing::Out(now.after(wait));
                }
            }
            Reaction::Seek => actions.push(Action::Close),
            Reaction::Die => self.die(now, actions),
        }
    }

    /// Others may have them by now.
    fn lose_partitions(&mut self) {
        self.owned.clear();
        self.generation = Generation::NONE;
    }
}
