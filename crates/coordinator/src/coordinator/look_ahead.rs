//! Reads what requests will look at, several side by side, so that their waits for memory overlap.
//!
//! A heartbeat among a million sessions is three or four cache misses, each of which must be over before the next is
//! known. Those of sixteen heartbeats can wait together. Changes nothing, and need not be called.

use std::hint::black_box;

use purgatory::OperationId;

use super::Coordinator;
use crate::ids::{GroupId, MemberId};
use crate::messages::Request;
use crate::turn::Turn;

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
        let Turn { sessions, purgatory, .. } = &self.turn;
        let of = names.map(|name| name.map(|(group, member)| sessions.fingerprint(group, member)));
        let timers = of.map(|of| of.and_then(|of| sessions.guess(of)));
        let mut read = 0;
        let mut groups = [None; SIDE_BY_SIDE];
        for (group, &timer) in groups.iter_mut().zip(timers.iter().flatten()) {
            read ^= purgatory.id_at(timer).map_or(0, OperationId::index);
            *group = sessions.at(timer).map(|session| session.group);
        }
        for &group in groups.iter().flatten() {
            if self.groups.calm_generation(group).is_none() {
                read ^= self.groups.at(group).generation.0.unsigned_abs();
            }
        }
        black_box(read);
    }
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
