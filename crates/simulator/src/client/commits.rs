//! Committing what was read, and asking where to begin.

use std::sync::Arc;

use coordinator::ids::TopicPartition;
use coordinator::messages::{
    CommitOffset, GroupError, OffsetCommit, OffsetCommitResponse, OffsetFetch, Request,
};

use super::rules::{self, Asked, Reaction};
use super::{Action, Client, InFlight, Standing};
use crate::agenda::{MS, Moment};

impl Client {
    /// An assignment came: the offsets of its partitions are asked for, and commits begin.
    pub(super) fn begin_offsets(&mut self, now: Moment) {
        self.fetch = !self.owned.is_empty();
        self.commit_due = now.after(self.commit_interval());
    }

    pub(super) fn step_offsets(&mut self, now: Moment, actions: &mut Vec<Action>) {
        if self.fetch && !self.is_asking(Asked::Fetch) {
            self.fetch = false;
            self.read(actions);
        }
        if self.commit_due <= now {
            self.commit_due = now.after(self.commit_interval());
            if !self.owned.is_empty() && !self.is_asking(Asked::Commit) {
                self.commit(actions);
                // Somebody looks at the offsets now and then: a lag monitor, an admin.
                self.fetch = self.random.below(4) == 0;
            }
        }
    }

    pub(super) fn next_offsets_step(&self) -> Moment {
        if self.fetch && !self.is_asking(Asked::Fetch) { Moment::default() } else { self.commit_due }
    }

    fn commit_interval(&self) -> u64 {
        u64::from(self.common.plan.commit_ms) * MS
    }

    /// Commits what it owns. The offsets themselves are put in where the request is sent: each is like no other.
    pub(super) fn commit(&mut self, actions: &mut Vec<Action>) {
        let offset = |&partition: &u16| CommitOffset {
            partition: self.partition(partition),
            offset: 0,
            leader_epoch: -1,
            metadata: Arc::default(),
            commit_timestamp_ms: -1,
        };
        let commit = OffsetCommit {
            group: self.group().clone(),
            generation: self.generation,
            member: self.member.clone(),
            instance: self.instance.clone(),
            retention_time_ms: -1,
            offsets: self.owned.iter().map(offset).collect(),
        };
        actions.push(Action::Send(Asked::Commit, Request::OffsetCommit(commit)));
    }

    fn read(&mut self, actions: &mut Vec<Action>) {
        let partitions = self.owned.iter().map(|&partition| self.partition(partition)).collect();
        let fetch = OffsetFetch {
            group: self.group().clone(),
            partitions: Some(partitions),
            require_stable: self.random.below(2) == 0,
        };
        actions.push(Action::Send(Asked::Fetch, Request::OffsetFetch(fetch)));
    }

    fn partition(&self, partition: u16) -> TopicPartition {
        TopicPartition { topic: self.common.topic.clone(), partition: i32::from(partition) }
    }

    pub(super) fn on_committed(
        &mut self,
        now: Moment,
        request: &InFlight,
        committed: &OffsetCommitResponse,
        actions: &mut Vec<Action>,
    ) {
        let error = committed.results.iter().find_map(|(_, error)| *error);
        if self.standing == Standing::Committing {
            // Whatever came of it, the rebalance goes on, unless the member is told that it is none.
            return match error {
                Some(error @ (GroupError::UnknownMemberId | GroupError::FencedInstanceId)) => {
                    self.react(now, Asked::Commit, error, actions);
                    if self.is_up() {
                        self.standing = Standing::Out(now);
                    }
                }
                Some(error) if rules::reaction(self.flavor, Asked::Commit, error) == Reaction::Seek => {
                    actions.push(Action::Close);
                }
                Some(_) | None => self.join(now, actions),
            };
        }
        let is_current = request.member == self.member && request.generation == self.generation;
        if let Some(error) = error.filter(|_| is_current && self.standing == Standing::Stable) {
            self.react(now, Asked::Commit, error, actions);
        }
    }

    pub(super) fn on_fetched(&mut self, now: Moment, error: Option<GroupError>) {
        match error {
            Some(GroupError::CoordinatorLoadInProgress) => self.fetch = true,
            Some(GroupError::NotCoordinator | GroupError::CoordinatorNotAvailable) => {
                // The next heartbeat or commit finds out; Java marks the coordinator unknown at once.
                self.heartbeat_due = self.heartbeat_due.min(now.after(100 * MS));
            }
            Some(_) | None => {}
        }
    }
}
