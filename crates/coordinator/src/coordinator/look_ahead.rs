//! Reads what requests will look at, several side by side, so that their waits for memory overlap.
//!
//! A heartbeat among a million sessions is three or four cache misses, each of which must be over before the next is
//! known. Those of sixteen heartbeats can wait together. Changes nothing, and need not be called.

use std::hint::black_box;

use super::Coordinator;
use crate::group::Group;
use crate::ids::{GroupId, MemberId};
use crate::messages::Request;

/// So many at a time: more than a core has misses under way.
const SIDE_BY_SIDE: usize = 16;

impl Coordinator {
    /// Brings what `requests` will look at near: for a host that has several at hand, just before it handles them. Up to
    /// 16 at a time are looked at, further ones are not.
    ///
    /// It is all about time: [`handle`](Self::handle) does the same without.
    pub fn look_ahead<'r>(&self, requests: impl IntoIterator<Item = &'r Request>) {
        let mut names = [None; SIDE_BY_SIDE];
        let mut count = 0;
        for (slot, name) in names.iter_mut().zip(requests.into_iter().filter_map(names_of)) {
            *slot = Some(name);
            count += 1;
        }
        if count < 2 {
            return;
        }
        // Step by step for all, since what is read in one step tells where to read in the next.
        let sessions = names.map(|name| name.map(|(group, member)| self.turn.sessions.hash(group, member)));
        let sessions = sessions.map(|hash| hash.and_then(|hash| self.turn.sessions.guess(hash)));
        let mut read = 0;
        for session in sessions.iter().flatten() {
            read ^= self.turn.purgatory.deadline(session.timer).map_or(0, purgatory::Timestamp::ticks);
            read ^= u64::from(session.text_end());
        }
        for session in sessions.iter().flatten() {
            read ^= self.groups.at(session.group).name_hash;
        }
        for session in sessions.iter().flatten() {
            read ^= u64::from(name_end(self.groups.at(session.group)));
        }
        black_box(read);
    }
}

fn name_end(group: &Group) -> u8 {
    group.name.as_str().bytes().next_back().unwrap_or_default()
}

/// Whom a request names, if it is of a kind that comes often.
fn names_of(request: &Request) -> Option<(&GroupId, &MemberId)> {
    match request {
        Request::Heartbeat(request) => Some((&request.group, &request.member)),
        Request::SyncGroup(request) => Some((&request.group, &request.member)),
        Request::OffsetCommit(request) => Some((&request.group, &request.member)),
        Request::JoinGroup(_)
        | Request::LeaveGroup(_)
        | Request::TxnOffsetCommit(_)
        | Request::OffsetFetch(_)
        | Request::OffsetDelete(_)
        | Request::DescribeGroup(_)
        | Request::ListGroups(_)
        | Request::DeleteGroups(_) => None,
    }
}
